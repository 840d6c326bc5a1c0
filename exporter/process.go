package exporter

import (
	"bytes"
	"slices"
	"strings"

	vm "github.com/VictoriaMetrics/metrics"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// processGatherer exposes the process and runtime metrics of
// VictoriaMetrics/metrics, which know more of memory and I/O pressure than
// client_golang's, on the same page and in every format of it.
type processGatherer struct{}

// newProcessGatherer returns the gatherer. It makes VictoriaMetrics/metrics
// print types, a setting that holds for the whole process.
func newProcessGatherer() processGatherer {
	vm.ExposeMetadata(true)
	return processGatherer{}
}

// Gather implements prometheus.Gatherer. The library prints no help texts, and
// a page without them fails linting.
func (processGatherer) Gather() ([]*dto.MetricFamily, error) {
	var b bytes.Buffer
	vm.WriteProcessMetrics(&b)
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(&b)
	if err != nil {
		return nil, err
	}
	out := make([]*dto.MetricFamily, 0, len(families))
	for name, f := range families {
		help := "Process metric " + strings.ReplaceAll(name, "_", " ") + "; see VictoriaMetrics/metrics."
		f.Help = &help
		out = append(out, f)
	}
	slices.SortFunc(out, func(a, b *dto.MetricFamily) int { return strings.Compare(a.GetName(), b.GetName()) })
	return out, nil
}
