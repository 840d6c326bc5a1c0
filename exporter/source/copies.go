package source

import (
	"bytes"
	"cmp"
	"errors"
	"hash/maphash"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const (
	// headBytes is how much of a file's beginning is remembered.
	headBytes = 1 << 10
	// maxHistory bounds how many finished incarnations are remembered.
	maxHistory = 256
)

// incarnation is the content of a file from one truncation to the next, as far
// as it was read. It serves to recognise copies.
type incarnation struct {
	path string // its first name
	info fs.FileInfo
	head []byte // its first bytes, up to headBytes
	// sum hashes the bytes from `from` up to `to`, both offsets after
	// decompression. What stands before `from` was not read.
	sum      maphash.Hash
	from, to int64
	over     bool
}

// addHead completes the head with what was read at the offset.
func (inc *incarnation) addHead(offset int64, block []byte) {
	if inc.from == 0 && offset == int64(len(inc.head)) {
		inc.head = append(inc.head, block[:min(len(block), headBytes-len(inc.head))]...)
	}
}

// remember ends an incarnation and keeps it in the history.
func (t *Tailer) remember(inc *incarnation) {
	inc.over = true
	if inc.to == 0 {
		return
	}
	t.history = append(t.history, inc)
	if len(t.history) > maxHistory {
		t.history = slices.Delete(t.history, 0, 1)
	}
}

// mayBeCopy says whether a log rotation could have given the path to a copy of
// that incarnation: such names extend the name of the log ("app.log" becomes
// "app.log.1", "app-20261130.log", "app.log.2.gz"), in whatever directory.
func (inc *incarnation) mayBeCopy(path string) bool {
	original, name := filepath.Base(inc.path), filepath.Base(path)
	stem, _, _ := strings.Cut(original, ".")
	return len(name) > len(original) && strings.HasPrefix(name, stem)
}

// relation is what is known about a file being a copy of one that was read.
type relation struct {
	// judged says that it is settled from where the file is read.
	judged bool
	// of is a followed file whose content, when it was origin, begins with
	// everything that was compared so far. While it is being read, a log
	// rotation may still be copying.
	of       *tailed
	origin   *incarnation
	compared int64
}

// judge finds out from where to read a new file: from its start, unless it is
// a copy. It returns false as long as it can't be told.
func (t *Tailer) judge(f *tailed) (ready bool) {
	ready, err := t.relate(f)
	if err != nil {
		t.failing.note(f.path, err)
		return false
	}
	return ready
}

func (t *Tailer) relate(f *tailed) (ready bool, err error) {
	info, err := f.file.Stat()
	if err != nil || info.Size() == 0 {
		return false, err
	}
	f.info = info
	if f.copied.origin != nil {
		return t.relateAgain(f)
	}
	inc, err := t.finished(f)
	if err != nil {
		return false, err
	}
	if inc != nil {
		return true, t.resume(f, inc, inc.to)
	}
	for _, of := range t.files {
		wait, err := t.compare(f, of)
		if wait || err != nil {
			return false, err
		}
	}
	f.copied.judged = true
	return true, nil
}

// relateAgain looks again at a file that seemed to be a copy of one that was
// still followed.
func (t *Tailer) relateAgain(f *tailed) (ready bool, err error) {
	r := &f.copied
	if !r.origin.over {
		wait, err := t.compare(f, r.of)
		if err == nil && !wait {
			*r = relation{judged: true}
		}
		return !wait, err
	}
	proven, err := t.begins(f, r.origin)
	switch {
	case err != nil:
		return false, err
	case proven:
		return true, t.resume(f, r.origin, r.origin.to)
	case f.archive:
		return true, t.resume(f, r.origin, math.MaxInt64)
	case f.info.Size() < r.origin.to:
		return true, t.resume(f, r.origin, f.info.Size())
	}
	*r = relation{judged: true}
	return true, nil
}

// compare says whether f, so far, is a copy of the followed file. It also says
// so while that file's truncation is yet to be dealt with.
func (t *Tailer) compare(f, of *tailed) (copied bool, err error) {
	if of == f || of.archive || of.file == nil || of.copied.origin != nil || !of.inc.mayBeCopy(f.path) {
		return false, nil
	}
	a, err := f.content()
	if err != nil {
		return false, err
	}
	defer closeQuietly(a)
	compared := int64(0)
	if !f.archive {
		compared = f.copied.compared
		a = io.NopCloser(io.NewSectionReader(f.file, compared, f.info.Size()-compared))
	}
	n, same, err := beginsWith(io.NewSectionReader(of.file, compared, math.MaxInt64-compared), a)
	if err != nil {
		return false, err
	}
	if !same {
		return of.truncated(), nil
	}
	f.copied = relation{of: of, origin: of.inc, compared: compared + n}
	return true, nil
}

// beginsWith says whether whole begins with all of part, n bytes long.
func beginsWith(whole, part io.Reader) (n int64, same bool, err error) {
	a, b := make([]byte, chunkBytes/4), make([]byte, chunkBytes/4)
	for {
		na, err := fill(part, a)
		if err != nil && err != io.EOF {
			return n, false, err
		}
		nb, errWhole := fill(whole, b[:na])
		if errWhole != nil && errWhole != io.EOF {
			return n, false, errWhole
		}
		if !bytes.Equal(a[:na], b[:nb]) {
			return n, false, nil
		}
		n += int64(na)
		if err == io.EOF {
			return n, true, nil
		}
	}
}

// finished returns the longest finished incarnation that the file begins with;
// nil if there is none.
func (t *Tailer) finished(f *tailed) (*incarnation, error) {
	byLength := slices.SortedFunc(slices.Values(t.history), func(a, b *incarnation) int {
		return cmp.Compare(b.to, a.to)
	})
	for _, inc := range byLength {
		if !inc.mayBeCopy(f.path) && !os.SameFile(inc.info, f.info) {
			continue
		}
		if same, err := t.begins(f, inc); same || err != nil {
			return inc, err
		}
	}
	return nil, nil
}

// begins says whether the file begins with what was read of the incarnation.
func (t *Tailer) begins(f *tailed, inc *incarnation) (bool, error) {
	r, err := f.content()
	if err != nil {
		return false, err
	}
	defer closeQuietly(r)
	head := make([]byte, len(inc.head))
	n, err := fill(r, head)
	if !bytes.Equal(head[:n], inc.head) {
		return false, ignoreEOF(err)
	}
	var sum maphash.Hash
	sum.SetSeed(t.seed)
	all := io.MultiReader(bytes.NewReader(head), r)
	if _, err := io.CopyN(io.Discard, all, inc.from); err != nil {
		return false, ignoreEOF(err)
	}
	if _, err := io.CopyN(&sum, all, inc.to-inc.from); err != nil {
		return false, ignoreEOF(err)
	}
	return sum.Sum64() == inc.sum.Sum64(), nil
}

// resume makes the file be read from that offset only, since it continues the
// incarnation: as a copy of it or, if it is the same file, having grown after
// it was finished.
func (t *Tailer) resume(f *tailed, inc *incarnation, offset int64) error {
	if err := t.jump(f, offset); err != nil {
		return err
	}
	f.copied = relation{judged: true}
	if !os.SameFile(inc.info, f.info) {
		t.stats.copies.Add(1)
		t.log.Info("skipping what was read under another name", "path", f.path, "other", inc.path)
	}
	return nil
}

// content returns what the file holds, decompressed, from its start.
func (f *tailed) content() (io.ReadCloser, error) {
	if f.archive {
		return decompress(f.path, io.NewSectionReader(f.file, 0, math.MaxInt64))
	}
	return io.NopCloser(io.NewSectionReader(f.file, 0, f.info.Size())), nil
}

// jump passes over what stands before the offset. If that is not the end of a
// line, the rest of the line is passed over too.
func (t *Tailer) jump(f *tailed, offset int64) error {
	r, err := f.content()
	if err != nil {
		return err
	}
	defer closeQuietly(r)
	head := make([]byte, min(offset, headBytes))
	n, err := fill(r, head)
	if err != nil && err != io.EOF {
		return err
	}
	f.inc.head = head[:n]
	f.inc.from, f.inc.to, f.offset = offset, offset, offset
	f.leading = false
	var last [1]byte
	if !f.archive && offset > 0 {
		if _, err := f.file.ReadAt(last[:], offset-1); err != nil {
			return err
		}
		f.split.skipping = last[0] != '\n'
	}
	return nil
}

// fill reads until p is full or the reader returns an error. Unlike
// io.ReadFull it returns the reader's own error, so that a file that was cut
// off can be told from one that has ended.
func fill(r io.Reader, p []byte) (n int, err error) {
	for n < len(p) && err == nil {
		var m int
		m, err = r.Read(p[n:])
		n += m
	}
	return n, err
}

func ignoreEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

// closeQuietly closes what was only read from: nothing can be lost.
func closeQuietly(c io.Closer) { _ = c.Close() }
