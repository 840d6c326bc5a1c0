package exporter

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kvshadow/kvshadow/analyzer/input"
	"github.com/kvshadow/kvshadow/catalog"
)

// sourceCollector exposes what happened to the input of each source.
type sourceCollector struct {
	feeds []*feed
	now   func() time.Time
	descs map[string]*prometheus.Desc
}

// sourceMetrics are the metrics that sourceCollector exposes.
var sourceMetrics = []catalog.Metric{
	catalog.SourceLines, catalog.SourceBytes, catalog.SourceDecisions, catalog.SourceIgnoredLines, catalog.SourceUndecodable,
	catalog.SourceDroppedLines, catalog.SourceDroppedBytes, catalog.SourceErrors, catalog.SourceReconnects, catalog.SourceRotations,
	catalog.SourceTruncations, catalog.SourceOpenFiles, catalog.SourceLag,
}

func newSourceCollector(feeds []*feed, now func() time.Time) *sourceCollector {
	return &sourceCollector{feeds, now, descsOf(sourceMetrics)}
}

func (c *sourceCollector) Describe(ch chan<- *prometheus.Desc) { describe(c.descs, ch) }

func (c *sourceCollector) Collect(ch chan<- prometheus.Metric) {
	out := emitter{c.descs, ch}
	for _, f := range c.feeds {
		f.collect(out, c.now())
	}
}

func (f *feed) collect(out emitter, now time.Time) {
	s := f.stats.Snapshot()
	out.emit(catalog.SourceLines, float64(s.Lines), f.name)
	out.emit(catalog.SourceBytes, float64(s.Bytes), f.name)
	out.emit(catalog.SourceDroppedLines, float64(s.DroppedLines), f.name)
	out.emit(catalog.SourceDroppedBytes, float64(s.DroppedBytes), f.name)
	out.emit(catalog.SourceErrors, float64(s.Errors), f.name)
	out.emit(catalog.SourceReconnects, float64(s.Reconnects), f.name)
	out.emit(catalog.SourceRotations, float64(s.Rotations), f.name)
	out.emit(catalog.SourceTruncations, float64(s.Truncations), f.name)
	out.emit(catalog.SourceOpenFiles, float64(s.OpenFiles), f.name)
	out.emit(catalog.SourceLag, s.LagSeconds(now), f.name)
	out.emit(catalog.SourceUndecodable, float64(s.TooLongLines), f.name, input.TooLong)
	f.mu.Lock()
	defer f.mu.Unlock()
	out.emit(catalog.SourceDecisions, float64(f.decisions), f.name)
	out.emit(catalog.SourceIgnoredLines, float64(f.ignored), f.name)
	for reason, n := range f.lost {
		out.emit(catalog.SourceUndecodable, float64(n), f.name, reason)
	}
}
