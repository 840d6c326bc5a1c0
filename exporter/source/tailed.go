package source

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
)

// turnChunks bounds how many chunks of one file are read in a pass.
const turnChunks = 64

// tailed is a file that is being followed.
type tailed struct {
	path string      // the name by which it was sighted last
	info fs.FileInfo // its identity
	file *os.File    // nil when it is done

	stream  uint64
	split   splitter
	inc     *incarnation
	offset  int64 // of the next byte to read, after decompression
	limit   int64 // how far to read in this pass
	leading bool  // nothing but NULs so far

	present bool // a name of the glob leads to it
	done    bool // its stream has ended and it is closed
	drained bool // the last turn reached its end, or can't go on for now
	grew    bool // something was read since the last poll
	quiet   int  // polls in a row without a name and without growth

	copied  relation
	archive bool
	unpack  unpacking
}

// sighted notes a name that leads to the file.
func (f *tailed) sighted(n name) {
	f.present = true
	if f.path != n.path {
		f.path = n.path
		f.limit = math.MaxInt64 // its name may lead to a successor already
	}
	if f.archive {
		f.unpack.sighted(f.info, n.info)
	}
	f.info = n.info
}

// add begins to follow the file behind a new name; nil if it can't be opened.
func (t *Tailer) add(n name) *tailed {
	f := &tailed{path: n.path, info: n.info, present: true, drained: true, limit: math.MaxInt64}
	f.archive = isArchive(n.path)
	if !t.open(f) {
		return nil
	}
	t.begin(f)
	old := !t.scanned && !t.opts.FromStart
	switch {
	case old && f.archive:
		f.done = true
		t.closeFile(f)
	case old:
		t.startAtEnd(f)
	case t.replaces(f):
		t.stats.rotations.Add(1)
	}
	t.files = append(t.files, f)
	t.log.Info("following", "path", f.path, "offset", f.offset)
	return f
}

// open opens the file by its name and takes the identity of what it got.
func (t *Tailer) open(f *tailed) bool {
	file, err := os.Open(f.path)
	if errors.Is(err, fs.ErrNotExist) {
		return false
	}
	var info fs.FileInfo
	if err == nil {
		t.stats.openFiles.Add(1)
		f.file = file
		info, err = file.Stat()
	}
	switch {
	case err != nil:
		t.failing.note(f.path, err)
	case os.SameFile(info, f.info):
		t.failing.clear(f.path)
		return true
	}
	// The name leads elsewhere by now: the next scan tells.
	t.closeFile(f)
	return false
}

func (t *Tailer) closeFile(f *tailed) {
	f.unpack.close()
	if f.file == nil {
		return
	}
	_ = f.file.Close() // opened for reading: nothing can be lost
	f.file = nil
	t.stats.openFiles.Add(-1)
}

// begin starts a new incarnation of the file at its start.
func (t *Tailer) begin(f *tailed) {
	f.inc = &incarnation{path: f.path, info: f.info}
	f.inc.sum.SetSeed(t.seed)
	f.stream = t.sink.queue.NewStream()
	f.split = splitter{max: t.opts.MaxLineBytes, passed: &f.inc.sum}
	f.offset, f.leading = 0, true
	f.copied = relation{}
}

// startAtEnd passes over what the file holds.
func (t *Tailer) startAtEnd(f *tailed) {
	f.copied.judged = true
	if err := t.jump(f, f.info.Size()); err != nil {
		f.offset = f.info.Size()
		t.failing.note(f.path, err)
	}
}

// read gives the file its turn and says whether it is at its end for now.
func (t *Tailer) read(ctx context.Context, f *tailed) (drained bool) {
	if f.done {
		return true
	}
	if f.archive {
		return t.readArchive(ctx, f)
	}
	if !f.copied.judged && !t.judge(f) {
		return true
	}
	for range turnChunks {
		if ctx.Err() != nil {
			return false
		}
		if f.truncated() {
			t.restart(f)
			return false
		}
		block := t.block[:max(0, min(t.room(f), f.limit-f.offset))]
		n, err := f.file.ReadAt(block, f.offset)
		if n > 0 {
			t.take(ctx, f, block[:n])
		}
		if err != nil && err != io.EOF {
			t.failing.note(f.path, err)
			return true
		}
		t.failing.clear(f.path)
		if n == 0 || err == io.EOF {
			return true
		}
	}
	return false
}

// room returns how much to read so that lines fill one item.
func (t *Tailer) room(f *tailed) int64 {
	room := max(chunkBytes-len(f.split.partial), chunkBytes/4)
	return int64(min(room, len(t.block)))
}

// take takes in what was read at the offset.
func (t *Tailer) take(ctx context.Context, f *tailed, block []byte) {
	f.grew = true
	f.inc.addHead(f.offset, block)
	f.offset += int64(len(block))
	if f.leading {
		block = f.skipNULs(block)
	}
	t.sink.feed(ctx, f.stream, &f.split, block)
	f.inc.to = f.offset - int64(len(f.split.partial))
}

// skipNULs passes over the hole that a truncated file begins with if its
// writer doesn't append but goes on at its old offset.
func (f *tailed) skipNULs(block []byte) []byte {
	text := bytes.TrimLeft(block, "\x00")
	f.split.pass(block[:len(block)-len(text)])
	f.leading = len(text) == 0
	return text
}

// truncated says whether what was read is no longer what the file begins
// with. An error is left to the read that follows.
func (f *tailed) truncated() bool {
	info, err := f.file.Stat()
	if err != nil {
		return false
	}
	if info.Size() < f.offset {
		return true
	}
	head := make([]byte, len(f.inc.head))
	n, err := f.file.ReadAt(head, 0)
	if err != nil && err != io.EOF {
		return false
	}
	return !bytes.Equal(head[:n], f.inc.head)
}

// restart reads a truncated file anew. Its unfinished last line has lost its
// end, so it is dropped.
func (t *Tailer) restart(f *tailed) {
	t.stats.truncations.Add(1)
	t.log.Info("file was truncated", "path", f.path, "offset", f.offset)
	if n := len(f.split.partial); n > 0 {
		t.stats.lines.Add(1)
		t.stats.lose(1, n)
	}
	t.sink.end(f.stream)
	t.remember(f.inc)
	t.begin(f)
	f.copied.judged = true
}

// rotated says whether the file was renamed and is unlikely to grow.
func (f *tailed) rotated() bool {
	return !f.archive && f.copied.judged && f.path != f.inc.path
}

// finish ends the file's stream and closes it, once.
func (t *Tailer) finish(ctx context.Context, f *tailed) {
	if f.done {
		return
	}
	f.done = true
	t.closeFile(f)
	t.log.Info("file has ended", "path", f.path)
	t.sink.finish(ctx, f.stream, &f.split)
	f.inc.to = f.offset
	t.remember(f.inc)
}

// replaces says whether the file's name led to another one before.
func (t *Tailer) replaces(f *tailed) bool {
	for _, other := range t.files {
		if other.inc.path == f.path {
			return true
		}
	}
	for _, inc := range t.history {
		if inc.path == f.path {
			return true
		}
	}
	return false
}

func isArchive(path string) bool {
	ext := filepath.Ext(path)
	return ext == ".gz" || ext == ".zst"
}
