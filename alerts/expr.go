package alerts

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/kvshadow/kvshadow/catalog"
	"github.com/kvshadow/kvshadow/internal/promql"
)

// expr is an expression in PromQL that MetricsQL reads alike, with the metrics
// that it reads. It is never changed after it was made.
type expr struct {
	text  string
	reads []catalog.Use // without Where
}

// Labels that the scrape adds. Replicas differ in instance and pod only.
const (
	labelInstance = "instance"
	labelPod      = "pod"
	labelJob      = "job"
)

func matched(ms []promql.Matcher) []string {
	var labels []string
	for _, m := range ms {
		labels = append(labels, m.Label)
	}
	return labels
}

// gauge returns the series of a gauge.
func gauge(m catalog.Metric, ms ...promql.Matcher) expr {
	return expr{promql.Select(m.Name, ms...), []catalog.Use{{Metric: m, Labels: matched(ms)}}}
}

// rate returns what a counter gains a second, over a window.
func rate(m catalog.Metric, window string, ms ...promql.Matcher) expr {
	return over("rate", m, window, ms)
}

// increase returns what a counter gained in a window.
func increase(m catalog.Metric, window string, ms ...promql.Matcher) expr {
	return over("increase", m, window, ms)
}

// average returns the mean of a gauge over a window.
func average(m catalog.Metric, window string, ms ...promql.Matcher) expr {
	return over("avg_over_time", m, window, ms)
}

func over(function string, m catalog.Metric, window string, ms []promql.Matcher) expr {
	e := gauge(m, ms...)
	return expr{fmt.Sprintf("%s(%s[%s])", function, e.text, window), e.reads}
}

// without aggregates all labels but those that are named away.
func (e expr) without(op string, labels ...string) expr {
	return expr{fmt.Sprintf("%s without (%s) (%s)", op, strings.Join(labels, ", "), e.text), e.naming(labels)}
}

// by aggregates to the labels that are named; to none, it gives one series.
func (e expr) by(op string, labels ...string) expr {
	return expr{promql.By(op, e.text, labels...), e.naming(labels)}
}

// replicas sums over the replicas of a process.
func (e expr) replicas(more ...string) expr {
	return e.without("sum", append([]string{labelInstance, labelPod}, more...)...)
}

// naming returns the reads with labels added to those metrics that have them.
func (e expr) naming(labels []string) []catalog.Use {
	var reads []catalog.Use
	for _, u := range e.reads {
		named := slices.Clone(u.Labels)
		for _, l := range labels {
			if slices.Contains(u.Metric.Labels, l) && !slices.Contains(named, l) {
				named = append(named, l)
			}
		}
		reads = append(reads, catalog.Use{Metric: u.Metric, Labels: named})
	}
	return reads
}

// compose fills a format with expressions, and with numbers or words.
func compose(format string, parts ...any) expr {
	var reads []catalog.Use
	texts := make([]any, len(parts))
	for i, p := range parts {
		switch p := p.(type) {
		case expr:
			texts[i], reads = p.text, append(reads, p.reads...)
		case float64:
			texts[i] = strconv.FormatFloat(p, 'g', -1, 64)
		default:
			texts[i] = p
		}
	}
	return expr{fmt.Sprintf(format, texts...), reads}
}

// ratio divides two sums with the same labels. Where nothing happened there is
// no ratio, and no NaN.
func ratio(part, whole expr) expr { return compose("%s\n  / (%s > 0)", part, whole) }

// ratioPerPolicy divides sums that policies have by one that they share.
func ratioPerPolicy(part, whole expr) expr {
	return compose("%s\n  / ignoring (%s) group_left () (%s > 0)", part, catalog.LabelPolicy, whole)
}

// recording is a recording rule.
type recording struct {
	name string
	expr expr
}

// series returns the series that the rule records. What the rule reads counts
// as read by who reads the series.
func (r recording) series(ms ...promql.Matcher) expr {
	return expr{promql.Select(r.name, ms...), r.expr.naming(matched(ms))}
}

// live returns what the rule records for the policy that really chose.
func (r recording) live() expr { return r.series(promql.Is(catalog.LabelPolicy, catalog.PolicyLive)) }

// candidates returns what the rule records for all other policies.
func (r recording) candidates() expr {
	return r.series(promql.IsNot(catalog.LabelPolicy, catalog.PolicyLive))
}
