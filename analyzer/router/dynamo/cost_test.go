package dynamo

import (
	"math"
	"slices"
	"testing"

	"github.com/kvshadow/kvshadow/analyzer/decision"
)

// workedCase is the published example of the affinity weight: a worker that
// holds 46 of the prompt's 47 blocks and has a high decode load, and a cold
// one with less. 3,000 tokens are 46.875 blocks of 64; the ceiling is 47.
func workedCase(holderDecode, coldDecode float64) *decision.Decision {
	return &decision.Decision{
		WorkerType: decision.Decode, InputTokens: 3000, BlockSizeTokens: 64, RequestBlocks: 47, TracksPrefill: true,
		Candidates: []decision.Candidate{
			{Key: decision.Key{WorkerID: 1}, EffectiveOverlapBlocks: 46, DecodeCostBlocks: holderDecode},
			{Key: decision.Key{WorkerID: 2}, DecodeCostBlocks: coldDecode},
		},
	}
}

func TestCosts_WorkedCase(t *testing.T) {
	f := func(d *decision.Decision, affinity, holder, cold float64) {
		t.Helper()
		p := DefaultParams()
		p.PrefixAffinityWeight = affinity
		if got := costsOf(mustPrepare(d, p), p); got[0] != holder || got[1] != cold {
			t.Errorf("costs %v, want %v and %v", got, holder, cold)
		}
	}
	// 46.875 - 46 + 143 against 46.875 + 95: the cold worker wins by 2.
	f(workedCase(143, 95), 0, 143.875, 141.875)
	// One missing block against 47: a quarter each keeps the holder.
	f(workedCase(143, 95), 0.25, 143.875+0.25, 141.875+0.25*47)
	// The boundary is 2 blocks over 46 more missing ones: 1/23.
	f(workedCase(143, 95), 0.0625, 143.875+0.0625, 141.875+2.9375)
	f(workedCase(143, 95), 0.03125, 143.875+0.03125, 141.875+1.46875)
	// A load gap of 105 blocks outweighs 11.5 blocks of affinity.
	f(workedCase(200, 95), 0.25, 200.875+0.25, 141.875+0.25*47)
}

// TestCosts_Affinity: the affinity term stands outside the clamps, inside the
// taint multiplier, and isn't charged by load-only decode.
func TestCosts_Affinity(t *testing.T) {
	base := func() *decision.Decision {
		return &decision.Decision{
			WorkerType: decision.Decode, InputTokens: 640, BlockSizeTokens: 64, RequestBlocks: 10,
			Candidates: []decision.Candidate{{EffectiveOverlapBlocks: 8, DecodeCostBlocks: 5, ActiveRequests: 2}},
		}
	}
	f := func(change func(*decision.Decision, *Params), want float64) {
		t.Helper()
		d, p := base(), DefaultParams()
		p.PrefixAffinityWeight = 3
		change(d, &p)
		if got := costsOf(mustPrepare(d, p), p)[0]; got != want {
			t.Errorf("cost %v, want %v", got, want)
		}
	}
	// Decode form: max(0, 5 - 8) + 3 * (10 - 8).
	f(func(*decision.Decision, *Params) {}, 6)
	f(func(_ *decision.Decision, p *Params) { p.OverlapScoreCredit = 0.5 }, 1+6)
	f(func(_ *decision.Decision, p *Params) { p.DecodeActiveRequestWeight = 0.5 }, 0+1+6)
	// Load-only decode, and a credit of 0, which is the same: decode alone.
	f(func(d *decision.Decision, _ *Params) { d.LoadOnly = true }, 5)
	f(func(_ *decision.Decision, p *Params) { p.OverlapScoreCredit = 0 }, 5)
	// Ordinary form: 10 - 8 + 5 + 3 * 2; untracked prefill ranks drop the raw blocks.
	f(func(d *decision.Decision, _ *Params) { d.TracksPrefill = true }, 2+5+6)
	f(func(d *decision.Decision, _ *Params) { d.WorkerType = decision.Prefill }, 0+5+6)
	f(func(d *decision.Decision, p *Params) { d.TracksPrefill, p.OverlapScoreCredit = true, 0 }, 10+5+6)
	// Taints multiply all of it: exp(-tanh(0)) = 1, exp(-tanh(40)) = 1/e.
	f(func(d *decision.Decision, _ *Params) { d.PreferredTaints = map[string]float32{"x": 1} }, 6)
	f(func(d *decision.Decision, _ *Params) {
		d.PreferredTaints = map[string]float32{"x": 40}
		d.Candidates[0].Taints = []string{"x"}
	}, 6*math.Exp(-1))
	// More overlap than the prompt has blocks is not a credit.
	f(func(d *decision.Decision, _ *Params) { d.Candidates[0].EffectiveOverlapBlocks = 12 }, 0)
	// An empty prompt has nothing to miss, on a cold worker either.
	f(func(d *decision.Decision, _ *Params) {
		d.InputTokens, d.RequestBlocks, d.Candidates[0].EffectiveOverlapBlocks = 0, 0, 0
	}, 5)
	f(func(d *decision.Decision, _ *Params) {
		d.InputTokens, d.RequestBlocks, d.TracksPrefill, d.Candidates[0].EffectiveOverlapBlocks = 0, 0, true, 0
	}, 5)
	// Missing blocks are those of the device, whatever lies in other tiers.
	f(func(d *decision.Decision, p *Params) {
		d.TierMaps, d.Candidates[0].DeviceBlocks, d.Candidates[0].HostBlocks = true, decision.Some(4), 4
	}, max(0, 5-4-3)+3*6)
}

func TestProbabilities(t *testing.T) {
	f := func(temperature float64, costs, want []float64) {
		t.Helper()
		p := Params{RouterTemperature: temperature}
		got := make([]float64, len(costs))
		if probabilities(&p, costs, got) {
			t.Fatalf("temperature %v must draw", temperature)
		}
		for i := range want {
			if math.Abs(got[i]-want[i]) > 1e-8 {
				t.Errorf("temperature %v, costs %v: %v, want %v", temperature, costs, got, want)
				return
			}
		}
	}
	// The range maps 1, 2, 3 to 0, -1/2, -1. At 1/2: 1, e^-1, e^-2 over 1.5032147.
	f(0.5, []float64{1, 2, 3}, []float64{0.66524096, 0.24472847, 0.09003057})
	f(0.5, []float64{30, 10, 20}, []float64{0.09003057, 0.66524096, 0.24472847})
	// At 1: 1, e^-0.5, e^-1 over 1.97441010.
	f(1, []float64{1, 2, 3}, []float64{0.50648039, 0.30719589, 0.18632372})
	// Two costs are always the whole range apart: logistic of 1/t.
	f(1, []float64{100, 100.5}, []float64{0.73105858, 0.26894142})
	f(1, []float64{0, 1e6}, []float64{0.73105858, 0.26894142})
	f(1e9, []float64{0, 1, 2, 3}, []float64{0.25, 0.25, 0.25, 0.25})
	f(0.7, []float64{4, 4, 4, 4}, []float64{0.25, 0.25, 0.25, 0.25})
	f(0.7, []float64{4}, []float64{1})
	// A temperature that vanishes divides to infinities and the draw falls
	// through to the last candidate, also if it is the most expensive one.
	f(5e-324, []float64{1, 2, 3}, []float64{0, 0, 1})
	f(5e-324, []float64{3, 2, 1}, []float64{0, 0, 1})
	f(5e-324, []float64{2, 2}, []float64{0.5, 0.5})
	f(1e-3, []float64{1, 2, 3}, []float64{1, 0, 0})

	p, dst := Params{}, []float64{7}
	if !probabilities(&p, []float64{1}, dst) || dst[0] != 7 {
		t.Error("temperature 0 must take the least cost and write nothing")
	}
}

func TestTaints(t *testing.T) {
	f := func(preferred map[string]float32, taints []string, want float64) {
		t.Helper()
		d := workedCase(143, 95)
		d.PreferredTaints, d.Candidates[0].Taints = preferred, taints
		p := DefaultParams()
		if got, want := costsOf(mustPrepare(d, p), p)[0], 143.875*want; got != want {
			t.Errorf("cost %v, want %v", got, want)
		}
	}
	f(nil, []string{"a"}, 1)
	f(map[string]float32{}, []string{"a"}, 1)
	f(map[string]float32{"a": 3}, nil, 1)
	f(map[string]float32{"a": 100}, []string{"a"}, math.Exp(-1))
	f(map[string]float32{"a": -100}, []string{"a"}, math.Exp(1))
	f(map[string]float32{"a": 2, "b": -2}, []string{"a", "b"}, 1)
	// The router's weights are float32: 0.1 is 0.100000001490116...
	f(map[string]float32{"a": 0.1}, []string{"a"}, math.Exp(-math.Tanh(0.100000001490116119384765625)))
	f(map[string]float32{"a": 0.1, "b": 0.7}, []string{"b", "a"},
		math.Exp(-math.Tanh(0.100000001490116119384765625+0.699999988079071044921875)))
	if math.Exp(-math.Tanh(0.1)) == math.Exp(-math.Tanh(0.100000001490116119384765625)) {
		t.Error("the case above can't tell float32 from float64")
	}
}

// TestPins: a pin leaves the pinned rank alone, without taints.
func TestPins(t *testing.T) {
	d := workedCase(143, 95)
	d.Pinned, d.Selected = true, decision.Key{WorkerID: 1}
	d.PreferredTaints, d.Candidates[0].Taints = map[string]float32{"a": 9}, []string{"a"}
	s := mustPrepare(d, DefaultParams())
	if !slices.Equal(s.cols.index, []int{0}) || costsOf(s, DefaultParams())[0] != 143.875 {
		t.Errorf("eligible %v at costs %v", s.cols.index, costsOf(s, DefaultParams()))
	}
	f := func(change func()) {
		t.Helper()
		change()
		if _, err := s.Prepare(d); err == nil {
			t.Error("a decision that the router refuses was prepared")
		}
	}
	f(func() { d.AllowedWorkerIDs = []uint64{2} })
	f(func() { d.AllowedWorkerIDs = []uint64{} })
	f(func() { d.AllowedWorkerIDs, d.Selected = nil, decision.Key{WorkerID: 1, DPRank: 1} })
	f(func() { d.Pinned, d.RequiredTaints = false, []string{"b"} })
	f(func() { d.RequiredTaints, d.Candidates = nil, nil })
}
