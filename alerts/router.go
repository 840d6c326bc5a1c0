package alerts

import (
	"strings"

	"github.com/kvshadow/kvshadow/catalog"
	"github.com/kvshadow/kvshadow/internal/promql"
)

// loadWindow is longer than most requests: a spread of moments is normal.
const loadWindow = "10m"

// workerLoad records the load of each worker rank, in blocks, as the routers
// book it: the load that their cost functions see. The block size is that of
// the same process, so that deployments with other sizes aren't mixed.
func workerLoad() recording {
	decode, prefill := catalog.FrontendWorkerActiveDecodeBlocks, catalog.FrontendWorkerActivePrefillTokens
	target := labelJob + ", " + labelInstance
	size := gauge(catalog.FrontendModelKVCacheBlockSize).by("max", labelJob, labelInstance)
	load := compose("%s\n  + %s\n  / on (%s) group_left () (%s > 0)", average(decode, loadWindow), average(prefill, loadWindow), target, size)
	return recording{"kvshadow:router_worker_load_blocks:avg" + loadWindow, load.replicas()}
}

// ofPool aggregates the load of a pool's workers.
func ofPool(op string) expr {
	return workerLoad().series().without(op, catalog.LabelWorkerID, catalog.LabelDPRank)
}

func meanLoad() recording {
	return recording{"kvshadow:router_pool_load_blocks:mean" + loadWindow, ofPool("avg")}
}

// imbalance records the load of the most loaded worker over the mean of its
// pool: 1 is even, and the number of workers is the most there can be.
func imbalance() recording {
	return recording{"kvshadow:router_pool_load:max_over_mean" + loadWindow, ratio(ofPool("max"), meanLoad().series())}
}

func rejections() recording {
	return recording{"kvshadow:router_queue_backpressure:rate" + short, rate(catalog.FrontendRouterQueueBackpressure, short).replicas()}
}

func routerRecordings() []recording {
	return []recording{workerLoad(), meanLoad(), imbalance(), rejections()}
}

func routerAlerts(t Thresholds) []alert {
	return []alert{loadImbalance(t), queueBackpressure(t), observerSilent(t)}
}

func loadImbalance(t Thresholds) alert {
	x := t.LoadImbalance
	return alert{
		LoadImbalance, x.Common,
		compose("%s > %s\nand\n%s > %s", imbalance().series(), x.MaxOverMean, meanLoad().series(), x.MinMeanBlocks),
		"One worker carries far more load than its pool.",
		`The most loaded {{ $labels.worker_type }} worker rank carries {{ printf "%.1f" $value }} times the mean load of its pool, by the router's own books of the last 10m.`,
	}
}

func queueBackpressure(t Thresholds) alert {
	x := t.QueueBackpressure
	return alert{
		QueueBackpressure, x.Common,
		compose("%s > %s", rejections().series(), x.MaxRejections),
		"The router refuses requests because its queue is full.",
		`The admission queue for {{ $labels.worker_type }} workers of {{ $labels.model }} (class {{ $labels.policy_class }}) refuses {{ printf "%.2f" $value }} requests a second, by {{ $labels.reason }}.`,
	}
}

// observerSilent holds kvshadow's count against the router's. Only together do
// they say something: the router's counter at 0 may also mean good routing.
func observerSilent(t Thresholds) alert {
	x := t.ObserverSilent
	total := func(e expr) expr { return e.by("sum", t.ScopeLabels...) }
	counted := increase(catalog.NonMaxOverlapSelections, long, promql.Is(catalog.LabelPolicy, catalog.PolicyLive))
	return alert{
		ObserverSilent, x.Common,
		compose("%s >= %s\nand on (%s)\n%s == 0\nand on (%s)\n%s > 0",
			total(counted), x.MinSelections,
			t.scope(), total(increase(catalog.RouterNonMaxOverlapSelections, long)),
			t.scope(), total(increase(catalog.RouterRequests, long))),
		"The router's own counter of non-max-overlap selections stands still.",
		`kvshadow counted {{ printf "%.0f" $value }} selections with less than the highest overlap in 1h, the router's own counter none. Panels and alerts on the router's counter show 0 and mean nothing.`,
	}
}

// scope returns the labels to join kvshadow's series and the router's on.
func (t Thresholds) scope() string { return strings.Join(t.ScopeLabels, ", ") }
