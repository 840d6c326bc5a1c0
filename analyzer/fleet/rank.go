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

	// What the router books. On a decode worker every block counts for itself,
	// as that router assumes no reuse.
	activeBlocks  int
	prefillTokens int
	requests      int

	blocks blocks
	// changes are the events of a step, which reach the router when it ends.
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
	k.pool = kvcache.New(w.cfg.GPUBlocks, k)
	return k
}

// change is a KV event: a block was stored or removed.
type change struct {
	block  uint64
	stored bool
}

// publish tells the router of the step's KV events, if it has ended.
func (k *rank) publish(now float64) {
	if len(k.changes) == 0 || now < k.visibleAt {
		return
	}
	for _, c := range k.changes {
		k.blocks.at(c.block).known = c.stored
	}
	k.changes = k.changes[:0]
}

// overlap is how many leading blocks the router believes cached here.
func (k *rank) overlap(full []uint64) int {
	for i, n := range full {
		if !k.blocks.get(n).known {
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
	for _, n := range full {
		c := k.blocks.at(n)
		if c.active++; c.active == 1 {
			k.activeBlocks++
		}
	}
}

func (k *rank) unbook(full []uint64) {
	k.requests--
	if k.decodeOnly {
		k.activeBlocks -= len(full)
		return
	}
	for _, n := range full {
		c := k.blocks.at(n)
		if c.active--; c.active == 0 {
			k.activeBlocks--
		}
	}
}

// decodeCost is how many blocks would be booked here with one more request.
func (k *rank) decodeCost(full []uint64) float64 {
	shared := 0
	for !k.decodeOnly && shared < len(full) && k.blocks.get(full[shared]).active > 0 {
		shared++
	}
	return float64(k.activeBlocks + len(full) - shared)
}
