package source

import (
	"context"
	"errors"
	"io"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kvshadow/kvshadow/analyzer/decision"
)

func TestQueueBounds(t *testing.T) {
	f := func(name string, maxItems int, maxBytes int64, items []Item, want ...error) {
		t.Helper()
		q := NewQueue(maxItems, maxBytes)
		for i, it := range items {
			if err := q.TryPut(it); !errors.Is(err, want[i]) {
				t.Errorf("%s: item %d: %v, want %v", name, i, err, want[i])
			}
		}
	}
	x := Item{Lines: []byte("12345")}
	end := Item{End: true}
	d := Item{Decisions: []*decision.Decision{{Candidates: make([]decision.Candidate, 8)}}, End: true}
	f("items", 2, 100, []Item{x, x, x}, nil, nil, ErrFull)
	f("bytes", 9, 10, []Item{x, x, x}, nil, nil, ErrFull)
	f("a big item into an empty queue", 9, 1, []Item{x, x}, nil, ErrFull)
	f("ends are always taken", 1, 5, []Item{x, end, end, x}, nil, nil, nil, ErrFull)
	f("decisions weigh", 9, 4096, []Item{d, d}, nil, ErrFull)
}

func TestQueueOrderAndClose(t *testing.T) {
	ctx := t.Context()
	q := NewQueue(10, 100)
	for i := range 3 {
		if err := q.Put(ctx, Item{Stream: uint64(i), Lines: []byte("x\n")}, 0); err != nil {
			t.Fatal(err)
		}
	}
	q.Close()
	q.Close()
	if err := q.TryPut(Item{End: true}); !errors.Is(err, ErrClosed) || !q.Closed() {
		t.Errorf("put after close: %v", err)
	}
	for i := range 3 {
		if it, err := q.Get(ctx); err != nil || it.Stream != uint64(i) {
			t.Errorf("got %v %v, want stream %d", it, err, i)
		}
	}
	if _, err := q.Get(ctx); err != io.EOF {
		t.Errorf("empty and closed: %v", err)
	}
	if items, bytes := q.Depth(); items != 0 || bytes != 0 {
		t.Errorf("depth %d, %d", items, bytes)
	}
}

func TestQueueWaits(t *testing.T) {
	f := func(name string, during func(q *Queue, cancel func()), wait time.Duration, want error) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			q := NewQueue(1, 100)
			if err := q.TryPut(Item{Lines: []byte("x")}); err != nil {
				t.Fatal(err)
			}
			start := time.Now()
			go func() {
				time.Sleep(3 * time.Second) // of the bubble's clock
				during(q, cancel)
			}()
			err := q.Put(ctx, Item{Lines: []byte("y")}, 10*time.Second)
			if !errors.Is(err, want) || time.Since(start) != wait {
				t.Errorf("%s: %v after %v, want %v after %v", name, err, time.Since(start), want, wait)
			}
		})
	}
	f("room", func(q *Queue, _ func()) { _, _ = q.Get(t.Context()) }, 3*time.Second, nil)
	f("no room", func(*Queue, func()) {}, 10*time.Second, ErrFull)
	f("cancel", func(_ *Queue, cancel func()) { cancel() }, 3*time.Second, context.Canceled)
	f("close", func(q *Queue, _ func()) { q.Close() }, 3*time.Second, ErrClosed)
}

func TestQueueGetWaits(t *testing.T) {
	f := func(name string, during func(q *Queue, cancel func()), want error) {
		t.Helper()
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			q := NewQueue(1, 100)
			go func() {
				time.Sleep(time.Second)
				during(q, cancel)
			}()
			if _, err := q.Get(ctx); !errors.Is(err, want) {
				t.Errorf("%s: %v, want %v", name, err, want)
			}
		})
	}
	f("item", func(q *Queue, _ func()) { _ = q.TryPut(Item{End: true}) }, nil)
	f("cancel", func(_ *Queue, cancel func()) { cancel() }, context.Canceled)
	f("close", func(q *Queue, _ func()) { q.Close() }, io.EOF)
}

// Nothing is lost or doubled when many put into a small queue.
func TestQueueConcurrent(t *testing.T) {
	const producers, each = 8, 500
	q := NewQueue(3, 1<<20)
	var wg sync.WaitGroup
	for p := range producers {
		wg.Go(func() {
			for i := range each {
				if err := q.Put(t.Context(), Item{Stream: uint64(p), Lines: []byte{byte(i), byte(i >> 8)}}, time.Hour); err != nil {
					t.Error(err)
				}
			}
		})
	}
	go func() { wg.Wait(); q.Close() }()
	next := make([]int, producers)
	for {
		it, err := q.Get(t.Context())
		if err == io.EOF {
			break
		}
		if i := int(it.Lines[0]) | int(it.Lines[1])<<8; i != next[it.Stream] {
			t.Fatalf("producer %d: got %d, want %d", it.Stream, i, next[it.Stream])
		}
		next[it.Stream]++
	}
	for p, n := range next {
		if n != each {
			t.Errorf("producer %d: %d items", p, n)
		}
	}
}
