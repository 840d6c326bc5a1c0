package fleet

import "slices"

// length is the sequence's tokens: the prompt and what was generated.
func (w *world) length(r *request) int { return w.load.turns[r.turn].input + r.generated }

// startStep schedules a step as vLLM does: first every running request, then
// waiting ones while there is room, within the token budget.
func (k *rank) startStep(w *world) error {
	var batch prefillBatch
	budget, preempted := k.scheduleRunning(w, &batch)
	k.closed = false
	if !preempted || len(k.running) == 0 {
		if err := k.receive(w); err != nil {
			return err
		}
		k.scheduleWaiting(w, budget, &batch)
	}
	k.launch(w, &batch)
	return nil
}

// scheduleRunning gives every running request its tokens, and its blocks at the
// expense of the last ones. It returns what is left of the token budget.
func (k *rank) scheduleRunning(w *world, batch *prefillBatch) (budget int, preempted bool) {
	budget = w.cfg.MaxBatchedTokens
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
		k.schedule(w, r, before, tokens, batch)
		budget -= tokens
		i++
	}
	return budget, preempted
}

// scheduleWaiting lets waiting requests in, the oldest first.
func (k *rank) scheduleWaiting(w *world, budget int, batch *prefillBatch) {
	for len(k.waiting) > 0 && budget > 0 {
		if !k.hasten(w) && len(k.pending) > 0 {
			k.closed = true
			return
		}
		id := k.waiting[0]
		r := &w.reqs[id]
		tokens, ok := 0, len(k.running) < w.cfg.MaxNumSeqs
		if ok {
			tokens, ok = k.admit(w, id, budget)
		}
		if !ok {
			k.closed = true
			return
		}
		k.waiting = k.waiting[1:]
		k.running = append(k.running, id)
		k.schedule(w, r, r.computed, tokens, batch)
		budget -= tokens
	}
}

// hasten moves a waiting request that holds its blocks to the front, where one
// without would wait for them for ever.
func (k *rank) hasten(w *world) bool {
	i := slices.IndexFunc(k.waiting, func(id int32) bool { return len(w.reqs[id].ids) > 0 })
	if i < 0 {
		return false
	}
	id := k.waiting[i]
	k.waiting = slices.Insert(slices.Delete(k.waiting, i, i+1), 0, id)
	return true
}

// prefillBatch sums the prompts of a step, as the timing model takes them.
type prefillBatch struct {
	count, total, prefix int
	work                 bool // anything at all is computed
}

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
	b.work = b.work || tokens > 0
	if prompt := min(after, t.input) - min(before, t.input); prompt > 0 {
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
func (k *rank) admit(w *world, id int32, budget int) (tokens int, ok bool) {
	r := &w.reqs[id]
	t := &w.load.turns[r.turn]
	size, length := w.cfg.BlockSize, w.length(r)
	if len(r.ids) > 0 { // its cache came from a prefill worker
		return min(length-r.computed, budget), true
	}
	full := k.known(w, id)
	matched := k.pool.Match(full)
	if matched > 0 && matched*size >= length {
		matched--
	}
	if !k.pool.Fits(full[:matched], ceilDiv(length, size)-matched) {
		return 0, false
	}
	r.ids = k.pool.Hold(full[:matched], r.ids[:0])
	r.computed = matched * size
	if !k.decodeOnly {
		r.reused = min(r.computed, t.input) // of the last admission, as upstream reports it
	}
	tokens = min(length-r.computed, budget)
	r.ids, _ = k.pool.Allocate(ceilDiv(r.computed+tokens, size)-matched, r.ids)
	return tokens, true
}

// preempt throws a running request out. What isn't evicted meanwhile it finds
// again, what it generated too.
func (k *rank) preempt(w *world, id int32) {
	r := &w.reqs[id]
	i := slices.Index(k.running, id)
	k.running = slices.Delete(k.running, i, i+1)
	if !r.preempted {
		t := &w.load.turns[r.turn]
		r.preempted, r.own = true, w.blocks
		w.blocks += uint64(ceilDiv(t.input+t.output, w.cfg.BlockSize))
	}
	for i, block := range k.known(w, id) {
		if (i+1)*w.cfg.BlockSize <= r.computed {
			k.pool.Cache(r.ids[i], block)
		}
	}
	k.pool.Release(r.ids)
	r.ids, r.computed = r.ids[:0], 0
	k.waiting = slices.Insert(k.waiting, 0, id)
}

// known returns a request's full blocks: those of its prompt and, once it was
// preempted, of what it generated, which nobody else has.
func (k *rank) known(w *world, id int32) []uint64 {
	r := &w.reqs[id]
	full := w.load.turns[r.turn].full
	if !r.preempted {
		return full
	}
	full = full[:len(full):len(full)]
	for len(full) < w.length(r)/w.cfg.BlockSize {
		full = append(full, r.own+uint64(len(full)))
	}
	return full
}
