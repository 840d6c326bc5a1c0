package alerts

import (
	"time"

	"github.com/kvshadow/kvshadow/catalog"
)

// booked is the load of workers as one frontend books it, in blocks; a third of
// it is prefill.
func booked(shape func(float64) string, loads ...float64) []series {
	out := []series{of(catalog.FrontendModelKVCacheBlockSize, stands(64, 360), catalog.LabelModel, "m")}
	for i, load := range loads {
		worker := []string{catalog.LabelWorkerID, string(rune('1' + i)), catalog.LabelDPRank, "0", catalog.LabelWorkerType, decode}
		out = append(out, of(catalog.FrontendWorkerActiveDecodeBlocks, shape(load*2/3), worker...),
			of(catalog.FrontendWorkerActivePrefillTokens, shape(64*load/3), worker...))
	}
	return out
}

func steady(minutes int) func(float64) string {
	return func(v float64) string { return stands(v, minutes) }
}

func loadImbalanceScenarios() []scenario {
	const at = time.Hour
	want := []firing{{labelSet("job", "frontend", "worker_type", decode, "severity", "warning"), "carries 2.0 times the mean load"}}
	restarted := booked(func(v float64) string { return then(stands(v, 29), stands(v, 30)) }, 150, 150, 150)
	return []scenario{
		{alert: LoadImbalance, kind: fires, story: "one of three carries two thirds", series: booked(steady(60), 300, 75, 75), at: at, firing: want},
		{alert: LoadImbalance, kind: fires, story: "two frontends book a part each", series: append(booked(steady(60), 200, 25, 75), on("f2:8000", booked(steady(60), 100, 50, 0))...), at: at, firing: want},
		{alert: LoadImbalance, kind: staysSilent, story: "nearly even", series: booked(steady(60), 150, 120, 180), at: at},
		{alert: LoadImbalance, kind: staysSilent, story: "one worker", series: booked(steady(60), 400), at: at},
		{alert: LoadImbalance, kind: noTraffic, story: "all idle", series: booked(steady(60), 0, 0, 0), at: at},
		{alert: LoadImbalance, kind: noTraffic, story: "nearly idle, and uneven", series: booked(steady(60), 30, 0, 0), at: at},
		{alert: LoadImbalance, kind: counterReset, story: "gauges go on after a restart", series: restarted, at: at},
	}
}

func queueBackpressureScenarios() []scenario {
	const at = 20 * time.Minute
	queue := func(values string) []series {
		return []series{of(catalog.FrontendRouterQueueBackpressure, values, catalog.LabelModel, "m", catalog.LabelWorkerType, prefill, catalog.LabelPolicyClass, "default", catalog.LabelReason, "request_limit")}
	}
	want := []firing{{labelSet("job", "frontend", "model", "m", "worker_type", prefill, "policy_class", "default", "reason", "request_limit", "severity", "critical"), "refuses 0.50 requests a second, by request_limit"}}
	return []scenario{
		{alert: QueueBackpressure, kind: fires, story: "one is refused every two seconds", series: queue(grows(30, 20)), at: at, firing: want},
		{alert: QueueBackpressure, kind: staysSilent, story: "one is refused each minute", series: queue(grows(1, 20)), at: at},
		{alert: QueueBackpressure, kind: noTraffic, story: "the counter stands still", series: queue(stands(900, 20)), at: at},
		{alert: QueueBackpressure, kind: counterReset, story: "a restart sets old refusals to 0", series: queue(then(stands(900, 9), stands(0, 10))), at: at},
	}
}

func observerSilentScenarios() []scenario {
	const at = 100 * time.Minute
	const minutes = 100
	page := func(counted, observed, requests string) []series {
		return []series{
			of(catalog.NonMaxOverlapSelections, counted, catalog.LabelPolicy, catalog.PolicyLive, catalog.LabelWorkerType, decode),
			of(catalog.RouterNonMaxOverlapSelections, observed, catalog.LabelWorkerType, prefill),
			of(catalog.RouterRequests, requests),
		}
	}
	counted := grows(1, minutes)
	want := []firing{{labelSet("severity", "info"), "kvshadow counted 60 selections"}}
	shadowOnly := page(counted, "", "")[:1]
	return []scenario{
		{alert: ObserverSilent, kind: fires, story: "an aggregated deployment", series: page(counted, stands(0, minutes), grows(30, minutes)), at: at, firing: want},
		{alert: ObserverSilent, kind: staysSilent, story: "both count", series: page(counted, counted, grows(30, minutes)), at: at},
		{alert: ObserverSilent, kind: staysSilent, story: "the router isn't scraped", series: shadowOnly, at: at},
		{alert: ObserverSilent, kind: noTraffic, story: "no requests, and a late log", series: page(counted, stands(0, minutes), stands(900, minutes)), at: at},
		{alert: ObserverSilent, kind: counterReset, story: "the router restarts while both count", series: page(then(grows(1, 49), grows(1, 50)), then(grows(1, 49), grows(1, 50)), then(grows(30, 49), grows(30, 50))), at: at},
	}
}
