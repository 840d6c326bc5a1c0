package shadow

import (
	"errors"
	"testing"

	"github.com/kvshadow/kvshadow/analyzer/decision"
)

// fakeScorer speaks of three candidates with given costs.
type fakeScorer struct {
	err                    error
	selected               int
	overlap, missing, load []float64
	costs                  [][]float64 // per policy; nil is not finite
	chances                [][]float64 // per policy; nil takes the least cost
	tolerance              float64
	unidentified           decision.Unknown
	cause                  decision.Cause
	unchecked              bool
	basis                  decision.Basis
}

func (s *fakeScorer) Prepare(*decision.Decision) ([]int, error) {
	index := make([]int, len(s.overlap))
	for i := range index {
		index[i] = i
	}
	return index, s.err
}

func (s *fakeScorer) Costs(policy int, dst []float64) error {
	if s.costs[policy] == nil {
		return errors.New("not finite")
	}
	copy(dst, s.costs[policy])
	return nil
}

func (s *fakeScorer) Probabilities(policy int, _, dst []float64) bool {
	if len(s.chances) <= policy || s.chances[policy] == nil {
		return true
	}
	copy(dst, s.chances[policy])
	return false
}

func (s *fakeScorer) Basis() decision.Basis                     { return s.basis }
func (s *fakeScorer) Tolerance(int) float64                     { return s.tolerance }
func (s *fakeScorer) Selected() int                             { return s.selected }
func (s *fakeScorer) Overlap() []float64                        { return s.overlap }
func (s *fakeScorer) Missing() []float64                        { return s.missing }
func (s *fakeScorer) Load() []float64                           { return s.load }
func (s *fakeScorer) Unidentified(int) decision.Unknown         { return s.unidentified }
func (s *fakeScorer) Fidelity([]float64) (decision.Cause, bool) { return s.cause, !s.unchecked }

// threeWorkers: the first holds 8.5 of 10 blocks and is the busiest, the third
// holds none and is idle. The router selected the second one.
func threeWorkers(costs ...float64) *fakeScorer {
	return &fakeScorer{
		selected: 1, overlap: []float64{8.5, 6, 0}, missing: []float64{1.5, 4, 10}, load: []float64{50, 23, 20},
		costs: [][]float64{{5, 4, 6}, costs},
	}
}

func effect(nonMax, lost, diverging, missing, excess float64) Effect {
	return Effect{NonMax: toFixed(nonMax), Lost: toFixed(lost), Diverging: toFixed(diverging), Missing: toFixed(missing), LoadExcess: toFixed(excess)}
}

func TestEvaluate_Effects(t *testing.T) {
	d := &decision.Decision{WorkerType: decision.Prefill, RequestBlocks: 10}
	f := func(s *fakeScorer, want Effect) {
		t.Helper()
		e := NewEvaluator(s, 2).Evaluate(d)
		if e.Exclusion != Included || e.Decision != d || !e.Checked {
			t.Fatalf("evaluation %+v", e)
		}
		// What the live policy did is what was recorded, whatever it costs.
		if live := effect(1, 2.5, 0, 4, 3); e.Effects[0] != live {
			t.Errorf("live: %+v, want %+v", e.Effects[0], live)
		}
		if e.Effects[1] != want {
			t.Errorf("%+v, want %+v", e.Effects[1], want)
		}
	}
	// A unique winner: the best holder, the recorded worker, the idle one.
	f(threeWorkers(1, 2, 3), effect(0, 0, 1, 1.5, 30))
	f(threeWorkers(2, 1, 3), effect(1, 2.5, 0, 4, 3))
	f(threeWorkers(3, 2, 1), effect(1, 8.5, 1, 10, 0))
	// A tie that holds the recorded worker is its.
	f(threeWorkers(1, 1, 3), effect(1, 2.5, 0, 4, 3))
	f(threeWorkers(1, 1, 1), effect(1, 2.5, 0, 4, 3))
	f(threeWorkers(1, 1.25, 3), effect(0, 0, 1, 1.5, 30))
	// A tie that doesn't: the mean of the two winners.
	f(threeWorkers(1, 2, 1), effect(0.5, 4.25, 1, 5.75, 15))
	// Costs within the tolerance are tied.
	tolerant := threeWorkers(1, 2, 1.25)
	tolerant.tolerance = 0.25
	f(tolerant, effect(0.5, 4.25, 1, 5.75, 15))
	tolerant.tolerance = 1
	f(tolerant, effect(1, 2.5, 0, 4, 3))
	// Softmax: chances of 1/2, 1/4 and 1/4.
	soft := threeWorkers(1, 2, 3)
	soft.chances = [][]float64{nil, {0.5, 0.25, 0.25}}
	f(soft, effect(0.5, 0.25*2.5+0.25*8.5, 0.75, 0.75+1+2.5, 15+0.75))
	soft.chances[1] = []float64{0, 1, 0}
	f(soft, effect(1, 2.5, 0, 4, 3))
	// So does a live policy with a temperature: it chose what it chose.
	soft.chances[0] = []float64{1, 0, 0}
	f(soft, effect(1, 2.5, 0, 4, 3))
	// Inputs that the source left out are named.
	unidentified := threeWorkers(1, 2, 3)
	unidentified.unidentified = decision.UnknownTiers
	want := effect(0, 0, 1, 1.5, 30)
	want.Unknown = decision.UnknownTiers
	f(unidentified, want)
}

// TestEvaluate_UnknownRequestBlocks: missing blocks can't be told then, the
// rest can.
func TestEvaluate_UnknownRequestBlocks(t *testing.T) {
	d := &decision.Decision{Unknown: decision.UnknownRequestBlocks}
	f := func(s *fakeScorer, want Effect) {
		t.Helper()
		s.missing = []float64{-8.5, -6, 0}
		e := NewEvaluator(s, 2).Evaluate(d)
		if live := effect(1, 2.5, 0, 0, 3); e.Exclusion != Included || e.Effects[0] != live || e.Effects[1] != want {
			t.Errorf("evaluation %+v, want %+v", e, want)
		}
	}
	f(threeWorkers(1, 2, 3), effect(0, 0, 1, 0, 30))
	f(threeWorkers(1, 2, 1), effect(0.5, 4.25, 1, 0, 15))
}

func TestEvaluate_Exclusions(t *testing.T) {
	f := func(want Exclusion, label string, s *fakeScorer, d *decision.Decision) {
		t.Helper()
		e := NewEvaluator(s, 2).Evaluate(d)
		if e.Exclusion != want || e.Exclusion.String() != label || e.Checked || e.Decision != d && want != NotFinite {
			t.Errorf("evaluation %+v, want %q", e, label)
		}
	}
	f(Pinned, "pinned", threeWorkers(1, 2, 3), &decision.Decision{Pinned: true, QueryOnly: true})
	f(QueryOnly, "query_only", threeWorkers(1, 2, 3), &decision.Decision{QueryOnly: true})
	refused := threeWorkers(1, 2, 3)
	refused.err = errors.New("no endpoints")
	f(NotEligible, "not_eligible", refused, &decision.Decision{})
	outside := threeWorkers(1, 2, 3)
	outside.selected = -1
	f(NotEligible, "not_eligible", outside, &decision.Decision{})
	infinite := threeWorkers(1, 2, 3)
	infinite.costs[0] = nil
	f(NotFinite, "not_finite", infinite, &decision.Decision{})
	if Included.String() != "" {
		t.Error("what is included has no reason")
	}
	all := Exclusions()
	for i, x := range all {
		if int(x) != i+1 {
			t.Errorf("%v is listed at %d", x, i)
		}
	}
	if len(all) != int(exclusionCount)-1 {
		t.Errorf("%d exclusions are listed", len(all))
	}
}

// TestEvaluate_NotFinite: a decision that one policy can't score counts for
// none, so that their sums stay comparable.
func TestEvaluate_NotFinite(t *testing.T) {
	s := threeWorkers()
	s.costs[1] = nil
	totals := NewTotals([]string{"live", "other"})
	totals.Add(NewEvaluator(s, 2).Evaluate(&decision.Decision{}))
	p := &totals.Pools[decision.Prefill]
	if p.Evaluated != 0 || p.Excluded[NotFinite] != 1 || p.Checked != 0 || p.Policies[0] != (Sums{}) {
		t.Errorf("pool %+v", p)
	}
}

// TestEvaluate_Reuse: nothing of one decision is left in the next one.
func TestEvaluate_Reuse(t *testing.T) {
	s := threeWorkers(1, 2, 3)
	s.unidentified, s.cause, s.basis = decision.UnknownTiers, decision.Weights, decision.BasisRows
	v := NewEvaluator(s, 2)
	if e := v.Evaluate(&decision.Decision{}); e.Cause != decision.Weights || e.Basis != decision.BasisRows {
		t.Errorf("evaluation %+v", e)
	}
	*s = *threeWorkers(2, 1)
	s.costs[0], s.unchecked, s.overlap, s.missing, s.load = []float64{1, 1}, true, []float64{0, 0}, []float64{10, 10}, []float64{7, 7}
	e := v.Evaluate(&decision.Decision{})
	if want := effect(0, 0, 0, 10, 0); e.Effects[0] != want || e.Effects[1] != want || e.Checked || e.Cause != decision.Reproduced {
		t.Errorf("evaluation %+v", e)
	}
	if e := v.Evaluate(&decision.Decision{Pinned: true}); e.Exclusion != Pinned || e.Basis != decision.BasisNone {
		t.Errorf("evaluation %+v", e)
	}
	if e := v.Evaluate(&decision.Decision{}); e.Exclusion != Included {
		t.Errorf("evaluation %+v", e)
	}
}
