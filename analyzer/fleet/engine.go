package fleet

import (
	"slices"

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

	active        map[uint64]int32
	prefillTokens int
	requests      int

	// index is what the router believes cached here. The events of a step reach
	// it when the step ends.
	index     map[uint64]struct{}
	changes   []change
	visibleAt float64

	pool    *kvcache.Pool
	waiting []int32
	running []int32
	busy    bool

	// The step that is under way.
	steps     int // how many decode steps it stands for
	decoding  int // sequences that decode in it
	context   int // their tokens
	prefillMs float64
	started   float64
	version   uint32
}

func newRank(w *world, key decision.Key, prefillOnly, decodeOnly bool) *rank {
	k := &rank{key: key, prefillOnly: prefillOnly, decodeOnly: decodeOnly,
		active: map[uint64]int32{}, index: map[uint64]struct{}{}}
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
			k.index[c.hash] = struct{}{}
		} else {
			delete(k.index, c.hash)
		}
	}
	k.changes = k.changes[:0]
}

// overlap is how many leading blocks the router believes cached here.
func (k *rank) overlap(full []uint64) int {
	for i, h := range full {
		if _, ok := k.index[h]; !ok {
			return i
		}
	}
	return len(full)
}

func (k *rank) book(full []uint64) {
	for _, h := range full {
		k.active[h]++
	}
	k.requests++
}

func (k *rank) unbook(full []uint64) {
	for _, h := range full {
		if n := k.active[h] - 1; n > 0 {
			k.active[h] = n
		} else {
			delete(k.active, h)
		}
	}
	k.requests--
}

func (k *rank) decodeCost(full []uint64) float64 {
	shared := 0
	for _, h := range full {
		if k.active[h] == 0 {
			break
		}
		shared++
	}
	return float64(len(k.active) + len(full) - shared)
}

// length is the sequence's tokens: the prompt and what was generated.
func (w *world) length(r *request) int { return w.load.turns[r.turn].input + r.generated }

// startStep schedules a step as vLLM does: first every running request, then
// waiting ones while there is room, within the token budget.
func (k *rank) startStep(w *world) error {
	budget := w.cfg.MaxBatchedTokens
	var batch prefillBatch
	preempted := false
	for i := 0; i < len(k.running) && budget > 0; {
		id := k.running[i]
		r := &w.reqs[id]
		before := r.computed
		tokens := min(w.length(r)-before, budget)
		if !k.grow(w, r, before+tokens) {
			victim := k.running[len(k.running)-1]
			k.preempt(w, victim)
			preempted = true
			continue // the victim may be this one, which has left the list then
		}
		k.schedule(w, r, before, tokens, &batch)
		budget -= tokens
		i++
	}
	for !preempted && len(k.waiting) > 0 && len(k.running) < w.cfg.MaxNumSeqs && budget > 0 {
		id := k.waiting[0]
		r := &w.reqs[id]
		tokens, ok := k.admit(w, r, budget)
		if !ok {
			break
		}
		k.waiting = k.waiting[1:]
		k.running = append(k.running, id)
		k.schedule(w, r, r.computed, tokens, &batch)
		budget -= tokens
	}
	k.launch(w, &batch)
	return nil
}

// prefillBatch sums the prompts of a step, as the timing model takes them.
type prefillBatch struct{ count, total, prefix int }

// schedule computes tokens of a request in this step. Its full blocks can be
// matched from now on, by later requests of the same step too.
func (k *rank) schedule(w *world, r *request, before, tokens int, b *prefillBatch) {
	t := &w.load.turns[r.turn]
	after := before + tokens
	size := w.cfg.BlockSize
	for i := before / size; i < after/size && i < len(r.ids); i++ {
		if i < len(t.full) {
			if k.pool.Cache(r.ids[i], t.full[i]) {
				k.changes = append(k.changes, change{t.full[i], true})
			}
		} else {
			k.pool.Keep(r.ids[i])
		}
	}
	r.computed = after
	if prompt := min(after, t.input) - min(before, t.input); prompt > 0 && !k.decodeOnly {
		b.count++
		b.total += min(before, t.input) + prompt
		b.prefix += min(before, t.input)
	}
}

// grow allocates blocks up to a number of computed tokens; it fails if the pool
// is exhausted.
func (k *rank) grow(w *world, r *request, tokens int) bool {
	need := ceilDiv(tokens, w.cfg.BlockSize) - len(r.ids)
	if need <= 0 {
		return true
	}
	if !k.pool.Fits(nil, need) {
		return false
	}
	r.ids, _ = k.pool.Allocate(need, r.ids)
	return true
}

// admit lets a waiting request in if its known sequence fits: its cached prefix
// is held and the blocks of its first chunk are allocated.
func (k *rank) admit(w *world, r *request, budget int) (tokens int, ok bool) {
	t := &w.load.turns[r.turn]
	size, length := w.cfg.BlockSize, w.length(r)
	if len(r.ids) > 0 { // its cache came from a prefill worker
		return min(length-r.computed, budget), true
	}
	matched := k.pool.Match(t.full)
	if matched > 0 && matched*size >= length {
		matched--
	}
	if !k.pool.Fits(t.full[:matched], ceilDiv(length, size)-matched) {
		return 0, false
	}
	r.ids = k.pool.Hold(t.full[:matched], r.ids[:0])
	r.computed = matched * size
	if !r.started {
		r.started, r.reused = true, r.computed
	}
	tokens = min(length-r.computed, budget)
	r.ids, _ = k.pool.Allocate(ceilDiv(r.computed+tokens, size)-matched, r.ids)
	return tokens, true
}

// preempt throws a running request out; it will be computed again.
func (k *rank) preempt(w *world, id int32) {
	r := &w.reqs[id]
	i := slices.Index(k.running, id)
	k.running = slices.Delete(k.running, i, i+1)
	k.pool.Release(r.ids)
	r.ids, r.computed = r.ids[:0], 0
	k.waiting = slices.Insert(k.waiting, 0, id)
}
