package report

import (
	"fmt"
	"strconv"
	"strings"
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
	whole, frac, _ := strings.Cut(s, ".")
	sign := ""
	if strings.HasPrefix(whole, "-") {
		sign, whole = "-", whole[1:]
	}
	for i := len(whole) - 3; i > 0; i -= 3 {
		whole = whole[:i] + "," + whole[i:]
	}
	if frac == "00" {
		return sign + whole
	}
	return sign + whole + "." + strings.TrimSuffix(frac, "0")
}

// signed formats a difference with its sign.
func signed(v float64) string {
	if v > 0 {
		return "+" + count(v)
	}
	return count(v)
}

// columns of the policy table, shared by every human-readable form.
var columns = []struct {
	title string
	cell  func(p *Pool, s *Sums) string
}{
	{"non-max selections", func(p *Pool, s *Sums) string { return withShare(s.NonMaxOverlapSelections, float64(p.Evaluated)) }},
	{"blocks lost", func(p *Pool, s *Sums) string { return withShare(s.OverlapBlocksLost, float64(p.RequestBlocks)) }},
	{"diverging", func(p *Pool, s *Sums) string { return withShare(s.DivergingSelections, float64(p.Evaluated)) }},
	{"missing blocks", func(p *Pool, s *Sums) string { return withShare(s.MissingPrefixBlocks, float64(p.RequestBlocks)) }},
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
	lost := x.OverlapBlocksLost - live.OverlapBlocksLost
	load := x.LoadExcessBlocks - live.LoadExcessBlocks
	if float64(x.Unsupported) > (1-p.minFidelity)*float64(p.Evaluated) {
		return fmt.Sprintf("%s: no verdict, since %d of %d decisions don't record what its costs need (%s).",
			x.Name, x.Unsupported, p.Evaluated, strings.Join(x.Unknown, ", "))
	}
	s := fmt.Sprintf("%s picks another worker in %s of %s selections", x.Name, count(x.DivergingSelections), count(float64(p.Evaluated)))
	switch {
	case x.DivergingSelections == 0:
		return s + ": nothing would change."
	case live.OverlapBlocksLost > 0:
		s += fmt.Sprintf(": blocks lost %s (%s of live)", signed(lost), percent(x.OverlapBlocksLost, live.OverlapBlocksLost))
	default:
		s += ": blocks lost " + signed(lost)
	}
	s += ", load excess " + signed(load) + " blocks."
	if x.Unreproduced != nil && live.Unreproduced != nil {
		rest := x.Unreproduced.OverlapBlocksLost - live.Unreproduced.OverlapBlocksLost
		s += fmt.Sprintf(" Of the blocks, %s rest on decisions that were not reproduced.", signed(rest))
	}
	return s
}

const openLoop = "Open loop: exact for picks in the states that live visited; it says nothing about latency."

// basisText describes the fidelity in words.
func basisText(f *Fidelity) string {
	if f.Checked == 0 {
		return "fidelity unknown (no recorded costs)"
	}
	return fmt.Sprintf("fidelity %d/%d reproduced (%s)", f.Reproduced, f.Checked, percent(float64(f.Reproduced), float64(f.Checked)))
}

// pairs lists the non-zero counts of a map as "3 pinned, 2 query_only", sorted
// by name.
func pairs(m map[string]uint64) string {
	var out []string
	for _, k := range sortedKeys(m) {
		if m[k] > 0 {
			out = append(out, fmt.Sprintf("%s %s", count(float64(m[k])), k))
		}
	}
	return strings.Join(out, ", ")
}
