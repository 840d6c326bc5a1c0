package dynamo

import (
	"math"
	"math/rand"
	"slices"
	"testing"

	"github.com/kvshadow/kvshadow/analyzer/decision"
)

// eachRandom calls f with random decisions and weights, always the same ones.
func eachRandom(t *testing.T, seed int64, n int, f func(r *rand.Rand, d *decision.Decision, p Params)) {
	t.Helper()
	r := rand.New(rand.NewSource(seed))
	for i := 0; i < n && !t.Failed(); i++ {
		f(r, randomDecision(r), randomParams(r))
	}
}

func TestCosts_Reference(t *testing.T) {
	forms := map[[4]bool]int{}
	eachRandom(t, 1, 20000, func(_ *rand.Rand, d *decision.Decision, p Params) {
		s := mustPrepare(d, p)
		index, want := reference(d, &p)
		got := costsOf(s, p)
		if !slices.Equal(index, s.cols.index) {
			t.Fatalf("eligible %v, want %v", s.cols.index, index)
		}
		for i := range want {
			if math.Abs(got[i]-want[i]) > 1e-12*max(1, want[i]) {
				t.Errorf("candidate %d costs %v, want %v: %+v under %+v", index[i], got[i], want[i], d, p)
			}
		}
		forms[[4]bool{s.cols.decodeForm(s.cols.effectiveCredit(&p)), s.cols.hasTiers, s.cols.hasShared, s.cols.decays(&p)}]++
	})
	// Decode form never decays; every other combination must have occurred.
	if len(forms) != 12 {
		t.Errorf("%d forms were tried, want 12: %v", len(forms), forms)
	}
}

// TestCosts_Bits: the loops over all candidates and the cost of one candidate
// are the same arithmetic.
func TestCosts_Bits(t *testing.T) {
	eachRandom(t, 2, 20000, func(r *rand.Rand, d *decision.Decision, p Params) {
		for _, q := range parameters { // no round numbers here
			*q.at(&p) *= 1 + r.Float64()/3
		}
		for i := range d.Candidates {
			d.Candidates[i].DecodeCostBlocks *= 1 + r.Float64()
			d.Candidates[i].EffectiveOverlapBlocks *= 1 - r.Float64()/3
		}
		s := mustPrepare(d, p)
		for i, c := range costsOf(s, p) {
			if one := s.cols.cost(&p, i); math.Float64bits(one) != math.Float64bits(c) {
				t.Errorf("candidate %d costs %v alone and %v among all: %+v under %+v", i, one, c, d, p)
			}
		}
	})
}

// TestCosts_ZeroWeight: a weight of 0 is the same as having nothing to weigh.
func TestCosts_ZeroWeight(t *testing.T) {
	column := map[string]func(*columns) []float64{
		"overlap_score_credit":         func(c *columns) []float64 { return c.device },
		"overlap_score_credit_decay":   func(c *columns) []float64 { return c.excess },
		"prefill_load_scale":           func(c *columns) []float64 { return c.raw },
		"decode_active_request_weight": func(c *columns) []float64 { return c.requests },
		"host_cache_hit_weight":        func(c *columns) []float64 { return c.host },
		"disk_cache_hit_weight":        func(c *columns) []float64 { return c.disk },
		"shared_cache_multiplier":      func(c *columns) []float64 { return c.shared },
		"prefix_affinity_weight":       func(c *columns) []float64 { return c.missing },
	}
	eachRandom(t, 3, 3000, func(_ *rand.Rand, d *decision.Decision, p Params) {
		for _, q := range parameters[:len(parameters)-1] {
			s := mustPrepare(d, p)
			if q.name == "overlap_score_credit" && s.cols.decodeForm(s.cols.effectiveCredit(&p)) {
				continue // the credit also chooses the form
			}
			without := p
			*q.at(&without) = 0
			zeroed := costsOf(s, without)
			clear(column[q.name](&s.cols))
			if got := costsOf(s, p); !slices.Equal(got, zeroed) {
				t.Errorf("%s: costs %v without the input and %v without the weight: %+v under %+v", q.name, got, zeroed, d, p)
			}
		}
	})
}

// TestCosts_AffinityMonotonic: more affinity never moves a pick to a worker
// with less of the prompt in its device memory. (Preferred taints can, since
// they multiply the affinity too.)
func TestCosts_AffinityMonotonic(t *testing.T) {
	moved := 0
	eachRandom(t, 4, 20000, func(r *rand.Rand, d *decision.Decision, p Params) {
		d.PreferredTaints, p.OverlapScoreCreditDecay = nil, 0 // sums stay exact
		s := mustPrepare(d, p)
		low := costsOf(s, p)
		p.PrefixAffinityWeight += float64(1+r.Intn(40)) / 8
		high := costsOf(s, p)
		before, after := math.Inf(1), 0.0 // least overlap among picks
		for i := range low {
			if low[i] == slices.Min(low) {
				before = min(before, s.cols.device[i])
			}
		}
		most, least := 0.0, math.Inf(1)
		for i := range high {
			if high[i] == slices.Min(high) {
				least = min(least, s.cols.device[i])
			}
			if low[i] == slices.Min(low) {
				most = max(most, s.cols.device[i])
			}
		}
		after = least
		if s.cols.affinity(&p, s.cols.effectiveCredit(&p)) == 0 {
			return // load-only decode: the picks are the same
		}
		if after < most {
			t.Errorf("a pick with %v device blocks follows one with %v: %+v under %+v", after, most, d, p)
		}
		if after > before {
			moved++
		}
	})
	if moved < 1000 {
		t.Errorf("only %d picks moved", moved)
	}
}

// TestProbabilities_ScaleFree: costs that are all multiplied alike leave the
// chances as they were, and so do weights where nothing unweighted is charged.
func TestProbabilities_ScaleFree(t *testing.T) {
	eachRandom(t, 5, 5000, func(r *rand.Rand, d *decision.Decision, p Params) {
		p.RouterTemperature = 0.05 + r.Float64()
		for i := range d.Candidates {
			d.Candidates[i].DecodeCostBlocks = 0 // the one term whose weight is fixed
		}
		if d.WorkerType == decision.Decode {
			d.TracksPrefill = true // the ordinary form
		}
		s := mustPrepare(d, p)
		chances := func(p Params) []float64 {
			out := make([]float64, len(s.cols.index))
			s.Probabilities(0, costsOf(s, p), out)
			return out
		}
		scaled, k := p, []float64{0.25, 8, 3, 1.0 / 7}[r.Intn(4)]
		scaled.PrefillLoadScale *= k
		scaled.DecodeActiveRequestWeight *= k
		scaled.PrefixAffinityWeight *= k
		a, b, sum := chances(p), chances(scaled), 0.0
		for i := range a {
			sum += a[i]
			if math.Abs(a[i]-b[i]) > 1e-9 {
				t.Errorf("chances %v, and %v at %v times the weights: %+v under %+v", a, b, k, d, p)
			}
		}
		if math.Abs(sum-1) > 1e-12 {
			t.Errorf("the chances %v sum up to %v", a, sum)
		}
	})
}

// TestTaints_Bounds: whatever the weights, the multiplier is in [1/e, e].
func TestTaints_Bounds(t *testing.T) {
	eachRandom(t, 6, 3000, func(r *rand.Rand, d *decision.Decision, p Params) {
		d.PreferredTaints = map[string]float32{}
		for _, n := range []string{"a", "b", "c"} {
			d.PreferredTaints[n] = float32(r.NormFloat64() * math.Pow(10, float64(r.Intn(40)-5)))
		}
		s := mustPrepare(d, p)
		for _, m := range s.cols.taint[:len(s.cols.index)] {
			if !(m >= math.Exp(-1) && m <= math.Exp(1)) {
				t.Errorf("multiplier %v of %v", m, d.PreferredTaints)
			}
		}
	})
}
