package catalog_test

import (
	"strings"
	"testing"

	"github.com/VictoriaMetrics/metricsql"
	"github.com/prometheus/prometheus/promql/parser"
)

// TestExpressions holds that what the advice shows as code is PromQL, and
// MetricsQL too.
func TestExpressions(t *testing.T) {
	p := parser.NewParser(parser.Options{})
	for _, m := range all() {
		for _, code := range inCode.FindAllStringSubmatch(m.HowToUse, -1) {
			text := strings.ReplaceAll(code[1], "$__rate_interval", "5m")
			if _, err := p.ParseExpr(text); err != nil {
				t.Errorf("%s: %s: %v", m.Name, code[1], err)
			}
			if _, err := metricsql.Parse(text); err != nil {
				t.Errorf("%s: %s: %v", m.Name, code[1], err)
			}
		}
	}
}
