package dynamo

import (
	"encoding/binary"
	"errors"
	"math"

	"github.com/go-json-experiment/json/jsontext"
)

// maxTraceDepth bounds the nesting of values that are skipped, as serde_json,
// which writes the traces, does when it reads.
const maxTraceDepth = 128

var (
	errNotInteger = errors.New("not an integer from 0 to 2^64-1")
	errTooDeep    = errors.New("nested too deeply")
)

// traceScanner walks one JSON text and accepts nothing but JSON. Positions are
// never beyond the text.
type traceScanner struct {
	b []byte
	i int
}

// err tells a text that ends too early from one that is wrong.
func (s *traceScanner) err() error {
	if s.i >= len(s.b) {
		return errTruncated
	}
	return errMalformed
}

// wrong is the error for a value of another type than wanted.
func (s *traceScanner) wrong(wanted string) error {
	if s.i >= len(s.b) {
		return errTruncated
	}
	return errors.New("not " + wanted)
}

func (s *traceScanner) space() {
	for s.i < len(s.b) && s.b[s.i] <= ' ' {
		switch s.b[s.i] {
		case ' ', '\t', '\r', '\n':
			s.i++
		default:
			return
		}
	}
}

// peek returns the next byte that isn't white space, 0 at the end.
func (s *traceScanner) peek() byte {
	s.space()
	if s.i < len(s.b) {
		return s.b[s.i]
	}
	return 0
}

// next consumes c if it comes next.
func (s *traceScanner) next(c byte) bool {
	if s.peek() != c || s.i >= len(s.b) {
		return false
	}
	s.i++
	return true
}

func (s *traceScanner) expect(c byte) error {
	if !s.next(c) {
		return s.err()
	}
	return nil
}

func (s *traceScanner) literal(word string) error {
	for i := range len(word) {
		if s.i >= len(s.b) || s.b[s.i] != word[i] {
			return s.err()
		}
		s.i++
	}
	return nil
}

// text consumes a string and returns what stands between its quotes.
func (s *traceScanner) text() (raw []byte, escaped bool, err error) {
	if s.peek() != '"' {
		return nil, false, s.wrong("a string")
	}
	start := s.i + 1
	b, i := s.b, start
	for ; i < len(b); i++ {
		c := b[i]
		if c == '"' {
			s.i = i + 1
			return b[start:i], escaped, nil
		}
		if c < ' ' {
			return nil, false, errMalformed
		}
		if c == '\\' {
			escaped = true
			s.i = i
			if err := s.escape(); err != nil {
				return nil, false, err
			}
			i = s.i
		}
	}
	s.i = i
	return nil, false, errTruncated
}

// escape goes to the last byte of an escape sequence.
func (s *traceScanner) escape() error {
	s.i++
	if s.i >= len(s.b) {
		return errTruncated
	}
	switch s.b[s.i] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return nil
	case 'u':
	default:
		return errMalformed
	}
	for range 4 {
		s.i++
		if s.i >= len(s.b) {
			return errTruncated
		}
		if c := s.b[s.i]; c-'0' > 9 && (c|0x20)-'a' > 5 {
			return errMalformed
		}
	}
	return nil
}

// unquoteTrace resolves the escape sequences of a string's content.
func unquoteTrace(raw []byte) ([]byte, error) {
	quoted := append(append([]byte{'"'}, raw...), '"')
	out, err := jsontext.AppendUnquote(nil, quoted)
	if err != nil {
		return nil, errMalformed
	}
	return out, nil
}

// uint consumes a number that must be written as a plain integer. It never
// goes through a float, which is exact up to 2^53 only.
func (s *traceScanner) uint() (uint64, error) {
	s.space()
	const safe = 19 // digits that always fit
	b, start, v := s.b, s.i, uint64(0)
	i := start
	for i < start+16 && i+8 <= len(b) {
		d, ok := eightDigits(b[i:])
		if !ok {
			break
		}
		v = v*1e8 + d
		i += 8
	}
	for ; i < len(b); i++ {
		d := uint64(b[i]) - '0'
		if d > 9 {
			break
		}
		if i-start >= safe && (i-start > safe || v > math.MaxUint64/10 || v == math.MaxUint64/10 && d > math.MaxUint64%10) {
			return 0, errNotInteger
		}
		v = v*10 + d
	}
	s.i = i
	switch {
	case i == start && i >= len(b):
		return 0, errTruncated
	case i == start:
		return 0, errNotInteger
	case b[start] == '0' && i-start > 1:
		return 0, errMalformed
	case i < len(b) && (b[i] == '.' || b[i]|0x20 == 'e'):
		return 0, errNotInteger
	}
	return v, nil
}

// eightDigits reads the first 8 bytes if all are digits, two, four and eight of
// them at a time.
func eightDigits(b []byte) (uint64, bool) {
	const high, six, ones = 0xf0f0f0f0f0f0f0f0, 0x0606060606060606, 0x3030303030303030
	x := binary.LittleEndian.Uint64(b)
	if x&high != ones || (x+six)&high != ones {
		return 0, false
	}
	x -= ones
	x = (x*10 + x>>8) & 0x00ff00ff00ff00ff
	x = (x*100 + x>>16) & 0x0000ffff0000ffff
	return (x*10000 + x>>32) & 0xffffffff, true
}

// number consumes a number and returns its text.
func (s *traceScanner) number() ([]byte, error) {
	s.space()
	start := s.i
	if s.i < len(s.b) && s.b[s.i] == '-' {
		s.i++
	}
	if s.i < len(s.b) && s.b[s.i] == '0' {
		s.i++
	} else if s.digits() == 0 {
		return nil, s.wrong("a number")
	}
	if s.i < len(s.b) && s.b[s.i] == '.' {
		s.i++
		if s.digits() == 0 {
			return nil, s.err()
		}
	}
	if s.i < len(s.b) && s.b[s.i]|0x20 == 'e' {
		s.i++
		if s.i < len(s.b) && (s.b[s.i] == '+' || s.b[s.i] == '-') {
			s.i++
		}
		if s.digits() == 0 {
			return nil, s.err()
		}
	}
	return s.b[start:s.i], nil
}

func (s *traceScanner) digits() (n int) {
	for s.i < len(s.b) && s.b[s.i]-'0' <= 9 {
		s.i++
		n++
	}
	return n
}

// skip consumes any value.
func (s *traceScanner) skip(depth int) (err error) {
	switch s.peek() {
	case '{', '[':
		if depth >= maxTraceDepth {
			return errTooDeep
		}
		return s.skipNested(depth + 1)
	case '"':
		_, _, err = s.text()
	case 't':
		err = s.literal("true")
	case 'f':
		err = s.literal("false")
	case 'n':
		err = s.literal("null")
	default:
		if _, err = s.number(); err != nil {
			err = s.err()
		}
	}
	return err
}

// skipNested consumes an object or array.
func (s *traceScanner) skipNested(depth int) error {
	isObject, end := s.b[s.i] == '{', s.b[s.i]+2 // '}' and ']' are two behind
	s.i++
	if s.next(end) {
		return nil
	}
	for {
		if isObject {
			if _, _, err := s.text(); err != nil {
				return s.err()
			}
			if err := s.expect(':'); err != nil {
				return err
			}
		}
		if err := s.skip(depth); err != nil {
			return err
		}
		if s.next(',') {
			continue
		}
		return s.expect(end)
	}
}
