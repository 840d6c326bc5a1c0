// Package shadow evaluates recorded decisions under other policies.
//
// [Evaluator.Evaluate] re-scores one decision under every policy and returns
// what each would have given up and gained; [Totals] sums such evaluations.
// Totals hold integers only, so adding and merging are associative: any way of
// dividing the input gives the same result. The rules are in
// docs/evaluation.md.
package shadow

import (
	"slices"

	"github.com/kvshadow/kvshadow/analyzer/decision"
)

// Scorer is what a router contributes. Policy 0 is the live one. After a
// successful Prepare, the other methods speak of the eligible candidates in
// the order of the positions that it returned.
type Scorer interface {
	// Prepare reads the inputs of d and returns the positions of its eligible
	// candidates. It fails where the router would have refused to choose.
	Prepare(d *decision.Decision) ([]int, error)
	// Costs writes each candidate's cost under a policy, in blocks.
	Costs(policy int, dst []float64) error
	// Probabilities writes each candidate's chance and returns false, or
	// returns true if the policy takes the least cost.
	Probabilities(policy int, costs, dst []float64) (deterministic bool)
	// Tolerance is how far two costs may differ and still be a tie.
	Tolerance(policy int) float64
	// Selected returns which of the eligible candidates was recorded as
	// selected, or -1.
	Selected() int
	// Overlap, Missing and Load return each candidate's effective overlap,
	// missing prefix blocks and load, in blocks.
	Overlap() []float64
	Missing() []float64
	Load() []float64
	// Unidentified returns the unknown inputs that keep costs inexact.
	Unidentified(policy int) decision.Unknown
	// Fidelity compares the live costs with the recorded ones; checked is
	// false if nothing was recorded.
	Fidelity(liveCosts []float64) (cause decision.Cause, checked bool)
	// Basis returns what Fidelity compares.
	Basis() decision.Basis
}

// Exclusion says why a decision is in no counter.
type Exclusion uint8

// The exclusions.
const (
	Included Exclusion = iota
	// Pinned: the worker was dictated, by a pin or an exclusive affinity.
	Pinned
	// QueryOnly: asked without a booking; no request followed the choice.
	QueryOnly
	// NotEligible: the router would have refused, or the selected worker is
	// not among the eligible ones.
	NotEligible
	// NotFinite: a cost is not a finite number.
	NotFinite
	exclusionCount
)

var exclusionNames = [exclusionCount]string{"", "pinned", "query_only", "not_eligible", "not_finite"}

// String returns the label value, empty for [Included].
func (e Exclusion) String() string { return exclusionNames[e] }

// Exclusions lists every reason of exclusion.
func Exclusions() []Exclusion { return []Exclusion{Pinned, QueryOnly, NotEligible, NotFinite} }

// Effect is what a policy's pick of one decision means. Under ties and softmax
// the values are expectations.
type Effect struct {
	NonMax     Fixed // 1 if another eligible worker has more effective overlap
	Lost       Fixed // highest eligible effective overlap minus the pick's
	Diverging  Fixed // 1 if the recorded worker isn't in the policy's winner set
	Missing    Fixed // blocks of the prompt that the pick's device memory lacks
	LoadExcess Fixed // the pick's load minus the least eligible load
	// Unknown are the inputs that this policy's costs need and that the source
	// left out; with any of them the other values are approximations.
	Unknown decision.Unknown
}

// Evaluation is the outcome of one decision. It is reused by the next call of
// Evaluate.
type Evaluation struct {
	Decision  *decision.Decision
	Exclusion Exclusion
	Cause     decision.Cause
	Checked   bool
	Basis     decision.Basis
	// Effects has an element per policy, unless the decision was excluded.
	Effects []Effect
}

// Evaluator evaluates decisions one after another. It is not safe for
// concurrent use; after its buffers have grown it allocates nothing.
type Evaluator struct {
	scorer   Scorer
	policies int
	e        Evaluation
	costs    []float64
	chances  []float64
	// Per eligible candidate, independent of the policy:
	lost, excess []float64
}

// NewEvaluator returns an evaluator for a scorer of that many policies.
func NewEvaluator(s Scorer, policies int) *Evaluator {
	return &Evaluator{scorer: s, policies: policies, e: Evaluation{Effects: make([]Effect, policies)}}
}

// Evaluate re-scores a decision under every policy. The result is valid until
// the next call.
func (v *Evaluator) Evaluate(d *decision.Decision) *Evaluation {
	v.e.Decision, v.e.Cause, v.e.Checked, v.e.Basis = d, decision.Reproduced, false, decision.BasisNone
	v.e.Exclusion = v.evaluate(d)
	return &v.e
}

func (v *Evaluator) evaluate(d *decision.Decision) Exclusion {
	switch {
	case d.Pinned:
		return Pinned
	case d.QueryOnly:
		return QueryOnly
	}
	if _, err := v.scorer.Prepare(d); err != nil {
		return NotEligible
	}
	selected := v.scorer.Selected()
	if selected < 0 {
		return NotEligible
	}
	v.measure()
	for p := range v.e.Effects {
		if err := v.scorer.Costs(p, v.costs); err != nil {
			return NotFinite
		}
		if p == 0 {
			v.e.Cause, v.e.Checked = v.scorer.Fidelity(v.costs)
			v.e.Basis = v.scorer.Basis()
			v.e.Effects[p] = v.effectOf(d, selected)
			continue
		}
		v.e.Effects[p] = v.effect(d, p, selected)
		v.e.Effects[p].Unknown = v.scorer.Unidentified(p)
	}
	return Included
}

// measure computes what each candidate would give up.
func (v *Evaluator) measure() {
	overlap, load := v.scorer.Overlap(), v.scorer.Load()
	n := len(overlap)
	for _, b := range []*[]float64{&v.costs, &v.chances, &v.lost, &v.excess} {
		*b = slices.Grow((*b)[:0], n)[:n]
	}
	highest, lightest := overlap[0], least(load)
	for _, x := range overlap {
		if x > highest {
			highest = x
		}
	}
	for i := range overlap {
		v.lost[i] = highest - overlap[i]
		v.excess[i] = load[i] - lightest
	}
}

// effectOf is the effect of picking one candidate for certain.
func (v *Evaluator) effectOf(d *decision.Decision, row int) Effect {
	e := Effect{Lost: toFixed(v.lost[row]), LoadExcess: toFixed(v.excess[row])}
	if v.lost[row] > 0 {
		e.NonMax = fixedOne
	}
	if !d.Unknown.Has(decision.UnknownRequestBlocks) {
		e.Missing = toFixed(v.scorer.Missing()[row])
	}
	return e
}

// effect is the effect of a candidate policy, whose costs are in v.costs.
func (v *Evaluator) effect(d *decision.Decision, policy, selected int) Effect {
	if !v.scorer.Probabilities(policy, v.costs, v.chances) {
		return v.expectation(d, selected)
	}
	limit := least(v.costs) + v.scorer.Tolerance(policy)
	if v.costs[selected] <= limit {
		return v.effectOf(d, selected)
	}
	winners, last := 0, 0
	for i, c := range v.costs {
		v.chances[i] = 0
		if c <= limit {
			v.chances[i] = 1
			winners, last = winners+1, i
		}
	}
	if winners == 1 {
		e := v.effectOf(d, last)
		e.Diverging = fixedOne
		return e
	}
	for i := range v.chances {
		v.chances[i] /= float64(winners)
	}
	return v.expectation(d, selected)
}

// least returns the least of finite numbers. slices.Min, which also orders NaN
// and signed zeros, takes several times as long.
func least(values []float64) float64 {
	m := values[0]
	for _, v := range values {
		if v < m {
			m = v
		}
	}
	return m
}

// expectation weighs the candidates' effects by their chances.
func (v *Evaluator) expectation(d *decision.Decision, selected int) Effect {
	var nonMax, lost, missing, excess float64
	blocks := v.scorer.Missing()
	for i, p := range v.chances {
		if v.lost[i] > 0 {
			nonMax += p
		}
		lost += float64(p * v.lost[i])
		missing += float64(p * blocks[i])
		excess += float64(p * v.excess[i])
	}
	e := Effect{NonMax: toFixed(nonMax), Lost: toFixed(lost), LoadExcess: toFixed(excess),
		Diverging: toFixed(1 - v.chances[selected])}
	if !d.Unknown.Has(decision.UnknownRequestBlocks) {
		e.Missing = toFixed(missing)
	}
	return e
}
