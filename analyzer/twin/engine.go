package twin

import (
	"slices"

	"github.com/kvshadow/kvshadow/analyzer/decision"
)

// run lets an event happen. Each part of a request schedules the next, so that
// their order holds even where a record has them all at the same moment.
func (t *Twin) run(e event) {
	switch e.kind {
	case evAdmit:
		t.admit(e.r)
		t.push(&t.events, e.r.first, evFirstToken, e.r)
	case evFirstToken:
		t.firstToken(e.r)
		t.generate(e.r)
	case evGrow:
		t.allocate(e.r, 1)
		t.grow(e.r)
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
	r.matched = k.pool.Match(r.nodes)
	if r.matched > 0 && uint64(r.matched)*size >= r.l.InputTokens {
		r.matched-- // the last token is always computed
	}
	if c := r.l.CachedTokens; c >= 0 {
		r.matched = int(min(uint64(r.matched), uint64(c)/size)) // what the engine itself reported
	}
	fresh := int(r.promptBlocks()) - r.matched
	r.ids = k.pool.Hold(r.nodes[:r.matched], slices.Grow(r.ids, r.matched+fresh+1))
	k.evicting = &r.evicted
	t.allocate(r, fresh)
	k.evicting = nil
}

// promptBlocks counts the started blocks of the prompt, a partial one without a
// hash included.
func (r *request) promptBlocks() uint64 {
	started := decision.Blocks(r.l.InputTokens, r.l.BlockSizeTokens)
	return max(uint64(len(r.blocks)), min(started, uint64(len(r.blocks))+1))
}

func (t *Twin) allocate(r *request, fresh int) {
	ids, over := r.prefillRank.pool.Allocate(fresh, r.ids)
	r.ids = ids
	t.counts.OverCapacity += uint64(min(over, fresh)) // what was over before has been counted
}

// firstToken ends prefill: the router takes the booking back, and learns of the
// blocks that were computed and of those that were evicted for them.
func (t *Twin) firstToken(r *request) {
	k := r.prefillRank
	k.prefillTokens -= min(k.prefillTokens, r.booked)
	k.assume(r.evicted, -1)
	r.evicted = r.evicted[:0]
	for i := r.matched; i < len(r.blocks); i++ {
		k.pool.Cache(r.ids[i], r.nodes[i])
	}
}

// generate schedules what follows the first token.
func (t *Twin) generate(r *request) {
	if !r.l.Aggregated() {
		t.push(&t.events, r.first+int64(t.opts.Handoff), evRelease, r)
		return
	}
	t.grow(r)
	t.push(&t.events, r.end, evRelease, r)
	t.push(&t.events, r.end, evEnd, r)
}

// grow schedules the next block that generated tokens need.
func (t *Twin) grow(r *request) {
	size := uint64(r.l.BlockSizeTokens)
	held := uint64(len(r.ids)) * size
	room := held - min(held, r.l.InputTokens) // generated tokens that fit
	switch {
	case room >= r.generated:
	case r.step == 0: // all at once, and over
		t.allocate(r, int((r.generated-room+size-1)/size))
	default:
		t.push(&t.events, r.first+int64(room)*r.step, evGrow, r)
	}
}

// release gives the blocks back. Full blocks of generated text stay, without a
// hash until a prompt shows it; see [Twin.name].
func (t *Twin) release(r *request) {
	k, size := r.prefillRank, uint64(r.l.BlockSizeTokens)
	if full := min(uint64(len(r.ids)), (r.l.InputTokens+r.generated)/size); r.l.Aggregated() && full > uint64(len(r.blocks)) {
		parent := uint64(0) // none
		if n := len(r.blocks); n > 0 {
			parent = r.blocks[n-1]
		}
		k.pool.KeepAfter(parent, r.ids[len(r.blocks):full])
	}
	k.pool.Release(r.ids)
	r.ids = r.ids[:0]
	k.open--
	t.part(r)
}

// part ends one of the two parts of a request. After the second nothing refers
// to it or to its blocks.
func (t *Twin) part(r *request) {
	if r.parts++; r.parts == 2 {
		r.fleet.index.release(r.nodes)
		*r = request{nodes: r.nodes[:0], ids: r.ids[:0], evicted: r.evicted[:0]}
		t.spare = append(t.spare, r)
	}
}

// end takes the request off the router's books.
func (t *Twin) end(r *request) {
	r.decodeRank.drop(r.nodes)
	r.decodeRank.open--
	t.part(r)
}
