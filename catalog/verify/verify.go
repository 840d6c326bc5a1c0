// Package verify holds places that read metrics against the page of a running
// process: a panel that asks for a metric, a label or a type that the page
// doesn't have would be empty for ever, and says nothing about it.
package verify

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kvshadow/kvshadow/catalog"
	"github.com/kvshadow/kvshadow/catalog/page"
	"github.com/kvshadow/kvshadow/internal/edit"
)

// Finding is what is wrong, or worth knowing, about one use.
type Finding struct {
	Use    catalog.Use
	Reason string
	use    int // its number
}

// String returns the finding as a line of the report.
func (f Finding) String() string {
	return fmt.Sprintf("%s: %s: %s", f.Use.Where, f.Use.Metric.Name, f.Reason)
}

// Result is what a check found.
type Result struct {
	Checked int // uses
	// Problems are uses that will find nothing, or not what they expect.
	Problems []Finding
	// Notes are uses that find nothing on this page for a reason that is no
	// mistake: its deployment or its router's release don't have the metric.
	Notes []Finding
}

// Failed returns how many uses have problems; one may have several.
func (r Result) Failed() int {
	n := 0
	for i, f := range r.Problems {
		if i == 0 || r.Problems[i-1].use != f.use {
			n++
		}
	}
	return n
}

// Only returns the uses of one system's metrics; all of them for "".
func Only(uses []catalog.Use, s catalog.System) []catalog.Use {
	return slices.DeleteFunc(slices.Clone(uses), func(u catalog.Use) bool { return s != "" && catalog.SystemOf(u.Metric.Name) != s })
}

// Check holds uses against a page.
func Check(p *page.Page, uses []catalog.Use) Result {
	r := Result{Checked: len(uses)}
	others := strangers(p)
	for i, u := range uses {
		c := check{page: p, others: others, use: u, number: i, def: u.Metric, result: &r}
		c.run()
	}
	return r
}

// check is the check of one use.
type check struct {
	page   *page.Page
	others []*page.Family // the page's strangers
	use    catalog.Use
	number int
	def    catalog.Metric
	result *Result
}

func (c *check) problem(format string, a ...any) {
	c.result.Problems = append(c.result.Problems, Finding{c.use, fmt.Sprintf(format, a...), c.number})
}

func (c *check) note(format string, a ...any) {
	c.result.Notes = append(c.result.Notes, Finding{c.use, fmt.Sprintf(format, a...), c.number})
}

func (c *check) run() {
	f := c.page.Find(c.def.Name)
	if f == nil {
		c.absent()
		return
	}
	switch {
	case f.Type == c.def.Type:
	case f.Type == page.Untyped:
		c.note("the page doesn't tell its type, a %s is expected", c.def.Type)
	default:
		c.problem("is a %s on the page, not a %s", f.Type, c.def.Type)
	}
	for _, l := range c.use.Labels {
		c.label(f, l)
	}
	for _, l := range slices.Sorted(maps.Keys(c.use.Values)) {
		c.value(f, l, c.use.Values[l])
	}
}

// absent reports a metric that the page lacks.
func (c *check) absent() {
	hint := ""
	if other := c.meant(); other != "" {
		hint = fmt.Sprintf("; did you mean %s?", other)
	}
	switch {
	case c.def.Missing() == "" || c.renamed() != "":
		c.problem("is not on the page%s", hint)
	default:
		c.note("is not on the page, and may be missing: %s", c.def.Missing())
	}
}

// meant returns the metric of the page that the use may mean, or "".
func (c *check) meant() string {
	if name := c.renamed(); name != "" {
		return name
	}
	names := make([]string, len(c.others))
	for i, f := range c.others {
		names[i] = f.Name
	}
	return edit.Nearest(c.def.Name, names, max(3, len(c.def.Name)/8))
}

// renamed returns the metric of the page that has the absent one's help text.
func (c *check) renamed() string {
	want := strings.TrimSuffix(c.def.Help, ".")
	for _, f := range c.others {
		if want != "" && strings.TrimSuffix(f.Help, ".") == want {
			return f.Name
		}
	}
	return ""
}

// strangers returns the metrics of a page that a missing one may be called now:
// those that are not catalogued themselves.
func strangers(p *page.Page) []*page.Family {
	known := map[string]bool{}
	for _, m := range slices.Concat(catalog.Shadow(), catalog.Router()) {
		known[m.Name] = true
	}
	return slices.DeleteFunc(p.Families(), func(f *page.Family) bool { return known[f.Name] })
}

func (c *check) label(f *page.Family, label string) {
	if f.Labels[label] != nil {
		return
	}
	if since := c.def.LabelSince[label]; since != "" {
		c.note("no series has the label %s, which came with %s", label, since)
		return
	}
	has := slices.Sorted(maps.Keys(f.Labels))
	text := "it has no labels"
	if len(has) > 0 {
		text = "it has " + strings.Join(has, ", ")
	}
	c.problem("no series has the label %s; %s", label, text)
}

func (c *check) value(f *page.Family, label, value string) {
	allowed := c.def.Values[label]
	switch {
	case f.Labels[label] == nil:
		if !slices.Contains(c.use.Labels, label) {
			c.label(f, label)
		}
	case f.Labels[label][value]:
	case allowed != nil && !slices.Contains(allowed, value):
		c.problem("%s can't be %q; it is one of %s", label, value, strings.Join(allowed, ", "))
	default:
		c.note("no series has %s=%q here", label, value)
	}
}

// Advice sums up a result with problems, for people.
func Advice(p *page.Page, r Result) string {
	text := fmt.Sprintf("%d of %d uses of metrics find nothing, or not what they expect", r.Failed(), r.Checked)
	for _, f := range r.Problems {
		system := catalog.SystemOf(f.Use.Metric.Name)
		if other := otherThan(system); !p.Shows(system) && p.Shows(other) {
			return fmt.Sprintf("%s; the page has no metrics of the %s at all, --only %s leaves those out", text, system, other)
		}
	}
	return text
}

func otherThan(s catalog.System) catalog.System {
	if s == catalog.SystemShadow {
		return catalog.SystemRouter
	}
	return catalog.SystemShadow
}
