package input

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// Stdin is the argument that stands for standard input.
const Stdin = "-"

// Set is an ordered list of opened inputs.
type Set struct {
	files []*file
	// TotalBytes is the size of all files as stored; 0 if it includes standard
	// input.
	TotalBytes int64
	read       atomic.Int64
}

type file struct {
	name    string
	closers []io.Closer
	lines   *LineReader
}

// Open opens files: names, globs, and "-" for stdin. A file that several
// arguments name is read once. Opening fails as a whole, naming the argument,
// if one of them matches nothing or can't be opened.
func Open(args []string, stdin io.Reader) (*Set, error) {
	s := &Set{}
	names, err := expand(args)
	if err != nil {
		return nil, err
	}
	var seen []os.FileInfo
	endless := false
	for _, name := range names {
		if name == Stdin {
			endless = true
			if err := s.add("stdin", stdin, nil); err != nil {
				return nil, errors.Join(err, s.Close())
			}
			continue
		}
		info, err := s.openFile(name, seen)
		if err != nil {
			return nil, errors.Join(err, s.Close())
		}
		if info != nil {
			seen = append(seen, info)
			s.TotalBytes += info.Size()
		}
	}
	if endless {
		s.TotalBytes = 0
	}
	return s, nil
}

// expand resolves globs and drops repeated names.
func expand(args []string) ([]string, error) {
	var names []string
	for _, a := range args {
		matches := []string{a}
		if _, err := os.Lstat(a); err != nil && a != Stdin && strings.ContainsAny(a, "*?[") {
			if matches, err = filepath.Glob(a); err != nil {
				return nil, fmt.Errorf("%s: bad pattern: %w", a, err)
			}
			if len(matches) == 0 {
				return nil, fmt.Errorf("%s: no file matches the pattern", a)
			}
		}
		for _, m := range matches {
			if !slices.Contains(names, m) {
				names = append(names, m)
			}
		}
	}
	return names, nil
}

// openFile adds a file, unless it is one of seen under another name.
func (s *Set) openFile(name string, seen []os.FileInfo) (os.FileInfo, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err // os names the file and the operation
	}
	info, err := f.Stat()
	switch {
	case err != nil:
	case info.IsDir():
		err = fmt.Errorf("%s: is a directory; name its files, for example %s", name, filepath.Join(name, "*.log"))
	case slices.ContainsFunc(seen, func(i os.FileInfo) bool { return os.SameFile(i, info) }):
		return nil, f.Close()
	default:
		if err = s.add(name, f, f); err == nil {
			return info, nil
		}
	}
	return nil, errors.Join(err, f.Close())
}

// add appends an input that owner closes, if it isn't nil; compression is told
// by content, not by name.
func (s *Set) add(name string, r io.Reader, owner io.Closer) error {
	f := &file{name: name}
	if owner != nil {
		f.closers = append(f.closers, owner)
	}
	plain, closer, err := decompress(&counter{r: r, n: &s.read})
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if closer != nil {
		f.closers = append(f.closers, closer)
	}
	f.lines = NewLineReader(plain)
	s.files = append(s.files, f)
	return nil
}

// decompress recognises gzip and zstd by their first bytes. A zstd file may
// begin with a skippable frame, as pzstd's do.
func decompress(r io.Reader) (io.Reader, io.Closer, error) {
	head := make([]byte, 4)
	n, err := io.ReadFull(r, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, nil, err
	}
	whole := io.MultiReader(strings.NewReader(string(head[:n])), r)
	switch {
	case n >= 2 && head[0] == 0x1f && head[1] == 0x8b:
		z, err := gzip.NewReader(whole)
		return z, nil, err
	case n == 4 && (string(head) == "\x28\xb5\x2f\xfd" || head[0]&0xf0 == 0x50 && string(head[1:]) == "\x2a\x4d\x18"):
		z, err := zstd.NewReader(whole, zstd.WithDecoderConcurrency(1))
		if err != nil {
			return nil, nil, err
		}
		return z, z.IOReadCloser(), nil
	}
	return whole, nil, nil
}

// Len returns how many inputs are open.
func (s *Set) Len() int { return len(s.files) }

// ReadBytes returns how many stored bytes have been read. It may be called
// while another goroutine reads.
func (s *Set) ReadBytes() int64 { return s.read.Load() }

// Close closes every file.
func (s *Set) Close() error {
	var errs []error
	for _, f := range s.files {
		for _, c := range slices.Backward(f.closers) {
			errs = append(errs, c.Close())
		}
	}
	s.files = nil
	return errors.Join(errs...)
}

type counter struct {
	r io.Reader
	n *atomic.Int64
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n.Add(int64(n))
	return n, err
}
