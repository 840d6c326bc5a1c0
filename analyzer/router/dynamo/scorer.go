package dynamo

import (
	"fmt"
	"math"

	"github.com/kvshadow/kvshadow/analyzer/decision"
)

// Scorer re-scores decisions under a list of policies, the live one first. It
// implements the seam that package shadow asks of a router.
//
// A Scorer keeps the columns of the last prepared decision and is not safe for
// concurrent use; its methods after Prepare allocate nothing.
type Scorer struct {
	policies []Policy
	cols     columns
	d        *decision.Decision
}

// NewScorer returns a scorer for the policies; the first is the live one.
func NewScorer(policies []Policy) *Scorer {
	return &Scorer{policies: policies}
}

// Policies returns the policies in order.
func (s *Scorer) Policies() []Policy { return s.policies }

// Prepare reads the inputs of d, which must stay unchanged until the next
// call, and returns the positions of its eligible candidates in d.Candidates.
// The costs and probabilities of the other methods are in that order.
//
// It fails where the router itself would have refused to choose.
func (s *Scorer) Prepare(d *decision.Decision) ([]int, error) {
	s.d = d
	if err := s.cols.fill(d, s.policies[0].Params); err != nil {
		return nil, err
	}
	return s.cols.index, nil
}

// Selected returns which of the eligible candidates was recorded as selected,
// or -1.
func (s *Scorer) Selected() int { return s.cols.selected }

// Costs writes the cost of each eligible candidate under a policy, in blocks.
// It fails on a cost that is not finite, as the router does.
func (s *Scorer) Costs(policy int, dst []float64) error {
	if sum := s.cols.costs(&s.policies[policy].Params, dst); sum-sum != 0 {
		return fmt.Errorf("a cost under policy %q is not finite", s.policies[policy].Name)
	}
	return nil
}

// Probabilities writes the chance of each eligible candidate to be picked and
// returns false; for a policy at temperature 0, whose pick is the least cost,
// it writes nothing and returns true.
func (s *Scorer) Probabilities(policy int, costs, dst []float64) (deterministic bool) {
	return probabilities(&s.policies[policy].Params, costs, dst)
}

// Overlap, Missing and Load return, per eligible candidate, its effective
// overlap, the prompt's blocks that its device memory lacks, and its load, all
// in blocks. They are read-only.
func (s *Scorer) Overlap() []float64 { return s.cols.effective[:len(s.cols.index)] }

// Missing is described at [Scorer.Overlap].
func (s *Scorer) Missing() []float64 { return s.cols.missing[:len(s.cols.index)] }

// Load is described at [Scorer.Overlap].
func (s *Scorer) Load() []float64 { return s.cols.load[:len(s.cols.index)] }

// Tolerance returns how far two costs under a policy may differ, in blocks,
// and still be a tie: 0 where the inputs are exact, and otherwise what their
// printed precision leaves open.
func (s *Scorer) Tolerance(policy int) float64 {
	c, p := &s.cols, &s.policies[policy].Params
	if c.rawError == 0 && c.deviceError == 0 && c.decayError == 0 {
		return 0
	}
	return 2 * s.costError(p)
}

// costError bounds the error of one cost that comes from rounded inputs.
func (s *Scorer) costError(p *Params) float64 {
	c := &s.cols
	deepest := 0.0
	for _, x := range c.device[:len(c.index)] {
		deepest = max(deepest, x)
	}
	creditError := p.OverlapScoreCredit * c.deviceError
	if c.decays(p) {
		// d/dx of 1/(1+kx) is at most k in size; an inverted factor carries
		// the printed factor's own error, scaled by k over the live k.
		k := p.OverlapScoreCreditDecay
		if live := s.policies[0].Params.OverlapScoreCreditDecay; s.d.Unknown.Has(decision.UnknownRequestBlocks) && live > 0 {
			k = max(1, k/live)
		}
		creditError += p.OverlapScoreCredit * deepest * min(1, k*c.decayError)
	}
	const noise = 1e-9 // of the sums themselves, once inputs are decimals
	return p.PrefillLoadScale*(c.rawError+creditError) + p.PrefixAffinityWeight*c.deviceError + noise
}

// Unidentified returns the unknown inputs that keep a policy's costs of this
// decision from being exact. A policy that agrees with the live one in the
// weight of an unknown input loses nothing, since that product was recorded.
func (s *Scorer) Unidentified(policy int) decision.Unknown {
	if policy == 0 || s.d.Unknown == 0 {
		return 0
	}
	p, live := &s.policies[policy].Params, &s.policies[0].Params
	var u decision.Unknown
	if p.DecodeActiveRequestWeight > 0 && live.DecodeActiveRequestWeight == 0 {
		u |= decision.UnknownActiveRequests
	}
	if p.OverlapScoreCredit != live.OverlapScoreCredit || p.OverlapScoreCreditDecay != live.OverlapScoreCreditDecay ||
		p.HostCacheHitWeight != live.HostCacheHitWeight || p.DiskCacheHitWeight != live.DiskCacheHitWeight ||
		p.PrefixAffinityWeight > 0 {
		u |= decision.UnknownTiers
	}
	if p.OverlapScoreCreditDecay > 0 && live.OverlapScoreCreditDecay == 0 {
		u |= decision.UnknownRequestBlocks
	}
	u |= decision.UnknownTaints
	return u & s.d.Unknown
}

// near says whether two costs agree within what printing left open.
func near(a, b, tolerance float64) bool {
	return math.Abs(a-b) <= tolerance+1e-9*max(math.Abs(a), math.Abs(b))
}
