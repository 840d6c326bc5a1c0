// Package diff compares two states of a set of metrics: catalogs of two
// releases, pages of two processes, or one with the other. It tells what
// happened in the words of those whose dashboards break.
package diff

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kvshadow/kvshadow/catalog"
)

// Kind says what happened to a metric.
type Kind string

// The kinds, in the order of the report.
const (
	Renamed    Kind = "renamed"
	Removed    Kind = "removed"
	TypeChange Kind = "type"
	UnitChange Kind = "unit"
	Labels     Kind = "labels"
	Values     Kind = "values"
	Stability  Kind = "stability"
	Deprecated Kind = "deprecated"
	Added      Kind = "added"
	// Absent: a page lacks a metric that it may lack. That is no change.
	Absent Kind = "absent"
)

// Change is one difference.
type Change struct {
	Kind   Kind
	Metric string // its old name, where it has two
	Text   string // what changed; for Renamed the new name
	// Breaks is set where a stable metric lost what its stability promises.
	Breaks bool
}

// String returns the change as a line of the report.
func (c Change) String() string {
	line := fmt.Sprintf("%-10s %s", c.Kind, c.Metric)
	switch {
	case c.Kind == Renamed:
		line += " -> " + c.Text
	case c.Text != "":
		line += ": " + c.Text
	}
	if c.Breaks {
		line += " (stable)"
	}
	return line
}

// Breaks returns how many changes break a promise.
func Breaks(changes []Change) int {
	n := 0
	for _, c := range changes {
		if c.Breaks {
			n++
		}
	}
	return n
}

// Compare returns what changed from one side to the other, by kind and name. A
// metric that is gone and one that came count as renamed if they agree in help
// text, type and labels. It is an error if the sides have nothing to compare: a
// catalog, and a page of another program.
func Compare(from, to Side) ([]Change, error) {
	old, now := from.within(to), to.within(from)
	if from.page != to.page && len(old.metrics)+len(now.metrics) == 0 {
		return nil, errors.New("nothing to compare: the page has no metrics of the systems in the catalog")
	}
	c := comparison{old: old, now: now, pages: old.page || now.page}
	renamed := c.renames()
	for _, name := range old.names() {
		a, current := old.metrics[name], name
		if renamed[name] != "" {
			current = renamed[name]
			c.add(Renamed, a, current, breaks(a))
		}
		b, ok := now.metrics[current]
		switch {
		case !ok && now.page && !old.page && a.Missing != "":
			c.add(Absent, a, a.Missing, false)
		case !ok:
			c.add(Removed, a, "", breaks(a))
		default:
			c.compare(a, b)
		}
	}
	c.additions(renamed)
	return c.sorted(), nil
}

type comparison struct {
	old, now Side
	pages    bool // one side at least is a page
	changes  []Change
}

func (c *comparison) add(k Kind, m catalog.Entry, text string, breaks bool) {
	c.changes = append(c.changes, Change{k, m.Name, text, breaks})
}

// breaks says whether losing the metric as it is breaks a promise: it is
// stable, and wasn't announced to go.
func breaks(m catalog.Entry) bool { return m.Stability == catalog.Stable && m.Deprecated == "" }

func (c *comparison) compare(a, b catalog.Entry) {
	if a.Type != b.Type {
		c.add(TypeChange, a, fmt.Sprintf("%s -> %s", a.Type, b.Type), a.Stability == catalog.Stable)
	}
	if a.Unit != b.Unit && (!c.pages || a.Unit != "" && b.Unit != "") {
		c.add(UnitChange, a, fmt.Sprintf("%s -> %s", orNone(a.Unit), orNone(b.Unit)), a.Stability == catalog.Stable)
	}
	if text := c.labels(a, b); text != "" {
		c.add(Labels, a, text, a.Stability == catalog.Stable)
	}
	if c.pages {
		return // a page tells neither the stability nor all values
	}
	if a.Stability != b.Stability {
		c.add(Stability, a, fmt.Sprintf("%s -> %s", a.Stability, b.Stability), a.Stability == catalog.Stable)
	}
	if a.Deprecated != b.Deprecated {
		c.add(Deprecated, a, orNone(b.Deprecated), false)
	}
	c.values(a, b)
}

func orNone(s string) string {
	if s == "" {
		return "none"
	}
	return s
}

// labels returns the labels that went and came, or "".
func (c *comparison) labels(a, b catalog.Entry) string {
	parts := slices.Concat(signed("-", a, b, c.now.page), signed("+", b, a, c.old.page))
	return strings.Join(parts, ", ")
}

// signed returns the labels that one metric has and the other lacks. On a page
// those may be missing that came with some release.
func signed(sign string, has, lacks catalog.Entry, onPage bool) []string {
	var out []string
	for _, l := range has.Labels {
		there := slices.ContainsFunc(lacks.Labels, func(o catalog.Label) bool { return o.Name == l.Name })
		if !there && (l.Since == "" || !onPage) {
			out = append(out, sign+l.Name)
		}
	}
	return out
}

// values reports values that a label can no longer have, or can now.
func (c *comparison) values(a, b catalog.Entry) {
	for _, l := range a.Labels {
		i := slices.IndexFunc(b.Labels, func(o catalog.Label) bool { return o.Name == l.Name })
		if i < 0 {
			continue
		}
		var parts []string
		now := b.Labels[i].Values
		for _, v := range l.Values {
			if now != nil && !slices.Contains(now, v) {
				parts = append(parts, "-"+v)
			}
		}
		breaks := len(parts) > 0 && a.Stability == catalog.Stable
		for _, v := range now {
			if l.Values != nil && !slices.Contains(l.Values, v) {
				parts = append(parts, "+"+v)
			}
		}
		if len(parts) > 0 {
			c.add(Values, a, l.Name+" "+strings.Join(parts, ", "), breaks)
		}
	}
}

func (c *comparison) additions(renamed map[string]string) {
	taken := map[string]bool{}
	for _, to := range renamed {
		taken[to] = true
	}
	for _, name := range c.now.names() {
		b := c.now.metrics[name]
		_, known := c.old.metrics[name]
		switch {
		case known || taken[name]:
		case c.old.page && !c.now.page && b.Missing != "":
			c.add(Absent, b, b.Missing, false)
		default:
			c.add(Added, b, string(b.Type), false)
		}
	}
}

func (c *comparison) sorted() []Change {
	order := []Kind{Renamed, Removed, TypeChange, UnitChange, Labels, Values, Stability, Deprecated, Added, Absent}
	slices.SortStableFunc(c.changes, func(a, b Change) int { return slices.Index(order, a.Kind) - slices.Index(order, b.Kind) })
	return c.changes
}
