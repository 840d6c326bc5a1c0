package catalog

// The sources of input.
var (
	SourceLines = Metric{
		Name: "kvshadow_source_lines_total", Type: Counter, Labels: []string{LabelSource},
		Help:      "Lines read, the dropped and over-long ones included; for http, records of accepted batches.",
		Stability: Alpha, Since: "0.1", Essential: true, Cardinality: "sources",
		HowToUse: "`sum by (source) (rate(kvshadow_source_lines_total[$__rate_interval]))` at 0 while the router serves traffic means that the input has stalled.",
	}
	SourceBytes = Metric{
		Name: "kvshadow_source_bytes_total", Type: Counter, Unit: "bytes", Labels: []string{LabelSource},
		Help:      "Bytes read, after decompression.",
		Stability: Alpha, Since: "0.1", Cardinality: "sources",
		HowToUse: "The volume to size the network and CPU by: `sum by (source) (rate(kvshadow_source_bytes_total[$__rate_interval]))`.",
	}
	SourceDecisions = Metric{
		Name: "kvshadow_source_decisions_total", Type: Counter, Labels: []string{LabelSource},
		Help:      "Decisions decoded.",
		Stability: Alpha, Since: "0.1", Essential: true, Cardinality: "sources",
		HowToUse: "`sum by (source) (rate(kvshadow_source_decisions_total[$__rate_interval]))` at 0 while lines come in means that the log level or the release does not give decisions.",
	}
	SourceIgnoredLines = Metric{
		Name: "kvshadow_source_ignored_lines_total", Type: Counter, Labels: []string{LabelSource},
		Help:      "Lines that are neither the router's decisions nor records; most of a log.",
		Stability: Alpha, Since: "0.1", Cardinality: "sources",
		HowToUse: "Most lines of a log are of other modules; `sum by (source) (rate(kvshadow_source_ignored_lines_total[$__rate_interval]))` close to all lines is normal as long as decisions come in.",
	}
	SourceUndecodable = Metric{
		Name: "kvshadow_source_undecodable_total", Type: Counter, Labels: []string{LabelSource, LabelReason},
		Help: "Lines or decisions that could not be used, by reason.",
		Values: map[string][]string{LabelReason: {
			"invalid_record", "invalid_trace", "line_too_long", "malformed", "rows_without_winner", "trace_without_replay", "truncated",
			"unknown_formula", "unknown_worker_type", "winner_not_in_rows", ReasonWinnerWithoutRows,
		}},
		Stability: Alpha, Since: "0.1", Essential: true, Cardinality: "sources x 11 reasons",
		HowToUse: "`sum by (source, reason) (rate(kvshadow_source_undecodable_total[$__rate_interval]))` should be 0, but for winner_without_rows on routers of 1.6 and newer, whose decisions come from request traces.",
	}
	SourceDroppedLines = Metric{
		Name: "kvshadow_source_dropped_lines_total", Type: Counter, Labels: []string{LabelSource},
		Help:      "Lines read but lost, because the evaluation did not keep up or a file was truncated inside a line.",
		Stability: Alpha, Since: "0.1", Essential: true, Cardinality: "sources",
		HowToUse: "`sum by (source) (increase(kvshadow_source_dropped_lines_total[1h]))` above 0 means lost decisions: give the exporter more CPU, or split its sources.",
	}
	SourceDroppedBytes = Metric{
		Name: "kvshadow_source_dropped_bytes_total", Type: Counter, Unit: "bytes", Labels: []string{LabelSource},
		Help:      "Bytes of the dropped lines.",
		Stability: Alpha, Since: "0.1", Cardinality: "sources",
		HowToUse: "How much was lost: `sum by (source) (increase(kvshadow_source_dropped_bytes_total[1h]))`.",
	}
	SourceErrors = Metric{
		Name: "kvshadow_source_errors_total", Type: Counter, Labels: []string{LabelSource},
		Help:      "Files that began to fail, or refused HTTP batches.",
		Stability: Alpha, Since: "0.1", Cardinality: "sources",
		HowToUse: "`sum by (source) (increase(kvshadow_source_errors_total[1h]))` above 0: the log of the exporter names the file or the client.",
	}
	SourceRotations = Metric{
		Name: "kvshadow_source_rotations_total", Type: Counter, Labels: []string{LabelSource},
		Help:      "Files opened under a name that led to another file before.",
		Stability: Alpha, Since: "0.1", Cardinality: "sources",
		HowToUse: "Explains a step in other numbers: `sum by (source) (increase(kvshadow_source_rotations_total[1h]))`.",
	}
	SourceReconnects = Metric{
		Name: "kvshadow_source_reconnects_total", Type: Counter, Labels: []string{LabelSource},
		Help:      "Times a connection to a server was made again; 0 for sources that have none.",
		Stability: Alpha, Since: "0.1", Cardinality: "sources",
		HowToUse: "What a plain NATS subscription may have missed: `sum by (source) (increase(kvshadow_source_reconnects_total[1h]))`.",
	}
	SourceTruncations = Metric{
		Name: "kvshadow_source_truncations_total", Type: Counter, Labels: []string{LabelSource},
		Help:      "Files found emptied or overwritten in place.",
		Stability: Alpha, Since: "0.1", Cardinality: "sources",
		HowToUse: "`sum by (source) (increase(kvshadow_source_truncations_total[1h]))` above 0 asks for rotation by renaming: what was written between the last read and the truncation is lost.",
	}
	SourceOpenFiles = Metric{
		Name: "kvshadow_source_open_files", Type: Gauge, Labels: []string{LabelSource},
		Help:      "Open file descriptors.",
		Stability: Alpha, Since: "0.1", Cardinality: "sources",
		HowToUse: "`sum by (source) (kvshadow_source_open_files)` at 0 for a source of files means that its pattern matches nothing.",
	}
	SourceLag = Metric{
		Name: "kvshadow_source_lag_seconds", Type: Gauge, Unit: "seconds", Labels: []string{LabelSource},
		Help:      "How long the source has been behind the end of its input; 0 when it has caught up.",
		Stability: Stable, Since: "0.1", Essential: true, Cardinality: "sources",
		HowToUse: "`max by (source) (kvshadow_source_lag_seconds)` that grows means that the evaluation does not keep up; 0 means that the numbers are of now.",
	}
)

// Decisions rebuilt from request traces.
var (
	Lifecycles = Metric{
		Name: "kvshadow_lifecycles_total", Type: Counter,
		Help:      "Finished requests that traces told of.",
		Stability: Alpha, Since: "0.1", Cardinality: "1",
		HowToUse: "`rate(kvshadow_lifecycles_total[$__rate_interval])` at 0 with request traces as input means that no records come in.",
	}
	LifecyclesLost = Metric{
		Name: "kvshadow_lifecycles_lost_total", Type: Counter, Labels: []string{LabelReason},
		Help: "Requests or selections that decisions could not be rebuilt from, by reason.",
		Values: map[string][]string{LabelReason: {
			"lifecycle_late", "lifecycle_without_blocks", "lifecycle_without_workers", ReasonWinnerWithoutRows,
		}},
		Stability: Alpha, Since: "0.1", Cardinality: "4 reasons",
		HowToUse: "As a share of all requests: `sum by (reason) (rate(kvshadow_lifecycles_lost_total[$__rate_interval])) / on () group_left () sum(rate(kvshadow_lifecycles_total[$__rate_interval]) > 0)`. For lifecycle_late, raise the wait for earlier records.",
	}
	RebuiltCandidates = Metric{
		Name: "kvshadow_rebuilt_candidates_total", Type: Counter, Labels: []string{LabelWorkerType},
		Help:      "Candidates of rebuilt decisions that the router's own rows told of too.",
		Values:    workerTypes(),
		Stability: Alpha, Since: "0.1", Cardinality: "2",
		HowToUse: "The base of the share below: `sum by (worker_type) (rate(kvshadow_rebuilt_candidates_total[$__rate_interval]))`. 0 where the router prints no rows to compare with.",
	}
	RebuiltExact = Metric{
		Name: "kvshadow_rebuilt_exact_total", Type: Counter, Labels: []string{LabelWorkerType, LabelQuantity},
		Help:      "Of those candidates, the ones whose quantity (overlap, decode_blocks or raw_prefill) came out exactly.",
		Values:    withWorkerTypes(LabelQuantity, []string{"decode_blocks", "overlap", "raw_prefill"}),
		Stability: Alpha, Since: "0.1", Cardinality: "2 x 3",
		HowToUse: "How well decisions are rebuilt: `sum by (worker_type, quantity) (rate(kvshadow_rebuilt_exact_total[$__rate_interval])) / on (worker_type) group_left () sum by (worker_type) (rate(kvshadow_rebuilt_candidates_total[$__rate_interval]) > 0)`.",
	}
)

// The exporter itself.
var (
	ReloadSuccess = Metric{
		Name: "kvshadow_config_last_reload_successful", Type: Gauge,
		Help:      "1 if the policies in use are those of the last reload, 0 if that file was refused and the old ones are kept.",
		Stability: Stable, Since: "0.1", Essential: true, Cardinality: "1",
		HowToUse: "`kvshadow_config_last_reload_successful == 0` means that the policies file was refused; the log says where in it.",
	}
	ReloadTime = Metric{
		Name: "kvshadow_config_last_reload_success_timestamp_seconds", Type: Gauge, Unit: "seconds",
		Help:      "Unix time of the last successful load of the policies.",
		Stability: Stable, Since: "0.1", Cardinality: "1",
		HowToUse: "How old the policies are: `time() - kvshadow_config_last_reload_success_timestamp_seconds`.",
	}
)
