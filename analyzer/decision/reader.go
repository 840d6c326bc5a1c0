package decision

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// MaxLineBytes is the longest line that a [Reader] takes, without its end.
const MaxLineBytes = 4 << 20

// LineError says which line was refused. It wraps the reason, a [*FieldError]
// for a line that was read whole.
type LineError struct {
	Line int // counted from 1
	Err  error
}

// Error returns "line 17: ..." on one printable line.
func (e *LineError) Error() string { return fmt.Sprintf("line %d: %v", e.Line, e.Err) }

// Unwrap returns the reason.
func (e *LineError) Unwrap() error { return e.Err }

// Reader reads records from newline-delimited JSON. Lines end with LF or CRLF,
// the last one may lack its end, and blank lines are skipped. Memory is bounded
// by [MaxLineBytes]. A Reader must not be used by several goroutines at once.
type Reader struct {
	in   *bufio.Reader
	line int
	buf  []byte // a line that was longer than the buffer of in
	err  error  // what ended the input
}

// NewReader returns a reader of the records in r, which it reads ahead.
func NewReader(r io.Reader) *Reader {
	return &Reader{in: bufio.NewReaderSize(r, 64<<10)}
}

// Next decodes the next record into d, as [Unmarshal] does. At the end of the
// input it returns [io.EOF].
//
// A [*LineError] is about that line only: Next may be called again and goes on
// with the line after it. Any other error ends the input and is returned by
// every further call.
func (r *Reader) Next(d *Decision) error {
	for r.err == nil {
		line, err := r.next()
		if err != nil {
			return &LineError{Line: r.line, Err: err}
		}
		if line = bytes.Trim(line, " \t\r\n"); len(line) == 0 {
			continue
		}
		if err := Unmarshal(line, d); err != nil {
			return &LineError{Line: r.line, Err: err}
		}
		return nil
	}
	return r.err
}

// Line returns the number of the line that Next read last, counted from 1.
func (r *Reader) Line() int { return r.line }

// next returns one line. Its error is about the line; what ends the input goes
// to r.err, so that a last line without newline still counts.
func (r *Reader) next() ([]byte, error) {
	part, err := r.in.ReadSlice('\n')
	if err == nil {
		r.line++
		return part, nil
	}
	r.buf = r.buf[:0]
	tooLong := false
	for {
		// One byte of CR and one of LF may follow the longest line.
		if tooLong = tooLong || len(r.buf)+len(part) > MaxLineBytes+2; !tooLong {
			r.buf = append(r.buf, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			break
		}
		part, err = r.in.ReadSlice('\n')
	}
	if r.end(err); r.err != nil && r.err != io.EOF {
		return nil, nil // half a line says nothing
	}
	if len(r.buf) > 0 || tooLong {
		r.line++
	}
	if tooLong || len(bytes.TrimRight(r.buf, "\r\n")) > MaxLineBytes {
		return nil, fmt.Errorf("line is too long; want at most %d bytes", MaxLineBytes)
	}
	return r.buf, nil
}

func (r *Reader) end(err error) {
	switch {
	case err == nil:
	case errors.Is(err, io.EOF):
		r.err = io.EOF
	default:
		r.err = fmt.Errorf("cannot read on after line %d: %w", r.line, err)
	}
}
