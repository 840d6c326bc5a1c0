package catalog

// Label names.
const (
	LabelPolicy     = "policy"
	LabelWorkerType = "worker_type"
	LabelReason     = "reason"
	LabelCause      = "cause"
	LabelSource     = "source"
	LabelQuantity   = "quantity"
	LabelType       = "type"
	LabelParameters = "parameters"
)

// The evaluation of decisions. Both worker types and every policy have a
// series from the first scrape on.
var (
	Decisions = Metric{
		Name: "kvshadow_decisions_total", Type: Counter, Labels: []string{LabelWorkerType},
		Help: "Routing decisions that were evaluated; the base of every rate of selections.",
	}
	DecisionsExcluded = Metric{
		Name: "kvshadow_decisions_excluded_total", Type: Counter, Labels: []string{LabelWorkerType, LabelReason},
		Help: "Decisions that are in no other counter, by reason: pinned, query_only, not_eligible or not_finite.",
	}
	NonMaxOverlapSelections = Metric{
		Name: "kvshadow_non_max_overlap_selections_total", Type: Counter, Unit: "selections", Labels: []string{LabelPolicy, LabelWorkerType},
		Help: "Selections of a worker although another eligible one had strictly more effective overlap. For candidate policies, what they would have selected in the states that live visited, as an expectation over ties.",
	}
	OverlapLostBlocks = Metric{
		Name: "kvshadow_overlap_lost_blocks_total", Type: Counter, Unit: "blocks", Labels: []string{LabelPolicy, LabelWorkerType},
		Help: "KV-cache blocks of effective overlap given up: the highest among the eligible workers minus the selected one's.",
	}
	OverlapBlocksLost = Metric{
		Name: "kvshadow_overlap_blocks_lost", Type: Histogram, Unit: "blocks", Labels: []string{LabelPolicy, LabelWorkerType},
		Help: "Distribution of the overlap blocks lost per selection that lost any; the exemplar is the request id. Under ties one observation of the expectation.",
	}
	DivergingSelections = Metric{
		Name: "kvshadow_diverging_selections_total", Type: Counter, Unit: "selections", Labels: []string{LabelPolicy, LabelWorkerType},
		Help: "Selections whose recorded worker is not among those the policy would have picked.",
	}
	MissingPrefixBlocks = Metric{
		Name: "kvshadow_missing_prefix_blocks_total", Type: Counter, Unit: "blocks", Labels: []string{LabelPolicy, LabelWorkerType},
		Help: "Prompt blocks that the selected worker's device memory lacked, for prompts of known length.",
	}
	LoadExcessBlocks = Metric{
		Name: "kvshadow_load_excess_blocks_total", Type: Counter, Unit: "blocks", Labels: []string{LabelPolicy, LabelWorkerType},
		Help: "Load of the selected worker minus the least load among the eligible, in blocks of decode and active prefill: what is paid for overlap.",
	}
	UnsupportedDecisions = Metric{
		Name: "kvshadow_unsupported_decisions_total", Type: Counter, Labels: []string{LabelPolicy, LabelWorkerType},
		Help: "Decisions that lack an input which this policy's cost needs; its numbers for them are approximations.",
	}
	RequestBlocks = Metric{
		Name: "kvshadow_request_blocks_total", Type: Counter, Unit: "blocks", Labels: []string{LabelWorkerType},
		Help: "Prompt blocks of the evaluated decisions, for prompts of known length; the base of every share of blocks.",
	}
	RequestsOfUnknownLength = Metric{
		Name: "kvshadow_requests_of_unknown_length_total", Type: Counter, Labels: []string{LabelWorkerType},
		Help: "Evaluated decisions whose prompt length wasn't recorded; they add nothing to request and missing prefix blocks.",
	}
	FidelityChecked = Metric{
		Name: "kvshadow_fidelity_checked_total", Type: Counter, Labels: []string{LabelWorkerType},
		Help: "Decisions whose recorded costs were compared with the live policy's.",
	}
	FidelityMismatches = Metric{
		Name: "kvshadow_fidelity_mismatches_total", Type: Counter, Labels: []string{LabelWorkerType, LabelCause},
		Help: "Decisions whose recorded cost or choice the live policy did not reproduce, by cause.",
	}
	PolicyInfo = Metric{
		Name: "kvshadow_policy_info", Type: Gauge, Labels: []string{LabelPolicy, LabelType, LabelParameters},
		Help: "1 for each policy in use, with the parameters that differ from the router's defaults.",
	}
)

// The sources of input.
var (
	SourceLines = Metric{
		Name: "kvshadow_source_lines_total", Type: Counter, Labels: []string{LabelSource},
		Help: "Lines read, the dropped and over-long ones included; for http, records of accepted batches.",
	}
	SourceBytes = Metric{
		Name: "kvshadow_source_bytes_total", Type: Counter, Unit: "bytes", Labels: []string{LabelSource},
		Help: "Bytes read, after decompression.",
	}
	SourceDecisions = Metric{
		Name: "kvshadow_source_decisions_total", Type: Counter, Labels: []string{LabelSource},
		Help: "Decisions decoded.",
	}
	SourceIgnoredLines = Metric{
		Name: "kvshadow_source_ignored_lines_total", Type: Counter, Labels: []string{LabelSource},
		Help: "Lines that are neither the router's decisions nor records; most of a log.",
	}
	SourceUndecodable = Metric{
		Name: "kvshadow_source_undecodable_total", Type: Counter, Labels: []string{LabelSource, LabelReason},
		Help: "Lines or decisions that could not be used, by reason.",
	}
	SourceDroppedLines = Metric{
		Name: "kvshadow_source_dropped_lines_total", Type: Counter, Labels: []string{LabelSource},
		Help: "Lines read but lost, because the evaluation did not keep up or a file was truncated inside a line.",
	}
	SourceDroppedBytes = Metric{
		Name: "kvshadow_source_dropped_bytes_total", Type: Counter, Unit: "bytes", Labels: []string{LabelSource},
		Help: "Bytes of the dropped lines.",
	}
	SourceErrors = Metric{
		Name: "kvshadow_source_errors_total", Type: Counter, Labels: []string{LabelSource},
		Help: "Files that began to fail, or refused HTTP batches.",
	}
	SourceRotations = Metric{
		Name: "kvshadow_source_rotations_total", Type: Counter, Labels: []string{LabelSource},
		Help: "Files opened under a name that led to another file before.",
	}
	SourceTruncations = Metric{
		Name: "kvshadow_source_truncations_total", Type: Counter, Labels: []string{LabelSource},
		Help: "Files found emptied or overwritten in place.",
	}
	SourceOpenFiles = Metric{
		Name: "kvshadow_source_open_files", Type: Gauge, Labels: []string{LabelSource},
		Help: "Open file descriptors.",
	}
	SourceLag = Metric{
		Name: "kvshadow_source_lag_seconds", Type: Gauge, Unit: "seconds", Labels: []string{LabelSource},
		Help: "How long the source has been behind the end of its input; 0 when it has caught up.",
	}
)

// Decisions rebuilt from request traces.
var (
	Lifecycles = Metric{
		Name: "kvshadow_lifecycles_total", Type: Counter,
		Help: "Finished requests that traces told of.",
	}
	LifecyclesLost = Metric{
		Name: "kvshadow_lifecycles_lost_total", Type: Counter, Labels: []string{LabelReason},
		Help: "Requests or selections that decisions could not be rebuilt from, by reason.",
	}
	RebuiltCandidates = Metric{
		Name: "kvshadow_rebuilt_candidates_total", Type: Counter, Labels: []string{LabelWorkerType},
		Help: "Candidates of rebuilt decisions that the router's own rows told of too.",
	}
	RebuiltExact = Metric{
		Name: "kvshadow_rebuilt_exact_total", Type: Counter, Labels: []string{LabelWorkerType, LabelQuantity},
		Help: "Of those candidates, the ones whose quantity (overlap, decode_blocks or raw_prefill) came out exactly.",
	}
)

// The exporter itself.
var (
	ReloadSuccess = Metric{
		Name: "kvshadow_config_last_reload_successful", Type: Gauge,
		Help: "1 if the policies in use are those of the last reload, 0 if that file was refused and the old ones are kept.",
	}
	ReloadTime = Metric{
		Name: "kvshadow_config_last_reload_success_timestamp_seconds", Type: Gauge, Unit: "seconds",
		Help: "Unix time of the last successful load of the policies.",
	}
)

// OverlapBuckets are the classic buckets of overlap_blocks_lost, 0.25 x 2^n:
// those of the router's own histogram, so that both can be drawn together.
func OverlapBuckets() []float64 {
	b := make([]float64, 16)
	for i := range b {
		b[i] = 0.25 * float64(int(1)<<i)
	}
	return b
}
