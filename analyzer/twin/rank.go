package twin

import (
	"math"

	"github.com/kvshadow/kvshadow/analyzer/decision"
	"github.com/kvshadow/kvshadow/analyzer/kvcache"
)

// fleet is the workers of one model.
type fleet struct {
	capacity int
	all      map[rankKey]*rank
	// pools lists the ranks of each role in the order in which they appeared.
	pools map[role][]*rank
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
	firstSeen, lastSeen int64

	// What the router books.
	active        map[uint64]int32 // blocks of unfinished requests, with their count
	prefillTokens uint64
	requests      uint64

	// What the engine holds. gone are hashes that the pool has evicted while
	// the router still believes in them, with the number of requests whose
	// first token will tell it.
	pool *kvcache.Pool
	gone map[uint64]int32
	// evicting collects the hashes that an allocation evicts.
	evicting *[]uint64

	// What a router without KV events believes: hashes with the time until
	// which it does, and the order in which that ends.
	believed map[uint64]int64
	ending   []ending
}

type ending struct {
	at   int64
	hash uint64
}

func (t *Twin) fleet(model string) *fleet {
	f := t.fleets[model]
	if f == nil {
		f = &fleet{capacity: t.opts.GPUBlocks, all: map[rankKey]*rank{}, pools: map[role][]*rank{}}
		t.fleets[model] = f
	}
	return f
}

func (t *Twin) rank(f *fleet, key rankKey) *rank {
	if k := f.all[key]; k != nil {
		return k
	}
	k := &rank{rankKey: key, firstSeen: math.MaxInt64, lastSeen: math.MinInt64,
		active: map[uint64]int32{}, gone: map[uint64]int32{}}
	k.pool = kvcache.New(f.capacity, func(hash uint64) {
		if k.evicting != nil {
			*k.evicting = append(*k.evicting, hash)
			k.gone[hash]++
		}
	})
	if t.opts.ApproximateTTL > 0 {
		k.believed = map[uint64]int64{}
	}
	f.all[key] = k
	f.pools[key.role] = append(f.pools[key.role], k)
	return k
}

// seen notes that a request was sent to the rank.
func (k *rank) seen(at int64) {
	k.firstSeen, k.lastSeen = min(k.firstSeen, at), max(k.lastSeen, at)
}

// present says whether the router could have chosen the rank.
func (k *rank) present(at int64) bool {
	return at >= k.firstSeen-int64(presence) && at <= k.lastSeen+int64(presence)
}

// overlap is how many leading blocks the router believes cached on the rank.
func (k *rank) overlap(blocks []uint64, now int64) int {
	if k.believed != nil {
		for i, h := range blocks {
			if k.believed[h] < now {
				return i
			}
		}
		return len(blocks)
	}
	for i, h := range blocks {
		if !k.pool.Has(h) && k.gone[h] == 0 {
			return i
		}
	}
	return len(blocks)
}

// decodeCost is the rank's active blocks with those of the request. Hashes
// chain, so a block is shared only if all before it are.
func (k *rank) decodeCost(blocks []uint64) float64 {
	shared := 0
	for _, h := range blocks {
		if k.active[h] == 0 {
			break
		}
		shared++
	}
	return float64(len(k.active) + len(blocks) - shared)
}

func (k *rank) hold(blocks []uint64) {
	for _, h := range blocks {
		k.active[h]++
	}
	k.requests++
}

func (k *rank) drop(blocks []uint64) {
	for _, h := range blocks {
		if n := k.active[h] - 1; n > 0 {
			k.active[h] = n
		} else {
			delete(k.active, h)
		}
	}
	k.requests--
}

// believe notes a choice in a router without KV events, and forgets what has
// ended.
func (k *rank) believe(blocks []uint64, now, until int64) {
	for _, h := range blocks {
		k.believed[h] = until
		k.ending = append(k.ending, ending{until, h})
	}
	n := 0
	for n < len(k.ending) && k.ending[n].at < now {
		if h := k.ending[n].hash; k.believed[h] <= k.ending[n].at {
			delete(k.believed, h)
		}
		n++
	}
	k.ending = k.ending[n:]
}

// published tells the router of evictions that happened while a step ran.
func (k *rank) published(hashes []uint64) {
	for _, h := range hashes {
		if n := k.gone[h] - 1; n > 0 {
			k.gone[h] = n
		} else {
			delete(k.gone, h)
		}
	}
}
