package dashboards

import "github.com/kvshadow/kvshadow/catalog"

func selfScope() scope {
	return scope{{labelJob, varJob}, {catalog.LabelSource, varSource}}
}

// self returns the dashboard over the exporter's own input and process.
func self(o Options) Dashboard {
	d := newDashboard(o, SelfUID, "kvshadow itself",
		"Whether kvshadow reads everything, keeps up, and runs on the policies that you gave it.")
	source := o.Flavor.source()
	d.Templating.List = []Variable{
		datasourceVariable(o.Flavor),
		jobVariable(source, catalog.SourceLines),
		labelVariable(source, varSource, "Source", "The sources of input.", catalog.SourceLines, catalog.LabelSource, ofJob()),
		exporterVariable(o.ExporterURL),
	}
	b := builder{source: source}
	b.row(1, "State")
	b.add(selfState()...)
	b.row(2, "Input")
	b.add(selfInput()...)
	b.row(3, "Process")
	b.add(selfProcess()...)
	d.Panels = b.panels
	return d
}

const sourceLegend = "{{source}}"

// keepingUp: a minute is the scrape or two that a restart takes, from five on
// the numbers are of another time.
func keepingUp() []step { return []step{below(green), from(60, yellow), from(300, red)} }

func selfState() []def {
	s := selfScope()
	lossless := []step{below(green), from(1, red)}
	return []def{
		{id: 11, kind: kindStat, w: 6, title: "Policies file", unit: unitNumber, steps: []step{below(red), from(1, green)}, noValue: "no data",
			about:    "Whether the last reload took. A refused file leaves the old policies in use; the log says what is wrong with it.",
			mappings: []mapping{{"value", map[string]valueText{"0": {"refused", red, 0}, "1": {"in use", green, 1}}}},
			queries:  []query{{least(s.gauge(catalog.ReloadSuccess), labelInstance), "{{instance}}"}}},
		{id: 12, kind: kindStat, w: 6, title: "Policies loaded", unit: unitSeconds, noValue: "no data",
			about:   "How long ago the policies in use were loaded.",
			queries: []query{{age(most(s.gauge(catalog.ReloadTime), labelInstance)), "{{instance}}"}}},
		{id: 13, kind: kindStat, w: 6, title: "Behind its input", unit: unitSeconds, steps: keepingUp(), noValue: "no data",
			about:   "How long the worst source has been behind the end of its input; 0 when it has caught up.",
			queries: []query{{most(s.gauge(catalog.SourceLag)), "lag"}}},
		{id: 14, kind: kindStat, w: 6, total: true, title: "Lines dropped", unit: unitNumber, steps: lossless, noValue: "none",
			about:   "Lines read but lost in the time range, because the evaluation did not keep up or a file was truncated inside a line. Any means that sums are incomplete.",
			queries: []query{{sum(s.increase(catalog.SourceDroppedLines)), "dropped"}}},
	}
}

func selfInput() []def {
	s := selfScope()
	bySource := catalog.LabelSource
	return []def{
		{id: 21, kind: kindGraph, w: 8, title: "Lines read", unit: unitLinesRate,
			about:   "Lines per second, the dropped and over-long ones included; for http, records of accepted batches. A fall to 0 while the router serves traffic: the input stalled.",
			queries: []query{{sum(s.rate(catalog.SourceLines), bySource), sourceLegend}}},
		{id: 22, kind: kindGraph, w: 8, title: "Bytes read", unit: unitBytesRate,
			about:   "Bytes per second, after decompression.",
			queries: []query{{sum(s.rate(catalog.SourceBytes), bySource), sourceLegend}}},
		{id: 23, kind: kindGraph, w: 8, title: "Decisions decoded", unit: unitDecisionsRate,
			about:   "Decisions per second. None although lines come: the router's log level is above DEBUG, or its release prints no candidate rows; then read request traces.",
			queries: []query{{sum(s.rate(catalog.SourceDecisions), bySource), sourceLegend}}},
		{id: 24, kind: kindGraph, w: 8, title: "Behind the input", unit: unitSeconds, steps: keepingUp(),
			about:   "How long each source has been behind the end of its input; 0 when it has caught up.",
			queries: []query{{most(s.gauge(catalog.SourceLag), bySource), sourceLegend}}},
		{id: 25, kind: kindGraph, w: 8, title: "Dropped", unit: unitLinesRate, steps: []step{below(green), from(0.001, red)},
			about:   "Lines per second that were read but lost.",
			queries: []query{{sum(s.rate(catalog.SourceDroppedLines), bySource), sourceLegend}}},
		{id: 26, kind: kindGraph, w: 8, title: "Undecodable, by reason", unit: unitLinesRate,
			about:   "Lines or decisions per second that could not be used. unknown_formula after an upgrade: a release that kvshadow doesn't know.",
			queries: []query{{sum(s.rate(catalog.SourceUndecodable), bySource, catalog.LabelReason), "{{reason}}, {{source}}"}}},
		{id: 27, kind: kindGraph, w: 8, title: "Errors, reconnects, rotations", unit: unitEventsRate,
			about: "Files that began to fail or refused HTTP batches, connections that were made again, files that were replaced, and files emptied in place. What was written between the last read and a truncation is lost: rotate by renaming instead.",
			queries: []query{
				{sum(s.rate(catalog.SourceErrors), bySource), "errors, {{source}}"},
				{sum(s.rate(catalog.SourceReconnects), bySource), "reconnects, {{source}}"},
				{sum(s.rate(catalog.SourceRotations), bySource), "rotations, {{source}}"},
				{sum(s.rate(catalog.SourceTruncations), bySource), "truncations, {{source}}"},
			}},
		{id: 28, kind: kindGraph, w: 8, title: "Open files", unit: unitNumber,
			about:   "Open file descriptors by source. 0 for a source of files: the pattern matches nothing.",
			queries: []query{{sum(s.gauge(catalog.SourceOpenFiles), bySource), sourceLegend}}},
		{id: 29, kind: kindGraph, w: 8, title: "Requests lost to rebuilding, by reason", unit: unitEventsRate,
			about:   "With request traces as input: requests or selections per second that decisions could not be rebuilt from. Many late ones: raise --trace-wait.",
			queries: []query{{sum(s.rate(catalog.LifecyclesLost), catalog.LabelReason), "{{reason}}"}}},
	}
}

func selfProcess() []def {
	s := selfScope()
	return []def{
		{id: 31, kind: kindGraph, w: 8, title: "CPU", unit: unitCores,
			about:   "Processor cores in use, by instance.",
			queries: []query{{sum(s.rate(processCPU), labelInstance), "{{instance}}"}}},
		{id: 32, kind: kindGraph, w: 8, title: "Memory", unit: unitBytes,
			about: "Resident memory, and the live heap in it, by instance. Growth of the heap that doesn't end is a fault worth reporting.",
			queries: []query{
				{sum(s.gauge(processMemory), labelInstance), "resident, {{instance}}"},
				{sum(s.gauge(goHeap), labelInstance), "heap, {{instance}}"},
			}},
		{id: 33, kind: kindGraph, w: 4, title: "Goroutines", unit: unitNumber,
			about:   "Goroutines, by instance; they follow the number of sources.",
			queries: []query{{sum(s.gauge(goGoroutines), labelInstance), "{{instance}}"}}},
		{id: 34, kind: kindGraph, w: 4, title: "Uptime", unit: unitSeconds,
			about:   "Time since the start, by instance. A restart reads files from their beginning, which shows as a jump of all counters.",
			queries: []query{{age(most(s.gauge(processStart), labelInstance)), "{{instance}}"}}},
	}
}
