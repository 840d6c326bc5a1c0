package twin

// run lets an event happen.
func (t *Twin) run(e event) {
	switch e.kind {
	case evAdmit:
		t.admit(e.r)
	case evFirstToken:
		t.firstToken(e.r)
	case evGrow:
		t.growNow(e.r, e.at)
	case evRelease:
		t.release(e.r)
	case evEnd:
		t.end(e.r)
	case evDecode:
		t.chooseDecode(e.r)
	}
}

// admit allocates the prompt's blocks. What that evicts is gone from the engine
// at once, but the router hears of it when the step ends, with the first token.
func (t *Twin) admit(r *request) {
	k, size := r.prefillRank, uint64(r.l.BlockSizeTokens)
	r.matched = k.pool.Match(r.blocks)
	if r.matched > 0 && uint64(r.matched)*size >= r.l.InputTokens {
		r.matched-- // the last token is always computed
	}
	if c := r.l.CachedTokens; c >= 0 {
		r.matched = min(r.matched, int(uint64(c)/size)) // what the engine itself reported
	}
	r.ids = k.pool.Hold(r.blocks[:r.matched], make([]int32, 0, len(r.l.Hashes)+1))
	k.evicting = &r.evicted
	t.allocate(r, int((r.l.InputTokens+size-1)/size)-r.matched)
	k.evicting = nil
}

func (t *Twin) allocate(r *request, fresh int) {
	ids, over := r.prefillRank.pool.Allocate(fresh, r.ids)
	r.ids = ids
	t.counts.OverCapacity += uint64(over)
}

// firstToken ends prefill: the router takes the booking back, and learns of the
// blocks that were computed and of those that were evicted for them.
func (t *Twin) firstToken(r *request) {
	k := r.prefillRank
	k.prefillTokens -= min(k.prefillTokens, r.booked)
	k.published(r.evicted)
	r.evicted = nil
	for i := r.matched; i < len(r.blocks); i++ {
		k.pool.Cache(r.ids[i], r.blocks[i])
	}
}

// grow schedules the next block that generated tokens need, from a moment on.
func (t *Twin) grow(r *request, from int64) {
	size := uint64(r.l.BlockSizeTokens)
	held := uint64(len(r.ids)) * size
	if len(r.ids) == 0 { // not admitted yet
		held = (r.l.InputTokens + size - 1) / size * size
	}
	token := held - r.l.InputTokens // generated tokens that fit
	if token >= r.generated {
		return
	}
	at := r.first + int64(token)*r.step
	t.push(&t.events, max(from, at), evGrow, r)
}

func (t *Twin) growNow(r *request, at int64) {
	t.allocate(r, 1)
	t.grow(r, at)
}

// release gives the blocks back. Full blocks of generated text stay, without a
// hash that a prompt could match.
func (t *Twin) release(r *request) {
	k, size := r.prefillRank, uint64(r.l.BlockSizeTokens)
	if r.l.Aggregated() {
		full := min(uint64(len(r.ids)), (r.l.InputTokens+r.generated)/size)
		for i := uint64(len(r.blocks)); i < full; i++ {
			k.pool.Keep(r.ids[i])
		}
	}
	k.pool.Release(r.ids)
	r.ids = nil
}

// end takes the request off the router's books.
func (t *Twin) end(r *request) { r.decodeRank.drop(r.blocks) }

// finish ends a request that is over already.
func (t *Twin) finish(r *request) {
	t.release(r)
	if r.l.Aggregated() {
		t.end(r)
	}
}
