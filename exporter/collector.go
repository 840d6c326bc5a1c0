package exporter

import (
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kvshadow/kvshadow/analyzer/decision"
	"github.com/kvshadow/kvshadow/analyzer/router/dynamo"
	"github.com/kvshadow/kvshadow/analyzer/shadow"
	"github.com/kvshadow/kvshadow/catalog"
)

// collector turns the state into metrics at scrape time. The counters are the
// totals themselves, so a scrape and a report of the same input agree.
type collector struct {
	state *state
	descs map[string]*prometheus.Desc
}

// stateMetrics are the metrics that collector exposes.
var stateMetrics = []catalog.Metric{
	catalog.Decisions, catalog.DecisionsExcluded, catalog.NonMaxOverlapSelections, catalog.OverlapLostBlocks,
	catalog.DivergingSelections, catalog.MissingPrefixBlocks, catalog.LoadExcessBlocks, catalog.UnsupportedDecisions,
	catalog.RequestBlocks, catalog.RequestsOfUnknownLength, catalog.FidelityChecked, catalog.FidelityMismatches,
	catalog.PolicyInfo, catalog.ReloadSuccess, catalog.ReloadTime,
}

func newCollector(s *state) *collector { return &collector{s, descsOf(stateMetrics)} }

func descsOf(metrics []catalog.Metric) map[string]*prometheus.Desc {
	descs := make(map[string]*prometheus.Desc, len(metrics))
	for _, m := range metrics {
		descs[m.Name] = m.Desc()
	}
	return descs
}

func (c *collector) Describe(ch chan<- *prometheus.Desc) { describe(c.descs, ch) }

func describe(descs map[string]*prometheus.Desc, ch chan<- *prometheus.Desc) {
	for _, d := range descs {
		ch <- d
	}
}

func (c *collector) Collect(ch chan<- prometheus.Metric) {
	snap := c.state.snapshot()
	out := emitter{c.descs, ch}
	for _, wt := range decision.WorkerTypes {
		collectPool(out, wt.String(), snap.totals.Policies, &snap.totals.Pools[wt])
	}
	for _, p := range snap.policies {
		out.emit(catalog.PolicyInfo, 1, p.Name, dynamo.PolicyType, strings.Join(p.Changed(), ","))
	}
	success := 1.0
	if snap.refused != nil {
		success = 0
	}
	out.emit(catalog.ReloadSuccess, success)
	out.emit(catalog.ReloadTime, float64(snap.loaded.UnixMilli())/1000)
}

func collectPool(out emitter, wt string, policies []string, p *shadow.Pool) {
	out.emit(catalog.Decisions, float64(p.Evaluated), wt)
	for _, e := range shadow.Exclusions() {
		out.emit(catalog.DecisionsExcluded, float64(p.Excluded[e]), wt, e.String())
	}
	out.emit(catalog.RequestBlocks, float64(p.RequestBlocks), wt)
	out.emit(catalog.RequestsOfUnknownLength, float64(p.UnknownRequestBlocks), wt)
	out.emit(catalog.FidelityChecked, float64(p.Checked), wt)
	for _, cause := range decision.Causes() {
		out.emit(catalog.FidelityMismatches, float64(p.Mismatches[cause]), wt, cause.String())
	}
	for i, name := range policies {
		s := &p.Policies[i]
		out.emit(catalog.NonMaxOverlapSelections, s.NonMax.Float64(), name, wt)
		out.emit(catalog.OverlapLostBlocks, s.Lost.Float64(), name, wt)
		out.emit(catalog.DivergingSelections, s.Diverging.Float64(), name, wt)
		out.emit(catalog.MissingPrefixBlocks, s.Missing.Float64(), name, wt)
		out.emit(catalog.LoadExcessBlocks, s.LoadExcess.Float64(), name, wt)
		out.emit(catalog.UnsupportedDecisions, float64(s.Unsupported), name, wt)
	}
}

// emitter sends samples of catalogued metrics.
type emitter struct {
	descs map[string]*prometheus.Desc
	ch    chan<- prometheus.Metric
}

func (e emitter) emit(m catalog.Metric, v float64, labels ...string) {
	t := prometheus.CounterValue
	if m.Type == catalog.Gauge {
		t = prometheus.GaugeValue
	}
	e.ch <- prometheus.MustNewConstMetric(e.descs[m.Name], t, v, labels...)
}

// losses is the histogram of overlap blocks lost.
type losses struct {
	vec      *prometheus.HistogramVec
	policies []dynamo.Policy
	handles  [][len(decision.WorkerTypes)]prometheus.Observer
}

func newLosses(policies []dynamo.Policy) *losses {
	m := catalog.OverlapBlocksLost
	l := &losses{vec: prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: m.Name, Help: m.Help, Buckets: catalog.OverlapBuckets(),
		NativeHistogramBucketFactor: 1.1, NativeHistogramMaxBucketNumber: 160, NativeHistogramMinResetDuration: time.Hour,
	}, m.Labels)}
	l.replace(policies)
	return l
}

// replace makes the series of other policies. Those of a policy whose weights
// changed start anew, like its counters.
func (l *losses) replace(policies []dynamo.Policy) {
	for i, old := range l.policies {
		if i > 0 && !slices.Contains(policies, old) {
			l.vec.DeletePartialMatch(prometheus.Labels{catalog.LabelPolicy: old.Name})
		}
	}
	l.policies, l.handles = policies, nil
	for _, p := range policies {
		var h [len(decision.WorkerTypes)]prometheus.Observer
		for _, wt := range decision.WorkerTypes {
			h[wt] = l.vec.WithLabelValues(p.Name, wt.String())
		}
		l.handles = append(l.handles, h)
	}
}

// observe adds the losses of one decision, with its request as exemplar.
func (l *losses) observe(e *shadow.Evaluation) {
	if e.Exclusion != shadow.Included {
		return
	}
	for i := range e.Effects {
		if e.Effects[i].Lost <= 0 {
			continue
		}
		h := l.handles[i][e.Decision.WorkerType]
		lost := e.Effects[i].Lost.Float64()
		if id := e.Decision.RequestID; id != "" && len(id) <= maxExemplarID {
			h.(prometheus.ExemplarObserver).ObserveWithExemplar(lost, prometheus.Labels{"request_id": id})
			continue
		}
		h.Observe(lost)
	}
}

// maxExemplarID leaves room for the label name in the 128 characters that
// OpenMetrics allows an exemplar.
const maxExemplarID = 128 - len("request_id")
