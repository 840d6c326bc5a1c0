package input

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strconv"
	"time"
)

// Position tells where a line stands.
type Position struct {
	File string
	Line uint64
}

// String returns file:line.
func (p Position) String() string { return p.File + ":" + strconv.FormatUint(p.Line, 10) }

func (f *file) position() Position { return Position{f.name, f.lines.Lines} }

// Each calls f with every line of every input, merged by the lines' time
// stamps; a line without one stays behind the line before it. stream tells the
// inputs apart. Reading stops when ctx ends.
//
// An input that breaks off (a truncated gzip, an I/O error) ends there: broken
// is called with its position and the error, and the other inputs go on.
func (s *Set) Each(ctx context.Context, f func(stream uint64, at Position, line []byte), broken func(Position, error)) error {
	report := broken
	broken = func(at Position, err error) {
		if ctx.Err() == nil { // otherwise that is why
			report(at, err)
		}
	}
	heads := make([]head, 0, len(s.files))
	for i, x := range s.files {
		h := head{file: x, stream: uint64(i) + 1, timed: len(s.files) > 1}
		if h.advance(broken) {
			heads = append(heads, h)
		}
	}
	for n := 0; len(heads) > 0; n++ {
		if n%1024 == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		first := 0
		for i := range heads {
			if heads[i].time < heads[first].time {
				first = i
			}
		}
		h := &heads[first]
		f(h.stream, h.file.position(), h.line)
		if !h.advance(broken) {
			heads = append(heads[:first], heads[first+1:]...)
		}
	}
	return ctx.Err()
}

// Counted returns what was read, after decompression: all lines, those among
// them that were too long to use, and the bytes.
func (s *Set) Counted() (lines, tooLong, bytes uint64) {
	for _, f := range s.files {
		lines += f.lines.Lines
		tooLong += f.lines.TooLong
		bytes += f.lines.Bytes
	}
	return lines, tooLong, bytes
}

// head is the next line of an input. Its time never runs backwards, so that a
// clock jump within a file doesn't reorder its lines.
type head struct {
	file   *file
	stream uint64
	timed  bool
	line   []byte
	time   int64 // microseconds
}

func (h *head) advance(broken func(Position, error)) bool {
	line, err := h.file.lines.Next()
	if err != nil {
		if !errors.Is(err, io.EOF) {
			broken(h.file.position(), err)
		}
		return false
	}
	h.line = line
	if h.timed {
		if t, ok := LineTime(line); ok {
			h.time = max(h.time, t.UnixMicro())
		}
	}
	return true
}

// LineTime finds a line's time stamp: an early member of a JSON log line or
// record, in RFC 3339 or, as request traces have it, in Unix milliseconds; or
// the first word of a human-readable line.
func LineTime(line []byte) (time.Time, bool) {
	text := line[:min(len(line), 256)]
	if i := bytes.Index(text, unixMillisKey); i >= 0 {
		return unixMillis(text[i+len(unixMillisKey):])
	}
	if i := bytes.Index(text, []byte(`"time":`)); i >= 0 {
		text = bytes.TrimLeft(text[i+len(`"time":`):], " ")
		if len(text) > 0 && text[0] == '"' {
			text = text[1:]
		}
	} else {
		text = bytes.TrimPrefix(text, []byte("\x1b[2m"))
	}
	end := bytes.IndexAny(text, "\" \x1b")
	if end < len("2006-01-02T15:04:05Z") {
		return time.Time{}, false
	}
	t, err := time.Parse(time.RFC3339Nano, string(text[:end]))
	return t, err == nil
}

var unixMillisKey = []byte(`"event_time_unix_ms":`)

func unixMillis(text []byte) (time.Time, bool) {
	text = bytes.TrimLeft(text, " ")
	n := 0
	for n < len(text) && text[n] >= '0' && text[n] <= '9' {
		n++
	}
	ms, err := strconv.ParseInt(string(text[:n]), 10, 64)
	return time.UnixMilli(ms), err == nil
}
