package report

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/kvshadow/kvshadow/analyzer/fleet"
)

// SimulationSchema names the JSON form of [Simulation].
const SimulationSchema = "kvshadow.simulation.v1"

// Simulation is the outcome of a closed-loop experiment.
type Simulation struct {
	Seeds    int
	Policies []SimulatedPolicy
	// Recorded holds what the trace says of the fleet that served it, under the
	// names of the figures; empty for traces that don't say.
	Recorded map[string]float64
	// Notes are findings that a reader should know before the numbers.
	Notes []string
}

// SimulatedPolicy holds the figures of a policy, by name.
type SimulatedPolicy struct {
	Name    string
	Figures map[string]fleet.Summary
}

// figure is one number of a simulated world.
type figure struct {
	key, title string
	decimals   int
	of         func(*fleet.Result) float64
}

// figures lists the contract's keys in order.
var figures = []figure{
	{"requests", "requests", 0, func(r *fleet.Result) float64 { return float64(r.Requests) }},
	{"moved_sessions", "moved sessions", 1, func(r *fleet.Result) float64 { return float64(r.MovedSessions) }},
	{"non_max_overlap_selections", "non-max selections", 1, func(r *fleet.Result) float64 { return float64(r.NonMaxOverlapSelections) }},
	{"overlap_blocks_lost", "blocks lost", 0, func(r *fleet.Result) float64 { return r.OverlapBlocksLost }},
	{"recomputed_prefill_tokens", "recomputed tokens", 0, func(r *fleet.Result) float64 { return float64(r.RecomputedPrefillTokens) }},
	{"prefix_cache_reused_ratio", "reused ratio", 3, func(r *fleet.Result) float64 { return r.PrefixCacheReusedRatio }},
	{"ttft_p50_ms", "TTFT p50 ms", 1, func(r *fleet.Result) float64 { return r.TTFTP50 }},
	{"ttft_p95_ms", "TTFT p95 ms", 1, func(r *fleet.Result) float64 { return r.TTFTP95 }},
	{"resumed_ttft_p95_ms", "resumed TTFT p95 ms", 1, func(r *fleet.Result) float64 { return r.ResumedTTFTP95 }},
	{"itl_mean_ms", "ITL mean ms", 2, func(r *fleet.Result) float64 { return r.ITLMean }},
	{"duration_ms", "duration ms", 0, func(r *fleet.Result) float64 { return r.Duration }},
}

// NewSimulation summarises the results of an experiment, which are by policy and
// seed; the first policy is the live one.
func NewSimulation(names []string, results [][]*fleet.Result) *Simulation {
	s := &Simulation{Seeds: len(results[0])}
	for i, name := range names {
		p := SimulatedPolicy{Name: name, Figures: map[string]fleet.Summary{}}
		for _, f := range figures {
			p.Figures[f.key] = fleet.Summarise(results[i], results[0], f.of)
		}
		s.Policies = append(s.Policies, p)
	}
	return s
}

// Write renders the simulation in the named format.
func (s *Simulation) Write(w io.Writer, format string) error { return writeAs(w, s, format) }

// writeJSON writes the contract's form, whose keys depend on the figures.
func (s *Simulation) writeJSON(w io.Writer) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, `{"schema":%q,"seeds":%d,"policies":[`, SimulationSchema, s.Seeds)
	for i, p := range s.Policies {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := json.Marshal(p.Name)
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, `{"name":%s`, name)
		for _, f := range figures {
			s.writeFigure(&b, f.key, p.Figures[f.key], i > 0)
		}
		b.WriteByte('}')
	}
	b.WriteByte(']')
	if len(s.Recorded) > 0 {
		recorded, err := json.Marshal(s.Recorded)
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, `,"recorded":%s`, recorded)
		distances := map[string]float64{}
		for key := range s.Recorded {
			if d, ok := s.distance(key); ok {
				distances[key] = d
			}
		}
		relative, err := json.Marshal(distances)
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, `,"recorded_distance":%s`, relative)
	}
	if notes := s.notes(); len(notes) > 0 {
		notes, err := json.Marshal(notes)
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, `,"notes":%s`, notes)
	}
	b.WriteString("}\n")
	_, err := b.WriteTo(w)
	return err
}

func (s *Simulation) writeFigure(b *bytes.Buffer, key string, x fleet.Summary, candidate bool) {
	number := func(suffix string, v float64) {
		if !math.IsNaN(v) {
			fmt.Fprintf(b, `,"%s%s":%s`, key, suffix, jsonNumber(v))
		}
	}
	number("", x.Mean)
	if s.Seeds < 2 {
		return
	}
	number("_min", x.Min)
	number("_max", x.Max)
	if candidate {
		number("_difference", x.Difference)
		number("_difference_ci95", x.HalfWidth)
	}
}

func jsonNumber(v float64) string {
	b, err := json.Marshal(v)
	if err != nil {
		return "null" // figures are finite
	}
	return string(b)
}

// Table returns the figures as cells of text: a row a figure, the first column
// holding its name and the first row the policies.
func (s *Simulation) Table() [][]string {
	head := []string{""}
	for _, p := range s.Policies {
		head = append(head, p.Name)
	}
	if len(s.Recorded) > 0 {
		head = append(head, "recorded")
	}
	rows := [][]string{head}
	for _, f := range figures {
		row := []string{f.title}
		for i, p := range s.Policies {
			row = append(row, s.cell(f, p.Figures[f.key], i > 0))
		}
		if len(s.Recorded) > 0 {
			row = append(row, s.recordedCell(f))
		}
		rows = append(rows, row)
	}
	return rows
}

// cell is a mean; with several seeds, for live its range and for a candidate
// the difference to live with its interval.
func (s *Simulation) cell(f figure, x fleet.Summary, candidate bool) string {
	mean := decimal(x.Mean, f.decimals)
	switch {
	case s.Seeds < 2 || f.key == "requests":
		return mean
	case !candidate:
		return fmt.Sprintf("%s (%s to %s)", mean, decimal(x.Min, f.decimals), decimal(x.Max, f.decimals))
	}
	difference := decimal(x.Difference, f.decimals)
	if x.Difference > 0 {
		difference = "+" + difference
	}
	return fmt.Sprintf("%s (%s ±%s)", mean, difference, decimal(x.HalfWidth, f.decimals))
}

// recordedCell is what the trace says, and how far live is from it.
func (s *Simulation) recordedCell(f figure) string {
	v, ok := s.Recorded[f.key]
	if !ok {
		return "-"
	}
	cell := decimal(v, f.decimals)
	if d, ok := s.distance(f.key); ok && f.key != "requests" {
		cell += fmt.Sprintf(" (live %s)", deviation(d))
	}
	return cell
}

// distance is how far a figure of the simulated live policy is from the recorded
// one, relative to the latter.
func (s *Simulation) distance(key string) (float64, bool) {
	v, ok := s.Recorded[key]
	if !ok || v == 0 {
		return 0, false
	}
	return s.Policies[0].Figures[key].Mean/v - 1, true
}

// trust sums the distances up in a sentence.
func (s *Simulation) trust() []string {
	worst, title, n := 0.0, "", 0
	for _, f := range figures {
		d, ok := s.distance(f.key)
		if !ok || f.key == "requests" {
			continue
		}
		n++
		if title == "" || math.Abs(d) > math.Abs(worst) {
			worst, title = d, f.title
		}
	}
	if n == 0 {
		return nil
	}
	return []string{fmt.Sprintf("Simulated live is within %.1f %% of the %d recorded figures; furthest off is %s (%s). A smaller difference between policies is not to be trusted.",
		100*math.Abs(worst), n, title, deviation(worst))}
}

// deviation formats a relative difference.
func deviation(d float64) string {
	if math.Abs(d) < 0.0005 {
		return "±0 %"
	}
	return fmt.Sprintf("%+.1f %%", 100*d)
}

// notes are those of the caller and the distance to what was recorded.
func (s *Simulation) notes() []string { return append(slices.Clone(s.Notes), s.trust()...) }

// decimal formats a number with that many decimals and thousands separators.
func decimal(v float64, decimals int) string {
	text := fmt.Sprintf("%.*f", decimals, v)
	if strings.Trim(text, "-0.") == "" {
		text = strings.TrimPrefix(text, "-") // it rounds to zero
	}
	whole, frac, _ := strings.Cut(text, ".")
	out := count(0)
	if n := strings.TrimPrefix(whole, "-"); n != "0" || frac != "" {
		sign := whole[:len(whole)-len(n)]
		for i := len(n) - 3; i > 0; i -= 3 {
			n = n[:i] + "," + n[i:]
		}
		out = sign + n
	}
	if frac != "" {
		out += "." + frac
	}
	return out
}

// legend explains the cells.
func (s *Simulation) legend() string {
	if s.Seeds < 2 {
		return "One seed: run several (--seeds) to see how much of a difference is chance."
	}
	return fmt.Sprintf("Means of %d seeds; live with its range, the others with the mean difference to live on the same seeds and its 95 %% interval.", s.Seeds)
}

// closing says what kind of numbers these are.
func (s *Simulation) closing() string {
	if len(s.Recorded) == 0 {
		return "Closed loop: a model of the fleet, as good as its timing. On a recorded request trace it would say how far it is off."
	}
	return "Closed loop: a model of the fleet, as good as its timing. Trust it as far as live agrees with what was recorded."
}

func (s *Simulation) writeText(w io.Writer) error {
	var b strings.Builder
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, row := range s.Table() {
		fmt.Fprintf(t, "%s\t\n", strings.Join(row, "\t"))
	}
	t.Flush() // a strings.Builder never fails
	fmt.Fprintf(&b, "\n%s\n", s.legend())
	for _, n := range s.notes() {
		fmt.Fprintf(&b, "note: %s\n", n)
	}
	fmt.Fprintf(&b, "%s\n", s.closing())
	_, err := io.WriteString(w, b.String())
	return err
}

// escaped makes cells that a policy's name can't break out of.
func escaped(row []string) []string {
	out := make([]string, len(row))
	for i, cell := range row {
		out[i] = strings.ReplaceAll(cell, "|", `\|`)
	}
	return out
}

func (s *Simulation) writeMarkdown(w io.Writer) error {
	var b strings.Builder
	b.WriteString("# Fleet simulation\n\n")
	for i, row := range s.Table() {
		fmt.Fprintf(&b, "| %s |\n", strings.Join(escaped(row), " | "))
		if i == 0 {
			b.WriteString("| --- |" + strings.Repeat(" ---: |", len(row)-1) + "\n")
		}
	}
	fmt.Fprintf(&b, "\n%s\n", s.legend())
	for _, n := range s.notes() {
		fmt.Fprintf(&b, "\n> %s\n", n)
	}
	fmt.Fprintf(&b, "\n%s\n", s.closing())
	_, err := io.WriteString(w, b.String())
	return err
}
