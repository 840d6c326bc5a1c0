package source

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"
)

// rig is a Tailer in a directory of its own whose polls the test makes.
type rig struct {
	*testing.T
	dir    string
	queue  *Queue
	stats  *Stats
	tailer *Tailer
	// lines are all lines delivered so far, streams those of each stream.
	lines   []string
	streams map[uint64][]string
	ended   map[uint64]bool
}

// newRig has made the first poll already, on the empty directory.
func newRig(t *testing.T, glob string, opts FileOptions) *rig {
	t.Helper()
	r := newIdleRig(t, glob, opts)
	r.poll()
	return r
}

func newIdleRig(t *testing.T, glob string, opts FileOptions) *rig {
	t.Helper()
	if opts.Linger == 0 {
		opts.Linger = 1
	}
	r := &rig{T: t, dir: t.TempDir(), streams: map[uint64][]string{}, ended: map[uint64]bool{}}
	spec, err := Parse("file:" + filepath.Join(r.dir, glob))
	if err != nil {
		t.Fatal(err)
	}
	r.queue = NewQueue(1<<20, 1<<30)
	r.stats = NewStats(spec.Text)
	r.tailer = NewFile(spec, opts, r.queue, r.stats)
	t.Cleanup(r.tailer.close)
	return r
}

// poll makes one poll and takes in what it delivers.
func (r *rig) poll() {
	r.Helper()
	r.tailer.poll(context.Background())
	for {
		items, _ := r.queue.Depth()
		if items == 0 {
			return
		}
		r.takeIn()
	}
}

func (r *rig) takeIn() {
	r.Helper()
	item, err := r.queue.Get(context.Background())
	if err != nil {
		r.Fatal(err)
	}
	if r.ended[item.Stream] {
		r.Fatalf("stream %d goes on after its end", item.Stream)
	}
	if item.Source != r.stats.source {
		r.Fatalf("item of source %q", item.Source)
	}
	r.ended[item.Stream] = item.End
	for line := range strings.Lines(string(item.Lines)) {
		r.lines = append(r.lines, line)
		r.streams[item.Stream] = append(r.streams[item.Stream], line)
	}
}

// want polls and compares all lines delivered so far.
func (r *rig) want(lines ...string) {
	r.Helper()
	r.poll()
	if got, want := strings.Join(r.lines, ""), strings.Join(lines, ""); got != want {
		r.Fatalf("lines so far:\n%q\nwant\n%q", clip(got), clip(want))
	}
}

func clip(s string) string { return s[:min(len(s), 300)] }

func (r *rig) path(name string) string { return filepath.Join(r.dir, name) }

func (r *rig) must(err error) {
	r.Helper()
	if err != nil {
		r.Fatal(err)
	}
}

// append writes to the end of a file, which it creates if need be.
func (r *rig) append(name, text string) {
	r.Helper()
	f, err := os.OpenFile(r.path(name), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	r.must(err)
	_, err = f.WriteString(text)
	r.must(err)
	r.must(f.Close())
}

func (r *rig) rename(from, to string) { r.Helper(); r.must(os.Rename(r.path(from), r.path(to))) }
func (r *rig) remove(name string)     { r.Helper(); r.must(os.Remove(r.path(name))) }
func (r *rig) truncate(name string)   { r.Helper(); r.must(os.Truncate(r.path(name), 0)) }

func (r *rig) copy(from, to string) {
	r.Helper()
	text, err := os.ReadFile(r.path(from))
	r.must(err)
	r.must(os.WriteFile(r.path(to), text, 0o600))
}

// compress writes a compressed copy, by the extension of its name.
func (r *rig) compress(from, to string) {
	r.Helper()
	text, err := os.ReadFile(r.path(from))
	r.must(err)
	r.must(os.WriteFile(r.path(to), packed(r.T, filepath.Ext(to), text), 0o600))
}

func packed(t testing.TB, ext string, text []byte) []byte {
	t.Helper()
	var buf bytes.Buffer
	var w io.WriteCloser = gzip.NewWriter(&buf)
	if ext == ".zst" {
		z, err := zstd.NewWriter(&buf)
		if err != nil {
			t.Fatal(err)
		}
		w = z
	}
	if _, err := w.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// numbered returns the lines "prefix FROM" to "prefix TO".
func numbered(prefix string, from, to int) string {
	var b strings.Builder
	for i := from; i <= to; i++ {
		fmt.Fprintf(&b, "%s %d\n", prefix, i)
	}
	return b.String()
}

// openDescriptors counts this process's descriptors under dir.
func openDescriptors(t *testing.T, dir string) int {
	t.Helper()
	links, err := filepath.Glob("/proc/self/fd/*")
	if err != nil || len(links) == 0 {
		t.Skip("no /proc/self/fd")
	}
	n := 0
	for _, link := range links {
		if to, err := os.Readlink(link); err == nil && strings.HasPrefix(to, dir) {
			n++
		}
	}
	return n
}

// syncBuffer is a buffer that may be read while others write.
type syncBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
