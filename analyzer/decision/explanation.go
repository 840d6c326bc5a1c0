package decision

// Explanation says how each policy judges one decision.
type Explanation struct {
	Decision *Decision
	// Eligible are the positions in Decision.Candidates of the candidates that
	// were scored; the slices of Picks follow its order.
	Eligible []int
	// Picks has an element per policy, the live one first.
	Picks []Pick
	// Cause and Checked are the fidelity of the live policy's costs.
	Cause   Cause
	Checked bool
}

// Pick is the judgement of one policy.
type Pick struct {
	Policy string
	// Costs has the terms of each eligible candidate.
	Costs []Cost
	// Chances are the candidates' chances to be picked: equal shares for the
	// ties of a policy that takes the least cost, softmax otherwise.
	Chances []float64
	// Agrees says that the recorded worker is among those the policy may pick.
	Agrees bool
	// MarginBlocks is how much less the best candidate costs than the next
	// one that isn't tied with it; 0 if there is none.
	MarginBlocks float64
	// RegretBlocks is the cost of the recorded worker minus the least cost.
	RegretBlocks float64
	// Flips names, per weight that can do it alone, the smallest change after
	// which another worker would be picked.
	Flips []Flip
}

// Cost is a cost in blocks with the terms that it sums.
type Cost struct {
	Terms []Term
	// Multiplier is the taint multiplier of the sum, 1 without taints.
	Multiplier float64
	Total      float64
}

// Term is a named summand of a cost.
type Term struct {
	Name   string
	Blocks float64
}

// Flip is a weight's boundary between two picks.
type Flip struct {
	Parameter string
	From      float64
	// At is the boundary: beyond it, seen from From, Winner costs less. At
	// equals From where a tie is broken by any change in that direction.
	At       float64
	Increase bool
	Winner   Key
}
