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
	causeCount
)

// CauseCount is the number of causes, [Reproduced] included.
const CauseCount = int(causeCount)

var causeNames = [causeCount]string{"", "rounding", "tie", "softmax", "taint", "unknown_formula", "incomplete",
	"stale_state", "weights"}

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
