package report

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/kvshadow/kvshadow/analyzer/decision"
)

// WriteExplanation renders how each policy judges a decision, as text.
func WriteExplanation(w io.Writer, e *decision.Explanation) error {
	var b strings.Builder
	d := e.Decision
	fmt.Fprintf(&b, "request %s: %s selection", orDash(d.RequestID), d.WorkerType)
	if !d.Time.IsZero() {
		fmt.Fprintf(&b, " at %s", d.Time.UTC().Format("2006-01-02T15:04:05.000000Z"))
	}
	if d.Pool != "" {
		fmt.Fprintf(&b, ", pool %s", d.Pool)
	}
	fmt.Fprintf(&b, ", %s\n", PromptText(d))
	fmt.Fprintf(&b, "selected %s (* below); %s\n", KeyText(d.Selected), FidelityText(e))
	if why := exclusionText(d); why != "" {
		fmt.Fprintf(&b, "in no counter: %s\n", why)
	}
	if names := d.Unknown.Names(); len(names) > 0 {
		fmt.Fprintf(&b, "the source doesn't say: %s\n", strings.Join(names, ", "))
	}
	for i := range e.Picks {
		writePick(&b, e, &e.Picks[i])
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// exclusionText says why reports and metrics leave a decision out, empty if
// they don't.
func exclusionText(d *decision.Decision) string {
	switch {
	case d.Pinned:
		return "the worker was given, not chosen"
	case d.QueryOnly:
		return "the choice was asked for and not booked"
	}
	return ""
}

// PromptText says in words how long the prompt is.
func PromptText(d *decision.Decision) string {
	if d.RequestBlocks == 0 {
		return "prompt of unknown length"
	}
	s := fmt.Sprintf("prompt of %d blocks", d.RequestBlocks)
	if d.InputTokens > 0 {
		s += fmt.Sprintf(" (%d tokens, %d a block)", d.InputTokens, d.BlockSizeTokens)
	}
	return s
}

// FidelityText says in words whether the live policy reproduced the decision.
func FidelityText(e *decision.Explanation) string {
	switch {
	case !e.Checked:
		return "no recorded cost to check the live policy against"
	case e.Cause == decision.Reproduced:
		return "the live policy reproduces the recorded costs and choice"
	}
	return "the live policy does not reproduce it: " + e.Cause.String()
}

func writePick(b *strings.Builder, e *decision.Explanation, p *decision.Pick) {
	fmt.Fprintf(b, "\n%s: %s\n", p.Policy, PickText(e, p))
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, row := range CostTable(e, p) {
		fmt.Fprintf(t, "%s\t\n", strings.Join(row, "\t"))
	}
	t.Flush() // a strings.Builder never fails
	for _, f := range p.Flips {
		fmt.Fprintf(b, "  %s\n", FlipText(f))
	}
}

// CostTable returns the costs of every candidate as cells of text, the first
// row holding the titles. An asterisk marks the recorded worker.
func CostTable(e *decision.Explanation, p *decision.Pick) [][]string {
	titles := []string{"worker", "overlap"}
	for _, term := range p.Costs[0].Terms {
		titles = append(titles, term.Name)
	}
	rows := [][]string{append(titles, "taint", "cost", "chance")}
	for row, i := range e.Eligible {
		c, cost := &e.Decision.Candidates[i], &p.Costs[row]
		cells := []string{mark(c.Key == e.Decision.Selected) + KeyText(c.Key), number(c.EffectiveOverlapBlocks)}
		for _, term := range cost.Terms {
			cells = append(cells, number(term.Blocks))
		}
		rows = append(rows, append(cells, number(cost.Multiplier), number(cost.Total), percent(p.Chances[row], 1)))
	}
	return rows
}

// PickText says in words which worker a policy picks and by how much.
func PickText(e *decision.Explanation, p *decision.Pick) string {
	s := winnersText(e, p)
	switch i := e.Decision.Find(e.Decision.Selected); {
	case p.Agrees:
	case !slices.Contains(e.Eligible, i):
		s += ", not the recorded worker, which isn't eligible"
	default:
		s += fmt.Sprintf(", not the recorded worker, which costs %s blocks more", number(p.RegretBlocks))
	}
	if p.MarginBlocks > 0 {
		s += fmt.Sprintf("; the least cost is %s blocks below the next", number(p.MarginBlocks))
	}
	return s
}

// maxNamed bounds how many workers a sentence names.
const maxNamed = 4

// winnersText names the workers that a policy may pick, the likeliest first.
func winnersText(e *decision.Explanation, p *decision.Pick) string {
	var rows []int
	drawn := false // by unequal chances, as at a temperature
	for row, chance := range p.Chances {
		if chance > 0 {
			rows = append(rows, row)
			drawn = drawn || chance != p.Chances[rows[0]]
		}
	}
	slices.SortStableFunc(rows, func(a, b int) int { return cmp.Compare(p.Chances[b], p.Chances[a]) })
	verb, names := "picks ", []string(nil)
	for _, row := range rows[:min(len(rows), maxNamed)] {
		name := KeyText(e.Decision.Candidates[e.Eligible[row]].Key)
		if drawn {
			verb, name = "draws ", fmt.Sprintf("%s (%s)", name, percent(p.Chances[row], 1))
		}
		names = append(names, name)
	}
	if more := len(rows) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("%d others", more))
	}
	return verb + strings.Join(names, " or ")
}

// FlipText says in words what change of a weight changes the pick.
func FlipText(f decision.Flip) string {
	word := "below"
	if f.Increase {
		word = "above"
	}
	return fmt.Sprintf("%s is %s; %s %s it picks %s", f.Parameter, number(f.From), word, number(f.At), KeyText(f.Winner))
}

// KeyText names a rank as worker/rank.
func KeyText(k decision.Key) string { return fmt.Sprintf("%d/%d", k.WorkerID, k.DPRank) }

func mark(selected bool) string {
	if selected {
		return "* "
	}
	return ""
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// number prints up to four decimals, and small numbers with three digits.
func number(v float64) string {
	if v != 0 && math.Abs(v) < 0.001 {
		return strconv.FormatFloat(v, 'g', 3, 64)
	}
	s := strconv.FormatFloat(v, 'f', 4, 64)
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}
