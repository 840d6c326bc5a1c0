package dynamo

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/kvshadow/kvshadow/analyzer/decision"
)

func TestUnidentified(t *testing.T) {
	f := func(unknown decision.Unknown, live, other map[string]float64, want decision.Unknown) {
		t.Helper()
		list := []Policy{{Params: DefaultParams()}, {Params: DefaultParams()}}
		for i, weights := range []map[string]float64{live, other} {
			for name, v := range weights {
				if err := list[i].Params.Set(name, v); err != nil {
					t.Fatal(err)
				}
			}
		}
		s := NewScorer(list)
		d := workedCase(143, 95)
		d.Unknown = unknown
		if _, err := s.Prepare(d); err != nil {
			t.Fatal(err)
		}
		if got := s.Unidentified(1); got != want {
			t.Errorf("%v of %v are unidentified, want %v", got.Names(), unknown.Names(), want.Names())
		}
		if got := s.Unidentified(0); got != 0 {
			t.Errorf("the live policy lacks %v", got.Names())
		}
	}
	type w = map[string]float64
	const all = decision.UnknownTiers | decision.UnknownActiveRequests | decision.UnknownRequestBlocks
	f(0, nil, w{"prefix_affinity_weight": 4}, 0)
	f(all, nil, nil, 0)
	f(all, nil, w{"prefill_load_scale": 4, "router_temperature": 1}, 0) // rows have what it multiplies
	// A count that was multiplied by 0 can't be told; one that wasn't can.
	f(all, nil, w{"decode_active_request_weight": 1}, decision.UnknownActiveRequests)
	f(all, w{"decode_active_request_weight": 1}, w{"decode_active_request_weight": 2}, 0)
	f(all, w{"decode_active_request_weight": 1}, nil, 0)
	// Blended tiers can't be weighed anew, one by one.
	for _, name := range []string{"overlap_score_credit", "host_cache_hit_weight", "disk_cache_hit_weight", "prefix_affinity_weight"} {
		f(all, nil, w{name: 3}, decision.UnknownTiers)
		f(all&^decision.UnknownTiers, nil, w{name: 3}, 0)
	}
	// A decay is relative to the prompt's length.
	f(decision.UnknownRequestBlocks, nil, w{"overlap_score_credit_decay": 1}, decision.UnknownRequestBlocks)
	f(decision.UnknownRequestBlocks, w{"overlap_score_credit_decay": 2}, w{"overlap_score_credit_decay": 1}, 0)
	f(all, nil, w{"overlap_score_credit_decay": 1}, decision.UnknownRequestBlocks|decision.UnknownTiers)
	// A taint multiplies all there is.
	f(decision.UnknownTaints, nil, nil, decision.UnknownTaints)
}

// TestFidelity_Basis: what a decision's source recorded decides what is
// compared. The cold worker of the worked case costs 141.875 and is the best.
func TestFidelity_Basis(t *testing.T) {
	f := func(basis decision.Basis, want string, change func(*decision.Decision)) {
		t.Helper()
		d := workedCase(143, 95)
		d.Selected = key(2, 0)
		change(d)
		s := mustPrepare(d, DefaultParams())
		cause, checked := s.Fidelity(costsOf(s, DefaultParams()))
		if s.Basis() != basis || cause.String() != want || checked != (basis != decision.BasisNone) {
			t.Errorf("basis %v, cause %q, checked %v, want %v and %q", s.Basis(), cause, checked, basis, want)
		}
	}
	f(decision.BasisNone, "", func(*decision.Decision) {})
	winner := func(cost float64, change func(*decision.Decision)) func(*decision.Decision) {
		return func(d *decision.Decision) {
			d.SelectedCostBlocks = decision.Some(cost)
			change(d)
		}
	}
	f(decision.BasisWinner, "", winner(141.875, func(*decision.Decision) {}))
	f(decision.BasisWinner, "stale_state", winner(141.75, func(*decision.Decision) {}))
	f(decision.BasisWinner, "unknown_capacity", winner(141.75, func(d *decision.Decision) { d.Unknown = decision.UnknownCapacity }))
	f(decision.BasisWinner, "softmax", winner(143.875, func(d *decision.Decision) { d.Selected = key(1, 0) }))
	// In a state that was rebuilt, the other candidate's may be what is wrong.
	f(decision.BasisWinner, "stale_state", winner(143.875, func(d *decision.Decision) { d.Selected, d.Rebuilt = key(1, 0), true }))
	overlap := func(blocks float64, change func(*decision.Decision)) func(*decision.Decision) {
		return func(d *decision.Decision) {
			d.Selected, d.Candidates[1].DecodeCostBlocks = key(1, 0), 195
			d.RecordedOverlapBlocks, d.Rebuilt = decision.Some(blocks), true
			change(d)
		}
	}
	f(decision.BasisHitRate, "", overlap(46, func(*decision.Decision) {}))
	f(decision.BasisHitRate, "", overlap(45.999999999, func(*decision.Decision) {})) // a rate times 47
	f(decision.BasisHitRate, "stale_state", overlap(45, func(*decision.Decision) {}))
	f(decision.BasisHitRate, "unknown_capacity", overlap(45, func(d *decision.Decision) { d.Unknown = decision.UnknownCapacity }))
	f(decision.BasisWinner, "", overlap(46, winner(143.875, func(*decision.Decision) {})))
	f(decision.BasisWinner, "load", overlap(46, winner(142.875, func(*decision.Decision) {})))
	f(decision.BasisWinner, "stale_state", overlap(45, winner(142.875, func(*decision.Decision) {})))
	f(decision.BasisRows, "weights", func(d *decision.Decision) { d.Candidates[0].Recorded.CostBlocks = decision.Some(143) })
	f(decision.BasisRows, "", func(d *decision.Decision) { d.Candidates[0].Recorded.CostBlocks = decision.Some(143.875) })
}

// decayCase: 10 blocks of 1,000 tokens; worker 1 holds 5 and has 4 blocks more
// prefill than worker 2.
func decayCase() *decision.Decision {
	return &decision.Decision{
		WorkerType: decision.Prefill, InputTokens: 10000, BlockSizeTokens: 1000, RequestBlocks: 10, TracksPrefill: true, CostToleranceBlocks: 0.0005,
		Candidates: []decision.Candidate{
			{Key: key(1, 0), EffectiveOverlapBlocks: 5, RawPrefillBlocks: decision.Some(14), Recorded: decision.Recorded{OverlapCreditDecay: decision.Some(0.8)}},
			{Key: key(2, 0), RawPrefillBlocks: decision.Some(10), Recorded: decision.Recorded{OverlapCreditDecay: decision.Some(1)}},
		},
	}
}

func TestDecay_FromRows(t *testing.T) {
	f := func(unknown decision.Unknown, liveDecay, decay, want float64) {
		t.Helper()
		d := decayCase()
		if d.Unknown = unknown; unknown != 0 {
			d.InputTokens, d.BlockSizeTokens, d.RequestBlocks = 0, 0, 0
		}
		live, p := DefaultParams(), DefaultParams()
		live.OverlapScoreCreditDecay, p.OverlapScoreCreditDecay = liveDecay, decay
		s := mustPrepare(d, live)
		if got := costsOf(s, p); math.Abs(got[0]-want) > 1e-12 || got[1] != 10 {
			t.Errorf("decay %v of %v: costs %v, want %v and 10", decay, liveDecay, got, want)
		}
	}
	// 4 blocks above the other one, of 10: 14 - 5 / (1 + 0.4 k).
	f(0, 0, 0, 9)
	f(0, 0, 1, 14-5/1.4)
	f(0, 3, 2.5, 14-5/2.0)
	// Of a prompt of unknown length, the printed factor tells the same:
	// 1/0.8 - 1 = 0.25 = 0.5 x 0.5.
	f(decision.UnknownRequestBlocks, 0.5, 0.5, 14-5*0.8)
	f(decision.UnknownRequestBlocks, 0.5, 2, 14-5*0.5)
	f(decision.UnknownRequestBlocks, 0.5, 0, 9)
	f(decision.UnknownRequestBlocks, 0, 2, 9) // nothing was printed that tells
}

// TestTolerance: exact inputs leave no room, printed ones as much as their
// last place, through the weights.
func TestTolerance(t *testing.T) {
	f := func(d *decision.Decision, p Params, want float64) {
		t.Helper()
		if got := mustPrepare(d, p).Tolerance(0); math.Abs(got-want) > 1e-8 {
			t.Errorf("tolerance %v, want %v", got, want)
		}
	}
	p := DefaultParams()
	f(workedCase(143, 95), p, 0)
	f(decayCase(), p, 2*0.0005)
	p.PrefillLoadScale = 8
	f(decayCase(), p, 2*8*0.0005)
	// Overlap that isn't whole was printed with two decimals.
	d := workedCase(143, 95)
	d.CostToleranceBlocks, d.Candidates[0].EffectiveOverlapBlocks = 0.0005, 45.75
	f(d, DefaultParams(), 2*0.005)
	p = DefaultParams()
	p.OverlapScoreCredit, p.PrefixAffinityWeight = 2, 3
	f(d, p, 2*(2*0.005+3*0.005))
}

func TestScorer_NotFinite(t *testing.T) {
	p := DefaultParams()
	p.PrefillLoadScale = 1e308
	d := workedCase(143, 95)
	s := mustPrepare(d, p)
	if err := s.Costs(0, make([]float64, 2)); err == nil || !strings.Contains(err.Error(), `"live"`) {
		t.Errorf("error %v", err)
	}
	if e, err := s.Explain(d); err == nil {
		t.Errorf("explained %+v", e)
	}
	d.Candidates = nil
	if e, err := s.Explain(d); err == nil {
		t.Errorf("explained %+v", e)
	}
}

// TestScorer_Columns: what the effects are computed from, of the eligible
// candidates only, after a larger decision.
func TestScorer_Columns(t *testing.T) {
	s := NewScorer([]Policy{{Params: DefaultParams()}})
	d := workedCase(143, 95)
	d.Candidates = append(d.Candidates, decision.Candidate{Key: key(3, 0), EffectiveOverlapBlocks: 40, DecodeCostBlocks: 1, ActivePrefillTokens: 96})
	d.Selected = key(3, 0)
	f := func(selected int, overlap, missing, load []float64) {
		t.Helper()
		if _, err := s.Prepare(d); err != nil {
			t.Fatal(err)
		}
		if s.Selected() != selected || !slices.Equal(s.Overlap(), overlap) || !slices.Equal(s.Missing(), missing) || !slices.Equal(s.Load(), load) {
			t.Errorf("selected %d, overlap %v, missing %v, load %v", s.Selected(), s.Overlap(), s.Missing(), s.Load())
		}
	}
	f(2, []float64{46, 0, 40}, []float64{1, 47, 7}, []float64{143, 95, 2.5})
	d.Candidates[0].Ineligible = true
	f(1, []float64{0, 40}, []float64{47, 7}, []float64{95, 2.5})
	d.AllowedWorkerIDs = []uint64{2, 1}
	f(-1, []float64{0}, []float64{47}, []float64{95})
	d.AllowedWorkerIDs, d.RequiredTaints, d.Candidates[2].Taints = nil, []string{"x"}, []string{"y", "x"}
	f(0, []float64{40}, []float64{7}, []float64{2.5})
}
