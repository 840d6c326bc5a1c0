// Package catalog is the single source of kvshadow's metrics: their names,
// types, units, help texts and labels. The exporter makes its instruments from
// these definitions, and everything that names a metric elsewhere does so
// through them.
package catalog

import "github.com/prometheus/client_golang/prometheus"

// Type is the type of a metric.
type Type string

// The types in use.
const (
	Counter   Type = "counter"
	Gauge     Type = "gauge"
	Histogram Type = "histogram"
)

// Metric defines one metric family.
type Metric struct {
	Name   string
	Type   Type
	Unit   string // "blocks", "selections", "seconds", ...; empty for plain counts
	Help   string
	Labels []string
}

// Desc returns the client_golang description of the metric.
func (m Metric) Desc() *prometheus.Desc {
	return prometheus.NewDesc(m.Name, m.Help, m.Labels, nil)
}
