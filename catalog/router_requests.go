package catalog

// Routing quality of Dynamo's router.
var (
	RouterNonMaxOverlapSelections = Metric{
		Name: "dynamo_component_router_non_max_overlap_selections_total", Type: Counter, Unit: "selections", Labels: requestLabels(LabelWorkerType),
		Help:      "Total admitted prefill scheduler selections with less KV cache overlap than another eligible worker.",
		Values:    workerTypes(),
		Stability: Alpha, Since: "1.5.1", Releases: seenFrom151(), Essential: true, Cardinality: "routers",
		HowToUse: "The share of prefill selections that gave up overlap: `sum(rate(dynamo_component_router_non_max_overlap_selections_total[$__rate_interval])) / (sum(rate(dynamo_frontend_requests_started_total[$__rate_interval])) > 0)`; a disaggregated router counts each request twice, the frontend once. 0 for ever in aggregated deployments; kvshadow_non_max_overlap_selections_total tells there.",
	}
	RouterOverlapBlocksLost = Metric{
		Name: "dynamo_component_router_overlap_blocks_lost", Type: Histogram, Unit: "blocks", Labels: requestLabels(LabelWorkerType),
		Help:      "Difference in effective KV cache overlap between the highest-overlap eligible prefill worker and selected worker.",
		Values:    workerTypes(),
		Stability: Alpha, Since: "1.5.1", Releases: seenFrom151(), Essential: true, Cardinality: "routers x 19",
		HowToUse: "Blocks lost per second: `sum(rate(dynamo_component_router_overlap_blocks_lost_sum[$__rate_interval]))`, and how they are spread: `histogram_quantile(0.95, sum by (le) (rate(dynamo_component_router_overlap_blocks_lost_bucket[$__rate_interval])))`.",
	}
	RouterKVHitRate = Metric{
		Name: "dynamo_component_router_kv_hit_rate", Type: Histogram, Labels: requestLabels(),
		Help:      "Predicted KV cache hit rate at routing time (0.0-1.0).",
		Stability: Alpha, Since: "1.5.1", Releases: seenFrom151(), Essential: true, Cardinality: "routers x 24",
		HowToUse: "The mean over requests of the predicted hit rate, `sum(rate(dynamo_component_router_kv_hit_rate_sum[$__rate_interval])) / sum(rate(dynamo_component_router_kv_hit_rate_count[$__rate_interval]) > 0)`, counts a short prompt like a long one; for a rate weighted by blocks use the prefix token counters of 1.6. May exceed 1.",
	}
	RouterSelectedCachedPrefixTokens = Metric{
		Name: "dynamo_component_router_kv_selected_cached_prefix_tokens_total", Type: Counter, Unit: "tokens", Labels: requestLabels(LabelModel, LabelPhase),
		Help:      "Raw cached prefix tokens on the selected worker and DP rank.",
		Values:    map[string][]string{LabelPhase: {"aggregated", "decode", "prefill"}},
		Stability: Alpha, Since: "1.6.1", Releases: seenFrom161(), Essential: true, Cardinality: "routers x models x phases",
		HowToUse: "The hit rate weighted by tokens: `sum by (model, phase) (rate(dynamo_component_router_kv_selected_cached_prefix_tokens_total[$__rate_interval])) / sum by (model, phase) (rate(dynamo_component_router_input_sequence_tokens_sum[$__rate_interval]) > 0)`.",
	}
	RouterBestEligibleCachedPrefixTokens = Metric{
		Name: "dynamo_component_router_kv_best_eligible_cached_prefix_tokens_total", Type: Counter, Unit: "tokens", Labels: requestLabels(LabelModel, LabelPhase),
		Help:      "Raw cached prefix tokens on the best eligible worker at selection time.",
		Values:    map[string][]string{LabelPhase: {"aggregated", "decode", "prefill"}},
		Stability: Alpha, Since: "1.6.1", Releases: seenFrom161(), Essential: true, Cardinality: "routers x models x phases",
		HowToUse: "Minus the selected ones it is what the choice gave up, in aggregated deployments too: `sum by (model, phase) (rate(dynamo_component_router_kv_best_eligible_cached_prefix_tokens_total[$__rate_interval]) - rate(dynamo_component_router_kv_selected_cached_prefix_tokens_total[$__rate_interval]))`.",
	}
	RouterWorkerReusedTokens = Metric{
		Name: "dynamo_component_router_kv_worker_reused_tokens_total", Type: Counter, Unit: "tokens", Labels: requestLabels(LabelModel, LabelPhase),
		Help:      "Worker-reported reused tokens per routing attempt.",
		Values:    map[string][]string{LabelPhase: {"aggregated", "decode", "prefill"}},
		Stability: Alpha, Since: "1.6.1", Releases: seenFrom161(), Cardinality: "routers x models x phases",
		HowToUse: "Whether predictions hold: `sum by (model, phase) (rate(dynamo_component_router_kv_worker_reused_tokens_total[$__rate_interval])) / sum by (model, phase) (rate(dynamo_component_router_kv_selected_cached_prefix_tokens_total[$__rate_interval]) > 0)` near 1.",
	}
	RouterSharedCacheHitRate = Metric{
		Name: "dynamo_component_router_shared_cache_hit_rate", Type: Histogram, Labels: requestLabels(),
		Help:      "Fraction of request blocks found in the shared KV cache (0.0-1.0).",
		Stability: Alpha, Since: "1.5.1", Releases: seenFrom151(), Cardinality: "routers x 24",
		HowToUse: "With a shared cache: `sum(rate(dynamo_component_router_shared_cache_hit_rate_sum[$__rate_interval])) / sum(rate(dynamo_component_router_shared_cache_hit_rate_count[$__rate_interval]) > 0)`. Without one it has no observations.",
	}
	RouterSharedCacheBeyondBlocks = Metric{
		Name: "dynamo_component_router_shared_cache_beyond_blocks", Type: Histogram, Unit: "blocks", Labels: requestLabels(),
		Help:      "Shared cache blocks beyond device overlap for the selected worker.",
		Stability: Alpha, Since: "1.5.1", Releases: seenFrom151(), Cardinality: "routers x 15",
		HowToUse: "What a shared cache adds per second to the selected worker's own prefix: `sum(rate(dynamo_component_router_shared_cache_beyond_blocks_sum[$__rate_interval]))`.",
	}
)

// Requests of Dynamo's router.
var (
	RouterRequestsStarted = Metric{
		Name: "dynamo_component_router_requests_started_total", Type: Counter, Labels: requestLabels(),
		Help:      "Total number of requests admitted by the router scheduler.",
		Stability: Alpha, Since: "1.5.1", Releases: seenFrom151(), Essential: true, Cardinality: "routers",
		HowToUse: "Requests admitted per second: `sum by (router_id) (rate(dynamo_component_router_requests_started_total[$__rate_interval]))`. Traffic that the observer should see too.",
	}
	RouterRequests = Metric{
		Name: "dynamo_component_router_requests_total", Type: Counter, Labels: requestLabels(),
		Help:      "Total number of requests processed by the router.",
		Stability: Alpha, Since: "1.5.1", Releases: seenFrom151(), Essential: true, Cardinality: "routers",
		HowToUse: "Requests per second: `sum by (router_id) (rate(dynamo_component_router_requests_total[$__rate_interval]))`.",
	}
	RouterTimeToFirstToken = Metric{
		Name: "dynamo_component_router_time_to_first_token_seconds", Type: Histogram, Unit: "seconds", Labels: requestLabels(),
		Help:      "Time to first token observed at the router.",
		Stability: Alpha, Since: "1.5.1", Releases: seenFrom151(), Essential: true, Cardinality: "routers x 21",
		HowToUse: "`histogram_quantile(0.95, sum by (le) (rate(dynamo_component_router_time_to_first_token_seconds_bucket[$__rate_interval])))`; a choice that loses overlap shows here first.",
	}
	RouterInterTokenLatency = Metric{
		Name: "dynamo_component_router_inter_token_latency_seconds", Type: Histogram, Unit: "seconds", Labels: requestLabels(),
		Help:      "Average inter-token latency observed at the router.",
		Stability: Alpha, Since: "1.5.1", Releases: seenFrom151(), Cardinality: "routers x 16",
		HowToUse: "`histogram_quantile(0.95, sum by (le) (rate(dynamo_component_router_inter_token_latency_seconds_bucket[$__rate_interval])))`; rises where decode load is uneven.",
	}
	RouterInputSequenceTokens = Metric{
		Name: "dynamo_component_router_input_sequence_tokens", Type: Histogram, Unit: "tokens", Labels: requestLabels(LabelModel, LabelPhase),
		Help:      "Input sequence length in tokens observed at the router.",
		Values:    map[string][]string{LabelPhase: {"aggregated", "decode", "prefill"}},
		Stability: Alpha, Since: "1.5.1", Releases: seenFrom151(), Cardinality: "routers x 15 (1.6: x models x phases)",
		LabelSince: map[string]string{LabelModel: "1.6.1", LabelPhase: "1.6.1"},
		HowToUse:   "Prompt tokens per second: `sum(rate(dynamo_component_router_input_sequence_tokens_sum[$__rate_interval]))`; the denominator of shares of tokens.",
	}
	RouterOutputSequenceTokens = Metric{
		Name: "dynamo_component_router_output_sequence_tokens", Type: Histogram, Unit: "tokens", Labels: requestLabels(),
		Help:      "Output sequence length in tokens observed at the router.",
		Stability: Alpha, Since: "1.5.1", Releases: seenFrom151(), Cardinality: "routers x 13",
		HowToUse: "Generated tokens per second: `sum(rate(dynamo_component_router_output_sequence_tokens_sum[$__rate_interval]))`.",
	}
	RouterKVTransferLatency = Metric{
		Name: "dynamo_component_router_kv_transfer_estimated_latency_seconds", Type: Histogram, Unit: "seconds", Labels: requestLabels(),
		Help:      "Upper-bound estimation of KV cache transfer latency in disaggregated serving (prefill_complete to first_token).",
		Stability: Alpha, Since: "1.5.1", Releases: seenFrom151(), Cardinality: "routers x 18",
		HowToUse: "Disaggregated deployments: `histogram_quantile(0.95, sum by (le) (rate(dynamo_component_router_kv_transfer_estimated_latency_seconds_bucket[$__rate_interval])))`. An upper bound; without prefill workers it has no observations.",
	}
	FrontendRequestsStarted = Metric{
		Name: "dynamo_frontend_requests_started_total", Type: Counter, Labels: []string{LabelModel, LabelEndpoint, LabelRequestType},
		Help:      "Total number of LLM requests accepted by the frontend handler.",
		Stability: Alpha, Since: "1.5.1", Releases: seenFrom151(), Cardinality: "models x endpoints x request types",
		HowToUse: "Requests accepted per second: `sum by (model) (rate(dynamo_frontend_requests_started_total[$__rate_interval]))`. Traffic exists although the router or its observer is silent.",
	}
	FrontendRequests = Metric{
		Name: "dynamo_frontend_requests_total", Type: Counter, Labels: []string{LabelModel, LabelEndpoint, LabelErrorType, LabelRequestType, LabelStatus},
		Help:      "Total number of LLM requests processed.",
		Stability: Alpha, Since: "1.5.1", Releases: seenFrom151(), Cardinality: "models x endpoints x request types x statuses x error types",
		HowToUse: "The share that failed: `sum by (model) (rate(dynamo_frontend_requests_total{status!=\"success\"}[$__rate_interval])) / sum by (model) (rate(dynamo_frontend_requests_total[$__rate_interval]) > 0)`.",
	}
	FrontendTimeToFirstToken = Metric{
		Name: "dynamo_frontend_time_to_first_token_seconds", Type: Histogram, Unit: "seconds", Labels: []string{LabelModel},
		Help:      "Time to first token in seconds.",
		Stability: Alpha, Since: "1.5.1", Releases: seenFrom151(), Cardinality: "models x 21",
		HowToUse: "What users see: `histogram_quantile(0.95, sum by (le, model) (rate(dynamo_frontend_time_to_first_token_seconds_bucket[$__rate_interval])))`.",
	}
	FrontendCachedTokens = Metric{
		Name: "dynamo_frontend_cached_tokens", Type: Histogram, Unit: "tokens", Labels: []string{LabelModel},
		Help:      "Number of cached tokens (prefix cache hits) per request.",
		Stability: Alpha, Since: "1.5.1", Releases: seenFrom151(), Cardinality: "models x 15",
		HowToUse: "The realised hit rate, weighted by tokens: `sum by (model) (rate(dynamo_frontend_cached_tokens_sum[$__rate_interval])) / sum by (model) (rate(dynamo_frontend_input_sequence_tokens_sum[$__rate_interval]) > 0)`.",
	}
	FrontendInputSequenceTokens = Metric{
		Name: "dynamo_frontend_input_sequence_tokens", Type: Histogram, Unit: "tokens", Labels: []string{LabelModel},
		Help:      "Input sequence length in tokens.",
		Stability: Alpha, Since: "1.5.1", Releases: seenFrom151(), Cardinality: "models x 15",
		HowToUse: "Prompt tokens per second: `sum by (model) (rate(dynamo_frontend_input_sequence_tokens_sum[$__rate_interval]))`.",
	}
)
