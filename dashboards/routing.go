package dashboards

import "github.com/kvshadow/kvshadow/catalog"

// routerScope is the scope of the router's own metrics. Its metrics have some
// of these labels, by release; see [anything].
func routerScope() scope {
	return scope{
		{labelJob, varJob}, {catalog.LabelNamespace, varNamespace},
		{catalog.LabelModel, varModel}, {catalog.LabelWorkerType, varWorkerType},
	}
}

// routing returns the dashboard over the router's own metrics.
func routing(o Options) Dashboard {
	d := newDashboard(o, RoutingUID, "KV routing quality",
		"What NVIDIA Dynamo's KV router gives up, why, and at what cost, from the router's own metrics: the /metrics of the frontend.")
	source := o.Flavor.source()
	base := catalog.RouterRequestsStarted
	d.Templating.List = []Variable{
		datasourceVariable(o.Flavor),
		jobVariable(source, base),
		labelVariable(source, varNamespace, "Namespace", "Dynamo's namespace. The operator adds a suffix for each generation of workers, so choose all of a deployment. Metrics of the frontend don't have it.", base, catalog.LabelNamespace, ofJob()),
		labelVariable(source, varModel, "Model", "The served model. Before release 1.6 only the queue and the frontend tell it; other panels then show all models.", catalog.FrontendModelTotalKVBlocks, catalog.LabelModel, ofJob()),
		workerTypeVariable(),
		exporterVariable(o.ExporterURL),
	}
	b := builder{source: source}
	b.row(1, "Overlap given up")
	b.add(routingLost()...)
	b.row(2, "Hit rate")
	b.add(routingHits()...)
	b.row(8, "Traffic and latency")
	b.add(routingTraffic()...)
	b.row(3, "Load of prefill workers")
	b.add(routingPrefillLoad()...)
	b.row(4, "Load of decode workers")
	b.add(routingDecodeLoad()...)
	b.row(5, "Queue and backpressure")
	b.add(routingQueue()...)
	b.row(6, "Overhead")
	b.add(routingOverhead()...)
	b.row(7, "KV events")
	b.add(routingEvents()...)
	d.Panels = b.panels
	return d
}

// nonMaxSteps: every tenth selection is worth a look at the load, every third
// means that overlap hardly counts.
func nonMaxSteps() []step { return []step{below(green), from(0.1, yellow), from(0.3, red)} }

// lostSteps: a share of blocks lost is the share of prefill work that is done
// again. A hundredth is noise, and a twentieth as much as most other tuning wins.
func lostSteps() []step { return []step{below(green), from(0.01, yellow), from(0.05, red)} }

// givenUpSteps are of the cached prefix only, which is a part of the prompts.
func givenUpSteps() []step { return []step{below(green), from(0.05, yellow), from(0.2, red)} }

const prefillOnly = " These releases count it on prefill routers only: an aggregated deployment shows 0 for ever; the dashboard Shadow evaluation tells there."

func routingLost() []def {
	s := routerScope()
	byType := catalog.LabelWorkerType
	// A disaggregated router handles each request twice, so its own request
	// counters are no base for selections of one type.
	share := ratio(sum(s.rate(catalog.RouterNonMaxOverlapSelections)), sum(s.rate(catalog.FrontendRequestsStarted)))
	selected, best := s.rate(catalog.RouterSelectedCachedPrefixTokens), s.rate(catalog.RouterBestEligibleCachedPrefixTokens)
	givenUp := oneMinus(ratio(sum(selected, catalog.LabelPhase), sum(best, catalog.LabelPhase)))
	lost := s.rateOfSum(catalog.RouterOverlapBlocksLost)
	return []def{
		{id: 11, kind: kindStat, w: 5, total: true, title: "Non-max-overlap selections", unit: unitShare, steps: nonMaxSteps(), noValue: "no traffic",
			about:   "Share of requests in the time range whose prefill worker had strictly less effective overlap than another eligible one. Ratio of sums, over the frontend's requests." + prefillOnly,
			queries: []query{{share, "share"}}},
		{id: 12, kind: kindStat, w: 5, total: true, title: "Overlap blocks lost", unit: unitBlocksRate, decisions: true, noValue: "no data",
			about:   "KV-cache blocks of effective overlap given up per second, over the time range: the best eligible worker's minus the selected one's. They are computed again, or fetched." + prefillOnly,
			queries: []query{{sum(lost), "lost"}}},
		{id: 13, kind: kindStat, w: 5, total: true, title: "Blocks lost per selection that lost any", unit: unitBlocks, decisions: true, noValue: "none lost",
			about:   "Mean size of a loss in the time range: many small ones are ties in all but name, few large ones are conversations that moved to another worker." + prefillOnly,
			queries: []query{{ratio(sum(lost), sum(s.rateOfCount(catalog.RouterOverlapBlocksLost))), "lost"}}},
		{id: 14, kind: kindStat, w: 5, total: true, title: "Cached prefix given up", unit: unitShare, steps: givenUpSteps(), noValue: "needs 1.6",
			about:   "Of the cached prefix tokens on the best eligible workers in the time range, the share that the selected ones lacked, by phase. Ratio of sums; counts aggregated workers too. Release 1.6 and later.",
			queries: []query{{givenUp, "{{phase}}"}}},
		{id: 15, kind: kindStat, w: 4, title: "Workers to choose from", unit: unitWorkers, steps: []step{below(red), from(1, yellow), from(2, green)}, noValue: "none",
			about:   "Worker ranks that a router has registered, by type. With one there is no choice to judge, with none requests fail.",
			queries: []query{{most(sum(s.gauge(catalog.RouterWorkerRegistered), byType, labelInstance), byType), "{{worker_type}}"}}},
		{id: 16, kind: kindGraph, w: 8, title: "Non-max-overlap selections", unit: unitShare, steps: nonMaxSteps(),
			about:   "Share of requests whose prefill worker had strictly less effective overlap than another eligible one. Normal while load is uneven, see the load rows; a waste while it is even." + prefillOnly,
			queries: []query{{share, "share"}}},
		{id: 17, kind: kindGraph, w: 8, title: "Overlap blocks lost", unit: unitBlocksRate, decisions: true,
			about:   "KV-cache blocks of effective overlap given up per second. A point links to the last decisions, each with its explanation." + prefillOnly,
			queries: []query{{sum(lost, byType), "{{worker_type}}"}}},
		{id: 18, kind: kindHeatmap, w: 8, title: "Overlap blocks lost per selection", unit: unitBlocks, decisions: true,
			about:   "How large the losses are, for selections that lost any." + prefillOnly,
			queries: []query{{sum(s.rateOfBuckets(catalog.RouterOverlapBlocksLost), labelBucket), "{{le}}"}}},
	}
}

func routingHits() []def {
	s := routerScope()
	selected, prompt := s.rate(catalog.RouterSelectedCachedPrefixTokens), s.rateOfSum(catalog.RouterInputSequenceTokens)
	realised := ratio(sum(s.rateOfSum(catalog.FrontendCachedTokens), catalog.LabelModel), sum(s.rateOfSum(catalog.FrontendInputSequenceTokens), catalog.LabelModel))
	hits := []step{below(red), from(0.3, yellow), from(0.7, green)}
	return []def{
		{id: 21, kind: kindGraph, w: 8, title: "Hit rate, weighted by tokens", unit: unitShare, max: 1, steps: hits,
			about: "Cached tokens over prompt tokens, a ratio of sums: a long prompt counts as much as it costs. Predicted by the router at selection, by phase (release 1.6 and later), and realised, as workers reported to the frontend, by model. Colours as in Dynamo's own dashboard.",
			queries: []query{
				{ratio(sum(selected, catalog.LabelPhase), sum(prompt, catalog.LabelPhase)), "predicted, {{phase}}"},
				{realised, "realised, {{model}}"},
			}},
		{id: 22, kind: kindGraph, w: 8, title: "Hit rate, mean over requests", unit: unitShare, max: 1,
			about:   "The mean of each request's own predicted ratio: a short prompt counts like a long one, so it may move against the rate weighted by tokens. For comparison with Dynamo's dashboard, and for releases before 1.6. A trailing partial block counts as a miss, so it stays below 1.",
			queries: []query{{ratio(sum(s.rateOfSum(catalog.RouterKVHitRate)), sum(s.rateOfCount(catalog.RouterKVHitRate))), "mean of ratios"}}},
		{id: 23, kind: kindGraph, w: 8, title: "Reused of what was predicted", unit: unitShare, steps: []step{below(red), from(0.8, yellow), from(0.95, green)},
			about:   "Tokens that workers say they reused over the tokens that the router took for cached there, a ratio of sums by phase. Well below 1: blocks are evicted before use, or events are missing, and the router chooses by a false picture. Release 1.6 and later.",
			queries: []query{{ratio(sum(s.rate(catalog.RouterWorkerReusedTokens), catalog.LabelPhase), sum(selected, catalog.LabelPhase)), "{{phase}}"}}},
	}
}
