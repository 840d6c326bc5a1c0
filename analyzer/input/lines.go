// Package input turns files of log lines and records into decisions: it opens
// them (plain, gzip, zstd, standard input), merges several in time order, and
// hands each line to the decoder that knows it.
package input

import (
	"bufio"
	"errors"
	"io"

	"github.com/kvshadow/kvshadow/analyzer/decision"
)

// MaxLine is the longest line that is read, in bytes without its end: what a
// record may have. The longest line a router writes, with the hashes of a
// million-token prompt, is about a tenth of it.
const MaxLine = decision.MaxLineBytes

// LineReader splits a stream into lines. It never holds much more than
// [MaxLine] bytes of one line.
type LineReader struct {
	r    *bufio.Reader
	long []byte
	// Bytes counts what was consumed, line ends included.
	Bytes uint64
	// Lines counts the lines, the skipped ones included: the number of the
	// line that Next returned last.
	Lines uint64
	// TooLong counts the lines that were skipped because of their length.
	TooLong uint64
}

// NewLineReader returns a reader of r.
func NewLineReader(r io.Reader) *LineReader {
	return &LineReader{r: bufio.NewReaderSize(r, 256<<10)}
}

// Next returns the next line without its end ("\n" or "\r\n"). The slice is
// valid until the next call. At the end of the input the error is io.EOF; a
// last line without an end counts as a line.
func (l *LineReader) Next() ([]byte, error) {
	for {
		line, err := l.r.ReadSlice('\n')
		l.Bytes += uint64(len(line))
		if len(line) > 0 {
			l.Lines++
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			var ok bool
			if line, ok, err = l.rest(line); !ok {
				l.TooLong++
				if err != nil {
					return nil, err
				}
				continue
			}
		}
		if err != nil && (len(line) == 0 || !errors.Is(err, io.EOF)) {
			return nil, err
		}
		return trimEnd(line), nil
	}
}

// rest reads on a line that exceeds the buffer; ok is false if it exceeds
// MaxLine too, and then it has been skipped.
func (l *LineReader) rest(head []byte) (line []byte, ok bool, err error) {
	l.long = append(l.long[:0], head...)
	ok = true
	for {
		part, err := l.r.ReadSlice('\n')
		l.Bytes += uint64(len(part))
		if ok = ok && len(l.long)+len(part) <= MaxLine+len("\r\n"); ok {
			l.long = append(l.long, part...)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return l.long, ok && len(trimEnd(l.long)) <= MaxLine, err
		}
	}
}

func trimEnd(line []byte) []byte {
	if n := len(line); n > 0 && line[n-1] == '\n' {
		line = line[:n-1]
	}
	if n := len(line); n > 0 && line[n-1] == '\r' {
		line = line[:n-1]
	}
	return line
}
