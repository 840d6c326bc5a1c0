package dashboards

import (
	"github.com/kvshadow/kvshadow/catalog"
	"github.com/kvshadow/kvshadow/internal/promql"
)

const booked = " Load is what the router has booked, not what workers report; of several frontends the one that books most is shown."

// perWorker returns a load of each worker rank of a type.
func perWorker(m catalog.Metric, workerType string) expr {
	return most(routerScope().gauge(m, promql.Is(catalog.LabelWorkerType, workerType)), catalog.LabelWorkerID, catalog.LabelDPRank)
}

// spread returns the difference between the most and the least loaded rank.
func spread(load expr) expr { return minus(most(load), least(load)) }

const workerLegend = "{{worker_id}}/{{dp_rank}}"

func routingPrefillLoad() []def {
	tokens := perWorker(catalog.FrontendWorkerActivePrefillTokens, catalog.WorkerTypePrefill)
	blocks := perWorker(catalog.FrontendWorkerActiveDecodeBlocks, catalog.WorkerTypePrefill)
	return []def{
		{id: 31, kind: kindGraph, w: 8, title: "Active prefill tokens, prefill workers", unit: unitTokens,
			about:   "Prompt tokens that wait for their first token, by worker and rank." + booked,
			queries: []query{{tokens, workerLegend}}},
		{id: 32, kind: kindGraph, w: 8, title: "Spread of prefill tokens, prefill workers", unit: unitTokens,
			about:   "The most loaded worker's active prefill tokens minus the least loaded one's, beside the mean. Overlap lost while the spread is small against the mean was lost for nothing.",
			queries: []query{{spread(tokens), "max - min"}, {mean(tokens), "mean"}}},
		{id: 33, kind: kindGraph, w: 8, title: "Active blocks, prefill workers", unit: unitBlocks,
			about:   "KV blocks of unfinished requests, by worker and rank." + booked,
			queries: []query{{blocks, workerLegend}}},
	}
}

func routingDecodeLoad() []def {
	blocks := perWorker(catalog.FrontendWorkerActiveDecodeBlocks, catalog.WorkerTypeDecode)
	tokens := perWorker(catalog.FrontendWorkerActivePrefillTokens, catalog.WorkerTypeDecode)
	capacity := most(routerScope().gauge(catalog.FrontendModelTotalKVBlocks))
	return []def{
		{id: 41, kind: kindGraph, w: 8, title: "Active decode blocks, decode workers", unit: unitBlocks,
			about:   "KV blocks of unfinished requests, by worker and rank; aggregated workers are among them." + booked,
			queries: []query{{blocks, workerLegend}}},
		{id: 42, kind: kindGraph, w: 8, title: "Spread of decode blocks, decode workers", unit: unitBlocks,
			about:   "The most loaded worker's active blocks minus the least loaded one's, beside the mean.",
			queries: []query{{spread(blocks), "max - min"}, {mean(blocks), "mean"}}},
		{id: 43, kind: kindGraph, w: 8, title: "Busiest and idlest decode worker", unit: unitShare, steps: []step{below(green), from(0.8, yellow), from(0.95, red)},
			about:   "Active blocks over a worker's KV capacity. Near 1 a worker has no room: it evicts cached prefixes and preempts requests, and overlap there is soon gone. Above 1 the router books more than there is.",
			queries: []query{{ratio(most(blocks), capacity), "busiest"}, {ratio(least(blocks), capacity), "idlest"}}},
		{id: 44, kind: kindGraph, w: 12, title: "Active prefill tokens, decode workers", unit: unitTokens,
			about:   "Prompt tokens that wait for their first token, by worker and rank. Aggregated workers have them; decode workers of a disaggregated deployment stay at 0." + booked,
			queries: []query{{tokens, workerLegend}}},
		{id: 45, kind: kindGraph, w: 12, title: "Spread of prefill tokens, decode workers", unit: unitTokens,
			about:   "The most loaded worker's active prefill tokens minus the least loaded one's, beside the mean, in aggregated deployments.",
			queries: []query{{spread(tokens), "max - min"}, {mean(tokens), "mean"}}},
	}
}

func routingQueue() []def {
	s := routerScope()
	byType := catalog.LabelWorkerType
	rejected := sum(s.rate(catalog.FrontendRouterAdmissionRejected), byType)
	received := sum(s.rate(catalog.FrontendRouterAdmissionReceived), byType)
	return []def{
		{id: 51, kind: kindGraph, w: 6, title: "Requests in the queue", unit: unitRequests,
			about:   "Requests that wait for a worker, by type and policy class. For minutes above 0: all workers are busy, and choices are made late, on other loads and caches.",
			queries: []query{{sum(s.gauge(catalog.FrontendRouterQueuePendingRequests), byType, catalog.LabelPolicyClass), "{{worker_type}} {{policy_class}}"}}},
		{id: 52, kind: kindGraph, w: 6, title: "Tokens in the queue", unit: unitTokens,
			about: "Prompt tokens of the waiting requests, and those of them that are estimated to be cached somewhere.",
			queries: []query{
				{sum(s.gauge(catalog.FrontendRouterQueuePendingISLTokens), byType), "prompt, {{worker_type}}"},
				{sum(s.gauge(catalog.FrontendRouterQueuePendingCachedTokens), byType), "cached, {{worker_type}}"},
			}},
		{id: 53, kind: kindGraph, w: 6, title: "Backpressure", unit: unitRequestsRate, steps: []step{below(green), from(0.001, red)},
			about:   "Requests that the queue refused per second, by the limit that was reached. Any is an error that a user saw, unless the client tries again.",
			queries: []query{{sum(s.rate(catalog.FrontendRouterQueueBackpressure), byType, catalog.LabelReason), "{{worker_type}} {{reason}}"}}},
		{id: 54, kind: kindGraph, w: 6, title: "Rejected at admission", unit: unitShare, steps: []step{below(green), from(0.001, yellow), from(0.01, red)},
			about:   "Share of attempts that were refused because their deadline had passed or would be missed. Ratio of sums; release 1.6 and later.",
			queries: []query{{ratio(rejected, received), "{{worker_type}}"}}},
	}
}
