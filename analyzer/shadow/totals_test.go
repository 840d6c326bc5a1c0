package shadow

import (
	"reflect"
	"testing"

	"github.com/kvshadow/kvshadow/analyzer/decision"
)

func TestTotals_Add(t *testing.T) {
	totals := NewTotals([]string{"live", "other"})
	add := func(s *fakeScorer, d decision.Decision) {
		t.Helper()
		totals.Add(NewEvaluator(s, 2).Evaluate(&d))
	}
	decode := decision.Decision{WorkerType: decision.Decode, RequestBlocks: 10}
	exact := threeWorkers(1, 2, 3)
	exact.basis = decision.BasisRows
	add(exact, decode) // other: 0 lost, 1.5 missing, excess 30, diverges
	tied := threeWorkers(1, 2, 1)
	tied.basis = decision.BasisHitRate
	add(tied, decode)              // other: 1/2 non-max, 4.25, 5.75, 15, diverges
	wrong := threeWorkers(2, 1, 3) // other: as live
	wrong.cause, wrong.unidentified, wrong.basis = decision.StaleState, decision.UnknownTiers, decision.BasisRows
	add(wrong, decode)
	unchecked := threeWorkers(2, 1, 3)
	unchecked.cause, unchecked.unchecked, unchecked.unidentified = decision.StaleState, true, decision.UnknownTaints
	add(unchecked, decision.Decision{WorkerType: decision.Decode, Unknown: decision.UnknownRequestBlocks})
	add(threeWorkers(1, 2, 3), decision.Decision{WorkerType: decision.Decode, Pinned: true, RequestBlocks: 99})
	add(threeWorkers(1, 2, 3), decision.Decision{QueryOnly: true, RequestBlocks: 99})

	if p, want := &totals.Pools[decision.Prefill], (Pool{Excluded: [exclusionCount]uint64{QueryOnly: 1}, Policies: make([]Sums, 2), Unreproduced: make([]Sums, 2)}); !reflect.DeepEqual(*p, want) {
		t.Errorf("prefill: %+v, want %+v", *p, want)
	}
	p := totals.Pools[decision.Decode]
	if p.Evaluated != 4 || p.Excluded[Pinned] != 1 || p.RequestBlocks != 30 || p.UnknownRequestBlocks != 1 {
		t.Errorf("decode: %+v", p)
	}
	if p.Checked != 3 || p.Reproduced() != 2 || p.Mismatches[decision.StaleState] != 1 {
		t.Errorf("fidelity: %d checked, %v", p.Checked, p.Mismatches)
	}
	if p.Bases != [decision.BasisCount]uint64{decision.BasisRows: 2, decision.BasisHitRate: 1} {
		t.Errorf("bases %v", p.Bases)
	}
	sums := func(nonMax, lost, diverging, missing, excess float64, unsupported uint64, unknown decision.Unknown) Sums {
		e := effect(nonMax, lost, diverging, missing, excess)
		return Sums{NonMax: e.NonMax, Lost: e.Lost, Diverging: e.Diverging, Missing: e.Missing, LoadExcess: e.LoadExcess,
			Unsupported: unsupported, Unknown: unknown}
	}
	f := func(what string, got, want Sums) {
		t.Helper()
		if got != want {
			t.Errorf("%s: %+v, want %+v", what, got, want)
		}
	}
	f("live", p.Policies[0], sums(4, 10, 0, 12, 12, 0, 0))
	f("other", p.Policies[1], sums(0.5+1+1, 4.25+2.5+2.5, 2, 1.5+5.75+4, 30+15+3+3, 2, decision.UnknownTiers|decision.UnknownTaints))
	// The share that rests on the decision that was not reproduced.
	f("live, unreproduced", p.Unreproduced[0], sums(1, 2.5, 0, 4, 3, 0, 0))
	f("other, unreproduced", p.Unreproduced[1], sums(1, 2.5, 0, 4, 3, 1, decision.UnknownTiers))
}

func TestTotals_Merge(t *testing.T) {
	a, b := NewTotals([]string{"live", "x"}), NewTotals([]string{"live", "x"})
	a.Pools[0] = Pool{Evaluated: 1, Bases: [decision.BasisCount]uint64{0, 1, 2, 3}, Excluded: [exclusionCount]uint64{Pinned: 2}, Checked: 3, RequestBlocks: 4, UnknownRequestBlocks: 5,
		Mismatches: [decision.CauseCount]uint64{decision.Taint: 6}, Policies: []Sums{{NonMax: 7}, {Lost: 8, Unknown: 1}}, Unreproduced: []Sums{{Missing: 9}, {Unsupported: 10}}}
	b.Pools[0] = Pool{Evaluated: 10, Bases: [decision.BasisCount]uint64{10, 20, 30, 40}, Excluded: [exclusionCount]uint64{Pinned: 20, QueryOnly: 1}, Checked: 30, RequestBlocks: 40, UnknownRequestBlocks: 50,
		Mismatches: [decision.CauseCount]uint64{decision.Taint: 60, 0: 1}, Policies: []Sums{{NonMax: 70}, {Lost: 80, Unknown: 2, Diverging: 1}}, Unreproduced: []Sums{{Missing: 90}, {LoadExcess: 1}}}
	if err := a.Merge(b); err != nil {
		t.Fatal(err)
	}
	want := Pool{Evaluated: 11, Bases: [decision.BasisCount]uint64{10, 21, 32, 43}, Excluded: [exclusionCount]uint64{Pinned: 22, QueryOnly: 1}, Checked: 33, RequestBlocks: 44, UnknownRequestBlocks: 55,
		Mismatches: [decision.CauseCount]uint64{decision.Taint: 66, 0: 1}, Policies: []Sums{{NonMax: 77}, {Lost: 88, Unknown: 3, Diverging: 1}},
		Unreproduced: []Sums{{Missing: 99}, {Unsupported: 10, LoadExcess: 1}}}
	if !reflect.DeepEqual(a.Pools[0], want) {
		t.Errorf("merged to %+v, want %+v", a.Pools[0], want)
	}
	f := func(policies ...string) {
		t.Helper()
		if err := a.Merge(NewTotals(policies)); err == nil {
			t.Errorf("totals of %q were merged", policies)
		}
	}
	f("live")
	f("x", "live")
	f("live", "x", "y")
	f()
}

func TestTotals_Clone(t *testing.T) {
	a := filledTotals()
	c := a.Clone()
	if !reflect.DeepEqual(a, c) {
		t.Errorf("the clone %+v differs from %+v", c, a)
	}
	if err := c.Merge(a); err != nil {
		t.Fatal(err)
	}
	c.Pools[1].Excluded[Pinned]++
	if !reflect.DeepEqual(a, filledTotals()) {
		t.Errorf("a change of the clone changed the original: %+v", a)
	}
}

func filledTotals() *Totals {
	t := NewTotals([]string{"live", "x", "y"})
	for i := range t.Pools {
		p := &t.Pools[i]
		p.Evaluated, p.Checked, p.RequestBlocks = 5, 4, 30
		for j := range p.Policies {
			p.Policies[j].Lost, p.Unreproduced[j].Lost = Fixed(10*i+j), Fixed(100+10*i+j)
		}
	}
	return t
}

func TestTotals_Select(t *testing.T) {
	a := filledTotals()
	s := a.Select([]string{"live", "new", "x"}, []int{0, -1, 1})
	for i, p := range s.Pools {
		old := filledTotals().Pools[i]
		wantPolicies := []Sums{old.Policies[0], {}, old.Policies[1]}
		wantUnreproduced := []Sums{old.Unreproduced[0], {}, old.Unreproduced[1]}
		if !reflect.DeepEqual(p.Policies, wantPolicies) || !reflect.DeepEqual(p.Unreproduced, wantUnreproduced) || p.Evaluated != 5 {
			t.Errorf("pool %d: %+v", i, p)
		}
	}
	if err := s.Merge(s.Clone()); err != nil || !reflect.DeepEqual(a, filledTotals()) {
		t.Errorf("the selection shares memory with the original (%v): %+v", err, a)
	}
	if !reflect.DeepEqual(s.Policies, []string{"live", "new", "x"}) {
		t.Errorf("policies %q", s.Policies)
	}
}
