package source

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kvshadow/kvshadow/analyzer/decision"
)

// Errors of [Queue.Put] and [Queue.TryPut].
var (
	// ErrFull means that the queue had no room for the item in time.
	ErrFull = errors.New("source: queue is full")
	// ErrClosed means that the queue takes no more items.
	ErrClosed = errors.New("source: queue is closed")
)

// Item is a unit of input: whole lines of one stream, or decoded decisions.
// An Item and what it points to must not be changed once it was queued.
type Item struct {
	// Source is the text of the --source flag, the label value of every
	// kvshadow_source_* metric.
	Source string
	// Stream identifies one incarnation of a file, one standard input or one
	// HTTP batch. It is unique within a [Queue] and never 0. Rows without ids
	// belong together only within a stream.
	Stream uint64
	// Lines holds zero or more complete lines, each ended by '\n'. Only the
	// last line of a finished input may lack it. "\r\n" is left as it is.
	Lines []byte
	// Decisions are used by sources that decode on their own.
	Decisions []*decision.Decision
	// End says that no more items of this stream follow.
	End bool
}

// endsOnly says whether the item carries nothing but the end of a stream.
func (it *Item) endsOnly() bool {
	return it.End && len(it.Lines) == 0 && len(it.Decisions) == 0
}

// Rough sizes in memory, in bytes. The bound on the queue protects against
// running out of memory, so the right order of magnitude is enough.
const (
	decisionBytes  = 512
	candidateBytes = 384
)

func (it *Item) cost() int64 {
	n := int64(len(it.Lines))
	for _, d := range it.Decisions {
		n += decisionBytes + candidateBytes*int64(len(d.Candidates))
		n += int64(len(d.RequestID) + len(d.SessionID) + len(d.Model))
	}
	return n
}

// Queue is a first-in first-out queue, bounded by items and by bytes. Its
// methods may be called from several goroutines at once.
type Queue struct {
	maxItems int
	maxBytes int64
	streams  atomic.Uint64

	mu     sync.Mutex
	items  []queued
	bytes  int64
	closed bool
	filled signal // an item came, or the queue was closed
	freed  signal // an item went, or the queue was closed
}

type queued struct {
	item Item
	cost int64
}

// NewQueue returns an empty queue that holds at most maxItems items with
// together at most maxBytes bytes. Two exceptions keep it from getting stuck:
// an empty queue takes an item of any size, and an item that only ends a
// stream is always taken, since it weighs nothing and losing it would leave
// the consumer with a stream that never ends.
func NewQueue(maxItems int, maxBytes int64) *Queue {
	return &Queue{maxItems: maxItems, maxBytes: maxBytes}
}

// NewStream returns a value for [Item.Stream] that no other stream has.
func (q *Queue) NewStream() uint64 { return q.streams.Add(1) }

// TryPut queues the item at once, or returns [ErrFull] or [ErrClosed].
func (q *Queue) TryPut(item Item) error {
	_, err := q.offer(item, false)
	return err
}

// Put queues the item. If there is no room it waits up to maxWait and then
// returns [ErrFull]; it returns ctx's error if ctx ends first, and [ErrClosed]
// once the queue is closed.
func (q *Queue) Put(ctx context.Context, item Item, maxWait time.Duration) error {
	if maxWait <= 0 {
		return q.TryPut(item)
	}
	freed, err := q.offer(item, true)
	if !errors.Is(err, ErrFull) {
		return err
	}
	timer := time.NewTimer(maxWait)
	defer timer.Stop()
	for errors.Is(err, ErrFull) {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-timer.C:
			return q.TryPut(item)
		case <-freed:
			freed, err = q.offer(item, true)
		}
	}
	return err
}

// offer queues the item if there is room. If there is none and wait is set, it
// also returns a channel that is closed when there may be room again.
func (q *Queue) offer(item Item, wait bool) (freed <-chan struct{}, err error) {
	cost := item.cost()
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.closed {
		return nil, ErrClosed
	}
	if !item.endsOnly() && !q.fits(cost) {
		if wait {
			freed = q.freed.wait()
		}
		return freed, ErrFull
	}
	q.items = append(q.items, queued{item, cost})
	q.bytes += cost
	q.filled.fire()
	return nil, nil
}

func (q *Queue) fits(cost int64) bool {
	return len(q.items) == 0 || len(q.items) < q.maxItems && q.bytes+cost <= q.maxBytes
}

// Get returns the oldest item. It waits for one, and returns ctx's error if
// ctx ends first. What is queued is handed out even if ctx is done or the
// queue was closed; an empty closed queue returns [io.EOF].
func (q *Queue) Get(ctx context.Context) (Item, error) {
	for {
		item, filled, err := q.take()
		if filled == nil {
			return item, err
		}
		select {
		case <-ctx.Done():
			return Item{}, ctx.Err()
		case <-filled:
		}
	}
}

// take returns the oldest item, or io.EOF, or a channel that is closed when it
// is worth asking again.
func (q *Queue) take() (Item, <-chan struct{}, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.items) == 0 {
		if q.closed {
			return Item{}, nil, io.EOF
		}
		return Item{}, q.filled.wait(), nil
	}
	first := q.items[0]
	q.items[0] = queued{} // the array outlives the slot
	q.items = q.items[1:]
	q.bytes -= first.cost
	q.freed.fire()
	return first.item, nil, nil
}

// Close lets no more items in. What is queued can still be got. Calling it
// again does nothing.
func (q *Queue) Close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.filled.fire()
	q.freed.fire()
}

// Closed says whether [Queue.Close] was called.
func (q *Queue) Closed() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.closed
}

// Depth returns how many items and bytes are queued.
func (q *Queue) Depth() (items int, bytes int64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.items), q.bytes
}

// signal wakes all who wait for an event. The queue's mutex guards it.
type signal struct{ c chan struct{} }

// wait returns a channel that the next fire closes.
func (s *signal) wait() <-chan struct{} {
	if s.c == nil {
		s.c = make(chan struct{})
	}
	return s.c
}

func (s *signal) fire() {
	if s.c != nil {
		close(s.c)
		s.c = nil
	}
}
