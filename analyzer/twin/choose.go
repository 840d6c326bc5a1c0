package twin

import (
	"time"

	"github.com/kvshadow/kvshadow/analyzer/decision"
)

// choose rebuilds the choice that began a request: of an aggregated worker, or
// of a prefill worker.
func (t *Twin) choose(r *request) {
	role, worker := prefill, decision.Prefill
	if r.l.Aggregated() {
		role, worker = aggregated, decision.Decode
	}
	t.begin(r)
	d := t.decision(r, role, worker, r.prefillRank.Key, r.chosen)
	d.TracksPrefill = true
	if r.l.HitRate.Set {
		d.RecordedOverlapBlocks = decision.Some(r.l.HitRate.Value * float64(d.RequestBlocks))
	}
	t.emit(r, d)
	t.book(r)
	t.push(&t.events, r.admitted, evAdmit, r)
	if !r.l.Aggregated() {
		t.push(&t.events, r.decodeChosen, evDecode, r)
	}
}

// begin looks the request's prompt up, as of its choice.
func (t *Twin) begin(r *request) {
	r.setAdmitted(&t.prefill)
	t.prefill.learn(r.l)
	r.nodes = r.fleet.index.intern(r.blocks, r.nodes)
	r.fleet.look(r.nodes, r.chosen)
	if t.name(r) {
		t.counts.LearnedOverlaps++
		r.fleet.look(r.nodes, r.chosen)
	}
}

// name gives generated blocks their hashes: where the engine reused more of the
// prompt than earlier prompts explain, and an earlier request ended just there,
// the prompt goes on with the text that was generated then.
func (t *Twin) name(r *request) bool {
	k, n := r.prefillRank, int(r.fleet.on[r.prefillRank.number].cached)
	reused := int(min(uint64(max(0, r.l.CachedTokens))/uint64(r.l.BlockSizeTokens), uint64(len(r.blocks))))
	if n == 0 || reused <= n || t.opts.ApproximateTTL > 0 {
		return false
	}
	return k.pool.Name(r.blocks[n-1], r.nodes[n:reused]) > 0
}

// chooseDecode rebuilds the choice of a decode worker. Such a router books no
// prefill and credits no overlap.
func (t *Twin) chooseDecode(r *request) {
	r.fleet.look(r.nodes, r.decodeChosen)
	d := t.decision(r, decode, decision.Decode, r.decodeRank.Key, r.decodeChosen)
	d.LoadOnly = true
	t.emit(r, d)
	r.decodeRank.hold(r.nodes)
	t.push(&t.events, max(r.end, r.decodeChosen), evEnd, r)
}

// decision reads off what the router saw of each candidate.
func (t *Twin) decision(r *request, role role, worker decision.WorkerType, selected decision.Key, at int64) *decision.Decision {
	l := r.l
	d := &t.d
	*d = decision.Decision{
		RequestID: l.RequestID, SessionID: l.SessionID, Model: l.Model, Time: time.Unix(0, at).UTC(),
		WorkerType: worker, Pool: poolNames[role], Rebuilt: true,
		InputTokens: l.InputTokens, BlockSizeTokens: l.BlockSizeTokens,
		RequestBlocks: decision.Blocks(l.InputTokens, l.BlockSizeTokens), Selected: selected,
		Candidates: d.Candidates[:0],
	}
	for _, k := range r.fleet.pools[role] {
		if !k.present(at) {
			continue
		}
		d.Candidates = append(d.Candidates, decision.Candidate{})
		k.candidate(r, role, &d.Candidates[len(d.Candidates)-1])
		if k.unlimited && t.opts.ApproximateTTL == 0 {
			d.Unknown |= decision.UnknownCapacity
		}
	}
	return d
}

var poolNames = [...]string{aggregated: "aggregated", prefill: "prefill", decode: "decode"}

func (k *rank) candidate(r *request, role role, c *decision.Candidate) {
	on := k.fleet.on[k.number]
	c.Key, c.ActivePrefillTokens, c.ActiveRequests = k.Key, k.prefillTokens, k.requests
	if role != decode {
		c.EffectiveOverlapBlocks = float64(on.cached)
		c.CachedTokens = uint64(on.cached) * uint64(r.l.BlockSizeTokens)
	}
	if role != prefill { // prefill routers don't track decode blocks
		c.DecodeCostBlocks = float64(k.activeBlocks + len(r.blocks) - int(on.active))
	}
}

// emit completes a decision with what a log said of it.
func (t *Twin) emit(r *request, d *decision.Decision) {
	k := t.known.take(d.RequestID, d.WorkerType)
	switch {
	case k.selection != nil:
		if d.Find(k.selection.Selected) >= 0 {
			d.Selected = k.selection.Selected
		}
		d.SelectedCostBlocks = k.selection.CostBlocks
	case k.recorded != nil:
		d.SelectedCostBlocks = k.recorded.SelectedCostBlocks
	case k.whole:
		t.counts.Uncompared++
		return
	}
	t.opts.Emit(d, k.recorded)
}

// book puts a request on its worker, as the router does at the choice.
func (t *Twin) book(r *request) {
	k := r.prefillRank
	overlap := uint64(k.fleet.on[k.number].cached) * uint64(r.l.BlockSizeTokens)
	r.booked = r.l.InputTokens - min(r.l.InputTokens, overlap)
	k.prefillTokens += r.booked
	if r.l.Aggregated() {
		k.hold(r.nodes)
	}
	if t.opts.ApproximateTTL > 0 {
		k.believe(r.nodes, r.chosen+int64(t.opts.ApproximateTTL))
	}
}
