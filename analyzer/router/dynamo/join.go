package dynamo

import (
	"bytes"
	"math"

	"github.com/kvshadow/kvshadow/analyzer/decision"
)

// row adds a candidate to the choice that it belongs to.
func (d *Decoder) row(stream uint64, r row, ok bool) {
	key := d.groupKey(stream)
	if !ok {
		d.lose(UnknownFormula)
		d.open(key).poisoned = true
		return
	}
	g := d.groups[key]
	if g != nil && g.has(r.Key) { // the selection before this one never came
		d.abandon(groupRef{key: key, g: g})
		g = nil
	}
	if g == nil {
		g = d.open(key)
	}
	g.rows = append(g.rows, r)
}

func (d *Decoder) groupKey(stream uint64) groupKey {
	if id := d.requestID(); len(id) > 0 {
		return groupKey{id: d.intern(id), role: internRole(d.f.workerType)}
	}
	return groupKey{stream: stream}
}

// intern returns b as a string; the rows of one choice follow each other with
// the same id, which is then allocated once.
func (d *Decoder) intern(b []byte) string {
	if string(b) != d.lastID {
		d.lastID = string(b)
	}
	return d.lastID
}

func internRole(b []byte) string {
	switch string(b) {
	case "prefill":
		return "prefill"
	case "decode":
		return "decode"
	case "replay":
		return "replay"
	}
	return string(b)
}

func (d *Decoder) open(key groupKey) *group {
	if g := d.groups[key]; g != nil {
		return g
	}
	g := &group{}
	d.groups[key] = g
	d.oldest.push(groupRef{key, g, d.messages})
	return g
}

func (g *group) has(k decision.Key) bool {
	for i := range g.rows {
		if g.rows[i].Key == k {
			return true
		}
	}
	return false
}

// selected ends a choice.
func (d *Decoder) selected(stream uint64, sel selection, ok bool) {
	complete := d.completeSelection(&sel) // also where the text was wrong: the role finds the rows
	ok = ok && complete
	role, pool, known := roleOf(sel.workerType)
	key := groupKey{id: d.intern(d.requestID()), role: internRole(sel.workerType)}
	g := d.groups[key]
	if g == nil || key.id == "" {
		key = groupKey{stream: stream} // rows without ids, up to 1.3, or of the decode form
		g = d.groups[key]
	}
	if ok {
		d.capacity(sel.Key)
	}
	switch {
	case !ok:
		d.lose(Malformed)
	case !known:
		d.lose(UnknownWorkerType)
	case g == nil || len(g.rows) == 0 && !g.poisoned:
		d.withoutRows(sel, role, pool)
		return
	case g.poisoned:
		d.lose(UnknownFormula)
	default:
		if key.id == "" {
			g = d.split(key, g, sel.Key, role)
		}
		if !g.has(sel.Key) {
			d.lose(WinnerNotInRows)
			break
		}
		d.finish(build(g.rows, sel, role, pool))
	}
	if g != nil {
		g.closed = true
		if d.groups[key] == g {
			delete(d.groups, key)
		}
	}
}

// withoutRows hands on a selection that came alone.
func (d *Decoder) withoutRows(sel selection, role decision.WorkerType, pool string) {
	id := d.intern(d.requestID())
	if d.Selection == nil || id == "" || sel.pinned {
		d.lose(WinnerWithoutRows)
		return
	}
	d.Selection(&decision.Selection{RequestID: id, Time: parseTime(d.f.time), WorkerType: role, Pool: pool,
		Selected: sel.Key, CostBlocks: sel.cost})
}

// capacity reads the winner's KV capacity, which is printed as Some(512).
func (d *Decoder) capacity(rank decision.Key) {
	text, some := bytes.CutPrefix(d.f.totalKVBlocks, []byte("Some("))
	blocks, ok := parseUint(bytes.TrimSuffix(text, []byte(")")), 31)
	if d.Capacity != nil && some && ok && blocks > 0 {
		d.Capacity(rank, int(blocks))
	}
}

// completeSelection takes from the line's fields what the text didn't say.
func (d *Decoder) completeSelection(sel *selection) bool {
	if len(sel.workerType) == 0 {
		sel.workerType = d.f.workerType
	}
	if sel.text {
		return true
	}
	worker, ok1 := parseUint(d.f.workerID, 64)
	rank, ok2 := parseUint(d.f.dpRank, 32)
	s := scanner{b: d.f.logit, ok: true}
	logit := s.full()
	sel.WorkerID, sel.DPRank, sel.cost = worker, uint32(rank), decision.Some(logit)
	return ok1 && ok2 && s.ok
}

// roleOf maps the router's worker_type to the role it is counted under and to
// the pool's name. Early releases print none.
func roleOf(workerType []byte) (role decision.WorkerType, pool string, ok bool) {
	switch string(workerType) {
	case "prefill":
		return decision.Prefill, "prefill", true
	case "decode", "": // aggregated workers read "decode" too
		return decision.Decode, "", true
	case "aggregated", "replay":
		return decision.Decode, string(workerType), true
	}
	return 0, "", false
}

// split leaves the rows of the other role behind: two routers of one process
// may print rows without ids at the same moment. Which role a worker has is
// learned from selections. One that contradicts what was learned shows that
// roles were learned from such mixed rows, and learning starts again.
func (d *Decoder) split(key groupKey, g *group, winner decision.Key, role decision.WorkerType) *group {
	if known, ok := d.roles[winner.WorkerID]; ok && known != role {
		clear(d.roles)
	}
	mine, other := &group{}, &group{}
	for _, r := range g.rows {
		if known, ok := d.roles[r.WorkerID]; ok && known != role {
			other.rows = append(other.rows, r)
		} else {
			mine.rows = append(mine.rows, r)
		}
	}
	if len(other.rows) == 0 {
		d.learn(g.rows, role)
		return g
	}
	d.learn(mine.rows, role)
	g.closed = true
	d.groups[key] = other
	d.oldest.push(groupRef{key, other, d.messages})
	return mine
}

// maxRoles bounds the memory of worker roles; fleets are far smaller.
const maxRoles = 1 << 16

func (d *Decoder) learn(rows []row, role decision.WorkerType) {
	for i := range rows {
		if len(d.roles) < maxRoles {
			d.roles[rows[i].WorkerID] = role
		}
	}
}

// finish completes a choice with what is known about its request and lets it
// wait for the messages that follow.
func (d *Decoder) finish(x *decision.Decision) {
	x.RequestID = d.intern(d.requestID())
	x.Time = parseTime(d.f.time)
	d.length(x)
	d.tiers(x)
	p := &pending{d: x, at: d.messages}
	d.ready.push(p)
	if x.Time.After(d.newest) || d.newest.Sub(x.Time) > joinTime { // or the clock was set back
		d.newest = x.Time
	}
	if x.RequestID != "" {
		d.byID[x.RequestID] = p
	}
}

// length notes the prompt's length, as far as it is known.
func (d *Decoder) length(x *decision.Decision) {
	if in, ok := d.inputs[x.RequestID]; ok {
		x.InputTokens, x.BlockSizeTokens = in.tokens, in.blockSize
		x.RequestBlocks = decision.Blocks(in.tokens, in.blockSize)
		exactTokens(x)
	}
	if x.RequestBlocks == 0 {
		x.Unknown |= decision.UnknownRequestBlocks
	}
}

// tiers notes the winner's host and disk blocks. Rows blend the tiers, so with
// any of them in use the split of the other candidates is unknown.
func (d *Decoder) tiers(x *decision.Decision) {
	host, ok1 := parseUint(d.f.hostBlocks, 32)
	disk, ok2 := parseUint(d.f.diskBlocks, 32)
	i := x.Find(x.Selected)
	if ok1 && ok2 {
		x.Candidates[i].HostBlocks, x.Candidates[i].DiskBlocks = float64(host), float64(disk)
	}
	tiered := host+disk > 0
	for j := range x.Candidates {
		e := x.Candidates[j].EffectiveOverlapBlocks
		tiered = tiered || e != math.Trunc(e)
	}
	if tiered {
		x.Unknown |= decision.UnknownTiers
	}
}

// exactTokens turns rounded blocks back into the whole tokens they came from,
// where the block size makes that unique.
func exactTokens(x *decision.Decision) {
	block := float64(x.BlockSizeTokens)
	if !x.TracksPrefill || block >= 1/(2*rowTolerance) {
		return
	}
	active := make([]uint64, len(x.Candidates))
	for i := range x.Candidates {
		raw := x.Candidates[i].RawPrefillBlocks.Value
		tokens := math.Round(raw * block)
		if !near(tokens/block, raw, rowTolerance) || tokens < float64(x.InputTokens) || tokens >= 1<<53 {
			return
		}
		active[i] = uint64(tokens) - x.InputTokens
	}
	for i, a := range active {
		x.Candidates[i].ActivePrefillTokens = a
		x.Candidates[i].RawPrefillBlocks = decision.Float{}
	}
}

// rowTolerance is half a unit in the third decimal, to which rows are rounded.
const rowTolerance = 0.0005

// build turns rows and their selection into a decision.
func build(rows []row, sel selection, role decision.WorkerType, pool string) *decision.Decision {
	x := &decision.Decision{
		WorkerType: role, Pool: pool, Selected: sel.Key, SelectedCostBlocks: sel.cost,
		CostToleranceBlocks: rowTolerance, Pinned: sel.pinned,
		Candidates: make([]decision.Candidate, len(rows)),
	}
	loadOnly := true // prefill isn't booked: every row has 0 raw blocks
	for i := range rows {
		r := &rows[i]
		x.Pinned = x.Pinned || r.pinned
		x.TracksPrefill = x.TracksPrefill || r.raw > 0 && !(r.form == formLegacy && r.scale == 0)
		loadOnly = loadOnly && r.form != formDecode
		x.Candidates[i] = candidate(r)
	}
	x.LoadOnly = role == decision.Decode && !x.TracksPrefill && loadOnly
	if x.Pool == "" {
		x.Pool = "decode"
		if x.TracksPrefill {
			x.Pool = "aggregated"
		}
	}
	x.RecordedWeights = recordedWeights(&rows[0], x.TracksPrefill)
	x.Unknown |= decision.UnknownActiveRequests
	if i := x.Find(sel.Key); !x.Pinned && sel.cost.Set && !near(sel.cost.Value, rows[i].cost, 2*rowTolerance) {
		x.Unknown |= decision.UnknownTaints // the row is before the multiplier, the winner's cost after it
	}
	return x
}

func candidate(r *row) decision.Candidate {
	return decision.Candidate{
		Key:                    r.Key,
		EffectiveOverlapBlocks: r.effective,
		SharedBeyondBlocks:     decision.Some(r.shared),
		RawPrefillBlocks:       decision.Some(r.raw),
		DecodeCostBlocks:       r.decode,
		Recorded: decision.Recorded{
			CostBlocks:              decision.Some(r.cost),
			OverlapCreditBlocks:     r.credit,
			OverlapCreditDecay:      r.decay,
			ActiveRequestCostBlocks: r.activeCost,
		},
	}
}

// recordedWeights are the weights that a row prints. The scale of a row that
// charges no prefill says nothing.
func recordedWeights(r *row, tracked bool) []decision.Weight {
	var w []decision.Weight
	if r.form != formDecode && tracked {
		w = append(w, decision.Weight{Name: "prefill_load_scale", Value: r.scale})
	}
	if r.sharedMultiplier.Set {
		w = append(w, decision.Weight{Name: "shared_cache_multiplier", Value: r.sharedMultiplier.Value})
	}
	return w
}

// firstWord is the time stamp of a human-readable line.
func firstWord(b []byte) []byte {
	b = bytes.TrimLeft(b, " ")
	if i := bytes.IndexByte(b, ' '); i >= 0 {
		return b[:i]
	}
	return b
}
