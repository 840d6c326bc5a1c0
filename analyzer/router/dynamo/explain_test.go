package dynamo

import (
	"math"
	"math/rand"
	"slices"
	"testing"

	"github.com/kvshadow/kvshadow/analyzer/decision"
)

// explainOne explains a decision under one policy, which is also the live one.
func explainOne(t *testing.T, d *decision.Decision, p Params) *decision.Explanation {
	t.Helper()
	e, err := NewScorer([]Policy{{Name: "live", Params: p}}).Explain(d)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func TestExplain_WorkedCase(t *testing.T) {
	d := workedCase(143, 95)
	d.Selected = decision.Key{WorkerID: 1}
	pick := explainOne(t, d, DefaultParams()).Picks[0]
	if pick.Agrees || pick.RegretBlocks != 2 || pick.MarginBlocks != 2 || !slices.Equal(pick.Chances, []float64{0, 1}) {
		t.Errorf("pick %+v", pick)
	}
	holder := []decision.Term{{Name: "prefill_load", Blocks: 0.875}, {Name: "decode", Blocks: 143}, {Name: "active_requests"}, {Name: "prefix_affinity"}}
	if c := pick.Costs[0]; !slices.Equal(c.Terms, holder) || c.Total != 143.875 || c.Multiplier != 1 {
		t.Errorf("the holder's cost is %+v", c)
	}
	f := func(parameter string, at float64, increase bool) {
		t.Helper()
		i := slices.IndexFunc(pick.Flips, func(f decision.Flip) bool { return f.Parameter == parameter })
		if i < 0 {
			t.Fatalf("%s doesn't flip the pick: %+v", parameter, pick.Flips)
		}
		if x := pick.Flips[i]; math.Abs(x.At-at) > 1e-9 || x.Increase != increase || x.Winner != d.Selected {
			t.Errorf("%s flips as %+v, want at %v", parameter, x, at)
		}
	}
	f("prefix_affinity_weight", 2.0/46, true) // 46 w = 2
	f("prefill_load_scale", 48.0/46, true)    // 46 s = 48
	// A credit of 46.875/46 clamps the holder's prefill at 0: 143 against
	// 141.875, still not enough. So no credit flips it, nor any other weight.
	if len(pick.Flips) != 2 {
		t.Errorf("flips %+v, want two", pick.Flips)
	}
}

// TestExplain_Flips compares with brute force: every weight is scanned on a
// fine grid, with the cost function written down once more.
func TestExplain_Flips(t *testing.T) {
	r := rand.New(rand.NewSource(7))
	seen := map[string]int{}
	for i := 0; i < 700 && !t.Failed(); i++ {
		d, p := randomDecision(r), randomParams(r)
		if len(d.Candidates) > 4 {
			d.Candidates = d.Candidates[:4]
		}
		if index, _ := reference(d, &p); !slices.ContainsFunc(index, func(i int) bool { return d.Candidates[i].Key == d.Selected }) {
			continue
		}
		e := explainOne(t, d, p)
		for _, q := range parameters[:len(parameters)-1] {
			scan := flipScan{t: t, d: d, p: p, name: q.name, at: q.at, pick: currentPick(e)}
			j := slices.IndexFunc(e.Picks[0].Flips, func(f decision.Flip) bool { return f.Parameter == q.name })
			if j >= 0 {
				seen[q.name]++
				scan.check(&e.Picks[0].Flips[j])
			} else if v, ok := scan.nearest(); ok {
				t.Errorf("%s: the pick changes by %v, but no flip is listed: %+v under %+v", q.name, v, d, p)
			}
		}
	}
	for _, q := range parameters[:len(parameters)-1] {
		if seen[q.name] < 4 {
			t.Errorf("%s flipped %d picks only", q.name, seen[q.name])
		}
	}
}

// TestExplain_DecayFlips: in the decay a difference of costs has an extremum,
// so that a pick can change and change back; preferred taints shift it.
func TestExplain_DecayFlips(t *testing.T) {
	r := rand.New(rand.NewSource(8))
	flips, inside := 0, 0
	for i := 0; i < 2000 && !t.Failed(); i++ {
		d, p := randomDecision(r), randomParams(r)
		d.TracksPrefill, d.LoadOnly, d.PreferredTaints = true, false, map[string]float32{"a": 1.5, "b": -1.5}
		d.InputTokens, d.RequestBlocks = 64*uint64(d.BlockSizeTokens), 64
		for i := range d.Candidates {
			x := &d.Candidates[i]
			x.EffectiveOverlapBlocks, x.DeviceBlocks = float64(r.Intn(64)), decision.Float{}
			x.ActivePrefillTokens, x.NoLoadEntry = uint64(1+r.Intn(500))*uint64(d.BlockSizeTokens), false
			x.Ineligible = false
		}
		d.TierMaps = false
		d.Candidates = append(d.Candidates[:min(2, len(d.Candidates))], decision.Candidate{DecodeCostBlocks: 1e6}) // the idle one
		d.Candidates[len(d.Candidates)-2].DecodeCostBlocks += 1000
		evenOut(d, p, float64(r.Intn(8))/2)
		e := explainOne(t, d, p)
		scan := flipScan{t: t, d: d, p: p, name: "overlap_score_credit_decay",
			at: func(p *Params) *float64 { return &p.OverlapScoreCreditDecay }, pick: currentPick(e)}
		j := slices.IndexFunc(e.Picks[0].Flips, func(f decision.Flip) bool { return f.Parameter == scan.name })
		if j < 0 {
			if v, ok := scan.nearest(); ok {
				t.Errorf("the pick changes by %v, but no flip is listed: %+v under %+v", v, d, p)
			}
			continue
		}
		flips++
		scan.check(&e.Picks[0].Flips[j])
		if gain, _ := scan.gain(1e9); gain <= noise && e.Picks[0].Flips[j].Increase {
			inside++
		}
	}
	if flips < 100 || inside < 3 {
		t.Errorf("%d flips, %d of which are undone later", flips, inside)
	}
}

// evenOut gives the first candidate the load with which it costs little less
// than the second one.
func evenOut(d *decision.Decision, p Params, margin float64) {
	_, costs := reference(d, &p)
	taint := 1.0
	if d.Candidates[0].Taints != nil {
		more := *d
		more.Candidates = slices.Clone(d.Candidates)
		more.Candidates[0].DecodeCostBlocks++
		_, shifted := reference(&more, &p)
		taint = shifted[0] - costs[0]
	}
	d.Candidates[0].DecodeCostBlocks += (costs[1] - costs[0] - margin) / taint
}

// currentPick is the row of the recorded worker if it is a winner, and else of
// the first winner.
func currentPick(e *decision.Explanation) int {
	chances := e.Picks[0].Chances
	for row, i := range e.Eligible {
		if e.Decision.Candidates[i].Key == e.Decision.Selected && chances[row] > 0 {
			return row
		}
	}
	return slices.IndexFunc(chances, func(c float64) bool { return c > 0 })
}

// flipScan varies one weight of one decision.
type flipScan struct {
	t    *testing.T
	d    *decision.Decision
	p    Params
	name string
	at   func(*Params) *float64
	pick int
}

// noise is what sums of a few costs may be off by.
const noise = 1e-9

// gain says how much less than the pick the best candidate costs at a value of
// the weight, and lists who is the best.
func (x *flipScan) gain(v float64) (gain float64, best []decision.Key) {
	p := x.p
	*x.at(&p) = v
	index, costs := reference(x.d, &p)
	least := slices.Min(costs)
	for row, i := range index {
		if costs[row] <= least+noise {
			best = append(best, x.d.Candidates[i].Key)
		}
	}
	return costs[x.pick] - least, best
}

const gridStep, gridSteps = 1.0 / 16, 160

// nearest scans both directions for the value nearest to the current one at
// which the pick isn't the best any more.
func (x *flipScan) nearest() (float64, bool) {
	from := *x.at(&x.p)
	for k := 1; k <= gridSteps; k++ {
		for _, v := range [...]float64{from + float64(k)*gridStep, from - float64(k)*gridStep} {
			if v < 0 {
				continue
			}
			if gain, _ := x.gain(v); gain > noise {
				return v, true
			}
		}
	}
	return 0, false
}

func (x *flipScan) check(f *decision.Flip) {
	x.t.Helper()
	from := *x.at(&x.p)
	if f.From != from || f.At < 0 || f.At != from && f.At > from != f.Increase {
		x.t.Errorf("%s: inconsistent flip %+v", x.name, f)
	}
	if v, ok := x.nearest(); ok && math.Abs(v-from) < math.Abs(f.At-from)-noise {
		x.t.Errorf("%s: the pick changes by %v already, before %+v: %+v under %+v", x.name, v, f, x.d, x.p)
	}
	for k := range 50 { // up to the boundary, the pick holds
		if gain, _ := x.gain(from + (f.At-from)*float64(k)/50); gain > noise {
			x.t.Errorf("%s: the pick changes before %+v: %+v under %+v", x.name, f, x.d, x.p)
			return
		}
	}
	// Just beyond it the winner costs least.
	beyond := f.At + 1e-6*max(1, f.At)
	if !f.Increase {
		beyond = max(0, f.At-1e-6*max(1, f.At))
	}
	if gain, best := x.gain(beyond); gain <= 0 || !slices.Contains(best, f.Winner) {
		x.t.Errorf("%s: at %v, beyond %+v, %v cost less by %v: %+v under %+v", x.name, beyond, f, best, gain, x.d, x.p)
	}
}
