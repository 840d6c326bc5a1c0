package source

import (
	"io"
	"strings"
	"testing"
)

func TestSplitter(t *testing.T) {
	f := func(blocks []string, wantLines, wantRest string, wantTooLong int) {
		t.Helper()
		var passed strings.Builder
		s := splitter{max: 8, passed: &passed}
		var lines strings.Builder
		tooLong := 0
		for _, b := range blocks {
			got, n := s.feed([]byte(b))
			lines.Write(got)
			tooLong += n
			if len(s.partial) > s.max {
				t.Errorf("%q: holds %d bytes", blocks, len(s.partial))
			}
		}
		rest := string(s.rest())
		if lines.String() != wantLines || rest != wantRest || tooLong != wantTooLong {
			t.Errorf("%q: lines %q, rest %q, %d too long; want %q, %q, %d",
				blocks, lines.String(), rest, tooLong, wantLines, wantRest, wantTooLong)
		}
		if passed.String() != strings.Join(blocks, "") {
			t.Errorf("%q: passed %q", blocks, passed.String())
		}
	}
	f([]string{"a\nb\n"}, "a\nb\n", "", 0)
	f([]string{"a\nb", "c\n"}, "a\nbc\n", "", 0)
	f([]string{"a", "b", "c"}, "", "abc", 0)
	f([]string{"a\r", "\nb\r\n"}, "a\r\nb\r\n", "", 0)
	f([]string{"\n\n", "\n"}, "\n\n\n", "", 0)
	f([]string{"1234567\n"}, "1234567\n", "", 0)
	f([]string{"1234", "567\n"}, "1234567\n", "", 0)
	f([]string{"1234", "5678\nx\ny"}, "x\n", "y", 1)
	f([]string{"12345678", "9", "9", "9\nx\n"}, "x\n", "", 1)
	f([]string{"a\n123456", "789", "0\nb\n"}, "a\nb\n", "", 1)
	f([]string{"12345678", "9", "\n12345678", "\n"}, "", "", 2)
	f([]string{"\x00\xff\n\x80", "\n"}, "\x00\xff\n\x80\n", "", 0)
}

func FuzzSplitter(f *testing.F) {
	f.Add("a\nbb\r\nccccccccccccccccc\nd", uint8(3))
	f.Fuzz(func(t *testing.T, text string, step uint8) {
		const limit = 16
		s := splitter{max: limit, passed: io.Discard}
		size := int(step)%limit + 1
		var got strings.Builder
		for rest := text; rest != ""; {
			n := min(size, len(rest))
			lines, _ := s.feed([]byte(rest[:n]))
			got.Write(lines)
			rest = rest[n:]
		}
		var want strings.Builder
		for line := range strings.Lines(text) {
			if len(line) <= limit && strings.HasSuffix(line, "\n") {
				want.WriteString(line)
			}
		}
		if got.String() != want.String() {
			t.Errorf("%q in steps of %d: %q, want %q", text, size, got.String(), want.String())
		}
	})
}
