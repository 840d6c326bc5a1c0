package decision

// Cause says why a recorded decision was not reproduced when it was re-scored
// with the live weights.
type Cause uint8

// The causes.
const (
	// Reproduced: the recorded costs and choice came out again.
	Reproduced Cause = iota
	// Rounding: the cost is off by little more than the printed precision.
	Rounding
	// Tie: the choice among equal costs changed a state that was rebuilt.
	Tie
	// Softmax: the choice isn't the least cost, as a router with a temperature
	// makes them; no weights explain it.
	Softmax
	// Taint: a taint multiplier is in the winner's cost whose value for the
	// other candidates isn't recorded.
	Taint
	// UnknownFormula: the cost comes from a formula that isn't this one.
	UnknownFormula
	// Incomplete: an input that the cost needs isn't recorded.
	Incomplete
	// StaleState: the router decided in a state other than the recorded one.
	StaleState
	// Weights: the router printed other weights than the live policy has, or
	// no other reason explains its costs. Check the live policy first.
	Weights
	// Load: the overlap is right, but the load of the recorded worker isn't.
	Load
	// CapacityUnknown: the KV capacity of the workers isn't known, so that the
	// rebuilt caches hold more than the real ones.
	CapacityUnknown
	causeCount
)

// CauseCount is the number of causes, [Reproduced] included.
const CauseCount = int(causeCount)

var causeNames = [causeCount]string{"", "rounding", "tie", "softmax", "taint", "unknown_formula", "incomplete",
	"stale_state", "weights", "load", "unknown_capacity"}

// String returns the label value, empty for [Reproduced].
func (c Cause) String() string { return causeNames[c] }

// Causes lists every cause of a mismatch, for counters that exist from the
// start.
func Causes() []Cause {
	all := make([]Cause, 0, causeCount-1)
	for c := Rounding; c < causeCount; c++ {
		all = append(all, c)
	}
	return all
}

// Basis says what a decision's fidelity was measured on.
type Basis uint8

// The bases, best last.
const (
	// BasisNone: nothing was recorded to compare with.
	BasisNone Basis = iota
	// BasisHitRate: the overlap of the recorded worker.
	BasisHitRate
	// BasisWinner: the cost of the recorded worker, at full precision.
	BasisWinner
	// BasisRows: the cost of every candidate.
	BasisRows
)

// BasisCount is the number of bases.
const BasisCount = int(BasisRows) + 1

var basisNames = [BasisCount]string{"none", "kv_hit_rate", "logit", "rows"}

// String returns the name that reports use.
func (b Basis) String() string { return basisNames[b] }
