package catalog

// The evaluation of decisions. Both worker types and every policy have a
// series from the first scrape on.
var (
	Decisions = Metric{
		Name: "kvshadow_decisions_total", Type: Counter, Labels: []string{LabelWorkerType},
		Help:      "Routing decisions that were evaluated; the base of every rate of selections.",
		Values:    workerTypes(),
		Stability: Stable, Since: "0.1", Essential: true, Cardinality: "2",
		HowToUse: "Divide by it: `sum by (worker_type) (rate(kvshadow_decisions_total[$__rate_interval]))` are the decisions per second. It stands still while the router serves traffic if nothing usable comes in.",
	}
	DecisionsExcluded = Metric{
		Name: "kvshadow_decisions_excluded_total", Type: Counter, Labels: []string{LabelWorkerType, LabelReason},
		Help:      "Decisions that are in no other counter, by reason: pinned, query_only, not_eligible or not_finite.",
		Values:    withWorkerTypes(LabelReason, []string{"not_eligible", "not_finite", "pinned", "query_only"}),
		Stability: Stable, Since: "0.1", Cardinality: "2 x 4 reasons",
		HowToUse: "`sum by (reason) (rate(kvshadow_decisions_excluded_total[$__rate_interval]))` says how much of the traffic is in no other number. Pinned and query-only requests are normal; not_eligible and not_finite point at broken input.",
	}
	NonMaxOverlapSelections = Metric{
		Name: "kvshadow_non_max_overlap_selections_total", Type: Counter, Unit: "selections", Labels: []string{LabelPolicy, LabelWorkerType},
		Help:      "Selections of a worker although another eligible one had strictly more effective overlap. For candidate policies, what they would have selected in the states that live visited, as an expectation over ties.",
		Values:    workerTypes(),
		Stability: Stable, Since: "0.1", Essential: true, Cardinality: "policies x 2",
		HowToUse: "As a share of selections: `sum by (policy, worker_type) (rate(kvshadow_non_max_overlap_selections_total[$__rate_interval])) / on (worker_type) group_left () sum by (worker_type) (rate(kvshadow_decisions_total[$__rate_interval]) > 0)`. Compare policies by it, and live with what the router counts itself.",
	}
	OverlapLostBlocks = Metric{
		Name: "kvshadow_overlap_lost_blocks_total", Type: Counter, Unit: "blocks", Labels: []string{LabelPolicy, LabelWorkerType},
		Help:      "KV-cache blocks of effective overlap given up: the highest among the eligible workers minus the selected one's.",
		Values:    workerTypes(),
		Stability: Stable, Since: "0.1", Essential: true, Cardinality: "policies x 2",
		HowToUse: "As a share of all prompt blocks: `sum by (policy, worker_type) (rate(kvshadow_overlap_lost_blocks_total[$__rate_interval])) / on (worker_type) group_left () sum by (worker_type) (rate(kvshadow_request_blocks_total[$__rate_interval]) > 0)`. A policy that loses less than live, at a load excess that you accept, is worth trying.",
	}
	OverlapBlocksLost = Metric{
		Name: "kvshadow_overlap_blocks_lost", Type: Histogram, Unit: "blocks", Labels: []string{LabelPolicy, LabelWorkerType},
		Help:      "Distribution of the overlap blocks lost per selection that lost any; the exemplar is the request id. Under ties one observation of the expectation.",
		Values:    workerTypes(),
		Stability: Stable, Since: "0.1", Cardinality: "policies x 2 x 19 (16 buckets, +Inf, sum, count)",
		HowToUse: "Shows whether losses are many small ones or a few large ones: `histogram_quantile(0.95, sum by (le, policy) (rate(kvshadow_overlap_blocks_lost_bucket[$__rate_interval])))`. Its exemplars lead to the requests.",
	}
	DivergingSelections = Metric{
		Name: "kvshadow_diverging_selections_total", Type: Counter, Unit: "selections", Labels: []string{LabelPolicy, LabelWorkerType},
		Help:      "Selections whose recorded worker is not among those the policy would have picked.",
		Values:    workerTypes(),
		Stability: Stable, Since: "0.1", Essential: true, Cardinality: "policies x 2",
		HowToUse: "How much a policy would change: `sum by (policy, worker_type) (rate(kvshadow_diverging_selections_total[$__rate_interval])) / on (worker_type) group_left () sum by (worker_type) (rate(kvshadow_decisions_total[$__rate_interval]) > 0)`. For live it is the share of choices that its own weights do not explain, and should be near 0.",
	}
	MissingPrefixBlocks = Metric{
		Name: "kvshadow_missing_prefix_blocks_total", Type: Counter, Unit: "blocks", Labels: []string{LabelPolicy, LabelWorkerType},
		Help:      "Prompt blocks that the selected worker's device memory lacked, for prompts of known length.",
		Values:    workerTypes(),
		Stability: Stable, Since: "0.1", Cardinality: "policies x 2",
		HowToUse: "Blocks that have to be computed: `sum by (policy, worker_type) (rate(kvshadow_missing_prefix_blocks_total[$__rate_interval]))`, to be compared with kvshadow_request_blocks_total.",
	}
	LoadExcessBlocks = Metric{
		Name: "kvshadow_load_excess_blocks_total", Type: Counter, Unit: "blocks", Labels: []string{LabelPolicy, LabelWorkerType},
		Help:      "Load of the selected worker minus the least load among the eligible, in blocks of decode and active prefill: what is paid for overlap.",
		Values:    workerTypes(),
		Stability: Stable, Since: "0.1", Essential: true, Cardinality: "policies x 2",
		HowToUse: "Read it beside the lost blocks: `sum by (policy, worker_type) (rate(kvshadow_load_excess_blocks_total[$__rate_interval])) / on (worker_type) group_left () sum by (worker_type) (rate(kvshadow_decisions_total[$__rate_interval]) > 0)` is the load per selection that a policy accepts in return for overlap.",
	}
	UnsupportedDecisions = Metric{
		Name: "kvshadow_unsupported_decisions_total", Type: Counter, Labels: []string{LabelPolicy, LabelWorkerType},
		Help:      "Decisions that lack an input which this policy's cost needs; its numbers for them are approximations.",
		Values:    workerTypes(),
		Stability: Alpha, Since: "0.1", Cardinality: "policies x 2",
		HowToUse: "`sum by (policy) (increase(kvshadow_unsupported_decisions_total[1h]))` above 0 means that numbers of that policy are approximations; explain names the missing input.",
	}
	RequestBlocks = Metric{
		Name: "kvshadow_request_blocks_total", Type: Counter, Unit: "blocks", Labels: []string{LabelWorkerType},
		Help:      "Prompt blocks of the evaluated decisions, for prompts of known length; the base of every share of blocks.",
		Values:    workerTypes(),
		Stability: Stable, Since: "0.1", Cardinality: "2",
		HowToUse: "The denominator of shares of blocks: `sum by (worker_type) (rate(kvshadow_request_blocks_total[$__rate_interval]))`.",
	}
	RequestsOfUnknownLength = Metric{
		Name: "kvshadow_requests_of_unknown_length_total", Type: Counter, Labels: []string{LabelWorkerType},
		Help:      "Evaluated decisions whose prompt length wasn't recorded; they add nothing to request and missing prefix blocks.",
		Values:    workerTypes(),
		Stability: Stable, Since: "0.1", Cardinality: "2",
		HowToUse: "`sum by (worker_type) (rate(kvshadow_requests_of_unknown_length_total[$__rate_interval]))` should be 0; otherwise shares of blocks leave these requests out.",
	}
	FidelityChecked = Metric{
		Name: "kvshadow_fidelity_checked_total", Type: Counter, Labels: []string{LabelWorkerType},
		Help:      "Decisions whose recorded costs were compared with the live policy's.",
		Values:    workerTypes(),
		Stability: Stable, Since: "0.1", Essential: true, Cardinality: "2",
		HowToUse: "The base of fidelity: `1 - sum by (worker_type) (rate(kvshadow_fidelity_mismatches_total[$__rate_interval])) / sum by (worker_type) (rate(kvshadow_fidelity_checked_total[$__rate_interval]) > 0)`. Below 0.95 do not trust comparisons of policies.",
	}
	FidelityMismatches = Metric{
		Name: "kvshadow_fidelity_mismatches_total", Type: Counter, Labels: []string{LabelWorkerType, LabelCause},
		Help: "Decisions whose recorded cost or choice the live policy did not reproduce, by cause.",
		Values: withWorkerTypes(LabelCause, []string{
			"incomplete", "load", "rounding", "softmax", "stale_state", "taint", "tie", "unknown_capacity", "unknown_formula", "weights",
		}),
		Stability: Stable, Since: "0.1", Essential: true, Cardinality: "2 x 10 causes",
		HowToUse: "Why fidelity is below 1: `sum by (worker_type, cause) (rate(kvshadow_fidelity_mismatches_total[$__rate_interval]))`. The cause weights asks for the policies file that the router really runs with.",
	}
	PolicyInfo = Metric{
		Name: "kvshadow_policy_info", Type: Gauge, Labels: []string{LabelPolicy, LabelType, LabelParameters},
		Help:      "1 for each policy in use, with the parameters that differ from the router's defaults.",
		Stability: Stable, Since: "0.1", Cardinality: "policies",
		HowToUse: "Join parameters to a policy's numbers: `sum by (policy) (rate(kvshadow_overlap_lost_blocks_total[$__rate_interval])) * on (policy) group_left (parameters) max by (policy, parameters) (kvshadow_policy_info)`.",
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
