package shadow

import (
	"fmt"
	"slices"

	"github.com/kvshadow/kvshadow/analyzer/decision"
)

// Sums are the summed effects of a policy.
type Sums struct {
	NonMax, Lost, Diverging, Missing, LoadExcess Fixed
	// Unsupported counts the decisions whose costs under this policy need an
	// input that the source left out; Unknown has those inputs.
	Unsupported uint64
	Unknown     decision.Unknown
}

func (s *Sums) add(e *Effect) {
	s.NonMax += e.NonMax
	s.Lost += e.Lost
	s.Diverging += e.Diverging
	s.Missing += e.Missing
	s.LoadExcess += e.LoadExcess
	if e.Unknown != 0 {
		s.Unsupported++
		s.Unknown |= e.Unknown
	}
}

func (s *Sums) merge(o *Sums) {
	s.NonMax += o.NonMax
	s.Lost += o.Lost
	s.Diverging += o.Diverging
	s.Missing += o.Missing
	s.LoadExcess += o.LoadExcess
	s.Unsupported += o.Unsupported
	s.Unknown |= o.Unknown
}

// Pool sums the decisions of one worker type.
type Pool struct {
	Evaluated uint64
	Excluded  [exclusionCount]uint64
	// Checked and Mismatches describe fidelity; Mismatches is indexed by
	// [decision.Cause], its first element counts what was reproduced.
	// Bases counts the checked decisions by what was compared.
	Checked    uint64
	Bases      [decision.BasisCount]uint64
	Mismatches [decision.CauseCount]uint64
	// RequestBlocks sums the prompts; UnknownRequestBlocks counts those of
	// unknown length, which add nothing to it nor to missing blocks.
	RequestBlocks        uint64
	UnknownRequestBlocks uint64
	Policies             []Sums
	// Unreproduced is the share of Policies that rests on decisions whose
	// recorded cost or choice was not reproduced.
	Unreproduced []Sums
}

// Reproduced returns how many of the checked decisions came out again.
func (p *Pool) Reproduced() uint64 { return p.Mismatches[decision.Reproduced] }

// Totals sum evaluations under a fixed list of policies. The zero value is not
// usable; see [NewTotals]. Totals are not safe for concurrent use.
type Totals struct {
	Policies []string
	Pools    [len(decision.WorkerTypes)]Pool
}

// NewTotals returns empty totals for the named policies, the live one first.
func NewTotals(policies []string) *Totals {
	t := &Totals{Policies: policies}
	for i := range t.Pools {
		t.Pools[i].Policies = make([]Sums, len(policies))
		t.Pools[i].Unreproduced = make([]Sums, len(policies))
	}
	return t
}

// Add adds one evaluation.
func (t *Totals) Add(e *Evaluation) {
	p := &t.Pools[e.Decision.WorkerType]
	if e.Exclusion != Included {
		p.Excluded[e.Exclusion]++
		return
	}
	p.Evaluated++
	p.RequestBlocks += e.Decision.RequestBlocks
	if e.Decision.Unknown.Has(decision.UnknownRequestBlocks) {
		p.UnknownRequestBlocks++
	}
	if e.Checked {
		p.Checked++
		p.Bases[e.Basis]++
		p.Mismatches[e.Cause]++
	}
	for i := range e.Effects {
		p.Policies[i].add(&e.Effects[i])
		if e.Checked && e.Cause != decision.Reproduced {
			p.Unreproduced[i].add(&e.Effects[i])
		}
	}
}

// Merge adds the totals of another part of the input. Both must have the same
// policies in the same order.
func (t *Totals) Merge(o *Totals) error {
	if !slices.Equal(t.Policies, o.Policies) {
		return fmt.Errorf("can't merge totals of different policies: %q and %q", t.Policies, o.Policies)
	}
	for i := range t.Pools {
		t.Pools[i].merge(&o.Pools[i])
	}
	return nil
}

func (p *Pool) merge(o *Pool) {
	p.Evaluated += o.Evaluated
	p.Checked += o.Checked
	p.RequestBlocks += o.RequestBlocks
	p.UnknownRequestBlocks += o.UnknownRequestBlocks
	for i := range p.Bases {
		p.Bases[i] += o.Bases[i]
	}
	for i := range p.Excluded {
		p.Excluded[i] += o.Excluded[i]
	}
	for i := range p.Mismatches {
		p.Mismatches[i] += o.Mismatches[i]
	}
	for i := range p.Policies {
		p.Policies[i].merge(&o.Policies[i])
		p.Unreproduced[i].merge(&o.Unreproduced[i])
	}
}

// Clone returns a copy that shares nothing that changes.
func (t *Totals) Clone() *Totals {
	c := *t
	for i := range c.Pools {
		p := &c.Pools[i]
		p.Policies, p.Unreproduced = slices.Clone(p.Policies), slices.Clone(p.Unreproduced)
	}
	return &c
}

// Select returns a copy for other policies: the i-th takes over the sums of
// the policy at from[i], or starts from 0 where that is -1.
func (t *Totals) Select(policies []string, from []int) *Totals {
	c := *t
	c.Policies = policies
	for i := range c.Pools {
		p, old := &c.Pools[i], &t.Pools[i]
		p.Policies, p.Unreproduced = make([]Sums, len(policies)), make([]Sums, len(policies))
		for j, f := range from {
			if f >= 0 {
				p.Policies[j], p.Unreproduced[j] = old.Policies[f], old.Unreproduced[f]
			}
		}
	}
	return &c
}
