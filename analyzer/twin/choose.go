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
	d := t.decision(r, role, worker, r.prefillRank.Key, r.chosen)
	d.TracksPrefill = true
	if d.Selected == r.prefillRank.Key && r.l.HitRate.Set {
		d.RecordedOverlapBlocks = decision.Some(r.l.HitRate.Value * float64(d.RequestBlocks))
	}
	t.emit(r, d)
	t.book(r)
	t.push(&t.events, r.admitted, evAdmit, r)
	t.push(&t.events, r.first, evFirstToken, r)
	if !r.l.Aggregated() {
		t.push(&t.events, r.decodeChosen, evDecode, r)
		t.push(&t.events, r.first+int64(t.opts.Handoff), evRelease, r)
		return
	}
	t.push(&t.events, r.end, evRelease, r)
	t.grow(r, r.first)
	t.push(&t.events, r.end, evEnd, r)
}

// chooseDecode rebuilds the choice of a decode worker. Such a router books no
// prefill and credits no overlap.
func (t *Twin) chooseDecode(r *request) {
	d := t.decision(r, decode, decision.Decode, r.decodeRank.Key, r.decodeChosen)
	d.LoadOnly = true
	t.emit(r, d)
	r.decodeRank.hold(r.blocks)
	t.push(&t.events, max(r.end, r.decodeChosen), evEnd, r)
}

// decision reads off what the router saw of each candidate.
func (t *Twin) decision(r *request, role role, worker decision.WorkerType, selected decision.Key, at int64) *decision.Decision {
	l := r.l
	d := &decision.Decision{
		RequestID: l.RequestID, SessionID: l.SessionID, Model: l.Model, Time: time.Unix(0, at).UTC(),
		WorkerType: worker, Pool: poolNames[role], Rebuilt: true,
		InputTokens: l.InputTokens, BlockSizeTokens: l.BlockSizeTokens,
		RequestBlocks: decision.Blocks(l.InputTokens, l.BlockSizeTokens), Selected: selected,
	}
	if r.fleet.capacity == 0 && t.opts.ApproximateTTL == 0 {
		d.Unknown |= decision.UnknownCapacity
	}
	ranks := r.fleet.pools[role]
	d.Candidates = make([]decision.Candidate, 0, len(ranks))
	for _, k := range ranks {
		if k.present(at) {
			d.Candidates = append(d.Candidates, k.candidate(r, role, at))
		}
	}
	return d
}

var poolNames = [...]string{aggregated: "aggregated", prefill: "prefill", decode: "decode"}

func (k *rank) candidate(r *request, role role, at int64) decision.Candidate {
	c := decision.Candidate{Key: k.Key, ActivePrefillTokens: k.prefillTokens, ActiveRequests: k.requests}
	if role != decode {
		overlap := k.overlap(r.blocks, at)
		c.EffectiveOverlapBlocks = float64(overlap)
		c.CachedTokens = uint64(overlap) * uint64(r.l.BlockSizeTokens)
	}
	if role != prefill { // prefill routers don't track decode blocks
		c.DecodeCostBlocks = k.decodeCost(r.blocks)
	}
	return c
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
	}
	t.opts.Emit(d, k.recorded)
}

// book puts a request on its worker, as the router does at the choice.
func (t *Twin) book(r *request) {
	k := r.prefillRank
	overlap := uint64(k.overlap(r.blocks, r.chosen)) * uint64(r.l.BlockSizeTokens)
	r.booked = r.l.InputTokens - min(r.l.InputTokens, overlap)
	k.prefillTokens += r.booked
	if r.l.Aggregated() {
		k.hold(r.blocks)
	}
	if k.believed != nil {
		k.believe(r.blocks, r.chosen, r.chosen+int64(t.opts.ApproximateTTL))
	}
}
