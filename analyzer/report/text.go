package report

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
)

func sortedKeys(m map[string]uint64) []string { return slices.Sorted(maps.Keys(m)) }

// Formats lists the names that [Report.Write] and [Simulation.Write] take.
var Formats = []string{"text", "json", "markdown", "html"}

// rendered has a form for each of the [Formats].
type rendered interface {
	writeText(w io.Writer) error
	writeJSON(w io.Writer) error
	writeMarkdown(w io.Writer) error
	writeHTML(w io.Writer) error
}

func writeAs(w io.Writer, d rendered, format string) error {
	switch format {
	case "text":
		return d.writeText(w)
	case "json":
		return d.writeJSON(w)
	case "markdown":
		return d.writeMarkdown(w)
	case "html":
		return d.writeHTML(w)
	}
	return fmt.Errorf("unknown output format %q: allowed are %s", format, strings.Join(Formats, ", "))
}

// Write renders the report in the named format.
func (r *Report) Write(w io.Writer, format string) error { return writeAs(w, r, format) }

func (r *Report) writeJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	return e.Encode(r)
}

func (r *Report) writeText(w io.Writer) error {
	var b strings.Builder
	b.WriteString(r.Inputs.text() + "\n")
	for i := range r.Pools {
		if p := &r.Pools[i]; p.shown() {
			p.writeText(&b)
		}
	}
	for _, n := range r.Notes {
		fmt.Fprintf(&b, "\nnote: %s\n", n)
	}
	if line := r.closing(); line != "" {
		fmt.Fprintf(&b, "\n%s\n", line)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// closing is the last sentence: how far the numbers reach, or that there are
// none. Refusals stand with their pools.
func (r *Report) closing() string {
	switch {
	case r.Verdict():
		return openLoop
	case !slices.ContainsFunc(r.Pools, func(p Pool) bool { return p.shown() }):
		return "no verdict: the input holds no decision that can be evaluated."
	}
	return ""
}

// shown says whether there is anything to say about a pool.
func (p *Pool) shown() bool { return p.Evaluated > 0 || pairs(p.Excluded) != "" }

// text says in a sentence what was read.
func (in *Inputs) text() string {
	files := "1 file"
	if in.Files != 1 {
		files = fmt.Sprintf("%d files", in.Files)
	}
	s := fmt.Sprintf("%s decisions in %s lines of %s; %s lines of other kinds",
		whole(in.Decisions), whole(in.Lines), files, whole(in.IgnoredLines))
	if lost := pairs(in.Undecodable); lost != "" {
		s += "; not decodable: " + lost
	}
	return s
}

// Heading says in words what the pool's numbers rest on.
func (p *Pool) Heading() string {
	s := fmt.Sprintf("%s selections evaluated; %s", whole(p.Evaluated), basisText(&p.Fidelity))
	if causes := pairs(p.Fidelity.Causes); causes != "" {
		s += ", not reproduced: " + causes
	}
	if x := pairs(p.Excluded); x != "" {
		s += "; excluded: " + x
	}
	return s
}

// Table returns the policies' sums as cells of text, the first row holding the
// titles and the first column the policies' names.
func (p *Pool) Table() [][]string {
	titles := []string{"policy"}
	for _, c := range columns {
		titles = append(titles, c.title)
	}
	rows := [][]string{titles}
	for i := range p.Policies {
		x := &p.Policies[i]
		row := []string{x.Name}
		for _, c := range columns {
			row = append(row, c.cell(p, &x.Sums))
		}
		rows = append(rows, row)
	}
	return rows
}

func (p *Pool) writeText(b *strings.Builder) {
	fmt.Fprintf(b, "\n%s: %s\n\n", strings.ToUpper(p.WorkerType), p.Heading())
	t := tabwriter.NewWriter(b, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, row := range p.Table() {
		fmt.Fprintf(t, "%s\t\n", strings.Join(row, "\t"))
	}
	t.Flush() // a strings.Builder never fails
	if p.Rebuilt != nil {
		fmt.Fprintf(b, "\n%s\n", p.Rebuilt.text())
	}
	for i, line := range p.Verdicts() {
		if i == 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(b, "%s\n", line)
	}
}

// Verdicts has a sentence for each candidate policy, or the refusal.
func (p *Pool) Verdicts() []string {
	if p.Refused != "" {
		return []string{"no verdict: " + p.Refused + "."}
	}
	var out []string
	for i := range p.Policies {
		if i > 0 {
			out = append(out, verdict(p, &p.Policies[0], &p.Policies[i]))
		}
	}
	return out
}

func (r *Report) writeMarkdown(w io.Writer) error {
	var b strings.Builder
	fmt.Fprintf(&b, "# Shadow evaluation\n\n%s.\n", r.Inputs.text())
	for i := range r.Pools {
		if p := &r.Pools[i]; p.shown() {
			p.writeMarkdown(&b)
		}
	}
	for _, n := range r.Notes {
		fmt.Fprintf(&b, "\n> %s\n", n)
	}
	if line := r.closing(); line != "" {
		fmt.Fprintf(&b, "\n%s\n", line)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (p *Pool) writeMarkdown(b *strings.Builder) {
	fmt.Fprintf(b, "\n## %s\n\n%s.\n\n", p.WorkerType, p.Heading())
	for i, row := range p.Table() {
		fmt.Fprintf(b, "| %s |\n", strings.Join(row, " | "))
		if i == 0 {
			b.WriteString("| --- |" + strings.Repeat(" ---: |", len(row)-1) + "\n")
		}
	}
	if p.Rebuilt != nil {
		fmt.Fprintf(b, "\n%s\n", p.Rebuilt.text())
	}
	for i, line := range p.Verdicts() {
		if i == 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(b, "* %s\n", line)
	}
}
