package twin

import (
	"cmp"
	"math"
	"slices"

	"github.com/kvshadow/kvshadow/analyzer/decision"
	"github.com/kvshadow/kvshadow/analyzer/kvcache"
)

// fleet is the workers of one model.
type fleet struct {
	capacity int
	all      map[rankKey]*rank
	// pools lists the ranks of each role in the order in which they appeared.
	pools  [decode + 1][]*rank
	index  index
	bySlot bool     // the router hears of what is resident
	on     []prefix // of the prompt that was looked up last, by the ranks' numbers
	spare  []int32  // numbers of forgotten ranks
	// beliefs are the bookings of a router without KV events, in the order in
	// which they end.
	beliefs []belief
}

type belief struct {
	until int64
	rank  *rank
	nodes []uint64
}

// role is what a rank does; aggregated ranks do both.
type role uint8

const (
	aggregated role = iota
	prefill
	decode
)

type rankKey struct {
	decision.Key
	role role
}

// rank is what the router and the engine know of one worker rank.
type rank struct {
	rankKey
	fleet               *fleet
	number              int32
	firstSeen, lastSeen int64
	open                int // parts of requests that aren't over

	// What the router books.
	activeBlocks  int
	prefillTokens uint64
	requests      uint64

	// What the engine holds, and where an allocation collects the blocks that
	// it evicts: the router believes in them until the step is over.
	pool      *kvcache.Pool
	unlimited bool // its capacity isn't known
	evicting  *[]uint64
}

func (t *Twin) fleet(model string) *fleet {
	f := t.fleets[model]
	if f == nil {
		f = &fleet{capacity: t.opts.capacity(model), all: map[rankKey]*rank{}, index: newIndex(), bySlot: t.opts.ApproximateTTL == 0}
		t.fleets[model] = f
	}
	return f
}

// capacity is what the options tell of a model's ranks.
func (o *Options) capacity(model string) int { return cmp.Or(o.Capacities[model], o.GPUBlocks) }

func (t *Twin) rank(f *fleet, key rankKey) *rank {
	if k := f.all[key]; k != nil {
		return k
	}
	t.forgetRanks(f)
	k := &rank{rankKey: key, fleet: f, firstSeen: math.MaxInt64, lastSeen: math.MinInt64}
	if n := len(f.spare); n > 0 {
		k.number, f.spare = f.spare[n-1], f.spare[:n-1]
	} else {
		k.number = int32(len(f.on))
		f.on = append(f.on, prefix{})
	}
	k.pool = kvcache.New(0, k)
	k.setCapacity(t.capacity(f, key.Key))
	f.all[key] = k
	f.pools[key.role] = append(f.pools[key.role], k)
	return k
}

// capacity is what was told of a rank, else of its model, else of any rank.
func (t *Twin) capacity(f *fleet, key decision.Key) int {
	if c := t.told[key]; c > 0 {
		return c
	}
	if f.capacity > 0 {
		return f.capacity
	}
	return t.toldLast
}

func (k *rank) setCapacity(blocks int) {
	k.pool.SetCapacity(blocks)
	k.unlimited = blocks == 0
}

// forgetRanks drops what is known of workers that vanished long ago, and of
// models without others except the one that is about to get one.
func (t *Twin) forgetRanks(about *fleet) {
	if t.now == math.MinInt64 {
		return
	}
	before := t.now - int64(max(forgetAfter, 2*t.opts.ApproximateTTL))
	for model, f := range t.fleets {
		gone := map[int32]bool{}
		for key, k := range f.all {
			if k.lastSeen < before && k.open == 0 {
				gone[k.number] = true
				delete(f.all, key)
				delete(t.told, key.Key)
			}
		}
		switch {
		case len(f.all) == 0 && len(gone) > 0 && f != about && f.capacity == t.opts.capacity(model):
			delete(t.fleets, model)
		case len(gone) > 0:
			f.forget(gone)
		}
	}
}

func (f *fleet) forget(gone map[int32]bool) {
	f.disbelieve(func(b *belief) bool { return gone[b.rank.number] })
	f.index.forget(gone)
	for i, pool := range f.pools {
		kept := pool[:0]
		for _, k := range pool {
			if gone[k.number] {
				f.spare = append(f.spare, k.number)
			} else {
				kept = append(kept, k)
			}
		}
		clear(pool[len(kept):])
		f.pools[i] = kept
	}
}

// seen notes that the rank was at work.
func (k *rank) seen(from, to int64) {
	k.firstSeen, k.lastSeen = min(k.firstSeen, from), max(k.lastSeen, to)
}

// present says whether the router could have chosen the rank.
func (k *rank) present(at int64) bool {
	return at >= k.firstSeen-int64(presence) && at <= k.lastSeen+int64(presence)
}

// look measures a prompt on every rank, as the router sees it at a moment.
func (f *fleet) look(nodes []uint64, now int64) {
	n := 0
	for n < len(f.beliefs) && f.beliefs[n].until < now {
		f.beliefs[n].rank.assume(f.beliefs[n].nodes, -1)
		n++
	}
	f.beliefs = f.beliefs[n:]
	f.index.look(nodes, f.on, f.bySlot)
}

// hold books blocks on the rank, as the router does at a choice.
func (k *rank) hold(nodes []uint64) {
	for _, n := range nodes {
		e := k.fleet.index.add(n, k.number)
		if e.active++; e.active == 1 {
			k.activeBlocks++
		}
	}
	k.requests++
}

func (k *rank) drop(nodes []uint64) {
	x := &k.fleet.index
	for _, n := range nodes {
		e := x.find(n, k.number)
		if e.active--; e.active == 0 {
			k.activeBlocks--
			x.tidy(n, e)
		}
	}
	k.requests--
}

// assume adds reasons to believe blocks cached, or takes them back.
func (k *rank) assume(nodes []uint64, reasons int32) {
	x := &k.fleet.index
	for _, n := range nodes {
		e := x.add(n, k.number)
		e.assumed += reasons
		x.tidy(n, e)
	}
}

// believe notes a choice in a router without KV events.
func (k *rank) believe(nodes []uint64, until int64) {
	k.assume(nodes, 1)
	k.fleet.beliefs = append(k.fleet.beliefs, belief{until, k, slices.Clone(nodes)})
}

// Get, Put and Delete are the index of the rank's pool.

func (k *rank) Get(n uint64) int32 {
	if e := k.fleet.index.find(n, k.number); e != nil {
		return e.slot
	}
	return none
}

func (k *rank) Put(n uint64, slot int32) { k.fleet.index.add(n, k.number).slot = slot }

// Delete takes note of a block that the engine has no more.
func (k *rank) Delete(n uint64) {
	e := k.fleet.index.find(n, k.number)
	e.slot = none
	if k.evicting != nil && k.fleet.bySlot {
		e.assumed++
		*k.evicting = append(*k.evicting, n)
	}
	k.fleet.index.tidy(n, e)
}

// disbelieve ends beliefs before their time.
func (f *fleet) disbelieve(which func(*belief) bool) {
	kept := f.beliefs[:0]
	for i := range f.beliefs {
		if b := &f.beliefs[i]; which(b) {
			b.rank.assume(b.nodes, -1)
		} else {
			kept = append(kept, *b)
		}
	}
	clear(f.beliefs[len(kept):])
	f.beliefs = kept
}
