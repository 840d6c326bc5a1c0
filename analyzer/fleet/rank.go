package fleet

import (
	"github.com/kvshadow/kvshadow/analyzer/decision"
	"github.com/kvshadow/kvshadow/analyzer/kvcache"
)

// rank is one engine with its scheduler, and what the router books on it.
type rank struct {
	key         decision.Key
	number      int32
	joins       float64
	prefillOnly bool
	decodeOnly  bool

	// active are the full blocks of the requests booked here, with how often;
	// on a decode worker only their number, as that router assumes no reuse.
	active        kvcache.Table
	activeBlocks  int
	prefillTokens int
	requests      int

	// index is what the router believes cached here. The events of a step reach
	// it when the step ends.
	index     kvcache.Table // of nothing but 0
	changes   []change
	visibleAt float64

	pool *kvcache.Pool
	// pending are the prompts whose cache arrives from prefill workers, parting
	// those that went, but are held until the step under way has ended.
	pending []int32
	parting []int32
	waiting []int32
	running []int32
	busy    bool

	// The step that is under way.
	steps     int  // how many decode steps it stands for
	closed    bool // whoever waits can't come in before a request ends
	decoding  int  // sequences that decode in it
	context   int  // their tokens
	prefillMs float64
	started   float64
	version   uint32
}

func newRank(w *world, key decision.Key, prefillOnly, decodeOnly bool) *rank {
	k := &rank{key: key, prefillOnly: prefillOnly, decodeOnly: decodeOnly}
	k.pool = kvcache.New(w.cfg.GPUBlocks, func(hash uint64) { k.changes = append(k.changes, change{hash, false}) })
	return k
}

// change is a KV event: a block was stored or removed.
type change struct {
	hash   uint64
	stored bool
}

// publish tells the router of the step's KV events, if it has ended.
func (k *rank) publish(now float64) {
	if len(k.changes) == 0 || now < k.visibleAt {
		return
	}
	for _, c := range k.changes {
		if c.stored {
			k.index.Put(c.hash, 0)
		} else {
			k.index.Delete(c.hash)
		}
	}
	k.changes = k.changes[:0]
}

// overlap is how many leading blocks the router believes cached here.
func (k *rank) overlap(full []uint64) int {
	for i, h := range full {
		if k.index.Get(h) < 0 {
			return i
		}
	}
	return len(full)
}

func (k *rank) book(full []uint64) {
	k.requests++
	if k.decodeOnly {
		k.activeBlocks += len(full)
		return
	}
	for _, h := range full {
		k.active.Put(h, max(0, k.active.Get(h))+1)
	}
}

func (k *rank) unbook(full []uint64) {
	k.requests--
	if k.decodeOnly {
		k.activeBlocks -= len(full)
		return
	}
	for _, h := range full {
		if n := k.active.Get(h) - 1; n > 0 {
			k.active.Put(h, n)
		} else {
			k.active.Delete(h)
		}
	}
}

// decodeCost is how many blocks would be booked here with one more request.
func (k *rank) decodeCost(full []uint64) float64 {
	if k.decodeOnly {
		return float64(k.activeBlocks + len(full))
	}
	shared := 0
	for _, h := range full {
		if k.active.Get(h) < 0 {
			break
		}
		shared++
	}
	return float64(k.active.Len() + len(full) - shared)
}
