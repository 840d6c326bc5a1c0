package shadow_test

import (
	"fmt"
	"math/rand"
	"reflect"
	"testing"

	"github.com/kvshadow/kvshadow/analyzer/decision"
	"github.com/kvshadow/kvshadow/analyzer/router/dynamo"
	"github.com/kvshadow/kvshadow/analyzer/shadow"
)

// policies are a live one and candidates of every kind.
func policies() []dynamo.Policy {
	list := []dynamo.Policy{{Name: "live", Params: dynamo.DefaultParams()}}
	for _, w := range []decision.Weight{{Name: "prefix_affinity_weight", Value: 4}, {Name: "router_temperature", Value: 0.5},
		{Name: "overlap_score_credit_decay", Value: 2}, {Name: "prefill_load_scale", Value: 0}} {
		p := dynamo.Policy{Name: w.Name, Params: dynamo.DefaultParams()}
		if err := p.Params.Set(w.Name, w.Value); err != nil {
			panic(err)
		}
		list = append(list, p)
	}
	return list
}

func names(list []dynamo.Policy) []string {
	out := make([]string, len(list))
	for i, p := range list {
		out[i] = p.Name
	}
	return out
}

// randomDecisions draws decisions with ties, fractions, exclusions and
// recorded costs that are right, wrong or absent.
func randomDecisions(r *rand.Rand, n int) []*decision.Decision {
	out := make([]*decision.Decision, n)
	for i := range out {
		d := &decision.Decision{
			WorkerType: decision.WorkerTypes[r.Intn(2)], InputTokens: uint64(1 + r.Intn(3000)), BlockSizeTokens: 48, TracksPrefill: r.Intn(4) > 0,
			Pinned: r.Intn(20) == 0, QueryOnly: r.Intn(20) == 0, Selected: decision.Key{WorkerID: uint64(r.Intn(4))},
		}
		d.RequestBlocks = decision.Blocks(d.InputTokens, 48)
		if r.Intn(5) == 0 {
			d.PreferredTaints = map[string]float32{"a": 0.5, "b": -0.1, "c": 2}
		}
		for w := range 1 + r.Intn(4) {
			x := decision.Candidate{Key: decision.Key{WorkerID: uint64(w)}, EffectiveOverlapBlocks: r.Float64() * float64(r.Intn(30)),
				DecodeCostBlocks: float64(r.Intn(5)), ActivePrefillTokens: uint64(r.Intn(3) * 100)}
			if r.Intn(2) == 0 {
				x.Taints = []string{"b", "c"}
			}
			if r.Intn(3) == 0 {
				x.Recorded.CostBlocks = decision.Some(float64(r.Intn(30)))
			}
			d.Candidates = append(d.Candidates, x)
		}
		out[i] = d
	}
	return out
}

// TestPartition: however the input is divided, and in whatever order the parts
// are merged, the totals are the same.
func TestPartition(t *testing.T) {
	r := rand.New(rand.NewSource(3))
	list := policies()
	decisions := randomDecisions(r, 600)
	sum := func(part []*decision.Decision) *shadow.Totals {
		totals, v := shadow.NewTotals(names(list)), shadow.NewEvaluator(dynamo.NewScorer(list), len(list))
		for _, d := range part {
			totals.Add(v.Evaluate(d))
		}
		return totals
	}
	whole := sum(decisions)
	if p := whole.Pools[decision.Decode]; p.Evaluated < 100 || p.Excluded[shadow.Pinned] == 0 || p.Excluded[shadow.NotEligible] == 0 || p.Checked == 0 ||
		p.Policies[1].Diverging == 0 || p.Policies[0].Lost == 0 || p.Unreproduced[1].Missing == 0 {
		t.Fatalf("the decisions try too little: %+v", p)
	}
	for range 20 {
		parts := make([][]*decision.Decision, 1+r.Intn(8))
		for _, i := range r.Perm(len(decisions)) {
			k := r.Intn(len(parts))
			parts[k] = append(parts[k], decisions[i])
		}
		var totals []*shadow.Totals
		for _, part := range parts {
			totals = append(totals, sum(part))
		}
		for len(totals) > 1 { // merge any two, in any order
			i := r.Intn(len(totals) - 1)
			if err := totals[i].Merge(totals[i+1]); err != nil {
				t.Fatal(err)
			}
			totals = append(totals[:i+1], totals[i+2:]...)
			r.Shuffle(len(totals), func(i, j int) { totals[i], totals[j] = totals[j], totals[i] })
		}
		if !reflect.DeepEqual(totals[0], whole) {
			t.Fatalf("%d parts sum up to\n%+v, the whole to\n%+v", len(parts), totals[0], whole)
		}
	}
}

// TestEvaluate_Allocations: after its buffers have grown, evaluating allocates
// nothing.
func TestEvaluate_Allocations(t *testing.T) {
	list := policies()
	decisions := randomDecisions(rand.New(rand.NewSource(4)), 200)
	totals, v := shadow.NewTotals(names(list)), shadow.NewEvaluator(dynamo.NewScorer(list), len(list))
	all := func() {
		for _, d := range decisions {
			if d.Pinned || d.Find(d.Selected) >= 0 {
				totals.Add(v.Evaluate(d))
			}
		}
	}
	all()
	if n := testing.AllocsPerRun(10, all); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// A prompt of 47 blocks, of which a busy worker holds 46: the router's weights
// send it to the idle one, which costs 2 blocks less. A small weight on
// missing blocks keeps it where its prefix is.
func ExampleEvaluator() {
	list := []dynamo.Policy{{Name: "live", Params: dynamo.DefaultParams()}, {Name: "affinity", Params: dynamo.DefaultParams()}}
	list[1].Params.PrefixAffinityWeight = 0.25
	d := &decision.Decision{
		WorkerType: decision.Decode, InputTokens: 3000, BlockSizeTokens: 64, RequestBlocks: 47, TracksPrefill: true,
		Selected: decision.Key{WorkerID: 2},
		Candidates: []decision.Candidate{
			{Key: decision.Key{WorkerID: 1}, EffectiveOverlapBlocks: 46, DecodeCostBlocks: 143},
			{Key: decision.Key{WorkerID: 2}, DecodeCostBlocks: 95},
		},
	}
	evaluator, totals := shadow.NewEvaluator(dynamo.NewScorer(list), len(list)), shadow.NewTotals([]string{"live", "affinity"})
	totals.Add(evaluator.Evaluate(d))
	for i, p := range totals.Pools[decision.Decode].Policies {
		fmt.Printf("%s: lost %s, missing %s, load excess %s, diverging %s\n", totals.Policies[i], p.Lost, p.Missing, p.LoadExcess, p.Diverging)
	}
	// Output:
	// live: lost 46, missing 47, load excess 0, diverging 0
	// affinity: lost 0, missing 1, load excess 48, diverging 1
}
