package input

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

// buffer is the size of a LineReader's buffer, whose boundary the cases cross.
const buffer = 256 << 10

func TestLineReader(t *testing.T) {
	f := func(name, in string, want []string, numbers []uint64, tooLong uint64) {
		t.Helper()
		for _, slow := range []bool{false, true} {
			var r io.Reader = strings.NewReader(in)
			if slow && len(in) > MaxLine {
				continue
			}
			if slow {
				r = iotest.HalfReader(r)
			}
			l := NewLineReader(r)
			var got []string
			var at []uint64
			for {
				line, err := l.Next()
				if err != nil {
					if !errors.Is(err, io.EOF) {
						t.Fatalf("%s: %s", name, err)
					}
					break
				}
				got, at = append(got, string(line)), append(at, l.Lines)
			}
			if !slices.Equal(got, want) {
				t.Fatalf("%s: %d lines, or other ones; want %d", name, len(got), len(want))
			}
			if !slices.Equal(at, numbers) {
				t.Fatalf("%s: line numbers %d; want %d", name, at, numbers)
			}
			if l.TooLong != tooLong || l.Bytes != uint64(len(in)) {
				t.Fatalf("%s: TooLong %d, Bytes %d; want %d, %d", name, l.TooLong, l.Bytes, tooLong, len(in))
			}
			if _, err := l.Next(); !errors.Is(err, io.EOF) {
				t.Fatalf("%s: after the end: %v", name, err)
			}
		}
	}
	x := func(n int) string { return strings.Repeat("x", n) }

	f("empty", "", nil, nil, 0)
	f("lines", "a\nb\n", []string{"a", "b"}, []uint64{1, 2}, 0)
	f("no final newline", "a\nb", []string{"a", "b"}, []uint64{1, 2}, 0)
	f("blank lines", "\n\na\n", []string{"", "", "a"}, []uint64{1, 2, 3}, 0)
	f("CRLF", "a\r\n\r\nb\r\n", []string{"a", "", "b"}, []uint64{1, 2, 3}, 0)
	f("CR inside and at the end", "a\rb\n\r\r\nc\r", []string{"a\rb", "\r", "c"}, []uint64{1, 2, 3}, 0)
	f("NUL and invalid UTF-8", "\x00\xff\nb\n", []string{"\x00\xff", "b"}, []uint64{1, 2}, 0)
	for n := buffer - 3; n <= buffer+3; n++ {
		f("around the buffer", x(n)+"\nb\n", []string{x(n), "b"}, []uint64{1, 2}, 0)
		f("around the buffer, CRLF", x(n)+"\r\nb\r\n", []string{x(n), "b"}, []uint64{1, 2}, 0)
		f("around the buffer, no newline", x(n), []string{x(n)}, []uint64{1}, 0)
		f("around the buffer, second", "a\n"+x(n)+"\nb", []string{"a", x(n), "b"}, []uint64{1, 2, 3}, 0)
	}
	f("longest", x(MaxLine)+"\nb\n", []string{x(MaxLine), "b"}, []uint64{1, 2}, 0)
	f("longest, CRLF", x(MaxLine)+"\r\nb\r\n", []string{x(MaxLine), "b"}, []uint64{1, 2}, 0)
	f("longest, no newline", x(MaxLine), []string{x(MaxLine)}, []uint64{1}, 0)
	for _, n := range []int{MaxLine + 1, MaxLine + 2, MaxLine + 3, MaxLine + buffer} {
		f("too long", "a\n"+x(n)+"\nb\n", []string{"a", "b"}, []uint64{1, 3}, 1)
		f("too long, CRLF", "a\r\n"+x(n)+"\r\nb\r\n", []string{"a", "b"}, []uint64{1, 3}, 1)
		f("too long, no newline", "a\n"+x(n), []string{"a"}, []uint64{1}, 1)
	}
	f("several too long", x(MaxLine+1)+"\n"+x(MaxLine+1)+"\nc\n", []string{"c"}, []uint64{3}, 2)
}

// TestLineReader_Error keeps what came before an I/O error, and no half line.
func TestLineReader_Error(t *testing.T) {
	f := func(in string, want []string) {
		t.Helper()
		broken := errors.New("broken")
		l := NewLineReader(io.MultiReader(strings.NewReader(in), iotest.ErrReader(broken)))
		for _, w := range want {
			if line, err := l.Next(); err != nil || string(line) != w {
				t.Fatalf("Next: %q, %v; want %q", line, err, w)
			}
		}
		if line, err := l.Next(); !errors.Is(err, broken) {
			t.Fatalf("Next: %q, %v; want the reader's error", line, err)
		}
	}
	f("", nil)
	f("a\nb\n", []string{"a", "b"})
	f("a\nhalf", []string{"a"})
	f("a\n"+strings.Repeat("x", buffer+1), []string{"a"})
	f("a\n"+strings.Repeat("x", MaxLine+buffer), []string{"a"})
}
