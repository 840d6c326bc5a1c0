package source

import (
	"os"
	"strings"
	"testing"
)

func TestArchiveIsReadOnce(t *testing.T) {
	f := func(ext string) {
		t.Helper()
		text := numbered("line", 1, 100_000) + "half"
		r := newRig(t, "*"+ext, FileOptions{})
		r.poll()
		r.must(os.WriteFile(r.path("a"+ext), packed(t, ext, []byte(text)), 0o600))
		r.want() // it may be written still
		r.want(text)
		r.rename("a"+ext, "b"+ext)
		r.want(text)
		r.want(text)
		if s := r.stats.Snapshot(); s.Lines != 100_001 || s.Bytes != uint64(len(text)) || s.OpenFiles != 0 || s.Copies != 0 {
			t.Errorf("%s: %+v", ext, s)
		}
		if !r.ended[1] {
			t.Errorf("%s: no end", ext)
		}
	}
	f(".gz")
	f(".zst")
}

func TestArchiveOfAFileThatWasRead(t *testing.T) {
	f := func(name string, rotate func(r *rig), text, rest string) {
		t.Helper()
		r := newRig(t, "app*", FileOptions{})
		r.append("app.log", text)
		r.want(text)
		rotate(r)
		for range 6 {
			r.poll()
		}
		if got := strings.Join(r.lines, ""); got != text+rest {
			t.Errorf("%s: got\n%q\nwant\n%q", name, clip(got), clip(text+rest))
		}
		if s := r.stats.Snapshot(); s.Copies != 1 || s.OpenFiles != int64(strings.Count(rest, "NEW")) {
			t.Errorf("%s: %+v", name, s)
		}
	}
	text := numbered("line", 1, 400)
	f("deleted first", func(r *rig) {
		r.compress("app.log", "app.log.1.gz")
		r.remove("app.log")
	}, text, "")
	f("both at a time", func(r *rig) {
		r.compress("app.log", "app-20261130.log.zst")
		r.poll()
		r.poll()
		r.remove("app.log")
	}, text, "")
	f("renamed first", func(r *rig) {
		r.rename("app.log", "app.log.1")
		r.append("app.log", "NEW\n")
		r.poll()
		r.compress("app.log.1", "app.log.1.gz")
		r.poll()
		r.remove("app.log.1")
	}, text, "NEW\n")
	f("written to after it had gone", func(r *rig) {
		r.rename("app.log", "gone")
		r.poll()
		r.append("gone", "late\n")
		r.compress("gone", "app.log.1.gz")
	}, text, "late\n")
	f("short", func(r *rig) {
		r.compress("app.log", "app.log.1.gz")
		r.remove("app.log")
	}, "a\n", "")
	f("copied, truncated, compressed", func(r *rig) {
		r.compress("app.log", "app.log.1.gz")
		r.truncate("app.log")
		r.append("app.log", "NEW\n")
	}, text, "NEW\n")
}

func TestArchiveOfAnotherFile(t *testing.T) {
	text := numbered("line", 1, 400)
	r := newRig(t, "app*", FileOptions{})
	r.append("app.log", text+"one\n")
	r.want(text + "one\n")
	r.remove("app.log")
	r.must(os.WriteFile(r.path("app.log.1.gz"), packed(t, ".gz", []byte(text+"two\n")), 0o600))
	r.poll()
	r.want(text + "one\n" + text + "two\n")
}

func TestArchiveIncomplete(t *testing.T) {
	f := func(ext string) {
		t.Helper()
		text := numbered("line", 1, 60_000)
		whole := packed(t, ext, []byte(text))
		r := newRig(t, "*"+ext, FileOptions{})
		r.poll()
		for _, n := range []int{0, 3, len(whole) / 2, len(whole) - 1} {
			r.must(os.WriteFile(r.path("a"+ext), whole[:n], 0o600))
			r.poll()
			r.poll()
			r.poll()
			if !strings.HasPrefix(text, strings.Join(r.lines, "")) {
				t.Fatalf("%s: after %d bytes: not a prefix", ext, n)
			}
		}
		r.must(os.WriteFile(r.path("a"+ext), whole, 0o600))
		r.poll()
		r.want(text)
		r.want(text)
		if s := r.stats.Snapshot(); s.Errors == 0 || s.OpenFiles != 0 || s.Lines != 60_000 {
			t.Errorf("%s: %+v", ext, s)
		}
	}
	f(".gz")
	f(".zst")
}

func TestArchiveCorrupt(t *testing.T) {
	f := func(name, text string, wantErrors uint64) {
		t.Helper()
		r := newRig(t, "app*", FileOptions{})
		r.append("app.log", "a\n")
		r.poll()
		r.must(os.WriteFile(r.path(name), []byte(text), 0o600))
		for range 4 {
			r.want("a\n")
		}
		if s := r.stats.Snapshot(); s.Errors != wantErrors || s.OpenFiles != 2 {
			t.Errorf("%s %q: %+v", name, text, s)
		}
		r.remove(name)
		r.want("a\n")
	}
	f("app.gz", "garbage that is no gzip", 1)
	f("app.zst", "garbage that is no zstd", 1)
	f("app.gz", "", 0) // somebody may be about to write it
}

func TestArchiveGetsAppended(t *testing.T) {
	r := newRig(t, "app*", FileOptions{})
	r.poll()
	r.append("app.gz", string(packed(t, ".gz", []byte("a\n"))))
	r.poll()
	r.want("a\n")
	r.append("app.gz", string(packed(t, ".gz", []byte("b\n"))))
	r.poll()
	r.want("a\nb\n")
}
