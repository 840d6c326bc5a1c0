package dashboards

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/VictoriaMetrics/metricsql"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/kvshadow/kvshadow/catalog"
)

// substitute puts values in the place of variables, as Grafana does.
func substitute(expr string) string {
	return variablePattern.ReplaceAllStringFunc(expr, func(v string) string {
		switch v {
		case "$__rate_interval":
			return "5m"
		case "$__range":
			return "6h"
		}
		return "(a|b)"
	})
}

// parsed is an expression of a panel.
type parsed struct {
	where  string
	expr   parser.Expr
	target Target
}

func parse(d Dashboard) (all []parsed, problems []string) {
	complain := complainTo(&problems)
	for _, p := range d.Panels {
		for _, t := range p.Targets {
			where := fmt.Sprintf("panel %d, query %s", p.ID, t.RefID)
			text := substitute(t.Expr)
			if _, err := metricsql.Parse(text); err != nil {
				complain("%s: MetricsQL: %s", where, err)
			}
			e, err := parser.NewParser(parser.Options{}).ParseExpr(text)
			if err != nil {
				complain("%s: PromQL: %s", where, err)
				continue
			}
			all = append(all, parsed{where, e, t})
		}
	}
	return all, problems
}

func lintParse(d Dashboard) []string {
	_, problems := parse(d)
	return problems
}

var windowPattern = regexp.MustCompile(`\[(.*?)\]`)

// selectors calls f for each selector of the dashboard's expressions.
func selectors(d Dashboard, f func(p parsed, v *parser.VectorSelector, path []parser.Node)) {
	all, _ := parse(d)
	for _, p := range all {
		parser.Inspect(p.expr, func(n parser.Node, path []parser.Node) error {
			if v, ok := n.(*parser.VectorSelector); ok {
				f(p, v, path)
			}
			return nil
		})
	}
}

// metricOf returns the metric of a series name, and whether it is of a
// histogram's buckets.
func metricOf(series string) (m catalog.Metric, bucket, ok bool) {
	known := slices.Concat(catalog.Shadow(), catalog.Router(), ProcessMetrics())
	for _, m := range known {
		name, part := series, ""
		if m.Type == catalog.Histogram {
			name, part, _ = cutPart(series)
		}
		if name == m.Name {
			return m, part == "bucket", true
		}
	}
	return m, false, false
}

func cutPart(series string) (name, part string, ok bool) {
	for _, part := range []string{"sum", "count", "bucket"} {
		if name, ok := strings.CutSuffix(series, "_"+part); ok {
			return name, part, true
		}
	}
	return "", "", false
}

// lintCounters wants counters rated before they are aggregated, and nothing
// else.
func lintCounters(d Dashboard) (problems []string) {
	complain := complainTo(&problems)
	selectors(d, func(p parsed, v *parser.VectorSelector, path []parser.Node) {
		m, _, ok := metricOf(v.Name)
		if !ok {
			complain("%s: %s isn't in the catalog", p.where, v.Name)
			return
		}
		rated := false
		if len(path) >= 2 {
			call, isCall := path[len(path)-2].(*parser.Call)
			rated = isCall && slices.Contains([]string{"rate", "increase"}, call.Func.Name)
		}
		if rated != (m.Type != catalog.Gauge) {
			complain("%s: %s is a %s; rated: %t", p.where, v.Name, m.Type, rated)
		}
	})
	for _, p := range d.Panels {
		for _, t := range p.Targets {
			for _, m := range windowPattern.FindAllStringSubmatch(t.Expr, -1) {
				if ranged := m[1] == "$__range"; !ranged && m[1] != "$__rate_interval" || ranged && p.Type != "stat" {
					complain("panel %d: a rate over %s", p.ID, m[1])
				}
			}
		}
	}
	return problems
}

// lintLabels wants every label in a matcher or a grouping to exist on the
// metrics that it is applied to.
func lintLabels(d Dashboard) (problems []string) {
	complain := complainTo(&problems)
	selectors(d, func(p parsed, v *parser.VectorSelector, path []parser.Node) {
		m, bucket, _ := metricOf(v.Name)
		has := func(label string) bool {
			return label == labelJob || label == labelInstance || bucket && label == labelBucket || slices.Contains(m.Labels, label)
		}
		job := false
		for _, x := range v.LabelMatchers {
			job = job || x.Name == labelJob
			if x.Name != "__name__" && !has(x.Name) {
				complain("%s: %s has no label %s", p.where, v.Name, x.Name)
			}
			if values, closed := m.Values[x.Name]; closed && x.Type.String() == "=" && !slices.Contains(values, x.Value) {
				complain("%s: %s never has %s", p.where, v.Name, x)
			}
		}
		if !job {
			complain("%s: %s isn't narrowed to the job", p.where, v.Name)
		}
		for _, l := range grouping(path) {
			if !has(l) {
				complain("%s: %s is grouped by %s, which it has not", p.where, v.Name, l)
			}
		}
	})
	return problems
}

// grouping returns the labels of the groupings around a selector.
func grouping(path []parser.Node) (labels []string) {
	for _, n := range path {
		switch n := n.(type) {
		case *parser.AggregateExpr:
			labels = append(labels, n.Grouping...)
		case *parser.BinaryExpr:
			if n.VectorMatching != nil {
				labels = append(labels, n.VectorMatching.MatchingLabels...)
			}
		}
	}
	return labels
}

// lintQuiet wants no NaN where nothing happens.
func lintQuiet(d Dashboard) (problems []string) {
	complain := complainTo(&problems)
	all, _ := parse(d)
	for _, p := range all {
		parser.Inspect(p.expr, func(n parser.Node, path []parser.Node) error {
			switch n := n.(type) {
			case *parser.BinaryExpr:
				if n.Op == parser.DIV && !compares(n.RHS, parser.GTR) {
					complain("%s: divides by what may be 0", p.where)
				}
			case *parser.Call:
				if n.Func.Name == "histogram_quantile" && (len(path) == 0 || !compares(path[len(path)-1], parser.GTE)) {
					complain("%s: a quantile of nothing is NaN", p.where)
				}
			}
			return nil
		})
	}
	return problems
}

func compares(n parser.Node, op parser.ItemType) bool {
	if b, ok := n.(*parser.ParenExpr); ok {
		n = b.Expr
	}
	b, ok := n.(*parser.BinaryExpr)
	return ok && b.Op == op
}

var legendPattern = regexp.MustCompile(`{{(\w+)}}`)

func lintLegends(d Dashboard) (problems []string) {
	complain := complainTo(&problems)
	all, _ := parse(d)
	for _, p := range all {
		kept := map[string]bool{}
		parser.Inspect(p.expr, func(n parser.Node, _ []parser.Node) error {
			if a, ok := n.(*parser.AggregateExpr); ok {
				for _, l := range a.Grouping {
					kept[l] = true
				}
			}
			return nil
		})
		for _, m := range legendPattern.FindAllStringSubmatch(p.target.LegendFormat, -1) {
			if !kept[m[1]] {
				complain("%s: the legend names %s, which the series lack", p.where, m[1])
			}
		}
		if p.target.LegendFormat == "" && p.target.Format != "table" {
			complain("%s has no legend", p.where)
		}
	}
	return problems
}

// lintReads holds what [Uses] says against the expressions themselves.
func lintReads(d Dashboard) (problems []string) {
	complain := complainTo(&problems)
	all, _ := parse(d)
	for _, p := range all {
		want, got := map[string]bool{}, map[string]bool{}
		parser.Inspect(p.expr, func(n parser.Node, path []parser.Node) error {
			v, ok := n.(*parser.VectorSelector)
			if !ok {
				return nil
			}
			m, _, _ := metricOf(v.Name)
			want[m.Name] = true
			labels := grouping(path)
			for _, x := range v.LabelMatchers {
				labels = append(labels, x.Name)
				if x.Type.String() == "=" && x.Name != "__name__" {
					want[m.Name+"/"+x.Name+"="+x.Value] = true
				}
			}
			for _, l := range labels {
				if !slices.Contains([]string{"__name__", labelJob, labelInstance, labelBucket}, l) {
					want[m.Name+"/"+l] = true
				}
			}
			return nil
		})
		for _, r := range p.target.reads {
			got[r.Metric.Name] = true
			for _, l := range r.Labels {
				got[r.Metric.Name+"/"+l] = true
			}
			for l, v := range r.Values {
				got[r.Metric.Name+"/"+l+"="+v] = true
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			complain("%s reads %v; said is %v", p.where, want, got)
		}
	}
	return problems
}
