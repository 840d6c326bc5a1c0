package dynamo

import (
	"fmt"
	"io"
	"math"

	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// capacityGauge is the frontend's gauge of a model's KV capacity per rank.
const capacityGauge = "dynamo_frontend_model_total_kv_blocks"

// ParseCapacities reads the KV capacity of each model's worker ranks, in
// blocks, from a frontend's metrics page. A model may be served by workers of
// different capacities, of which the page has one; the log's selections tell
// more.
func ParseCapacities(page io.Reader) (map[string]int, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(page)
	if err != nil {
		return nil, fmt.Errorf("not a metrics page: %w", err)
	}
	out := map[string]int{}
	for _, m := range families[capacityGauge].GetMetric() {
		name := ""
		for _, l := range m.GetLabel() {
			if l.GetName() == "model" {
				name = l.GetValue()
			}
		}
		if v := m.GetGauge().GetValue(); v >= 1 && v <= math.MaxInt32 {
			out[name] = int(v)
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("the page has no %s; use the frontend's, and wait until workers have registered", capacityGauge)
	}
	return out, nil
}
