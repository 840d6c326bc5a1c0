package input

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/klauspost/compress/zstd"
)

func gzipped(t *testing.T, s string) string {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := io.WriteString(z, s); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func zstded(t *testing.T, s string) string {
	t.Helper()
	z, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	return string(z.EncodeAll([]byte(s), nil))
}

// folder returns a new folder with the named files.
func folder(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// read returns every line as name:number:text, and every break as
// name:number!error, both with the folder left out.
func read(t *testing.T, dir string, s *Set) []string {
	t.Helper()
	var got []string
	short := func(at Position) string { return strings.TrimPrefix(at.String(), dir+string(filepath.Separator)) }
	err := s.Each(context.Background(), func(_ uint64, at Position, line []byte) {
		got = append(got, short(at)+":"+string(line))
	}, func(at Position, err error) {
		got = append(got, short(at)+"!"+err.Error())
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestOpen(t *testing.T) {
	long := strings.Repeat("0123456789abcdef\n", 20_000)
	broken := gzipped(t, "a\n") + gzipped(t, long)
	skippable := "\x50\x2a\x4d\x18" + string(binary.LittleEndian.AppendUint32(nil, 4)) + "abcd"
	dir := folder(t, map[string]string{
		"a.log": "a1\na2\n", "b.log": "b1", "empty": "", "one": "x", "stdin": "file\n",
		"a.gz": gzipped(t, "z1\nz2\n"), "a.zst": zstded(t, "s1\ns2\n"), "skip.zst": skippable + zstded(t, "s1\n"),
		"plain.gz": "no gzip\n", "gzip.log": gzipped(t, "z1\n"),
		"members.gz": gzipped(t, "m1\nm") + gzipped(t, "2\nm3\n"), "frames.zst": zstded(t, "f1\nf") + zstded(t, "2\n"),
		"[x].log": "brackets\n", "emptied.gz": gzipped(t, ""),
		"garbage.gz": gzipped(t, "g1\n") + "garbage garbage", "cut.gz": broken[:len(broken)-9], "cut.zst": zstded(t, "c1\nc2\n")[:12],
		"sum.gz": corrupt(gzipped(t, "s1\n"), 8),
	})
	in := func(names ...string) []string {
		for i, n := range names {
			if n != Stdin {
				names[i] = filepath.Join(dir, n)
			}
		}
		return names
	}
	f := func(args []string, stdin string, files int, want ...string) {
		t.Helper()
		for _, r := range []io.Reader{strings.NewReader(stdin), iotest.OneByteReader(strings.NewReader(stdin))} {
			s, err := Open(args, r)
			if err != nil {
				t.Fatal(err)
			}
			if s.Len() != files {
				t.Fatalf("%d inputs; want %d", s.Len(), files)
			}
			if got := read(t, dir, s); !slices.Equal(got, want) {
				t.Fatalf("got %q; want %q", got, want)
			}
			if slices.Contains(args, Stdin) {
				if s.TotalBytes != 0 {
					t.Fatalf("TotalBytes %d with standard input", s.TotalBytes)
				}
			} else if s.TotalBytes != s.ReadBytes() && !strings.Contains(strings.Join(want, ""), "!") {
				t.Fatalf("TotalBytes %d, ReadBytes %d", s.TotalBytes, s.ReadBytes())
			}
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}

	f(in("a.log"), "", 1, "a.log:1:a1", "a.log:2:a2")
	f(in("b.log", "a.log"), "", 2, "b.log:1:b1", "a.log:1:a1", "a.log:2:a2")
	f(in("?.log"), "", 2, "a.log:1:a1", "a.log:2:a2", "b.log:1:b1")
	f(in("[ab].log", "a*.log", "b.log"), "", 2, "a.log:1:a1", "a.log:2:a2", "b.log:1:b1")
	f(in("[x].log"), "", 1, "[x].log:1:brackets") // a name before it is a pattern
	f(in("empty"), "", 1)
	f(in("one"), "", 1, "one:1:x")
	f(in("stdin"), "", 1, "stdin:1:file")

	// compression is told by content
	f(in("a.gz"), "", 1, "a.gz:1:z1", "a.gz:2:z2")
	f(in("a.zst"), "", 1, "a.zst:1:s1", "a.zst:2:s2")
	f(in("skip.zst"), "", 1, "skip.zst:1:s1")
	f(in("plain.gz"), "", 1, "plain.gz:1:no gzip")
	f(in("gzip.log"), "", 1, "gzip.log:1:z1")
	f(in("members.gz"), "", 1, "members.gz:1:m1", "members.gz:2:m2", "members.gz:3:m3")
	f(in("frames.zst"), "", 1, "frames.zst:1:f1", "frames.zst:2:f2")
	f(in("emptied.gz"), "", 1)

	// standard input
	f(in("-"), "i1\ni2", 1, "stdin:1:i1", "stdin:2:i2")
	f(in("-", "-"), "i1", 1, "stdin:1:i1")
	f(in("-"), "", 1)
	f(in("-"), gzipped(t, "i1\n"), 1, "stdin:1:i1")
	f(in("-"), zstded(t, "i1\n"), 1, "stdin:1:i1")
	f(in("a.log", "-"), "i1\n", 2, "a.log:1:a1", "a.log:2:a2", "stdin:1:i1")

	// inputs that break off: the others go on
	f(in("garbage.gz", "b.log"), "", 2, "garbage.gz:1:g1", "garbage.gz:1!gzip: invalid header", "b.log:1:b1")
	f(in("sum.gz"), "", 1, "sum.gz:1:s1", "sum.gz:1!gzip: invalid checksum")
	f(in("cut.zst", "b.log"), "", 2, "cut.zst:0!unexpected EOF", "b.log:1:b1")
	s, err := Open(in("cut.gz"), nil)
	if err != nil {
		t.Fatal(err)
	}
	got := read(t, dir, s)
	if len(got) < 1000 || got[1] != "cut.gz:2:0123456789abcdef" || !strings.HasSuffix(got[len(got)-1], "!unexpected EOF") {
		t.Fatalf("%d lines, the last %q", len(got), got[len(got)-1])
	}
	if lines, tooLong, n := s.Counted(); lines != 20_001 || tooLong != 0 || n != uint64(len("a\n"+long)) {
		t.Fatalf("Counted: %d, %d, %d", lines, tooLong, n)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// corrupt flips a bit of the n-th byte from the end.
func corrupt(s string, n int) string {
	b := []byte(s)
	b[len(b)-n] ^= 1
	return string(b)
}

func TestOpen_Same(t *testing.T) {
	dir := folder(t, map[string]string{"a.log": "a1\n", "copy.log": "a1\n"})
	a := filepath.Join(dir, "a.log")
	for _, err := range []error{
		os.Symlink(a, filepath.Join(dir, "symlink.log")),
		os.Link(a, filepath.Join(dir, "hard.log")),
		os.Symlink(dir, filepath.Join(dir, "dir")),
	} {
		if err != nil {
			t.Skip(err)
		}
	}
	f := func(want int, names ...string) {
		t.Helper()
		for i, n := range names {
			names[i] = dir + "/" + n
		}
		s, err := Open(names, nil)
		if err != nil {
			t.Fatal(err)
		}
		if s.Len() != want || s.TotalBytes != int64(3*want) {
			t.Fatalf("%d inputs of %d bytes; want %d", s.Len(), s.TotalBytes, want)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
	f(1, "a.log", "a.log")
	f(1, "a.log", "./a.log", "dir/a.log")
	f(1, "symlink.log", "a.log")
	f(1, "a.log", "hard.log", "symlink.log")
	f(1, "a*.log", "a.log")
	f(2, "a.log", "copy.log") // the same content, another file
	f(2, "*.log")
}

func TestOpen_Failure(t *testing.T) {
	dir := folder(t, map[string]string{"a.log": "a\n", "b.log": "b\n", "short.gz": "\x1f\x8b\x08", "bad.gz": "\x1f\x8bxxxxxxxxxxxx", "secret.log": "s\n"})
	if err := os.Chmod(filepath.Join(dir, "secret.log"), 0); err != nil {
		t.Fatal(err)
	}
	f := func(want string, is error, names ...string) {
		t.Helper()
		for i, n := range names {
			if n != Stdin {
				names[i] = filepath.Join(dir, n)
			}
		}
		s, err := Open(names, iotest.ErrReader(errors.New("no terminal")))
		if err == nil {
			t.Fatalf("%d inputs; want an error", s.Len())
		}
		if got := strings.ReplaceAll(err.Error(), dir, "D"); got != want {
			t.Fatalf("got  %s\nwant %s", got, want)
		}
		if is != nil && !errors.Is(err, is) {
			t.Fatalf("%v is not %v", err, is)
		}
	}
	f("open D/missing.log: no such file or directory", fs.ErrNotExist, "missing.log")
	f("open D/missing.log: no such file or directory", fs.ErrNotExist, "a.log", "missing.log", "b.log")
	f("D/*.txt: no file matches the pattern", nil, "a.log", "*.txt")
	f("D/[: bad pattern: syntax error in pattern", filepath.ErrBadPattern, "[")
	f("D: is a directory; name its files, for example D/*.log", nil, "a.log", ".")
	f("D/short.gz: unexpected EOF", io.ErrUnexpectedEOF, "a.log", "short.gz")
	f("D/bad.gz: gzip: invalid header", gzip.ErrHeader, "bad.gz")
	f("stdin: no terminal", nil, "a.log", Stdin)
	if os.Getuid() != 0 {
		f("open D/secret.log: permission denied", fs.ErrPermission, "secret.log")
	}
}
