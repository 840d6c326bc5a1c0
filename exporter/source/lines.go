package source

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"time"

	"github.com/kvshadow/kvshadow/analyzer/decision"
)

const (
	// MaxLineBytes is the default limit on the length of a line, its newline
	// included. Longer lines are skipped and counted.
	MaxLineBytes = decision.MaxLineBytes
	// chunkBytes is the most that is read at once, and so the most that an
	// item holds unless a single line is longer.
	chunkBytes = 256 << 10
)

// splitter cuts blocks of input into whole lines. It holds back an unfinished
// last line, and never more than max bytes of it.
type splitter struct {
	max     int
	partial []byte
	// skipping says that the input stands inside a line that is too long.
	skipping bool
	// passed is given every byte that will not be held back any longer, in
	// order: those of lines and those of skipped lines.
	passed io.Writer
}

// feed takes the next block and returns the lines that it completes, in memory
// of their own, and how many lines turned out too long. A block must not be
// longer than max.
func (s *splitter) feed(block []byte) (lines []byte, tooLong int) {
	if s.skipping {
		if block = s.skip(block); s.skipping {
			return nil, 0
		}
	}
	if first := bytes.IndexByte(block, '\n'); first >= 0 && len(s.partial)+first+1 > s.max {
		tooLong++
		s.drop()
		block = s.skip(block)
	}
	last := bytes.LastIndexByte(block, '\n')
	if last >= 0 {
		lines = append(s.partial, block[:last+1]...)
		s.pass(lines)
		s.partial = nil
	}
	s.partial = append(s.partial, block[last+1:]...)
	if len(s.partial) > s.max {
		tooLong++
		s.drop()
		s.skipping = true
	}
	return lines, tooLong
}

// rest returns the unfinished last line and forgets it.
func (s *splitter) rest() []byte {
	rest := s.partial
	s.pass(rest)
	s.partial = nil
	return rest
}

func (s *splitter) drop() {
	s.pass(s.partial)
	s.partial = nil
}

// skip passes over the block up to its first newline and returns what follows.
func (s *splitter) skip(block []byte) []byte {
	end := bytes.IndexByte(block, '\n') + 1
	s.skipping = end == 0
	if s.skipping {
		end = len(block)
	}
	s.pass(block[:end])
	return block[end:]
}

// pass writes to a hash or to io.Discard, which never fail.
func (s *splitter) pass(p []byte) { _, _ = s.passed.Write(p) }

// sink delivers the lines of one source and counts what it can't deliver. Only
// one goroutine may use it.
type sink struct {
	source  string
	queue   *Queue
	stats   *Stats
	maxWait time.Duration
	log     *slog.Logger
	// dropping says that the last chunk was dropped; only changes are logged.
	dropping bool
}

// feed counts a block of input and delivers the lines that it completes.
func (s *sink) feed(ctx context.Context, stream uint64, split *splitter, block []byte) {
	s.stats.read(len(block))
	lines, tooLong := split.feed(block)
	s.stats.lines.Add(uint64(tooLong))
	s.stats.tooLongLines.Add(uint64(tooLong))
	s.deliver(ctx, stream, lines)
}

// finish delivers the unfinished last line, if any, and the stream's end.
func (s *sink) finish(ctx context.Context, stream uint64, split *splitter) {
	s.deliver(ctx, stream, split.rest())
	s.end(stream)
}

// end delivers the stream's end. It fails only when the queue is closed, and
// then nobody waits for it.
func (s *sink) end(stream uint64) {
	_ = s.queue.TryPut(Item{Source: s.source, Stream: stream, End: true})
}

func (s *sink) deliver(ctx context.Context, stream uint64, lines []byte) {
	if len(lines) == 0 {
		return
	}
	n := countLines(lines)
	s.stats.lines.Add(uint64(n))
	err := s.queue.Put(ctx, Item{Source: s.source, Stream: stream, Lines: lines}, s.maxWait)
	if err != nil {
		s.stats.lose(n, len(lines))
	}
	if s.dropping == (err != nil) {
		return
	}
	s.dropping = err != nil
	if err != nil {
		s.log.Warn("dropping input", "source", s.source, "err", err)
	} else {
		s.log.Info("no longer dropping input", "source", s.source)
	}
}

func countLines(p []byte) int {
	n := bytes.Count(p, []byte{'\n'})
	if len(p) > 0 && p[len(p)-1] != '\n' {
		n++
	}
	return n
}
