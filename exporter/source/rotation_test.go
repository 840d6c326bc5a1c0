package source

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// world is a log directory that a random program writes to and a random
// logrotate rotates, and what a Tailer has to deliver from it.
type world struct {
	*rig
	rand    *rand.Rand
	written int    // lines, each with a number of its own
	partial string // what the log ends with, if not with a newline
	polled  bool   // nothing happened since the last poll
	unseen  map[string]bool
	want    map[string]int
	history []string
}

func (w *world) exists(name string) bool {
	_, err := os.Stat(w.path(name))
	return err == nil
}

// write writes some lines, and sometimes half a line.
func (w *world) write() {
	var text strings.Builder
	text.WriteString(w.partial)
	for range w.rand.IntN(40) {
		w.written++
		fmt.Fprintf(&text, "line %d %s", w.written, strings.Repeat("x", w.rand.IntN(60)))
		text.WriteString("\n")
	}
	all := text.String()
	w.written++
	half := ""
	if w.rand.IntN(3) == 0 {
		half = fmt.Sprintf("line %d half", w.written)
	}
	if w.partial != "" && !strings.Contains(all, "\n") {
		all += "\n"
	}
	for line := range strings.Lines(all) {
		w.want[line]++
	}
	if !w.exists("app.log") {
		w.unseen["app.log"] = true
	}
	w.append("app.log", all[len(w.partial):]+half)
	w.partial = half
}

// leave ends the log: its last line stays as it is.
func (w *world) leave() {
	if w.partial != "" {
		w.want[w.partial]++
	}
	w.partial = ""
}

const keep = 3

// rotate shifts all names by one, unless that would delete a file that was
// never seen.
func (w *world) rotate() {
	if !w.exists("app.log") {
		return
	}
	var last []string
	for _, ext := range []string{"", ".gz", ".zst"} {
		name := fmt.Sprint("app.log.", keep, ext)
		if w.unseen[name] {
			return
		}
		if w.exists(name) {
			last = append(last, name)
		}
	}
	for _, name := range last {
		w.remove(name)
	}
	for i := keep - 1; i >= 1; i-- {
		for _, ext := range []string{"", ".gz", ".zst"} {
			w.shift(fmt.Sprint("app.log.", i, ext), fmt.Sprint("app.log.", i+1, ext))
		}
	}
	w.shift("app.log", "app.log.1")
	w.leave()
}

func (w *world) shift(from, to string) {
	if w.exists(from) {
		w.rename(from, to)
		w.unseen[to] = w.unseen[from]
		delete(w.unseen, from)
	}
}

// compress packs a rotated file.
func (w *world) pack() {
	name := fmt.Sprint("app.log.", 1+w.rand.IntN(keep))
	if !w.exists(name) || w.unseen[name] {
		return
	}
	w.compress(name, name+[]string{".gz", ".zst"}[w.rand.IntN(2)])
	w.remove(name)
}

func (w *world) delete() {
	if !w.exists("app.log") || w.unseen["app.log"] {
		return
	}
	w.remove("app.log")
	w.leave()
}

// empty truncates the log, with or without leaving a copy.
func (w *world) empty() {
	if !w.polled || !w.exists("app.log") {
		return
	}
	if w.partial == "" && w.rand.IntN(2) == 0 && !w.exists("app.log.1") {
		w.copy("app.log", "app.log.1")
		w.unseen["app.log.1"] = true
	}
	w.truncate("app.log")
	w.partial = ""
}

func (w *world) step() {
	ops := []struct {
		name string
		do   func()
	}{
		{"write", w.write}, {"write", w.write}, {"write", w.write}, {"poll", w.poll}, {"poll", w.poll},
		{"rotate", w.rotate}, {"pack", w.pack}, {"delete", w.delete}, {"empty", w.empty},
	}
	op := ops[w.rand.IntN(len(ops))]
	w.history = append(w.history, op.name)
	op.do()
	w.polled = op.name == "poll"
	if w.polled {
		clear(w.unseen)
	}
}

// Every complete line is delivered once, and in order within its stream.
func TestTailerProperty(t *testing.T) {
	for seed := range uint64(60) {
		w := &world{
			rig:    newRig(t, "app.log*", FileOptions{Linger: 1 + int(seed%3)}),
			rand:   rand.New(rand.NewPCG(seed, 0)),
			unseen: map[string]bool{},
			want:   map[string]int{},
		}
		for range 60 {
			w.step()
		}
		w.append("app.log", "\n") // ends a half line
		w.want[w.partial+"\n"]++
		w.poll()
		w.removeRotated() // so that their half lines are final
		for range 12 {
			w.poll()
		}
		w.check(seed)
		w.tailer.close()
	}
}

func (w *world) removeRotated() {
	w.Helper()
	names, err := filepath.Glob(w.path("app.log.*"))
	w.must(err)
	for _, name := range names {
		w.must(os.Remove(name))
	}
}

func (w *world) check(seed uint64) {
	w.Helper()
	got := map[string]int{}
	for _, line := range w.lines {
		got[line]++
	}
	var wrong []string
	for line, n := range w.want {
		if got[line] != n {
			wrong = append(wrong, fmt.Sprintf("%q %d times, want %d", line, got[line], n))
		}
	}
	for line, n := range got {
		if w.want[line] == 0 {
			wrong = append(wrong, fmt.Sprintf("%q %d times, want none", line, n))
		}
	}
	for stream, lines := range w.streams {
		if !slices.IsSortedFunc(lines, func(a, b string) int { return number(a) - number(b) }) {
			wrong = append(wrong, fmt.Sprintf("stream %d is out of order", stream))
		}
	}
	if wrong != nil {
		slices.Sort(wrong)
		w.Fatalf("seed %d: %d wrong, e.g. %s\n%+v\n%s", seed, len(wrong),
			strings.Join(wrong[:min(5, len(wrong))], "\n"), w.stats.Snapshot(), strings.Join(w.history, " "))
	}
}

// number returns the number of a line; the empty last line has none.
func number(line string) int {
	n := 1 << 30
	_, _ = fmt.Sscanf(line, "line %d", &n)
	return n
}

// A program writes and rotates its log by renaming it while it is polled.
func TestTailerWhileWriting(t *testing.T) {
	r := newRig(t, "app.log*", FileOptions{Linger: 1000})
	const rotations, lines = 40, 500
	polled, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for i := range rotations {
			writeAndRotate(r, i*lines, lines, polled)
		}
	}()
	for writing := true; writing; {
		r.poll()
		select {
		case polled <- struct{}{}:
		case <-done:
			writing = false
		default:
		}
	}
	r.poll()
	slices.SortFunc(r.lines, func(a, b string) int { return number(a) - number(b) })
	for i, line := range r.lines {
		if number(line) != i {
			t.Fatalf("at %d: %q", i, line)
		}
	}
	if s := r.stats.Snapshot(); s.Lines != rotations*lines || s.Truncations != 0 || s.Copies != 0 {
		t.Errorf("%+v", s)
	}
}

// writeAndRotate writes a log and renames it while it is being written. It
// waits until the log was seen, since the next rotation deletes it.
func writeAndRotate(r *rig, first, lines int, polled <-chan struct{}) {
	f, err := os.Create(r.path("app.log"))
	if err != nil {
		r.Error(err)
		return
	}
	defer f.Close()
	for i := range lines {
		switch i {
		case 100:
			<-polled // may have begun before the log was there
			<-polled
		case lines / 2:
			err = os.Rename(r.path("app.log"), r.path("app.log.1"))
		}
		if _, errWrite := fmt.Fprintf(f, "line %d\n", first+i); err != nil || errWrite != nil {
			r.Error(err, errWrite)
			return
		}
	}
}
