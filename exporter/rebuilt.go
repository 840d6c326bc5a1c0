package exporter

import (
	"maps"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kvshadow/kvshadow/analyzer"
	"github.com/kvshadow/kvshadow/analyzer/decision"
	"github.com/kvshadow/kvshadow/analyzer/report"
	"github.com/kvshadow/kvshadow/catalog"
)

// rebuilt is the copy for scrapes of what the twin did. It may be used from
// several goroutines at once.
type rebuilt struct {
	mu sync.Mutex
	in report.Inputs
}

func (r *rebuilt) publish(i *analyzer.Intake) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.in = i.Inputs()
}

// inputs returns what a report says of the traces, with the reasons for which
// requests were lost. The caller may change it.
func (r *rebuilt) inputs() report.Inputs {
	r.mu.Lock()
	defer r.mu.Unlock()
	in := r.in
	in.Undecodable = maps.Clone(in.Undecodable)
	maps.DeleteFunc(in.Undecodable, func(_ string, n uint64) bool { return n == 0 })
	return in
}

// rebuiltCollector exposes what the twin did.
type rebuiltCollector struct {
	r     *rebuilt
	descs map[string]*prometheus.Desc
}

// rebuiltMetrics are the metrics that rebuiltCollector exposes.
var rebuiltMetrics = []catalog.Metric{
	catalog.Lifecycles, catalog.LifecyclesLost, catalog.RebuiltCandidates, catalog.RebuiltExact,
}

func newRebuiltCollector(r *rebuilt) *rebuiltCollector {
	return &rebuiltCollector{r, descsOf(rebuiltMetrics)}
}

func (c *rebuiltCollector) Describe(ch chan<- *prometheus.Desc) { describe(c.descs, ch) }

func (c *rebuiltCollector) Collect(ch chan<- prometheus.Metric) {
	c.r.mu.Lock()
	defer c.r.mu.Unlock()
	out := emitter{c.descs, ch}
	out.emit(catalog.Lifecycles, float64(c.r.in.Lifecycles))
	for reason, n := range c.r.in.Undecodable {
		out.emit(catalog.LifecyclesLost, float64(n), reason)
	}
	for _, wt := range decision.WorkerTypes {
		x, label := &c.r.in.Compared[wt], wt.String()
		out.emit(catalog.RebuiltCandidates, float64(x.Candidates), label)
		out.emit(catalog.RebuiltExact, float64(x.OverlapExact), label, "overlap")
		out.emit(catalog.RebuiltExact, float64(x.DecodeBlocksExact), label, "decode_blocks")
		out.emit(catalog.RebuiltExact, float64(x.RawPrefillExact), label, "raw_prefill")
	}
}
