package dashboards

import (
	"github.com/kvshadow/kvshadow/catalog"
	"github.com/kvshadow/kvshadow/internal/promql"
)

// routingTraffic shows what the choices lead to.
func routingTraffic() []def {
	s := routerScope()
	latency := func(m catalog.Metric) []query {
		return []query{
			{ratio(sum(s.rateOfSum(m)), sum(s.rateOfCount(m))), "mean"},
			{quantile(0.5, s.rateOfBuckets(m)), "p50"},
			{quantile(0.95, s.rateOfBuckets(m)), "p95"},
		}
	}
	return []def{
		{id: 81, kind: kindGraph, w: 8, title: "Requests", unit: unitRequestsRate,
			about: "Requests per second as the frontend accepts them, and as the router starts and completes them. A disaggregated router handles each request twice, for prefill and for decode.",
			queries: []query{
				{sum(s.rate(catalog.FrontendRequestsStarted)), "accepted by the frontend"},
				{sum(s.rate(catalog.RouterRequestsStarted)), "started by the router"},
				{sum(s.rate(catalog.RouterRequests)), "completed by the router"},
			}},
		{id: 82, kind: kindGraph, w: 8, title: "Time to first token", unit: unitSeconds, queries: latency(catalog.RouterTimeToFirstToken),
			about: "As the router sees it. Lost overlap shows here first, and so does a wait on a loaded worker: compare with both."},
		{id: 83, kind: kindGraph, w: 8, title: "Time between tokens", unit: unitSeconds, queries: latency(catalog.RouterInterTokenLatency),
			about: "As the router sees it; rises where decode load is uneven. Requests with one answer at the end don't count."},
	}
}

func routingOverhead() []def {
	s := routerScope()
	total := catalog.RouterOverheadTotal
	average := func(m catalog.Metric) expr { return ratio(sum(s.rateOfSum(m)), sum(s.rateOfCount(m))) }
	return []def{
		{id: 61, kind: kindGraph, w: 12, title: "Routing overhead", unit: unitMilliseconds, steps: []step{below(green), from(10, yellow), from(100, red)},
			about: "What routing adds to the time to first token: mean, median and the slowest hundredth, estimated from buckets that triple. From 10 ms on it shows beside a prefill of a short prompt. The wait in the queue is part of it.",
			queries: []query{
				{average(total), "mean"},
				{quantile(0.5, s.rateOfBuckets(total)), "p50"},
				{quantile(0.99, s.rateOfBuckets(total)), "p99"},
			}},
		{id: 62, kind: kindGraph, w: 12, title: "Routing overhead by part", unit: unitMilliseconds, stacked: true,
			about: "Mean per request of each part. Hashing grows with the prompt, matching with the index, scheduling with the number of workers and the wait in the queue.",
			queries: []query{
				{average(catalog.RouterOverheadBlockHashing), "block hashing"},
				{average(catalog.RouterOverheadSeqHashing), "sequence hashing"},
				{average(catalog.RouterOverheadIndexerFindMatches), "matching"},
				{average(catalog.RouterOverheadScheduling), "scheduling"},
				{average(catalog.RouterOverheadSharedCacheQuery), "shared cache"},
			}},
	}
}

func routingEvents() []def {
	s := routerScope()
	events := catalog.KVCacheEventsApplied
	failed := sum(s.rate(events, promql.IsNot(catalog.LabelStatus, "ok")))
	trouble := []step{below(green), from(1, red)}
	return []def{
		{id: 71, kind: kindStat, w: 6, total: true, title: "Events that failed", unit: unitShare, steps: []step{below(green), from(0.001, yellow), from(0.01, red)}, noValue: "no events",
			about:   "Share of the workers' KV events in the time range that the index could not apply. Each is a block that the router looks for in the wrong place.",
			queries: []query{{ratio(failed, sum(s.rate(events))), "share"}}},
		{id: 72, kind: kindStat, w: 6, title: "Workers without a known event source", unit: unitWorkers, steps: trouble, noValue: "no events",
			about:   "Serving workers whose caches the router doesn't know: it never finds overlap there.",
			queries: []query{{most(s.gauge(catalog.RouterKVEventSourceMismatchWorkers), catalog.LabelWorkerType), "{{worker_type}}"}}},
		{id: 73, kind: kindStat, w: 6, total: true, title: "Bookings of other routers lost", unit: unitNumber, steps: trouble, noValue: "none",
			about:   "Gaps in what routers tell each other of active sequences, in the time range. From then on loads are understated.",
			queries: []query{{sum(s.increase(catalog.RouterActiveSequenceGaps)), "gaps"}}},
		{id: 74, kind: kindStat, w: 6, total: true, title: "Shared cache errors", unit: unitNumber, steps: trouble, noValue: "none",
			about:   "Failed queries of the shared cache in the time range; those choices were made without it.",
			queries: []query{{sum(s.increase(catalog.RouterSharedCacheErrors)), "errors"}}},
		{id: 75, kind: kindGraph, w: 8, title: "KV events applied", unit: unitEventsRate,
			about: "Events of the workers' caches per second, by type, and the batches that they come in. None while requests flow: the router works blindly, or guesses (approximate mode).",
			queries: []query{
				{sum(s.rate(events, promql.Is(catalog.LabelStatus, "ok")), catalog.LabelEventType), "{{event_type}}"},
				{sum(s.rate(catalog.RouterKVIngressBatches)), "batches"},
			}},
		{id: 76, kind: kindGraph, w: 8, title: "KV events that failed, and warnings", unit: unitEventsRate,
			about: "Events that could not be applied, by status, and suspicious ones, by kind. A few duplicate stores are harmless; a missing parent block means that an event was lost before.",
			queries: []query{
				{sum(s.rate(events, promql.IsNot(catalog.LabelStatus, "ok")), catalog.LabelStatus), "{{status}}"},
				{sum(s.rate(catalog.KVCacheEventWarnings), catalog.LabelWarningKind), "warning: {{warning_kind}}"},
			}},
		{id: 77, kind: kindGraph, w: 8, title: "Event sources", unit: unitNumber,
			about:   "Connections to the workers' event publishers, by state. Active ones should equal the number of worker ranks.",
			queries: []query{{sum(s.gauge(catalog.RouterKVIngressSources), catalog.LabelState), "{{state}}"}}},
	}
}
