package dynamo

import (
	"math"
	"slices"

	"github.com/kvshadow/kvshadow/analyzer/decision"
)

// Explain judges one decision under every policy. Unlike the other methods it
// allocates; it is for people, not for streams.
func (s *Scorer) Explain(d *decision.Decision) (*decision.Explanation, error) {
	index, err := s.Prepare(d)
	if err != nil {
		return nil, err
	}
	e := &decision.Explanation{Decision: d, Eligible: slices.Clone(index)}
	for p := range s.policies {
		costs := make([]float64, len(index))
		if err := s.Costs(p, costs); err != nil {
			return nil, err
		}
		if p == 0 && s.Selected() >= 0 {
			e.Cause, e.Checked = s.Fidelity(costs)
		}
		e.Picks = append(e.Picks, s.pick(p, costs))
	}
	return e, nil
}

func (s *Scorer) pick(policy int, costs []float64) decision.Pick {
	p := s.policies[policy].Params
	x := decision.Pick{Policy: s.policies[policy].Name, Chances: make([]float64, len(costs))}
	least := slices.Min(costs)
	limit := least + s.Tolerance(policy)
	if probabilities(&p, costs, x.Chances) {
		winners := 0.0
		for i, c := range costs {
			if c <= limit {
				x.Chances[i] = 1
				winners++
			}
		}
		for i := range x.Chances {
			x.Chances[i] /= winners
		}
	}
	next := math.Inf(1)
	for i, c := range costs {
		x.Costs = append(x.Costs, s.cols.terms(&p, i, c))
		if c > limit {
			next = min(next, c)
		}
	}
	if !math.IsInf(next, 1) {
		x.MarginBlocks = next - least
	}
	current := slices.Index(costs, least)
	if row := s.Selected(); row >= 0 {
		x.Agrees, x.RegretBlocks = x.Chances[row] > 0, costs[row]-least
		if costs[row] <= limit {
			current = row
		}
	}
	x.Flips = s.flips(p, current)
	return x
}

// terms splits a candidate's cost. The load credits of the two forms differ in
// what they are taken from, so the first term is net of them.
func (c *columns) terms(p *Params, i int, total float64) decision.Cost {
	credit := c.effectiveCredit(p)
	blocks, scale, name := c.raw[i], p.PrefillLoadScale, "prefill_load"
	if c.decodeForm(credit) {
		blocks, scale, name = c.decode[i], 1, "decode_less_credit"
	}
	t := []decision.Term{{Name: name, Blocks: scale * max(0, blocks-c.credit(p, credit, i))}}
	if !c.decodeForm(credit) {
		t = append(t, decision.Term{Name: "decode", Blocks: c.decode[i]})
	}
	t = append(t,
		decision.Term{Name: "active_requests", Blocks: p.DecodeActiveRequestWeight * c.requests[i]},
		decision.Term{Name: "prefix_affinity", Blocks: c.affinity(p, credit) * c.missing[i]})
	out := decision.Cost{Terms: t, Multiplier: 1, Total: total}
	if c.hasTaint {
		out.Multiplier = c.taint[i]
	}
	return out
}

// flips finds, for every weight, the nearest value at which another candidate
// becomes cheaper than the current pick.
func (s *Scorer) flips(p Params, current int) []decision.Flip {
	var out []decision.Flip
	for _, q := range parameters {
		if q.name == "router_temperature" {
			continue // changes chances, not the least cost
		}
		x := flipSearch{d: s.d, c: &s.cols, p: p, weight: q.at, pick: current}
		if f, ok := x.nearest(); ok {
			f.Parameter = q.name
			out = append(out, f)
		}
	}
	return out
}

// flipSearch varies one weight and compares candidates with the pick. Between
// breakpoints, where a clamp at 0 sets in, a difference of two costs is linear
// in every weight but the decay, in which it is monotonic between its extremum
// and the breakpoints; so each piece has at most one root.
type flipSearch struct {
	d      *decision.Decision
	c      *columns
	p      Params
	weight func(*Params) *float64
	pick   int
}

func (x *flipSearch) nearest() (best decision.Flip, found bool) {
	from := *x.weight(&x.p)
	winner := 0
	for j := range x.c.index {
		if j == x.pick {
			continue
		}
		points := x.breakpoints(j)
		for _, increase := range [...]bool{true, false} {
			at, ok := x.cross(j, from, points, increase)
			f := decision.Flip{From: from, At: at, Increase: increase, Winner: x.d.Candidates[x.c.index[j]].Key}
			if ok && (!found || x.nearer(f, j, best, winner)) {
				best, winner, found = f, j, true
			}
		}
	}
	return best, found
}

// nearer says whether f, at which j overtakes, is to be preferred to best. If
// both overtake at the same value, the one that costs less beyond it wins.
func (x *flipSearch) nearer(f decision.Flip, j int, best decision.Flip, winner int) bool {
	room := max(1, f.At)
	d := math.Abs(f.At-f.From) - math.Abs(best.At-best.From)
	if math.Abs(d) > 1e-9*room || f.Increase != best.Increase {
		return d < 0
	}
	beyond := f.At + 1e-6*room
	if !f.Increase {
		beyond = max(0, f.At-1e-6*room)
	}
	return x.difference(j, beyond) < x.difference(winner, beyond)
}

// difference is the cost of j minus that of the pick at a value of the weight.
func (x *flipSearch) difference(j int, v float64) float64 {
	p := x.p
	*x.weight(&p) = v
	return x.c.cost(&p, j) - x.c.cost(&p, x.pick)
}

// farthest stands for infinity; no weight in use comes near it.
const farthest = 1e9

// cross walks from the current value in one direction and returns where j
// becomes cheaper than the pick.
func (x *flipSearch) cross(j int, from float64, points []float64, increase bool) (float64, bool) {
	walk := []float64{from}
	for _, v := range points {
		if v > from == increase && v != from {
			walk = append(walk, v)
		}
	}
	if increase {
		slices.Sort(walk)
	} else {
		slices.SortFunc(walk, func(a, b float64) int { return -cmpFloat(a, b) })
	}
	for i := 0; i+1 < len(walk); i++ {
		a, b := walk[i], walk[i+1]
		if x.difference(j, b) < 0 {
			return x.root(j, a, b), true
		}
	}
	return 0, false
}

func cmpFloat(a, b float64) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// root narrows a piece at whose near end a the pick still holds.
func (x *flipSearch) root(j int, a, b float64) float64 {
	for range 200 {
		m := a + (b-a)/2
		if m == a || m == b {
			break
		}
		if x.difference(j, m) < 0 {
			b = m
		} else {
			a = m
		}
	}
	return a
}

// breakpoints lists where the difference to j can change its course: the ends
// of the range, the clamps of both candidates, and the extremum in the decay.
func (x *flipSearch) breakpoints(j int) []float64 {
	points := []float64{0, math.SmallestNonzeroFloat64, farthest}
	add := func(v float64) {
		if v > 0 && v < farthest { // false for NaN
			points = append(points, v)
		}
	}
	decay := x.weight(&x.p) == &x.p.OverlapScoreCreditDecay
	for _, i := range [...]int{j, x.pick} {
		if decay {
			add(x.c.decayClamp(&x.p, i))
		} else {
			add(x.clamp(i))
		}
	}
	if decay {
		add(x.c.decayExtremum(j, x.pick))
	}
	return points
}

// clamp is where a credit that is linear in the weight uses up what it is
// taken from.
func (x *flipSearch) clamp(i int) float64 {
	at := func(v float64) float64 {
		p := x.p
		*x.weight(&p) = v
		credit := x.c.effectiveCredit(&p)
		blocks := x.c.raw[i]
		if x.c.decodeForm(credit) {
			blocks = x.c.decode[i]
		}
		return blocks - x.c.credit(&p, credit, i)
	}
	left, slope := at(1), at(2)-at(1)
	return 1 - left/slope
}

// decayClamp is where the decayed credit has shrunk to the raw prefill blocks:
// raw - rest = c*device / (1 + k*excess).
func (c *columns) decayClamp(p *Params, i int) float64 {
	none := *p
	none.OverlapScoreCredit = 0
	left := c.raw[i] - c.credit(&none, 0, i)
	return (p.OverlapScoreCredit*c.device[i]/left - 1) / c.excess[i]
}

// decayExtremum is where d/dk of taint*device/(1+k*excess) is equal for both.
func (c *columns) decayExtremum(i, j int) float64 {
	slope := func(i int) float64 {
		taint := 1.0
		if c.hasTaint {
			taint = c.taint[i]
		}
		return math.Sqrt(taint * c.device[i] * c.excess[i])
	}
	a, b := slope(i), slope(j)
	return (b - a) / (a*c.excess[j] - b*c.excess[i])
}
