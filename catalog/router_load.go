package catalog

// Load and queue of Dynamo's router.
var (
	FrontendWorkerActiveDecodeBlocks = Metric{
		Name: "dynamo_frontend_worker_active_decode_blocks", Type: Gauge, Unit: "blocks", Labels: []string{LabelWorkerID, LabelDPRank, LabelWorkerType},
		Help:      "Active KV cache decode blocks per worker.",
		Values:    workerTypes(),
		Stability: Alpha, Since: "1.5.1", Releases: seenFrom151(), Essential: true, Cardinality: "frontends x worker ranks",
		HowToUse: "The spread between workers: `max by (worker_type) (dynamo_frontend_worker_active_decode_blocks) - min by (worker_type) (dynamo_frontend_worker_active_decode_blocks)`; blocks lost without a spread were lost for nothing.",
	}
	FrontendWorkerActivePrefillTokens = Metric{
		Name: "dynamo_frontend_worker_active_prefill_tokens", Type: Gauge, Unit: "tokens", Labels: []string{LabelWorkerID, LabelDPRank, LabelWorkerType},
		Help:      "Active prefill tokens queued per worker.",
		Values:    workerTypes(),
		Stability: Alpha, Since: "1.5.1", Releases: seenFrom151(), Essential: true, Cardinality: "frontends x worker ranks",
		HowToUse: "Prompt tokens that wait for their first token: `sum by (worker_id, dp_rank) (dynamo_frontend_worker_active_prefill_tokens{worker_type=\"prefill\"})`.",
	}
	FrontendRouterQueuePendingRequests = Metric{
		Name: "dynamo_frontend_router_queue_pending_requests", Type: Gauge, Unit: "requests", Labels: []string{LabelModel, LabelWorkerType, LabelPolicyClass},
		Help:      "Number of requests pending in the router scheduler queue.",
		Values:    workerTypes(),
		Stability: Alpha, Since: "1.5.1", Releases: seenFrom151(), Essential: true, Cardinality: "models x 2 x policy classes",
		HowToUse: "`sum by (model, worker_type) (dynamo_frontend_router_queue_pending_requests)` above 0 for minutes: all workers are busy, and choices are late.",
	}
	FrontendRouterQueuePendingISLTokens = Metric{
		Name: "dynamo_frontend_router_queue_pending_isl_tokens", Type: Gauge, Unit: "tokens", Labels: []string{LabelModel, LabelWorkerType, LabelPolicyClass},
		Help:      "Sum of isl_tokens for requests pending in the router scheduler queue.",
		Values:    workerTypes(),
		Stability: Alpha, Since: "1.5.1", Releases: seenFrom151(), Cardinality: "models x 2 x policy classes",
		HowToUse: "The prompt tokens that wait: `sum by (model, worker_type) (dynamo_frontend_router_queue_pending_isl_tokens)`.",
	}
	FrontendRouterQueuePendingCachedTokens = Metric{
		Name: "dynamo_frontend_router_queue_pending_cached_tokens", Type: Gauge, Unit: "tokens", Labels: []string{LabelModel, LabelWorkerType, LabelPolicyClass},
		Help:      "Estimated cached tokens for requests pending in the router scheduler queue.",
		Values:    workerTypes(),
		Stability: Alpha, Since: "1.5.1", Releases: seenFrom151(), Cardinality: "models x 2 x policy classes",
		HowToUse: "Of those tokens the ones estimated to be cached: `sum by (model, worker_type) (dynamo_frontend_router_queue_pending_cached_tokens)`.",
	}
	FrontendRouterQueueBackpressure = Metric{
		Name: "dynamo_frontend_router_queue_backpressure_total", Type: Counter, Labels: []string{LabelModel, LabelWorkerType, LabelPolicyClass, LabelReason},
		Help:      "Total number of router scheduler queue backpressure rejections.",
		Values:    withWorkerTypes(LabelReason, []string{"cached_token_limit", "raw_isl_token_limit", "request_limit"}),
		Stability: Alpha, Since: "1.5.1", Releases: seenFrom151(), Essential: true, Cardinality: "models x 2 x policy classes x 3 reasons",
		HowToUse: "Requests refused because the queue is full: `sum by (model, reason) (rate(dynamo_frontend_router_queue_backpressure_total[$__rate_interval]))` should be 0.",
	}
	FrontendRouterAdmissionReceived = Metric{
		Name: "dynamo_frontend_router_admission_received_total", Type: Counter, Labels: []string{LabelModel, LabelWorkerType, LabelPolicyClass},
		Help:      "Total attempts received by router admission; includes retries and excludes advisory probes.",
		Values:    workerTypes(),
		Stability: Alpha, Since: "1.6.1", Releases: seenFrom161(), Cardinality: "models x 2 x policy classes",
		HowToUse: "Attempts, retries included: `sum by (model, worker_type) (rate(dynamo_frontend_router_admission_received_total[$__rate_interval]))`.",
	}
	FrontendRouterAdmissionRejected = Metric{
		Name: "dynamo_frontend_router_admission_rejected_total", Type: Counter, Labels: []string{LabelModel, LabelWorkerType, LabelPolicyClass, LabelReason},
		Help:      "Total router admission rejections by deadline reason.",
		Values:    withWorkerTypes(LabelReason, []string{"due_time_passed", "predicted_miss"}),
		Stability: Alpha, Since: "1.6.1", Releases: seenFrom161(), Cardinality: "models x 2 x policy classes x 2 reasons",
		HowToUse: "The share that missed a deadline: `sum by (model, worker_type) (rate(dynamo_frontend_router_admission_rejected_total[$__rate_interval])) / sum by (model, worker_type) (rate(dynamo_frontend_router_admission_received_total[$__rate_interval]) > 0)`.",
	}
	FrontendModelTotalKVBlocks = Metric{
		Name: "dynamo_frontend_model_total_kv_blocks", Type: Gauge, Unit: "blocks", Labels: []string{LabelModel},
		Help:      "Total KV cache blocks available for a worker serving the model.",
		Stability: Alpha, Since: "1.5.1", Releases: seenFrom151(), Cardinality: "models",
		HowToUse: "The capacity of a worker, to draw active blocks against: `max(dynamo_frontend_worker_active_decode_blocks) / max(dynamo_frontend_model_total_kv_blocks)`; also the --gpu-blocks of analyze.",
	}
	FrontendModelKVCacheBlockSize = Metric{
		Name: "dynamo_frontend_model_kv_cache_block_size", Type: Gauge, Unit: "tokens", Labels: []string{LabelModel},
		Help:      "KV cache block size in tokens for a worker serving the model.",
		Stability: Alpha, Since: "1.5.1", Releases: seenFrom151(), Cardinality: "models",
		HowToUse: "Turns tokens into blocks: `max(dynamo_frontend_worker_active_prefill_tokens) / max(dynamo_frontend_model_kv_cache_block_size)`.",
	}
	FrontendModelMaxNumSeqs = Metric{
		Name: "dynamo_frontend_model_max_num_seqs", Type: Gauge, Unit: "sequences", Labels: []string{LabelModel},
		Help:      "Maximum number of sequences for a worker serving the model.",
		Stability: Alpha, Since: "1.5.1", Releases: seenFrom151(), Cardinality: "models",
		HowToUse: "How many sequences a worker runs at once: `max by (model) (dynamo_frontend_model_max_num_seqs)`.",
	}
	RouterWorkerRegistered = Metric{
		Name: "dynamo_component_router_worker_registered", Type: Gauge, Labels: componentLabels(LabelRouterWorkerID, LabelDPRank, LabelWorkerType),
		Help:      "Whether the router currently has this worker/dp_rank registered (1 = registered).",
		Values:    workerTypes(),
		Stability: Alpha, Since: "1.5.1", Releases: seenFrom151(), Essential: true, Cardinality: "frontends x worker ranks",
		HowToUse: "Ranks that the router can choose: `sum by (worker_type) (dynamo_component_router_worker_registered)`; with one there is no choice to judge.",
	}
)

// Overhead of Dynamo's router.
var (
	RouterOverheadTotal = Metric{
		Name: "dynamo_router_overhead_total_ms", Type: Histogram, Unit: "milliseconds", Labels: []string{LabelRouterID},
		Help:      "Total routing overhead per request in milliseconds.",
		Stability: Alpha, Since: "1.5.1", Releases: seenFrom151(), Essential: true, Cardinality: "routers x 20",
		HowToUse: "`histogram_quantile(0.95, sum by (le) (rate(dynamo_router_overhead_total_ms_bucket[$__rate_interval])))`, in milliseconds.",
	}
	RouterOverheadBlockHashing = Metric{
		Name: "dynamo_router_overhead_block_hashing_ms", Type: Histogram, Unit: "milliseconds", Labels: []string{LabelRouterID},
		Help:      "Time spent computing block hashes in milliseconds.",
		Stability: Alpha, Since: "1.5.1", Releases: seenFrom151(), Cardinality: "routers x 18",
		HowToUse: "Grows with the prompt: `histogram_quantile(0.95, sum by (le) (rate(dynamo_router_overhead_block_hashing_ms_bucket[$__rate_interval])))`.",
	}
	RouterOverheadSeqHashing = Metric{
		Name: "dynamo_router_overhead_seq_hashing_ms", Type: Histogram, Unit: "milliseconds", Labels: []string{LabelRouterID},
		Help:      "Time spent computing sequence hashes in milliseconds.",
		Stability: Alpha, Since: "1.5.1", Releases: seenFrom151(), Cardinality: "routers x 18",
		HowToUse: "Grows with the prompt: `histogram_quantile(0.95, sum by (le) (rate(dynamo_router_overhead_seq_hashing_ms_bucket[$__rate_interval])))`.",
	}
	RouterOverheadIndexerFindMatches = Metric{
		Name: "dynamo_router_overhead_indexer_find_matches_ms", Type: Histogram, Unit: "milliseconds", Labels: []string{LabelRouterID},
		Help:      "Time spent in indexer find_matches in milliseconds.",
		Stability: Alpha, Since: "1.5.1", Releases: seenFrom151(), Cardinality: "routers x 20",
		HowToUse: "Grows with the index: `histogram_quantile(0.95, sum by (le) (rate(dynamo_router_overhead_indexer_find_matches_ms_bucket[$__rate_interval])))`.",
	}
	RouterOverheadScheduling = Metric{
		Name: "dynamo_router_overhead_scheduling_ms", Type: Histogram, Unit: "milliseconds", Labels: []string{LabelRouterID},
		Help:      "Time spent in scheduler worker selection in milliseconds.",
		Stability: Alpha, Since: "1.5.1", Releases: seenFrom151(), Cardinality: "routers x 20",
		HowToUse: "Includes the wait in the queue: `histogram_quantile(0.95, sum by (le) (rate(dynamo_router_overhead_scheduling_ms_bucket[$__rate_interval])))`.",
	}
	RouterOverheadSharedCacheQuery = Metric{
		Name: "dynamo_router_overhead_shared_cache_query_ms", Type: Histogram, Unit: "milliseconds", Labels: []string{LabelRouterID},
		Help:      "Time spent querying the shared KV cache in milliseconds.",
		Stability: Alpha, Since: "1.5.1", Releases: seenFrom151(), Cardinality: "routers x 20",
		HowToUse: "With a shared cache: `histogram_quantile(0.95, sum by (le) (rate(dynamo_router_overhead_shared_cache_query_ms_bucket[$__rate_interval])))`.",
	}
	RouterSharedCacheErrors = Metric{
		Name: "dynamo_router_shared_cache_errors_total", Type: Counter, Labels: []string{LabelRouterID},
		Help:      "Total shared cache failures.",
		Stability: Alpha, Since: "1.5.1", Releases: seenFrom151(), Cardinality: "routers",
		HowToUse: "`sum by (router_id) (increase(dynamo_router_shared_cache_errors_total[1h]))` above 0: choices were made without the shared cache.",
	}
)
