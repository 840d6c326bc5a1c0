package source

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"time"
)

// DefaultStdinMaxWait is the default of [StdinOptions.MaxWait].
const DefaultStdinMaxWait = time.Second

// StdinOptions configures a [Stdin]. The zero value is usable.
type StdinOptions struct {
	// MaxWait is how long a chunk waits for room in the queue before it is
	// dropped; 0 means [DefaultStdinMaxWait]. It is short, because the program
	// that writes into the pipe is held up all the while.
	MaxWait time.Duration
	// MaxLineBytes limits the length of a line, newline included; 0 means
	// [MaxLineBytes].
	MaxLineBytes int
	// Logger takes changes of state; nil discards them.
	Logger *slog.Logger
}

// Stdin reads lines from one reader, as one stream, and puts them into a
// [Queue].
type Stdin struct {
	reader io.Reader
	sink   sink
	split  splitter
	stream uint64
	block  int
}

// NewStdin returns a Stdin that reads r. It reads nothing yet.
func NewStdin(spec Spec, r io.Reader, opts StdinOptions, queue *Queue, stats *Stats) *Stdin {
	maxLine := cmp.Or(opts.MaxLineBytes, MaxLineBytes)
	return &Stdin{
		reader: r,
		sink: sink{
			source: spec.Text, queue: queue, stats: stats,
			maxWait: cmp.Or(opts.MaxWait, DefaultStdinMaxWait), log: orDiscard(opts.Logger),
		},
		split:  splitter{max: maxLine, passed: io.Discard},
		stream: queue.NewStream(),
		block:  min(chunkBytes, maxLine),
	}
}

// Run reads until the input ends or ctx does, and returns nil in both cases;
// it returns the reader's error if that fails. It must be called once only.
//
// The end of input delivers an unfinished last line and [Item.End]; the end of
// ctx doesn't, since the rest of that line may still come.
//
// A Read can't be interrupted. When ctx ends, Run returns at once and leaves
// behind one goroutine that waits for its Read to return, throws away what
// that brings, and ends. It holds no lock. Close the reader to end it sooner.
func (s *Stdin) Run(ctx context.Context) error {
	reads := make(chan readResult)
	go s.read(ctx, reads)
	for {
		select {
		case <-ctx.Done():
			return nil
		case r := <-reads:
			if len(r.block) > 0 {
				s.sink.feed(ctx, s.stream, &s.split, r.block)
			}
			if r.err != nil {
				return s.finish(ctx, r.err)
			}
			s.sink.stats.caughtUp()
		}
	}
}

func (s *Stdin) finish(ctx context.Context, err error) error {
	s.sink.finish(ctx, s.stream, &s.split)
	s.sink.stats.caughtUp()
	if err == io.EOF {
		return nil
	}
	s.sink.stats.errors.Add(1)
	return fmt.Errorf("source %q: %w", s.sink.source, err)
}

type readResult struct {
	block []byte
	err   error
}

// read hands over what each Read returns, until one fails or ctx ends.
func (s *Stdin) read(ctx context.Context, reads chan<- readResult) {
	buf := make([]byte, s.block)
	for {
		n, err := s.reader.Read(buf)
		select {
		case <-ctx.Done():
			return
		case reads <- readResult{bytes.Clone(buf[:n]), err}:
		}
		if err != nil {
			return
		}
	}
}
