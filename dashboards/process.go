package dashboards

import "github.com/kvshadow/kvshadow/catalog"

// The metrics of the process, as every exporter has them. They come from
// VictoriaMetrics/metrics, aren't kvshadow's, and stand therefore not in the
// catalog.
var (
	processCPU = catalog.Metric{Name: "process_cpu_seconds_total", Type: catalog.Counter, Unit: "seconds",
		Help: "CPU time of the process."}
	processMemory = catalog.Metric{Name: "process_resident_memory_bytes", Type: catalog.Gauge, Unit: "bytes",
		Help: "Resident memory of the process."}
	processStart = catalog.Metric{Name: "process_start_time_seconds", Type: catalog.Gauge, Unit: "seconds",
		Help: "Unix time at which the process started."}
	goHeap = catalog.Metric{Name: "go_memstats_heap_alloc_bytes", Type: catalog.Gauge, Unit: "bytes",
		Help: "Bytes of allocated heap objects."}
	goGoroutines = catalog.Metric{Name: "go_goroutines", Type: catalog.Gauge,
		Help: "Goroutines."}
)

// ProcessMetrics returns the metrics of the process that panels read beside
// those of the catalog.
func ProcessMetrics() []catalog.Metric {
	return []catalog.Metric{processCPU, processMemory, processStart, goHeap, goGoroutines}
}
