package source

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestTailerFollows(t *testing.T) {
	r := newRig(t, "app.log", FileOptions{})
	r.want() // late creation
	r.append("app.log", "a\nb")
	r.want("a\n")
	r.append("app.log", "c\r\n")
	r.want("a\nbc\r\n")
	r.want("a\nbc\r\n")
	r.append("app.log", "\n\x00\xff\x80\ntail")
	r.want("a\nbc\r\n\n\x00\xff\x80\n")
	r.remove("app.log")
	r.want("a\nbc\r\n\n\x00\xff\x80\ntail")
	s := r.stats.Snapshot()
	if s.Lines != 5 || s.Bytes != 15 || s.OpenFiles != 0 || s.Errors != 0 || !s.BehindSince.IsZero() {
		t.Errorf("%+v", s)
	}
	if !r.ended[1] {
		t.Error("the stream has no end")
	}
}

func TestTailerStartsAtEnd(t *testing.T) {
	f := func(fromStart bool, before, after, want string) {
		t.Helper()
		r := newIdleRig(t, "*.log*", FileOptions{FromStart: fromStart})
		r.append("app.log", before)
		r.append("old.log", before)
		r.compress("old.log", "old.log.1.gz")
		r.remove("old.log")
		r.poll()
		r.poll()
		r.append("app.log", after)
		r.append("new.log", "new\n")
		r.want(want)
	}
	f(false, "a\nb\n", "c\n", "c\nnew\n")
	f(false, "a\nb", "b\nc\n", "c\nnew\n")
	f(false, "", "c\n", "c\nnew\n")
	f(true, "a\nb", "b\nc\n", "a\na\nbbb\nc\nnew\n")
}

func TestTailerStartsAtEnd_Truncated(t *testing.T) {
	r := newIdleRig(t, "*.log*", FileOptions{})
	r.append("app.log", numbered("old", 1, 500))
	r.want()
	r.append("app.log", "x\n")
	r.copy("app.log", "app.log.1")
	r.truncate("app.log")
	r.append("app.log", numbered("new", 1, 900))
	r.want("x\n" + numbered("new", 1, 900))
}

// The writer goes on in the renamed file for a while, as it does until it is
// told to reopen its log.
func TestTailerRename(t *testing.T) {
	f := func(glob string) {
		t.Helper()
		r := newRig(t, glob, FileOptions{Linger: 3})
		var want string
		for i := range 5 {
			old := numbered("old", i*100, i*100+9)
			r.append("app.log", old)
			r.poll()
			r.append("app.log", "more\n")
			if i > 0 {
				r.rename("app.log.1", "app.log.2")
			}
			r.rename("app.log", "app.log.1")
			r.append("app.log.1", "late\n")
			r.append("app.log", "new\n")
			want += old + "more\nlate\nnew\n"
			r.want(want)
			r.append("app.log.1", "later\n")
			want += "later\n"
			r.want(want)
			r.poll()
			r.poll()
		}
		s := r.stats.Snapshot()
		if s.Rotations != 5 || s.Truncations != 0 || s.Copies != 0 || s.DroppedLines != 0 {
			t.Errorf("%s: %+v", glob, s)
		}
	}
	f("app.log")
	f("app.log*")
}

func TestTailerCopyTruncate(t *testing.T) {
	f := func(glob string, before, between, after string) {
		t.Helper()
		r := newRig(t, glob, FileOptions{})
		r.append("app.log", before)
		r.poll()
		r.append("app.log", between)
		r.copy("app.log", "app.log.1")
		r.truncate("app.log")
		r.append("app.log", after)
		r.poll()
		want := before + after
		if glob != "app.log" {
			want += between // what was truncated away is found in the copy
		}
		if got := strings.Join(r.lines, ""); len(got) != len(want) {
			t.Errorf("%s: got\n%q\nwant the lines of\n%q", glob, clip(got), clip(want))
		}
		s := r.stats.Snapshot()
		if s.Truncations != 1 || s.Copies != uint64(len(glob)-len("app.log")) {
			t.Errorf("%s: %+v", glob, s)
		}
	}
	short, long := numbered("short", 1, 3), numbered("long", 1, 5000)
	f("app.log", short, "", "new\n")
	f("app.log", short, "", long) // it has grown past the old offset
	f("app.log", long, "", short)
	f("app.log", long, "", strings.ToUpper(long))
	f("app.log*", short, "", long)
	f("app.log*", long, "", short)
	f("app.log*", long, numbered("between", 1, 4), strings.ToUpper(long))
	f("app.log*", "x\nhalf", " a line\n", short)
}

// A rotation that is seen half-way: the copy grows while the log goes on.
func TestTailerCopyInProgress(t *testing.T) {
	r := newRig(t, "app.log*", FileOptions{})
	text := numbered("line", 1, 300)
	r.append("app.log", text)
	r.want(text)
	r.append("app.log.1", text[:1500])
	r.want(text)
	r.append("app.log.1", text[1500:])
	r.append("app.log", "x\n") // not in the copy
	r.want(text + "x\n")
	r.truncate("app.log")
	r.append("app.log", "new\n")
	r.want(text + "x\nnew\n")
	r.poll()
	r.want(text + "x\nnew\n")
	if s := r.stats.Snapshot(); s.Copies != 1 || s.Truncations != 1 {
		t.Errorf("%+v", s)
	}
}

// A file that merely begins like another is read.
func TestTailerSameBeginning(t *testing.T) {
	banner := strings.Repeat("the same banner\n", 200)
	r := newRig(t, "app.log*", FileOptions{})
	r.append("app.log", banner+"one\ntwo\n")
	r.want(banner + "one\ntwo\n")
	r.append("app.log.other", banner)
	r.want(banner + "one\ntwo\n") // it may be a copy
	r.append("app.log.other", "three\n")
	r.want(banner + "one\ntwo\n" + banner + "three\n")
	r.rename("app.log", "app.log.1")
	r.append("app.log", banner)
	r.want(banner + "one\ntwo\n" + banner + "three\n" + banner)
	if s := r.stats.Snapshot(); s.Copies != 0 {
		t.Errorf("%+v", s)
	}
}

// A writer that doesn't append leaves a hole when its file is truncated.
func TestTailerHole(t *testing.T) {
	r := newRig(t, "app.log", FileOptions{})
	w, err := os.Create(r.path("app.log"))
	r.must(err)
	defer w.Close()
	var want string
	for _, text := range []string{numbered("one", 1, 1000), "two\n", "three\n"} {
		_, err = w.WriteString(text)
		r.must(err)
		want += text
		r.want(want)
		r.truncate("app.log")
	}
}

func TestTailerDeleteAndRecreate(t *testing.T) {
	r := newRig(t, "app.log", FileOptions{})
	r.append("app.log", "a\nhalf")
	r.want("a\n")
	r.remove("app.log")
	r.append("app.log", "a\nb\n")
	r.poll()
	r.want("a\n", "a\nb\n", "half")
	if s := r.stats.Snapshot(); s.Rotations != 1 || s.OpenFiles != 1 {
		t.Errorf("%+v", s)
	}
	if len(r.streams) != 2 {
		t.Errorf("%d streams: %v", len(r.streams), r.streams)
	}
}

func TestTailerTruncatedInALine(t *testing.T) {
	r := newRig(t, "app.log", FileOptions{})
	r.append("app.log", "a\nhalf")
	r.want("a\n")
	r.truncate("app.log")
	r.append("app.log", "b\n")
	r.want("a\nb\n")
	if s := r.stats.Snapshot(); s.Lines != 3 || s.DroppedLines != 1 || s.DroppedBytes != 4 || s.Truncations != 1 {
		t.Errorf("%+v", s)
	}
}

func TestTailerComesBack(t *testing.T) {
	r := newRig(t, "app.log", FileOptions{})
	r.append("app.log", "a\n")
	r.want("a\n")
	r.rename("app.log", "elsewhere")
	r.poll() // lets go of it
	r.append("elsewhere", "b\n")
	r.rename("elsewhere", "app.log")
	r.want("a\nb\n")
}

func TestTailerLinks(t *testing.T) {
	r := newRig(t, "*.log", FileOptions{})
	r.append("b.log", "a\n")
	r.must(os.Link(r.path("b.log"), r.path("a.log")))
	r.must(os.Symlink(r.path("b.log"), r.path("c.log")))
	r.must(os.Mkdir(r.path("d.log"), 0o700))
	r.must(os.Symlink(r.path("nothing"), r.path("e.log")))
	r.want("a\n")
	r.remove("b.log")
	r.append("a.log", "b\n")
	r.want("a\nb\n")
	if s := r.stats.Snapshot(); s.OpenFiles != 1 || s.Errors != 0 {
		t.Errorf("%+v", s)
	}
}

func TestTailerLongLines(t *testing.T) {
	r := newRig(t, "app.log", FileOptions{MaxLineBytes: 1000})
	fits := strings.Repeat("x", 999) + "\n"
	r.append("app.log", fits+strings.Repeat("y", 1000)+"\na\n"+strings.Repeat("z", 10_000))
	r.want(fits + "a\n")
	r.append("app.log", strings.Repeat("z", 10_000)+"\nb\n")
	r.want(fits + "a\nb\n")
	if s := r.stats.Snapshot(); s.Lines != 5 || s.TooLongLines != 2 {
		t.Errorf("%+v", s)
	}
}

func TestTailerDefaultLimits(t *testing.T) {
	r := newRig(t, "app.log", FileOptions{})
	fits := strings.Repeat("x", MaxLineBytes-1) + "\n"
	r.append("app.log", numbered("a", 1, 100_000)+strings.Repeat("y", 3*MaxLineBytes)+"\n"+fits+"end\n")
	r.tailer.poll(t.Context())
	r.queue.Close()
	for {
		item, err := r.queue.Get(t.Context())
		if err != nil {
			break
		}
		longest := 0
		for line := range strings.Lines(string(item.Lines)) {
			longest = max(longest, len(line))
		}
		if n := len(item.Lines); n > chunkBytes && n > longest+chunkBytes/4 {
			t.Errorf("an item of %d bytes, longest line %d", n, longest)
		}
	}
	if s := r.stats.Snapshot(); s.Lines != 100_003 || s.TooLongLines != 1 || s.DroppedLines != 0 {
		t.Errorf("%+v", s)
	}
}

func TestTailerQueueFull(t *testing.T) {
	var log bytes.Buffer
	r := newRig(t, "app.log", FileOptions{MaxWait: time.Nanosecond, Logger: slog.New(slog.NewTextHandler(&log, nil))})
	r.tailer.sink.queue = NewQueue(1, 1<<30)
	for i := range 4 {
		r.append("app.log", numbered("line", i*10, i*10+9))
		r.tailer.poll(t.Context())
	}
	if s := r.stats.Snapshot(); s.Lines != 40 || s.DroppedLines != 30 || s.DroppedBytes != 240 {
		t.Errorf("%+v", s)
	}
	r.queue = r.tailer.sink.queue
	r.append("app.log", "z\n")
	r.takeIn()
	r.want(numbered("line", 0, 9) + "z\n")
	for _, text := range []string{"dropping input", "no longer dropping"} {
		if n := strings.Count(log.String(), `msg="`+text); n != 1 {
			t.Errorf("%d times %q in\n%s", n, text, log.String())
		}
	}
}

func TestTailerErrors(t *testing.T) {
	r := newRig(t, "*.log", FileOptions{})
	var log bytes.Buffer
	r.tailer.failing.log = slog.New(slog.NewTextHandler(&log, nil))
	r.must(os.Symlink("loop.log", r.path("loop.log")))
	r.append("app.log", "a\n")
	r.want("a\n")
	r.want("a\n")
	if s := r.stats.Snapshot(); s.Errors != 1 || strings.Count(log.String(), "\n") != 1 {
		t.Errorf("%+v\n%s", s, log.String())
	}
	r.remove("loop.log")
	r.poll()
	r.must(os.Symlink("loop.log", r.path("loop.log")))
	r.poll()
	if s := r.stats.Snapshot(); s.Errors != 2 {
		t.Errorf("%+v", s)
	}
}

// While the directory can't be read, no file is taken to have gone.
func TestTailerDirectoryFails(t *testing.T) {
	r := newRig(t, "logs/app.log", FileOptions{})
	r.must(os.Mkdir(r.path("logs"), 0o700))
	r.append("logs/app.log", "a\n")
	r.want("a\n")
	r.rename("logs", "away")
	r.must(os.Symlink("logs", r.path("logs")))
	for range 3 {
		r.want("a\n")
	}
	if s := r.stats.Snapshot(); s.Errors == 0 || s.OpenFiles != 1 {
		t.Errorf("%+v", s)
	}
	r.remove("logs")
	r.rename("away", "logs")
	r.append("logs/app.log", "b\n")
	r.want("a\nb\n")
}

func TestTailerLeaksNothing(t *testing.T) {
	r := newRig(t, "*.log*", FileOptions{FromStart: true})
	for i := range 20 {
		r.append("app.log", numbered("line", i*100, i*100+99))
		r.poll()
		switch i % 4 {
		case 0:
			r.rename("app.log", "app.log.1")
		case 1:
			r.compress("app.log", "app.log.1.gz")
			r.remove("app.log")
		case 2:
			r.append("app.log.2.zst", "not zstd")
		case 3:
			r.remove("app.log")
		}
		r.poll()
		r.poll()
		if got, want := openDescriptors(t, r.dir), r.stats.Snapshot().OpenFiles; int64(got) != want {
			t.Fatalf("round %d: %d descriptors, OpenFiles %d", i, got, want)
		}
	}
	r.remove("app.log.1")
	r.remove("app.log.2.zst")
	r.poll()
	r.poll()
	if n := openDescriptors(t, r.dir); n != 0 {
		t.Errorf("%d descriptors left after deletion", n)
	}
	r.append("app.log", "a\n")
	r.poll()
	r.tailer.close()
	if n := openDescriptors(t, r.dir); n != 0 || r.stats.Snapshot().OpenFiles != 0 {
		t.Errorf("%d descriptors left after close", n)
	}
}

func TestTailerRun(t *testing.T) {
	tick := make(chan time.Time)
	r := newIdleRig(t, "app.log", FileOptions{Tick: tick})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- r.tailer.Run(ctx) }()
	tick <- time.Time{} // the first poll is over
	r.append("app.log", "a\n")
	tick <- time.Time{}
	r.takeIn()
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if len(r.lines) != 1 || openDescriptors(t, r.dir) != 0 {
		t.Errorf("%q", r.lines)
	}
}

// A cancelled wait for the queue counts what it held.
func TestTailerCancelledWhileFull(t *testing.T) {
	r := newIdleRig(t, "app.log", FileOptions{FromStart: true, MaxWait: time.Hour})
	r.tailer.sink.queue = NewQueue(1, 1)
	r.append("app.log", numbered("line", 1, 100_000))
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- r.tailer.Run(ctx) }()
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
	item := 0
	if n, _ := r.tailer.sink.queue.Depth(); n == 1 {
		it, _ := r.tailer.sink.queue.Get(t.Context())
		item = countLines(it.Lines)
	}
	if s := r.stats.Snapshot(); s.Lines != s.DroppedLines+uint64(item) {
		t.Errorf("%d lines queued, %+v", item, s)
	}
}

func TestGlobOrder(t *testing.T) {
	r := newIdleRig(t, "*.log", FileOptions{FromStart: true})
	for i, name := range []string{"z.log", "m.log", "a.log"} {
		r.append(name, name+"\n")
		at := time.Unix(int64(1000+i), 0)
		r.must(os.Chtimes(filepath.Join(r.dir, name), at, at))
	}
	r.want("z.log\nm.log\na.log\n")
}
