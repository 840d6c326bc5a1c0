package dashboards

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/kvshadow/kvshadow/catalog"
	"github.com/kvshadow/kvshadow/internal/promql"
)

// expr is an expression in PromQL, with what it reads. Expressions are made by
// the functions of this file only, so that counters are always rated before
// they are aggregated, ratios are ratios of sums, and a quiet service gives no
// value rather than NaN.
type expr struct {
	text  string
	reads []catalog.Use // without Where; labels that the scrape adds aren't listed
}

// labelJob is added by the scrape, not by the process.
const labelJob = "job"

// scope ties labels to variables: a selector gets a matcher for each label that
// its metric has.
type scope []binding

type binding struct{ label, variable string }

// selector returns the series of a metric, or of a histogram's part, within the
// scope. A matcher takes the place of the scope's for its label.
func (s scope) selector(m catalog.Metric, part string, ms []promql.Matcher) expr {
	all := slices.Clone(ms)
	for _, b := range s {
		given := slices.ContainsFunc(ms, func(m promql.Matcher) bool { return m.Label == b.label })
		if !given && (b.label == labelJob || slices.Contains(m.Labels, b.label)) {
			all = append(all, promql.Like(b.label, "$"+b.variable))
		}
	}
	r := catalog.Use{Metric: m, Values: map[string]string{}}
	for _, x := range all {
		r.Labels = union(r.Labels, []string{x.Label})
		if x.Op == "=" {
			r.Values[x.Label] = x.Value
		}
	}
	return expr{promql.Select(m.Name+part, all...), []catalog.Use{r}}
}

// gauge returns the series of a gauge.
func (s scope) gauge(m catalog.Metric, ms ...promql.Matcher) expr { return s.selector(m, "", ms) }

// rate returns what a counter gains a second.
func (s scope) rate(m catalog.Metric, ms ...promql.Matcher) expr { return rated(s.selector(m, "", ms)) }

// The parts of a histogram, as rates.
func (s scope) rateOfSum(m catalog.Metric, ms ...promql.Matcher) expr {
	return rated(s.selector(m, "_sum", ms))
}

func (s scope) rateOfCount(m catalog.Metric, ms ...promql.Matcher) expr {
	return rated(s.selector(m, "_count", ms))
}

func (s scope) rateOfBuckets(m catalog.Metric, ms ...promql.Matcher) expr {
	return rated(s.selector(m, "_bucket", ms))
}

// The windows of rates: as short as scrapes allow, and the time range of the
// dashboard.
const (
	windowShort = "[$__rate_interval]"
	windowRange = "[$__range]"
)

func rated(e expr) expr {
	return expr{fmt.Sprintf("rate(%s%s)", e.text, windowShort), e.reads}
}

// overRange takes the rates of an expression over the whole time range: a ratio
// of rates is then the ratio of the sums in it.
func overRange(e expr) expr {
	return expr{strings.ReplaceAll(e.text, windowShort, windowRange), e.reads}
}

// increase returns what a counter gained over the time range of the dashboard.
func (s scope) increase(m catalog.Metric, ms ...promql.Matcher) expr {
	e := s.selector(m, "", ms)
	return expr{fmt.Sprintf("increase(%s%s)", e.text, windowRange), e.reads}
}

func sum(e expr, by ...string) expr   { return aggregate("sum", e, by) }
func most(e expr, by ...string) expr  { return aggregate("max", e, by) }
func least(e expr, by ...string) expr { return aggregate("min", e, by) }
func mean(e expr, by ...string) expr  { return aggregate("avg", e, by) }

func aggregate(op string, e expr, by []string) expr {
	out := expr{text: promql.By(op, e.text, by...)}
	for _, r := range e.reads {
		out.reads = append(out.reads, catalog.Use{Metric: r.Metric, Labels: union(r.Labels, by), Values: r.Values})
	}
	return out
}

// union returns labels with those of more that come from the metric itself and
// aren't there yet.
func union(labels, more []string) []string {
	out := slices.Clone(labels)
	for _, l := range more {
		if l != labelJob && l != labelInstance && l != labelBucket && !slices.Contains(out, l) {
			out = append(out, l)
		}
	}
	return out
}

const (
	labelInstance = "instance" // added by the scrape
	labelBucket   = "le"       // of every histogram
)

// ratio divides sums. Where nothing happened there is no ratio, and no NaN.
func ratio(part, whole expr) expr {
	return expr{fmt.Sprintf("%s / (%s > 0)", part.text, whole.text), slices.Concat(part.reads, whole.reads)}
}

// oneMinus turns a share into the share of the rest.
func oneMinus(e expr) expr { return expr{"1 - " + e.text, e.reads} }

func minus(a, b expr) expr {
	return expr{fmt.Sprintf("%s - %s", a.text, b.text), slices.Concat(a.reads, b.reads)}
}

// minusEach subtracts every series of b from the one of a with the same labels
// on.
func minusEach(a, b expr, on ...string) expr {
	return expr{fmt.Sprintf("%s - on (%s) group_right () %s", a.text, strings.Join(on, ", "), b.text), slices.Concat(a.reads, b.reads)}
}

// ratioEach divides every series of part by the one of whole with the same
// labels on.
func ratioEach(part, whole expr, on ...string) expr {
	return expr{fmt.Sprintf("%s / on (%s) group_left () (%s > 0)", part.text, strings.Join(on, ", "), whole.text), slices.Concat(part.reads, whole.reads)}
}

// in puts an expression into brackets.
func in(e expr) expr { return expr{"(" + e.text + ")", e.reads} }

// quantile estimates a quantile from a histogram's rated buckets. The
// comparison drops the NaN of a time without observations.
func quantile(q float64, buckets expr, by ...string) expr {
	s := sum(buckets, append([]string{labelBucket}, by...)...)
	return expr{fmt.Sprintf("histogram_quantile(%s, %s) >= 0", strconv.FormatFloat(q, 'g', -1, 64), s.text), s.reads}
}

// age returns the seconds since the Unix time that a gauge holds.
func age(e expr) expr { return expr{"time() - " + e.text, e.reads} }
