package exporter

import (
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
	mu         sync.Mutex
	lifecycles uint64
	lost       map[string]uint64
	// What the page's notes tell of.
	learnedOverlaps, overCapacityBlocks uint64
	compared                            [len(decision.WorkerTypes)]report.Comparison
}

func (r *rebuilt) publish(i *analyzer.Intake) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lifecycles = i.Lifecycles()
	r.learnedOverlaps, r.overCapacityBlocks = i.LearnedOverlaps(), i.OverCapacityBlocks()
	if r.lost == nil {
		r.lost = map[string]uint64{}
	}
	i.Undecodable(func(reason string, n uint64) { r.lost[reason] = n })
	for _, wt := range decision.WorkerTypes {
		r.compared[wt] = i.Compared(wt)
	}
}

// inputs returns what a report says of the traces, with the reasons for which
// requests were lost.
func (r *rebuilt) inputs() report.Inputs {
	r.mu.Lock()
	defer r.mu.Unlock()
	in := report.Inputs{
		Lifecycles: r.lifecycles, LearnedOverlaps: r.learnedOverlaps, OverCapacityBlocks: r.overCapacityBlocks,
		Undecodable: map[string]uint64{},
	}
	for reason, n := range r.lost {
		if n > 0 {
			in.Undecodable[reason] = n
		}
	}
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
	out.emit(catalog.Lifecycles, float64(c.r.lifecycles))
	for reason, n := range c.r.lost {
		out.emit(catalog.LifecyclesLost, float64(n), reason)
	}
	for _, wt := range decision.WorkerTypes {
		x, label := &c.r.compared[wt], wt.String()
		out.emit(catalog.RebuiltCandidates, float64(x.Candidates), label)
		out.emit(catalog.RebuiltExact, float64(x.OverlapExact), label, "overlap")
		out.emit(catalog.RebuiltExact, float64(x.DecodeBlocksExact), label, "decode_blocks")
		out.emit(catalog.RebuiltExact, float64(x.RawPrefillExact), label, "raw_prefill")
	}
}
