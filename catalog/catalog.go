// Package catalog is the single source of metrics: their names, types, units,
// help texts, labels, and how to use them. It holds two sets.
//
// [Shadow] lists kvshadow's own metrics. The exporter makes its instruments
// from these definitions. [Router] lists the metrics of NVIDIA Dynamo's router
// that kvshadow reads, as real routers expose them.
//
// Everything that names a metric elsewhere does so through the identifiers of
// this package, so that a program that names a removed metric doesn't compile.
// The package renders the reference pages ([Generate]). Package page reads what
// a running process exposes, package diff compares two states of the metrics,
// and package verify holds places that read metrics against a page.
package catalog

import (
	"slices"

	"github.com/prometheus/client_golang/prometheus"
)

// Type is the type of a metric.
type Type string

// The types in use.
const (
	Counter   Type = "counter"
	Gauge     Type = "gauge"
	Histogram Type = "histogram"
)

// Stability says how far users may build on a metric.
type Stability string

const (
	// Stable metrics keep name, type, unit and labels; a removal is announced
	// one minor release ahead, in [Metric.Deprecated].
	Stable Stability = "stable"
	// Alpha metrics may change with any release.
	Alpha Stability = "alpha"
)

// Metric defines one metric family.
type Metric struct {
	Name   string
	Type   Type
	Unit   string // "blocks", "selections", "seconds", ...; empty for plain counts
	Help   string
	Labels []string // in the order in which instruments take their values
	// Values are the values of the labels that have a closed set of them. A
	// label that is not a key may have any value.
	Values map[string][]string

	Stability Stability
	// Since is the release of the system that exposes the metric in which it
	// came: kvshadow's, or the earliest of Dynamo's in which it was seen.
	Since string
	// Deprecated is empty, or says since which release and what to use instead.
	Deprecated string
	// HowToUse is what an operator does with it, with the PromQL.
	HowToUse string
	// Essential metrics are those to look at first.
	Essential bool
	// Cardinality is how many series there are, as a formula.
	Cardinality string

	// Releases are the router's releases on whose pages the metric was seen;
	// nil for kvshadow's own.
	Releases []string
	// LabelSince are the releases in which some of Labels came, for those that
	// are younger than the metric.
	LabelSince map[string]string
	// Optional is empty, or says which deployments legitimately don't expose
	// the metric.
	Optional string
}

// Desc returns the client_golang description of the metric.
func (m Metric) Desc() *prometheus.Desc {
	return prometheus.NewDesc(m.Name, m.Help, m.Labels, nil)
}

// Missing returns why a correct page may lack the metric: because of the
// deployment, or of the router's release. It is empty for a metric that every
// page of its system has.
func (m Metric) Missing() string {
	switch {
	case m.Optional != "":
		return m.Optional
	case m.Releases != nil && len(m.Releases) < len(RouterReleases()):
		return "seen in " + join(m.Releases) + " only"
	}
	return ""
}

// Section is a group of metrics with its heading.
type Section struct {
	Title   string
	Intro   string
	Metrics []Metric
}

func metricsOf(sections []Section) []Metric {
	var all []Metric
	for _, s := range sections {
		all = append(all, s.Metrics...)
	}
	return all
}

// Shadow returns kvshadow's own metrics, in the order of the reference.
func Shadow() []Metric { return metricsOf(ShadowSections()) }

// Router returns the metrics of Dynamo's router, in the order of the reference.
func Router() []Metric { return metricsOf(RouterSections()) }

// Find returns the definition of a metric of either set.
func Find(name string) (Metric, bool) {
	all := append(Shadow(), Router()...)
	if i := slices.IndexFunc(all, func(m Metric) bool { return m.Name == name }); i >= 0 {
		return all[i], true
	}
	return Metric{}, false
}
