package dynamo

import (
	"math"
	"slices"

	"github.com/kvshadow/kvshadow/analyzer/decision"
)

// Fidelity compares the live policy's costs with what the router recorded:
// every candidate's cost, the winner's cost, the choice itself, and the
// router's own count of lost blocks. checked is false if the decision has
// nothing recorded to compare with.
func (s *Scorer) Fidelity(live []float64) (cause decision.Cause, checked bool) {
	if s.Basis() == decision.BasisNone {
		return decision.Reproduced, false
	}
	if cause = s.checkOverlap(); cause != decision.Reproduced {
		return cause, true
	}
	if cause = s.checkWeights(); cause != decision.Reproduced {
		return cause, true
	}
	if cause = s.checkCosts(live); cause != decision.Reproduced {
		return cause, true
	}
	if cause = s.checkWinner(live); cause != decision.Reproduced {
		return cause, true
	}
	if cause = s.checkChoice(live); cause != decision.Reproduced {
		return cause, true
	}
	return s.checkLost(), true
}

// Basis returns what the prepared decision's fidelity can be measured on.
func (s *Scorer) Basis() decision.Basis {
	switch {
	case s.cols.recordedRows:
		return decision.BasisRows
	case s.d.SelectedCostBlocks.Set:
		return decision.BasisWinner
	case s.d.RecordedOverlapBlocks.Set:
		return decision.BasisHitRate
	}
	return decision.BasisNone
}

// checkOverlap compares the recorded worker's overlap with the router's own
// figure, which a hit rate gives back exactly but for rounding.
func (s *Scorer) checkOverlap() decision.Cause {
	want := s.d.RecordedOverlapBlocks
	const rounding = 0.01
	switch {
	case !want.Set || math.Abs(s.cols.effective[s.cols.selected]-want.Value) <= rounding:
		return decision.Reproduced
	case s.d.Unknown.Has(decision.UnknownCapacity):
		return decision.CapacityUnknown
	}
	return decision.StaleState
}

// checkWeights compares the weights that the source printed with the live
// policy's.
func (s *Scorer) checkWeights() decision.Cause {
	for _, w := range s.d.RecordedWeights {
		if v, known := s.policies[0].Params.Get(w.Name); known && !near(v, w.Value, 10*s.d.CostToleranceBlocks) {
			return decision.Weights
		}
	}
	return decision.Reproduced
}

// checkCosts compares the candidates' costs, which rows print before taints.
func (s *Scorer) checkCosts(live []float64) decision.Cause {
	tolerance := s.d.CostToleranceBlocks + s.inputError()
	cause := decision.Reproduced
	for row, i := range s.cols.index {
		want := s.d.Candidates[i].Recorded.CostBlocks
		got := live[row]
		if s.cols.hasTaint {
			got /= s.cols.taint[row]
		}
		switch {
		case !want.Set || near(got, want.Value, tolerance):
		case near(got, want.Value, 4*tolerance):
			cause = decision.Rounding
		case s.d.Unknown.Has(decision.UnknownTiers):
			return decision.Incomplete
		default:
			return decision.Weights
		}
	}
	return cause
}

// inputError bounds what rounded inputs do to a live cost.
func (s *Scorer) inputError() float64 {
	if s.Tolerance(0) == 0 {
		return 0
	}
	return s.costError(&s.policies[0].Params)
}

// checkWinner compares the winner's cost, which is recorded at full precision
// and after taints.
func (s *Scorer) checkWinner(live []float64) decision.Cause {
	want := s.d.SelectedCostBlocks
	got := live[s.cols.selected]
	switch {
	case !want.Set || near(got, want.Value, s.inputError()):
		return decision.Reproduced
	case s.d.Unknown.Has(decision.UnknownTaints) && isTaint(want.Value/got):
		return decision.Taint
	case near(got, want.Value, s.d.CostToleranceBlocks):
		return decision.Rounding
	case s.d.Unknown.Has(decision.UnknownCapacity):
		return decision.CapacityUnknown
	case s.d.Rebuilt && s.d.RecordedOverlapBlocks.Set: // which came out right
		return decision.Load
	}
	return decision.StaleState
}

// isTaint says whether a ratio of costs lies in the range of the taint
// multiplier, [1/e, e].
func isTaint(ratio float64) bool {
	return ratio >= 1/math.E-1e-9 && ratio <= math.E+1e-9
}

// checkChoice holds the choice against the least cost. At a temperature every
// choice is possible.
func (s *Scorer) checkChoice(live []float64) decision.Cause {
	if s.policies[0].Params.RouterTemperature > 0 || live[s.cols.selected] <= slices.Min(live)+s.Tolerance(0) {
		return decision.Reproduced
	}
	if s.d.Rebuilt {
		return decision.StaleState // of another candidate
	}
	return decision.Softmax
}

// checkLost compares with the router's own observation, which prints the
// blocks at full precision.
func (s *Scorer) checkLost() decision.Cause {
	want := s.d.RecordedLostBlocks
	if !want.Set {
		return decision.Reproduced
	}
	effective := s.cols.effective[:len(s.cols.index)]
	if near(slices.Max(effective)-effective[s.cols.selected], want.Value, 20*s.d.CostToleranceBlocks) {
		return decision.Reproduced
	}
	return decision.StaleState
}
