package report

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/kvshadow/kvshadow/analyzer/decision"
)

// percent formats a share, "-" without a base.
func percent(part, whole float64) string {
	if whole == 0 {
		return "-"
	}
	return strconv.FormatFloat(100*part/whole, 'f', 1, 64) + " %"
}

// count formats a number with thousands separators, and decimals only where
// there are any.
func count(v float64) string {
	s := strconv.FormatFloat(v, 'f', 2, 64)
	digits, frac, _ := strings.Cut(s, ".")
	sign := ""
	if strings.HasPrefix(digits, "-") {
		sign, digits = "-", digits[1:]
	}
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	if frac == "00" {
		if digits == "0" {
			return digits
		}
		return sign + digits
	}
	return sign + digits + "." + strings.TrimSuffix(frac, "0")
}

// whole formats a number of things as count does.
func whole(n uint64) string { return count(float64(n)) }

// signed formats a difference with its sign.
func signed(v float64) string {
	if s := count(v); v < 0 || s == "0" {
		return s
	}
	return "+" + count(v)
}

// columns of the policy table, shared by every human-readable form.
var columns = []struct {
	title string
	cell  func(p *Pool, s *Sums) string
}{
	{"non-max selections", func(p *Pool, s *Sums) string { return withShare(s.NonMaxOverlapSelections, float64(p.Evaluated)) }},
	{"blocks lost", func(p *Pool, s *Sums) string { return withShare(s.OverlapBlocksLost, float64(p.RequestBlocks)) }},
	{"diverging", func(p *Pool, s *Sums) string { return withShare(s.DivergingSelections, float64(p.Evaluated)) }},
	{"missing blocks", func(p *Pool, s *Sums) string {
		if p.RequestBlocks == 0 && p.UnknownRequestBlocks > 0 {
			return "unknown"
		}
		return withShare(s.MissingPrefixBlocks, float64(p.RequestBlocks))
	}},
	{"load excess blocks", func(_ *Pool, s *Sums) string { return count(s.LoadExcessBlocks) }},
}

func withShare(v, base float64) string {
	if base == 0 {
		return count(v)
	}
	return fmt.Sprintf("%s (%s)", count(v), percent(v, base))
}

// verdict compares a candidate policy with live in one sentence.
func verdict(p *Pool, live, x *Policy) string {
	if float64(p.Evaluated-x.Unsupported)/float64(p.Evaluated) < p.minFidelity {
		return fmt.Sprintf("%s: no verdict, since %s of %s decisions don't record what its costs need (%s).",
			x.Name, whole(x.Unsupported), whole(p.Evaluated), strings.Join(x.Unknown, ", "))
	}
	s := fmt.Sprintf("%s picks another worker in %s of %s selections", x.Name, count(x.DivergingSelections), whole(p.Evaluated))
	if x.DivergingSelections == 0 {
		return s + ": nothing would change."
	}
	s += fmt.Sprintf(": blocks lost %s, load excess blocks %s.",
		instead(x.OverlapBlocksLost, live.OverlapBlocksLost), instead(x.LoadExcessBlocks, live.LoadExcessBlocks))
	if x.Unreproduced != nil && live.Unreproduced != nil {
		rest := x.Unreproduced.OverlapBlocksLost - live.Unreproduced.OverlapBlocksLost
		s += fmt.Sprintf(" Of the difference in blocks lost, %s rests on decisions that were not reproduced.", signed(rest))
	}
	return s
}

// instead compares a candidate's sum with live's.
func instead(x, live float64) string {
	return fmt.Sprintf("%s instead of %s (%s)", count(x), count(live), signed(x-live))
}

const openLoop = "Open loop: exact for picks in the states that live visited; it says nothing about latency."

// basisText describes the fidelity in words.
func basisText(f *Fidelity) string {
	if f.Checked == 0 {
		return "fidelity unknown (no recorded costs)"
	}
	s := fmt.Sprintf("fidelity %s/%s reproduced (%s)", whole(f.Reproduced), whole(f.Checked), percent(float64(f.Reproduced), float64(f.Checked)))
	switch f.Basis { // rows, the best, need no words
	case decision.BasisWinner.String():
		return s + " by the winner's cost"
	case decision.BasisHitRate.String():
		return s + " by the winner's overlap"
	}
	return s
}

// text says how far decisions rebuilt from traces agree with the rows.
func (c *Comparison) text() string {
	s := fmt.Sprintf("%s of these selections were rebuilt from the traces too; of the figures of %s candidates came out exactly: overlap %s, decode blocks %s, prefill %s",
		whole(c.Selections), whole(c.Candidates), whole(c.OverlapExact), whole(c.DecodeBlocksExact), whole(c.RawPrefillExact))
	if c.MissingCandidates > 0 {
		s += fmt.Sprintf("; %s candidates are in no trace", whole(c.MissingCandidates))
	}
	return s + "."
}

// pairs lists the non-zero counts of a map as "3 pinned, 2 query_only", sorted
// by name.
func pairs(m map[string]uint64) string {
	var out []string
	for _, k := range sortedKeys(m) {
		if m[k] > 0 {
			out = append(out, fmt.Sprintf("%s %s", whole(m[k]), k))
		}
	}
	return strings.Join(out, ", ")
}
