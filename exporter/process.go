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

// Gather implements prometheus.Gatherer.
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
		if f.Type == nil || f.GetType() == dto.MetricType_UNTYPED {
			retype(name, f)
		}
		out = append(out, f)
	}
	slices.SortFunc(out, func(a, b *dto.MetricFamily) int { return strings.Compare(a.GetName(), b.GetName()) })
	return out, nil
}

// retype gives an untyped family the type that its name says: the text has no
// TYPE lines, and Prometheus would not know a counter.
func retype(name string, f *dto.MetricFamily) {
	t := dto.MetricType_GAUGE
	if strings.HasSuffix(name, "_total") {
		t = dto.MetricType_COUNTER
	}
	for _, m := range f.Metric {
		v := m.GetUntyped().GetValue()
		m.Untyped = nil
		if t == dto.MetricType_COUNTER {
			m.Counter = &dto.Counter{Value: &v}
		} else {
			m.Gauge = &dto.Gauge{Value: &v}
		}
	}
	f.Type = &t
}
