package source

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// maxZstdWindow bounds the memory that a frame may ask for; it is what
// `zstd --long` needs.
const maxZstdWindow = 128 << 20

// unpacking is how far a compressed file has got. Such a file is written by
// somebody else at the same time, perhaps: it is read once it has settled, and if it proves incomplete, it is continued once it has changed and settled
// again.
type unpacking struct {
	last    fs.FileInfo // as it was in the poll before; nil at first
	settled bool
	stuck   bool          // it can't be decoded as it is
	reader  io.ReadCloser // nil while it isn't being read
}

func (u *unpacking) sighted(before, now fs.FileInfo) {
	if !alike(before, now) {
		u.stuck = false
	}
	u.settled = u.last != nil && alike(u.last, now)
}

func alike(a, b fs.FileInfo) bool {
	return a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

func (u *unpacking) close() {
	if u.reader != nil {
		closeQuietly(u.reader)
		u.reader = nil
	}
}

// readArchive is [Tailer.read] for compressed files.
func (t *Tailer) readArchive(ctx context.Context, f *tailed) (drained bool) {
	u := &f.unpack
	if u.stuck || f.present && !u.settled {
		return true
	}
	if u.reader == nil && !t.unpack(f) {
		return true
	}
	for range turnChunks {
		if ctx.Err() != nil {
			return false
		}
		n, err := fill(u.reader, t.block[:t.room(f)])
		if n > 0 {
			t.take(ctx, f, t.block[:n])
		}
		switch {
		case err == io.EOF:
			t.finish(ctx, f)
			return true
		case err != nil:
			t.stick(f, err)
			return true
		}
	}
	return false
}

// unpack sets the reader to the file's offset. It returns false if it can't,
// or if it isn't known yet whether there is anything new in the file.
func (t *Tailer) unpack(f *tailed) (ready bool) {
	if f.copied.origin != nil && !f.copied.origin.over {
		return false
	}
	ready, err := t.position(f)
	if err != nil {
		t.stick(f, err)
	}
	return ready && err == nil
}

func (t *Tailer) position(f *tailed) (ready bool, err error) {
	if !f.copied.judged {
		if ready, err := t.relate(f); !ready || err != nil {
			return false, err
		}
	}
	r, err := f.content()
	if err != nil {
		return false, err
	}
	f.unpack.reader = r
	_, err = io.CopyN(io.Discard, r, f.offset)
	return true, ignoreEOF(err)
}

// stick gives up on the file until it changes.
func (t *Tailer) stick(f *tailed, err error) {
	t.failing.note(f.path, err)
	f.unpack.stuck = true
	f.unpack.close()
}

func decompress(path string, r io.Reader) (io.ReadCloser, error) {
	if filepath.Ext(path) == ".gz" {
		z, err := gzip.NewReader(bufio.NewReaderSize(r, chunkBytes/4))
		if err == io.EOF {
			err = io.ErrUnexpectedEOF // an empty file is no gzip file
		}
		if err != nil {
			return nil, fmt.Errorf("gzip: %w", err)
		}
		return z, nil
	}
	z, err := zstd.NewReader(r, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxZstdWindow))
	if err != nil {
		return nil, fmt.Errorf("zstd: %w", err)
	}
	return z.IOReadCloser(), nil
}
