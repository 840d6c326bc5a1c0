package catalog

// KV events of Dynamo's router.
var (
	KVCacheEventsApplied = Metric{
		Name: "dynamo_component_kv_cache_events_applied", Type: Counter, Unit: "events", Labels: componentLabels(LabelEventType, LabelStatus),
		Help: "Total number of KV cache events applied to index.",
		Values: map[string][]string{
			LabelEventType: {"cleared", "removed", "stored"},
			LabelStatus: {
				"allocation_failed", "block_not_found", "capacity_exhausted", "indexer_invariant_violation", "invalid_block", "ok",
				"ownership_degree_overflow", "parent_block_not_found", "unsupported_residency_domain",
			},
		},
		Stability: Alpha, Since: "1.5.1", Releases: seenFrom151(), Essential: true, Cardinality: "routers x 3 event types x 9 statuses",
		HowToUse: "The share that failed: `sum(rate(dynamo_component_kv_cache_events_applied{status!=\"ok\"}[$__rate_interval])) / (sum(rate(dynamo_component_kv_cache_events_applied[$__rate_interval])) > 0)`. No events at all while requests flow: the router works blindly.",
	}
	KVCacheEventWarnings = Metric{
		Name: "dynamo_component_kv_cache_event_warnings", Type: Counter, Labels: componentLabels(LabelWarningKind),
		Help:      "Total number of suspicious KV cache events seen by the router indexer.",
		Stability: Alpha, Since: "1.5.1", Releases: seenFrom151(), Cardinality: "routers x kinds",
		HowToUse: "`sum by (warning_kind) (rate(dynamo_component_kv_cache_event_warnings[$__rate_interval]))`; a few duplicates are harmless.",
	}
	RouterKVEventSourceMismatchWorkers = Metric{
		Name: "dynamo_component_router_kv_event_source_mismatch_workers", Type: Gauge, Unit: "workers", Labels: componentLabels(LabelModel, LabelWorkerType, LabelTargetComponent, LabelTargetEndpoint, LabelTargetNamespace),
		Help:      "Number of serving workers with missing or ambiguous KV sources, explicitly disabled KV event publishing, or without an expected RecoveryTarget.",
		Values:    workerTypes(),
		Stability: Alpha, Since: "1.5.1", Releases: seenFrom151(), Essential: true, Cardinality: "routers x models x targets",
		Optional: withoutEvents,
		HowToUse: "`max by (model, worker_type) (dynamo_component_router_kv_event_source_mismatch_workers)` above 0: these workers' caches are unknown to the router, and it never finds overlap there.",
	}
	RouterKVIngressBatches = Metric{
		Name: "dynamo_component_router_kv_zmq_ingress_batches_total", Type: Counter, Unit: "batches", Labels: componentLabels(),
		Help:      "Total ZMQ KV ingress batches handed to WorkerQueryClient.",
		Stability: Alpha, Since: "1.5.1", Releases: seenFrom151(), Essential: true, Cardinality: "routers x worker components",
		Optional: withoutEvents,
		HowToUse: "Batches per second: `sum(rate(dynamo_component_router_kv_zmq_ingress_batches_total[$__rate_interval]))`; 0 while requests flow means that events stopped.",
	}
	RouterKVIngressLifecycle = Metric{
		Name: "dynamo_component_router_kv_zmq_ingress_lifecycle_total", Type: Counter, Labels: componentLabels(LabelAction),
		Help:      "Total ZMQ KV ingress lifecycle transitions and errors.",
		Stability: Alpha, Since: "1.5.1", Releases: seenFrom151(), Cardinality: "routers x worker components x actions",
		Optional: withoutEvents,
		HowToUse: "Sources that come and go: `sum by (action) (increase(dynamo_component_router_kv_zmq_ingress_lifecycle_total[1h]))`.",
	}
	RouterKVIngressSources = Metric{
		Name: "dynamo_component_router_kv_zmq_ingress_sources", Type: Gauge, Unit: "sources", Labels: componentLabels(LabelState),
		Help:      "Number of ZMQ KV ingress sources by lifecycle state.",
		Stability: Alpha, Since: "1.5.1", Releases: seenFrom151(), Cardinality: "routers x worker components x states",
		Optional: withoutEvents,
		HowToUse: "`sum by (state) (dynamo_component_router_kv_zmq_ingress_sources)`; active should equal the number of worker ranks.",
	}
	RouterActiveSequenceSources = Metric{
		Name: "dynamo_component_router_active_sequence_zmq_ingress_sources", Type: Gauge, Unit: "sources", Labels: componentLabels(),
		Help:      "Number of tracked direct-ZMQ active-sequence sources.",
		Stability: Alpha, Since: "1.5.1", Releases: seenFrom151(), Cardinality: "routers",
		HowToUse: "Other routers whose bookings are known: `sum(dynamo_component_router_active_sequence_zmq_ingress_sources)`; 0 with one router.",
	}
	RouterActiveSequenceGaps = Metric{
		Name: "dynamo_component_router_active_sequence_zmq_ingress_sequence_gaps_total", Type: Counter, Labels: componentLabels(),
		Help:      "Missing direct-ZMQ active-sequence envelopes inferred from sequence gaps.",
		Stability: Alpha, Since: "1.5.1", Releases: seenFrom151(), Cardinality: "routers",
		HowToUse: "`sum(increase(dynamo_component_router_active_sequence_zmq_ingress_sequence_gaps_total[1h]))` above 0: loads are understated.",
	}
	RouterActiveSequenceOutOfOrder = Metric{
		Name: "dynamo_component_router_active_sequence_zmq_ingress_out_of_order_total", Type: Counter, Labels: componentLabels(),
		Help:      "Non-increasing direct-ZMQ active-sequence envelope sequences.",
		Stability: Alpha, Since: "1.5.1", Releases: seenFrom151(), Cardinality: "routers",
		HowToUse: "`sum(increase(dynamo_component_router_active_sequence_zmq_ingress_out_of_order_total[1h]))` should be 0.",
	}
	RouterActiveSequenceReconnects = Metric{
		Name: "dynamo_component_router_active_sequence_zmq_ingress_reconnects_total", Type: Counter, Labels: componentLabels(),
		Help:      "Direct-ZMQ active-sequence source reconnect attempts.",
		Stability: Alpha, Since: "1.5.1", Releases: seenFrom151(), Cardinality: "routers",
		HowToUse: "`sum(increase(dynamo_component_router_active_sequence_zmq_ingress_reconnects_total[1h]))`: routers lose sight of each other.",
	}
	RouterActiveSequenceDroppedEvents = Metric{
		Name: "dynamo_component_router_active_sequence_zmq_ingress_dropped_events_total", Type: Counter, Unit: "events", Labels: componentLabels(),
		Help:      "Direct-ZMQ active-sequence events dropped because the partition's inbound channel was full or closed.",
		Stability: Alpha, Since: "1.6.1", Releases: seenFrom161(), Cardinality: "routers",
		HowToUse: "`sum(increase(dynamo_component_router_active_sequence_zmq_ingress_dropped_events_total[1h]))` above 0: loads are wrong from then on.",
	}
	RouterActiveSequenceQueueDepth = Metric{
		Name: "dynamo_component_router_active_sequence_ingress_queue_depth", Type: Gauge, Unit: "events", Labels: componentLabels(LabelModel, LabelWorkerType, LabelRoutingGroup),
		Help:      "Active-sequence events waiting in the partition's inbound channel, sampled after each drain batch.",
		Values:    workerTypes(),
		Stability: Alpha, Since: "1.6.1", Releases: seenFrom161(), Cardinality: "routers x models x 2 x routing groups",
		HowToUse: "`max by (model, worker_type) (dynamo_component_router_active_sequence_ingress_queue_depth)` that grows: loads are old.",
	}
	RouterApproximateCachePolicy = Metric{
		Name: "dynamo_component_router_approximate_cache_effective_policy", Type: Gauge, Labels: componentLabels(LabelPolicy),
		Help:      "Effective process-local approximate cache policy.",
		Values:    map[string][]string{LabelPolicy: {"disabled", "lru", "ttl"}},
		Stability: Alpha, Since: "1.5.1", Releases: seenFrom151(), Cardinality: "routers x 3",
		HowToUse: "`max by (policy) (dynamo_component_router_approximate_cache_effective_policy) == 1` names how caches are guessed where there are no events; disabled with events.",
	}
	RouterApproximateEvictedBlocks = Metric{
		Name: "dynamo_component_router_approximate_lru_evicted_blocks_total", Type: Counter, Unit: "blocks", Labels: componentLabels(),
		Help:      "Total physical block copies evicted by approximate LRU.",
		Stability: Alpha, Since: "1.5.1", Releases: seenFrom151(), Cardinality: "routers",
		HowToUse: "Without events: `sum(rate(dynamo_component_router_approximate_lru_evicted_blocks_total[$__rate_interval]))`.",
	}
)
