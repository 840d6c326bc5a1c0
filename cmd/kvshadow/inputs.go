package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/schollz/progressbar/v3"
	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/kvshadow/kvshadow/analyzer"
	"github.com/kvshadow/kvshadow/analyzer/decision"
	"github.com/kvshadow/kvshadow/analyzer/input"
	"github.com/kvshadow/kvshadow/analyzer/report"
	"github.com/kvshadow/kvshadow/analyzer/router/dynamo"
	"github.com/kvshadow/kvshadow/analyzer/twin"
)

const inputHelp = `INPUT is a file, a glob, or - for standard input; gzip and zstd are recognised
by content. Several inputs are merged by time. Lines may be the router's JSONL
or human-readable log (Dynamo 1.3 to 1.5 with candidate rows, 1.6 for the
winners' costs), its request traces (any release), from which decisions are
rebuilt, or kvshadow.decision.v1 records; other lines are ignored and counted.`

// maxWarnings bounds what a broken input prints; the counts are complete.
const maxWarnings = 10

// readInputs decodes the inputs of a verb, with progress on a terminal and the
// first problems on standard error.
func readInputs(c *cobra.Command, args []string, t twin.Options, emit func(*decision.Decision)) (in report.Inputs, err error) {
	defer func() {
		if c.Context().Err() != nil {
			err = errors.New("interrupted before the end of the input; nothing is reported")
		}
	}()
	files, err := input.Open(args, &interruptible{ctx: c.Context(), r: c.InOrStdin()})
	if err != nil {
		return in, err
	}
	defer func() { err = errors.Join(err, files.Close()) }()
	stop := progress(c.ErrOrStderr(), files)
	defer stop()
	warnings := 0
	in, err = analyzer.Read(c.Context(), files, t, emit, func(at input.Position, err error) {
		switch warnings++; {
		case warnings <= maxWarnings:
			fmt.Fprintf(c.ErrOrStderr(), "%s: %s\n", at, err)
		case warnings == maxWarnings+1:
			fmt.Fprintln(c.ErrOrStderr(), "more lines like these are counted, not shown")
		}
	})
	return in, err
}

// interruptible is a reader whose Read ends with its context, even while r has
// nothing to say: a pipe or terminal can't be woken otherwise.
type interruptible struct {
	ctx  context.Context
	r    io.Reader
	buf  []byte
	rest []byte // of buf, read and not yet handed on
	err  error  // that came with rest
}

func (i *interruptible) Read(p []byte) (int, error) {
	if len(i.rest) == 0 && i.err == nil {
		i.fill()
	}
	n := copy(p, i.rest)
	i.rest = i.rest[n:]
	if len(i.rest) > 0 {
		return n, nil
	}
	return n, i.err
}

// fill reads in a goroutine of its own. If the context ends first the
// goroutine keeps the buffer and stays behind; the process ends soon.
func (i *interruptible) fill() {
	if i.buf == nil {
		i.buf = make([]byte, 256<<10)
	}
	type result struct {
		n   int
		err error
	}
	done := make(chan result, 1)
	go func() {
		n, err := i.r.Read(i.buf)
		done <- result{n, err}
	}()
	select {
	case r := <-done:
		i.rest, i.err = i.buf[:r.n], r.err
	case <-i.ctx.Done():
		i.err = i.ctx.Err()
	}
}

// progress shows how much is read while stderr is a terminal.
func progress(w io.Writer, files *input.Set) (stop func()) {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) || files.TotalBytes == 0 {
		return func() {}
	}
	bar := progressbar.NewOptions64(files.TotalBytes, progressbar.OptionSetWriter(w), progressbar.OptionShowBytes(true),
		progressbar.OptionSetDescription("reading"), progressbar.OptionClearOnFinish(), progressbar.OptionThrottle(100*time.Millisecond))
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		t := time.NewTicker(100 * time.Millisecond)
		defer t.Stop()
		for {
			select {
			case <-done:
				_ = bar.Finish() // a terminal that can't be written to needs no bar
				return
			case <-t.C:
				_ = bar.Set64(files.ReadBytes())
			}
		}
	}()
	return func() { close(done); <-ended }
}

// steps shows how many of a number of equal steps are done while stderr is a
// terminal. The first function counts one and may be called from several
// goroutines.
func steps(w io.Writer, total int, what string) (step, stop func()) {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return func() {}, func() {}
	}
	bar := progressbar.NewOptions(total, progressbar.OptionSetWriter(w), progressbar.OptionShowCount(),
		progressbar.OptionSetDescription(what), progressbar.OptionClearOnFinish())
	return func() { _ = bar.Add(1) }, func() { _ = bar.Finish() } // a terminal that can't be written to needs no bar
}

// policyFlags are the flags that say which weights to score with.
type policyFlags struct{ file, live string }

func (f *policyFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&f.file, "policies", "", "`FILE` with the live weights and the candidates to compare; see kvshadow policies --help")
	c.Flags().StringVar(&f.live, "live", "", "`NAME` of the policy in the file that production runs")
}

// load returns the policies, the live one first. Without a file it is the
// router's defaults alone.
func (f *policyFlags) load(stderr io.Writer) ([]dynamo.Policy, error) {
	if f.file == "" {
		if f.live != "" {
			return nil, errors.New("--live names a policy of the --policies file, which is missing")
		}
		return []dynamo.Policy{{Name: "live", Params: dynamo.DefaultParams()}}, nil
	}
	p, err := dynamo.LoadPolicies(f.file)
	if err != nil {
		return nil, err
	}
	for _, w := range p.Notices() {
		fmt.Fprintf(stderr, "%s: %s\n", f.file, w)
	}
	if f.live != "" {
		if err := p.SetLive(f.live); err != nil {
			return nil, fmt.Errorf("--live: %w", err)
		}
	}
	return p.Policies(), nil
}
