// Package demo plays embedded captures of real routers, so that kvshadow can be
// tried without one.
package demo

import (
	"bytes"
	"compress/gzip"
	_ "embed" // the captures and the policies
	"errors"
	"io"
	"time"

	"github.com/kvshadow/kvshadow/analyzer/input"
)

// Capture is the recorded log of a real Dynamo 1.5.1 router with mock workers.
type Capture struct {
	// Source is the label value of the capture's input.
	Source string
	log    []byte // gzipped JSONL
}

var (
	// 2 prefill and 2 decode workers, 240 requests, 480 decisions.
	//go:embed disagg-1.5.1.log.jsonl.gz
	disaggregated []byte
	// 2 aggregated workers with 2 data-parallel ranks each, 115 decisions.
	//go:embed mixed-dp2-1.5.1.log.jsonl.gz
	aggregated []byte
)

// Captures returns the embedded captures.
func Captures() []Capture {
	return []Capture{{"demo:disaggregated", disaggregated}, {"demo:aggregated", aggregated}}
}

// Policies is the policies file of the demo.
//
//go:embed policies.yaml
var Policies []byte

// maxGap shortens the pauses of the capture, most of which are start-up.
const maxGap = 250 * time.Millisecond

// Reader reads a capture over and over, each line when it is due. It never
// ends.
type Reader struct {
	// Sleep waits until the next line is due.
	Sleep func(time.Duration)
	log   []byte
	lines *input.LineReader
	last  time.Time
	rest  []byte
}

// NewReader returns a reader that keeps the capture's pace.
func (c Capture) NewReader() *Reader { return &Reader{Sleep: time.Sleep, log: c.log} }

// Read returns at most one line of the capture.
func (r *Reader) Read(p []byte) (int, error) {
	for len(r.rest) == 0 {
		if err := r.next(); err != nil {
			return 0, err
		}
	}
	n := copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

func (r *Reader) next() error {
	if r.lines == nil {
		z, err := gzip.NewReader(bytes.NewReader(r.log))
		if err != nil {
			return err
		}
		r.lines, r.last = input.NewLineReader(z), time.Time{}
	}
	line, err := r.lines.Next()
	if errors.Is(err, io.EOF) {
		r.lines = nil
		return nil
	}
	if err != nil {
		return err
	}
	if t, ok := input.LineTime(line); ok {
		if gap := t.Sub(r.last); !r.last.IsZero() && gap > 0 {
			r.Sleep(min(gap, maxGap))
		}
		r.last = t
	}
	r.rest = append(append(r.rest[:0], line...), '\n')
	return nil
}
