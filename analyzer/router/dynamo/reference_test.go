package dynamo

import (
	"math"
	"math/rand"
	"slices"

	"github.com/kvshadow/kvshadow/analyzer/decision"
)

// reference is the cost function once more, written down plainly from its
// description and term by term, so that tests have something to compare with.
// It speaks of exact decisions only: nothing unknown, no rounded inputs.
func reference(d *decision.Decision, p *Params) (index []int, costs []float64) {
	least := uint64(math.MaxUint64)
	for i := range d.Candidates {
		if !d.Candidates[i].Ineligible {
			index = append(index, i)
			least = min(least, d.Candidates[i].ActivePrefillTokens)
		}
	}
	for _, i := range index {
		costs = append(costs, referenceCost(d, p, &d.Candidates[i], least))
	}
	return index, costs
}

func referenceCost(d *decision.Decision, p *Params, x *decision.Candidate, least uint64) float64 {
	block := float64(d.BlockSizeTokens)
	device := x.EffectiveOverlapBlocks
	if d.TierMaps {
		device = x.DeviceBlocks.Value // 0 without an entry
	}
	shared := 0.0
	for _, r := range d.SharedHits {
		for b := r.Start; b < r.End; b++ {
			if float64(b) >= math.Floor(device+0.5) {
				shared++
			}
		}
	}
	c := p.OverlapScoreCredit
	if d.LoadOnly {
		c = 0
	}
	decay, raw := 1.0, 0.0
	if d.TracksPrefill {
		if d.RequestBlocks > 0 {
			decay = 1 / (1 + p.OverlapScoreCreditDecay*(float64(x.ActivePrefillTokens-least)/block)/float64(d.RequestBlocks))
		}
		raw = float64(x.ActivePrefillTokens+max(d.InputTokens, x.CachedTokens)) / block
		if x.NoLoadEntry {
			raw = float64(d.InputTokens) / block
		}
	}
	credit := c*decay*device + p.HostCacheHitWeight*x.HostBlocks + p.DiskCacheHitWeight*x.DiskBlocks + p.SharedCacheMultiplier*shared
	missing := max(0, float64(d.RequestBlocks)-device)
	requests := p.DecodeActiveRequestWeight * float64(x.ActiveRequests)
	sum := 0.0
	switch loadDecode := d.WorkerType == decision.Decode && !d.TracksPrefill; {
	case loadDecode && c > 0:
		sum = max(0, x.DecodeCostBlocks-credit) + requests + p.PrefixAffinityWeight*missing
	case loadDecode:
		sum = p.PrefillLoadScale*max(0, raw-credit) + x.DecodeCostBlocks + requests
	default:
		sum = p.PrefillLoadScale*max(0, raw-credit) + x.DecodeCostBlocks + requests + p.PrefixAffinityWeight*missing
	}
	if d.PreferredTaints != nil {
		matched := 0.0
		for name, w := range d.PreferredTaints {
			if slices.Contains(x.Taints, name) {
				matched += float64(w)
			}
		}
		sum *= math.Exp(-math.Tanh(matched))
	}
	return sum
}

// randomDecision draws a small decision in one of the forms of the cost
// function. Its numbers are whole tokens and blocks, so that ties happen and
// sums are exact.
func randomDecision(r *rand.Rand) *decision.Decision {
	d := &decision.Decision{
		WorkerType: decision.WorkerTypes[r.Intn(2)], BlockSizeTokens: []uint32{16, 64}[r.Intn(2)],
		TracksPrefill: r.Intn(3) > 0, TierMaps: r.Intn(3) == 0,
	}
	d.LoadOnly = d.WorkerType == decision.Decode && !d.TracksPrefill && r.Intn(3) == 0
	d.InputTokens = uint64(1 + r.Intn(12*int(d.BlockSizeTokens)))
	d.RequestBlocks = decision.Blocks(d.InputTokens, d.BlockSizeTokens)
	if r.Intn(4) == 0 {
		d.SharedHits = []decision.BlockRange{{Start: 0, End: uint32(1 + r.Intn(3))}, {Start: 5, End: 7}}
	}
	if r.Intn(4) == 0 {
		d.PreferredTaints = map[string]float32{"a": 0.5, "b": -1.25}
	}
	for i := range 1 + r.Intn(5) {
		d.Candidates = append(d.Candidates, randomCandidate(r, d, uint64(i)))
	}
	d.Candidates[0].Ineligible = false
	eligible := slices.IndexFunc(d.Candidates, func(x decision.Candidate) bool { return !x.Ineligible })
	d.Selected = d.Candidates[eligible].Key
	return d
}

func randomCandidate(r *rand.Rand, d *decision.Decision, id uint64) decision.Candidate {
	full := int(d.InputTokens / uint64(d.BlockSizeTokens))
	x := decision.Candidate{
		Key: decision.Key{WorkerID: 1<<63 + id, DPRank: uint32(r.Intn(2))}, Ineligible: r.Intn(8) == 0,
		EffectiveOverlapBlocks: float64(r.Intn(full + 1)), DecodeCostBlocks: float64(r.Intn(20)),
		ActivePrefillTokens: uint64(r.Intn(6)) * uint64(d.BlockSizeTokens) / 2, ActiveRequests: uint64(r.Intn(5)),
		NoLoadEntry: r.Intn(10) == 0,
	}
	if x.NoLoadEntry {
		x.ActivePrefillTokens, x.ActiveRequests = 0, 0
	}
	if d.TierMaps && r.Intn(4) > 0 {
		x.DeviceBlocks = decision.Some(float64(r.Intn(full + 1)))
		x.HostBlocks, x.DiskBlocks = float64(r.Intn(4)), float64(r.Intn(3))
		x.EffectiveOverlapBlocks = x.DeviceBlocks.Value + 0.75*x.HostBlocks + 0.25*x.DiskBlocks
		x.CachedTokens = uint64(x.EffectiveOverlapBlocks * float64(d.BlockSizeTokens)) // can exceed the prompt
	}
	for _, t := range []string{"a", "b", "c"} {
		if r.Intn(2) == 0 {
			x.Taints = append(x.Taints, t)
		}
	}
	return x
}

// randomParams draws weights that are multiples of 1/8, often 0 or the default.
func randomParams(r *rand.Rand) Params {
	p := DefaultParams()
	for _, q := range parameters {
		switch r.Intn(4) {
		case 0:
			*q.at(&p) = 0
		case 1, 2:
			*q.at(&p) = float64(r.Intn(32)) / 8
		}
	}
	p.RouterTemperature = 0
	return p
}

// mustPrepare returns a scorer with the decision prepared under the params.
func mustPrepare(d *decision.Decision, p Params) *Scorer {
	s := NewScorer([]Policy{{Name: "live", Params: p}})
	if _, err := s.Prepare(d); err != nil {
		panic("BUG: the decision can't be scored: " + err.Error())
	}
	return s
}

func costsOf(s *Scorer, p Params) []float64 {
	costs := make([]float64, len(s.cols.index))
	s.cols.costs(&p, costs)
	return costs
}
