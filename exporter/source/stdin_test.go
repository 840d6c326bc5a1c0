package source

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"
)

func stdinOf(t *testing.T, r io.Reader, opts StdinOptions, queue *Queue) *Stdin {
	t.Helper()
	spec, err := Parse("stdin:")
	if err != nil {
		t.Fatal(err)
	}
	return NewStdin(spec, r, opts, queue, NewStats(spec.Text))
}

func TestStdin(t *testing.T) {
	f := func(name string, r io.Reader, want string, wantErr error) {
		t.Helper()
		q := NewQueue(1000, 1<<20)
		s := stdinOf(t, r, StdinOptions{MaxLineBytes: 100}, q)
		if err := s.Run(t.Context()); !errors.Is(err, wantErr) {
			t.Errorf("%s: %v, want %v", name, err, wantErr)
		}
		q.Close()
		var got strings.Builder
		ended := false
		for {
			item, err := q.Get(t.Context())
			if err != nil {
				break
			}
			got.Write(item.Lines)
			ended = item.End
		}
		if got.String() != want || !ended {
			t.Errorf("%s: %q, end %v; want %q", name, got.String(), ended, want)
		}
		if s := s.sink.stats.Snapshot(); !s.BehindSince.IsZero() {
			t.Errorf("%s: %+v", name, s)
		}
	}
	f("empty", strings.NewReader(""), "", nil)
	f("lines", strings.NewReader("a\r\nb\n"), "a\r\nb\n", nil)
	f("bytewise", iotest.OneByteReader(strings.NewReader("a\nb\nhalf")), "a\nb\nhalf", nil)
	f("too long", strings.NewReader("a\n"+strings.Repeat("x", 1000)+"\nb\n"), "a\nb\n", nil)
	f("failing", iotest.TimeoutReader(iotest.OneByteReader(strings.NewReader("\n\n"))), "\n", iotest.ErrTimeout)
}

func TestStdinCancel(t *testing.T) {
	r, w := io.Pipe()
	defer w.Close()
	q := NewQueue(10, 100)
	s := stdinOf(t, r, StdinOptions{}, q)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- s.Run(ctx) }()
	if _, err := w.Write([]byte("a\nhalf")); err != nil {
		t.Fatal(err)
	}
	if item, err := q.Get(t.Context()); err != nil || string(item.Lines) != "a\n" {
		t.Errorf("%+v, %v", item, err)
	}
	cancel()
	if err := <-done; err != nil { // although a Read blocks
		t.Error(err)
	}
	if items, _ := q.Depth(); items != 0 {
		t.Error("the half line or an end was delivered")
	}
}

func TestStdinQueueFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		q := NewQueue(1, 100)
		s := stdinOf(t, iotest.OneByteReader(strings.NewReader("\n\n\n")), StdinOptions{}, q)
		start := time.Now()
		if err := s.Run(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := s.sink.stats.Snapshot(); got.Lines != 3 || got.DroppedLines != 2 || got.DroppedBytes != 2 {
			t.Errorf("%+v", got)
		}
		if waited := time.Since(start); waited != 2*DefaultStdinMaxWait {
			t.Errorf("waited %v", waited)
		}
	})
}
