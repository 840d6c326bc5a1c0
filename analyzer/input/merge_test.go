package input

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// set returns inputs named a, b, ... with these contents.
func set(t *testing.T, contents ...string) *Set {
	t.Helper()
	s := &Set{}
	for i, c := range contents {
		if err := s.add(string(rune('a'+i)), strings.NewReader(c), nil); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

func TestSetEach(t *testing.T) {
	f := func(contents []string, want ...string) {
		t.Helper()
		s := set(t, contents...)
		var got []string
		err := s.Each(context.Background(), func(stream uint64, at Position, line []byte) {
			if want := uint64(at.File[0]-'a') + 1; stream != want {
				t.Fatalf("%s is of stream %d; want %d", at, stream, want)
			}
			_, name, _ := strings.Cut(string(line), "#")
			got = append(got, at.String()+name)
		}, func(at Position, err error) { t.Fatalf("%s: %s", at, err) })
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("got  %q\nwant %q", got, want)
		}
	}
	at := func(second int) string { return fmt.Sprintf(`{"time":"2026-11-29T23:00:%02d.5Z"}`+"\n", second) }
	plain := func(second int) string { return fmt.Sprintf("\x1b[2m2026-11-29T23:00:%02d.5Z\x1b[0m text\n", second) }

	f(nil)
	f([]string{""})
	f([]string{"x\ny\n"}, "a:1", "a:2")
	f([]string{at(5) + at(1)}, "a:1", "a:2") // one input is never reordered

	f([]string{at(1) + at(4), at(2) + at(3)}, "a:1", "b:1", "b:2", "a:2")
	f([]string{at(2) + at(3), at(1) + at(4)}, "b:1", "a:1", "a:2", "b:2")
	f([]string{at(1) + at(4), plain(2) + plain(3), at(2)}, "a:1", "b:1", "c:1", "b:2", "a:2")
	f([]string{at(1) + at(3), "", at(2)}, "a:1", "c:1", "a:2")

	// equal times: in the order of the arguments
	f([]string{at(1) + at(1), at(1)}, "a:1", "a:2", "b:1")

	// lines without a time stay behind the line before them
	f([]string{at(1) + "x\ny\n" + at(4), at(2) + "z\n" + at(5)}, "a:1", "a:2", "a:3", "b:1", "b:2", "a:4", "b:3")
	f([]string{at(2), "x\ny\n" + at(3)}, "b:1", "b:2", "a:1", "b:3")
	f([]string{"x\ny\n", "z\n"}, "a:1", "a:2", "b:1")

	// a clock that jumps back doesn't reorder its own file, nor hold up others
	f([]string{at(5) + at(1) + at(6), at(4) + at(5) + at(7)}, "b:1", "a:1", "a:2", "b:2", "a:3", "b:3")

	// line numbers go on after a line that is too long
	f([]string{at(1) + strings.Repeat("x", MaxLine+1) + "\n" + at(3), at(2)}, "a:1", "b:1", "a:3")
}

// TestSetEach_Property divides random lines over random inputs: every line
// comes once, each input in its order, and the whole in time order.
func TestSetEach_Property(t *testing.T) {
	for seed := range uint64(50) {
		r := rand.New(rand.NewPCG(seed, 1))
		contents := make([]string, 1+r.IntN(5))
		start := time.Date(2026, 11, 29, 23, 59, 0, 0, time.UTC)
		total := r.IntN(300)
		for i := range total {
			start = start.Add(time.Duration(r.IntN(3)) * time.Microsecond)
			k := r.IntN(len(contents))
			contents[k] += fmt.Sprintf(`{"time":"%s","n":%d}`+"\n", start.Format(time.RFC3339Nano), i)
		}
		last := map[string]uint64{}
		var times []string
		err := set(t, contents...).Each(context.Background(), func(_ uint64, at Position, line []byte) {
			if at.Line != last[at.File]+1 {
				t.Fatalf("seed %d: %s after line %d", seed, at, last[at.File])
			}
			last[at.File] = at.Line
			stamp, ok := LineTime(line)
			if !ok {
				t.Fatalf("seed %d: no time in %s", seed, line)
			}
			times = append(times, stamp.Format("2006-01-02T15:04:05.000000"))
		}, func(at Position, err error) { t.Fatalf("%s: %s", at, err) })
		if err != nil {
			t.Fatal(err)
		}
		if len(times) != total || !slices.IsSorted(times) {
			t.Fatalf("seed %d: %d lines of %d, or out of order", seed, len(times), total)
		}
	}
}

func TestSetEach_Cancel(t *testing.T) {
	f := func(lines int, contents ...string) {
		t.Helper()
		ctx, cancel := context.WithCancel(context.Background())
		n := 0
		err := set(t, contents...).Each(ctx, func(uint64, Position, []byte) {
			if n++; n == lines {
				cancel()
			}
		}, func(Position, error) {})
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("got %v; want the context's error", err)
		}
		if n > lines+1024 {
			t.Fatalf("%d lines after the cancel", n-lines)
		}
		cancel()
	}
	f(1, strings.Repeat("x\n", 5000))
	f(1500, strings.Repeat("x\n", 5000), strings.Repeat("y\n", 5000))
	f(3, "x\ny\nz\n") // at the end too: the caller asked to stop
}

// TestSetEach_CancelledRead doesn't blame the input for the end of the context.
func TestSetEach_CancelledRead(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	s := &Set{}
	if err := s.add("a", &cancelled{ctx, cancel, strings.NewReader("abcde\n")}, nil); err != nil {
		t.Fatal(err)
	}
	err := s.Each(ctx, func(uint64, Position, []byte) {}, func(at Position, err error) {
		t.Fatalf("%s: %s", at, err)
	})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v; want the context's error", err)
	}
}

// cancelled reads r, then cancels and fails.
type cancelled struct {
	ctx    context.Context
	cancel func()
	r      *strings.Reader
}

func (c *cancelled) Read(p []byte) (int, error) {
	if c.r.Len() > 0 {
		return c.r.Read(p)
	}
	c.cancel()
	return 0, c.ctx.Err()
}

func TestLineTime(t *testing.T) {
	f := func(line, want string) {
		t.Helper()
		got := "none"
		if x, ok := LineTime([]byte(line)); ok {
			got = x.UTC().Format(time.RFC3339Nano)
		}
		if got != want {
			t.Fatalf("%s: %s; want %s", line, got, want)
		}
	}
	f(`{"time":"2026-11-29T23:28:58.671934Z","level":"INFO"}`, "2026-11-29T23:28:58.671934Z")
	f(`{"time": "2026-11-29T23:28:58Z"}`, "2026-11-29T23:28:58Z")
	f(`{"schema":"kvshadow.decision.v1","request_id":"a","time":"2026-11-29T23:28:58+02:00"}`, "2026-11-29T21:28:58Z")
	f("2026-11-29T23:28:58.671934Z DEBUG text", "2026-11-29T23:28:58.671934Z")
	f("\x1b[2m2026-11-29T23:28:58.671934Z\x1b[0m text", "2026-11-29T23:28:58.671934Z")
	f(`2026-11-29T23:00:00Z stdout F {"time":"2026-11-29T22:00:00.1Z"}`, "2026-11-29T22:00:00.1Z") // the router's, not the runtime's
	f(`{"x":"`+strings.Repeat("x", 300)+`","time":"2026-11-29T23:28:58Z"}`, "none")
	f(`{"time":"2026-11-29T23:28:58`, "none")
	f(`{"time":1764458938671}`, "none")
	f(`{"time":`, "none")
	f(`{"time":"yesterday at five o'clock"}`, "none")
	f("2026-13-29T23:28:58.671934Z text", "none")
	f("text", "none")
	f("", "none")
}
