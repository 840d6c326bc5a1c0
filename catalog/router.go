package catalog

// The releases of Dynamo whose pages were captured, oldest first.
const (
	Dynamo151 = "1.5.1"
	Dynamo161 = "1.6.1"
)

// RouterReleases returns the releases that definitions of the router's metrics
// were checked against, oldest first.
func RouterReleases() []string { return []string{Dynamo151, Dynamo161} }

func seenFrom151() []string { return RouterReleases() }
func seenFrom161() []string { return []string{Dynamo161} }

const withoutEvents = "only with KV events; a router that runs without them opens no such source"

// componentLabels are the labels of the metrics that the router makes in the
// runtime's hierarchy, and some of its own.
func componentLabels(own ...string) []string {
	return append([]string{LabelNamespace, LabelComponent, LabelWorkerID}, own...)
}

// requestLabels are the labels of the router's request metrics, and some of
// their own.
func requestLabels(own ...string) []string {
	return append(componentLabels(LabelRouterID), own...)
}

// RouterSections returns the metrics of Dynamo's router in groups.
func RouterSections() []Section {
	return []Section{
		{Title: "Routing quality", Intro: "What the router chose. The counters of overlap exist for worker_type prefill only, and stay at 0 in aggregated deployments of these releases.", Metrics: []Metric{
			RouterNonMaxOverlapSelections, RouterOverlapBlocksLost, RouterKVHitRate,
			RouterSelectedCachedPrefixTokens, RouterBestEligibleCachedPrefixTokens, RouterWorkerReusedTokens,
			RouterSharedCacheHitRate, RouterSharedCacheBeyondBlocks,
		}},
		{Title: "Requests", Intro: "Requests as the router sees them.", Metrics: []Metric{
			RouterRequestsStarted, RouterRequests, RouterTimeToFirstToken,
			RouterInterTokenLatency, RouterInputSequenceTokens, RouterOutputSequenceTokens,
			RouterKVTransferLatency, FrontendRequestsStarted, FrontendRequests,
			FrontendTimeToFirstToken, FrontendCachedTokens, FrontendInputSequenceTokens,
		}},
		{Title: "Load and queue", Intro: "Load as the router books it, not as workers report it, and its admission queue. Replicas of a router each have their own books.", Metrics: []Metric{
			FrontendWorkerActiveDecodeBlocks, FrontendWorkerActivePrefillTokens, FrontendRouterQueuePendingRequests,
			FrontendRouterQueuePendingISLTokens, FrontendRouterQueuePendingCachedTokens, FrontendRouterQueueBackpressure,
			FrontendRouterAdmissionReceived, FrontendRouterAdmissionRejected, FrontendModelTotalKVBlocks,
			FrontendModelKVCacheBlockSize, FrontendModelMaxNumSeqs, RouterWorkerRegistered,
		}},
		{Title: "Overhead", Intro: "The time that routing takes, in milliseconds.", Metrics: []Metric{
			RouterOverheadTotal, RouterOverheadBlockHashing, RouterOverheadSeqHashing,
			RouterOverheadIndexerFindMatches, RouterOverheadScheduling, RouterOverheadSharedCacheQuery,
			RouterSharedCacheErrors,
		}},
		{Title: "KV events", Intro: "The events by which workers tell the router what is in their caches, and by which routers tell each other of active sequences. Where they fail, overlap is a guess.", Metrics: []Metric{
			KVCacheEventsApplied, KVCacheEventWarnings, RouterKVEventSourceMismatchWorkers,
			RouterKVIngressBatches, RouterKVIngressLifecycle, RouterKVIngressSources,
			RouterActiveSequenceSources, RouterActiveSequenceGaps, RouterActiveSequenceOutOfOrder,
			RouterActiveSequenceReconnects, RouterActiveSequenceDroppedEvents, RouterActiveSequenceQueueDepth,
			RouterApproximateCachePolicy, RouterApproximateEvictedBlocks,
		}},
	}
}
