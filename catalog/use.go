package catalog

import (
	"slices"
	"strings"
)

// Use is one place that reads a metric: a panel, a variable, a rule or a page
// of the documentation.
type Use struct {
	// Where names the place for people: "dashboard kv-routing, panel 'Lost
	// blocks'".
	Where string
	// Metric is what it reads, with the type that it relies on.
	Metric Metric
	// Labels are the labels that the place selects, groups or joins by, without
	// those that a scrape adds and the le of histograms.
	Labels []string
	// Values are the values of labels that the place selects by equality.
	Values map[string]string
}

// DocumentedUses returns the use that the reference page makes of metrics: all
// labels, with the documented type.
func DocumentedUses(metrics []Metric) []Use {
	uses := make([]Use, len(metrics))
	for i, m := range metrics {
		uses[i] = Use{Where: "docs/metrics.md", Metric: m, Labels: m.Labels}
	}
	return uses
}

// System says who exposes a metric.
type System string

// The systems.
const (
	SystemShadow System = "shadow" // kvshadow
	SystemRouter System = "router" // NVIDIA Dynamo
)

// SystemOf returns the system that a metric's name belongs to, or "".
func SystemOf(name string) System {
	switch {
	case strings.HasPrefix(name, "kvshadow_"):
		return SystemShadow
	case strings.HasPrefix(name, "dynamo_"):
		return SystemRouter
	}
	return ""
}

// Usage tells the places that use a metric, for the reference pages.
type Usage func(name string) []string

// UsageOf returns the usage that uses amount to: each place once, in their
// order.
func UsageOf(uses []Use) Usage {
	places := map[string][]string{}
	for _, u := range uses {
		name := u.Metric.Name
		if !slices.Contains(places[name], u.Where) {
			places[name] = append(places[name], u.Where)
		}
	}
	return func(name string) []string { return places[name] }
}
