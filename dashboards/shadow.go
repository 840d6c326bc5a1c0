package dashboards

import (
	"fmt"

	"github.com/kvshadow/kvshadow/catalog"
	"github.com/kvshadow/kvshadow/internal/promql"
)

// shadowScope is the scope of kvshadow's evaluation. Live is there whatever
// candidates are chosen.
func shadowScope() scope {
	return scope{{labelJob, varJob}, {catalog.LabelWorkerType, varWorkerType}}
}

// policies matches live and the chosen candidates.
func policies() promql.Matcher {
	return promql.Like(catalog.LabelPolicy, catalog.PolicyLive+"|$"+varPolicy)
}

// candidates matches the chosen candidates; All would be live too.
func candidates() []promql.Matcher {
	return []promql.Matcher{promql.Like(catalog.LabelPolicy, "$"+varPolicy), promql.IsNot(catalog.LabelPolicy, catalog.PolicyLive)}
}

func live() promql.Matcher { return promql.Is(catalog.LabelPolicy, catalog.PolicyLive) }

// shadow returns the dashboard that compares live with candidate policies.
func shadow(o Options) Dashboard {
	d := newDashboard(o, ShadowUID, "Shadow evaluation",
		"What other routing weights would have done with the same traffic (kvshadow). Open loop: each policy picks in the states that live's choices led to. It tells overlap and load exactly, and nothing of latency.")
	source := o.Flavor.source()
	d.Templating.List = []Variable{
		datasourceVariable(o.Flavor),
		jobVariable(source, catalog.PolicyInfo),
		policyVariable(source),
		workerTypeVariable(),
		exporterVariable(o.ExporterURL),
	}
	b := builder{source: source}
	b.row(1, "At a glance")
	b.add(shadowGlance()...)
	b.row(2, "Overlap lost")
	b.add(shadowLost()...)
	b.row(3, "What is paid and what is kept")
	b.add(shadowPrice()...)
	b.row(4, "How far to trust it")
	b.add(shadowTrust()...)
	d.Panels = b.panels
	return d
}

// byPolicy are the labels that comparisons keep.
func byPolicy() []string { return []string{catalog.LabelPolicy, catalog.LabelWorkerType} }

const policyLegend = "{{policy}}, {{worker_type}}"

// each returns the rate of a counter for live and each chosen candidate.
func each(m catalog.Metric) expr { return sum(shadowScope().rate(m, policies()), byPolicy()...) }

// perWorkerType returns the rate of a counter without policies.
func perWorkerType(m catalog.Metric) expr {
	return sum(shadowScope().rate(m), catalog.LabelWorkerType)
}

// shareEach returns a counter of each policy over one without policies.
func shareEach(part, whole catalog.Metric) expr {
	return ratioEach(each(part), perWorkerType(whole), catalog.LabelWorkerType)
}

// savedEach returns how much less of a counter each candidate has than live.
func savedEach(m catalog.Metric) expr {
	s := shadowScope()
	return minusEach(sum(s.rate(m, live()), catalog.LabelWorkerType), sum(s.rate(m, candidates()...), byPolicy()...), catalog.LabelWorkerType)
}

func reproduced() expr {
	mismatches, checked := perWorkerType(catalog.FidelityMismatches), perWorkerType(catalog.FidelityChecked)
	return oneMinus(ratio(mismatches, checked))
}

// minFidelity is report.DefaultMinFidelity; a test holds them together, so that
// generators don't depend on the analyzer.
const minFidelity = 0.95

func fidelitySteps() []step {
	return []step{below(red), from(minFidelity, yellow), from(0.99, green)}
}

func shadowGlance() []def {
	s := shadowScope()
	lost := ratio(sum(s.rate(catalog.OverlapLostBlocks, live()), catalog.LabelWorkerType), perWorkerType(catalog.RequestBlocks))
	kept := ratioEach(in(savedEach(catalog.OverlapLostBlocks)), perWorkerType(catalog.RequestBlocks), catalog.LabelWorkerType)
	return []def{
		{id: 11, kind: kindStat, w: 6, total: true, title: "Decisions reproduced", unit: unitShare, max: 1, steps: fidelitySteps(), noValue: "nothing to check",
			about:   fmt.Sprintf("Fidelity: the share of decisions in the time range whose recorded cost or choice came out again with the live weights. Below %g kvshadow gives no verdict, and neither should you.", float64(minFidelity)),
			queries: []query{{reproduced(), "{{worker_type}}"}}},
		{id: 12, kind: kindStat, w: 6, title: "Decisions evaluated", unit: unitDecisionsRate, noValue: "no decisions",
			about:   "Routing decisions evaluated per second; the base of every share of selections.",
			queries: []query{{perWorkerType(catalog.Decisions), "{{worker_type}}"}}},
		{id: 13, kind: kindStat, w: 6, total: true, title: "Lost by live", unit: unitShare, steps: lostSteps(), decisions: true, noValue: "no traffic",
			about:   "Overlap blocks that the live policy gave up in the time range, as a share of all prompt blocks: so much of the prefill work is done again.",
			queries: []query{{lost, "{{worker_type}}"}}},
		{id: 14, kind: kindStat, w: 6, total: true, title: "Kept by the best candidate", unit: unitShare, signed: true, steps: []step{below(grey), from(0.01, blue)}, noValue: "no candidates",
			about:   "How much less overlap the best of the chosen candidates would have lost than live in the time range, as a share of all prompt blocks. Look at the load it pays, below, before switching. Below 0: no candidate loses less.",
			queries: []query{{most(kept, catalog.LabelWorkerType), "{{worker_type}}"}}},
	}
}

func shadowLost() []def {
	s := shadowScope()
	of := func(workerType string) expr {
		return sum(s.rate(catalog.OverlapLostBlocks, policies(), promql.Is(catalog.LabelWorkerType, workerType)), catalog.LabelPolicy)
	}
	return []def{
		{id: 21, kind: kindGraph, w: 8, title: "Overlap blocks lost, prefill", unit: unitBlocksRate, decisions: true,
			about:   "KV-cache blocks of effective overlap given up per second by prefill selections: the highest among the eligible workers minus the selected one's.",
			queries: []query{{of(catalog.WorkerTypePrefill), "{{policy}}"}}},
		{id: 22, kind: kindGraph, w: 8, title: "Overlap blocks lost, decode", unit: unitBlocksRate, decisions: true,
			about:   "The same for decode selections; aggregated workers are among them.",
			queries: []query{{of(catalog.WorkerTypeDecode), "{{policy}}"}}},
		{id: 23, kind: kindGraph, w: 8, title: "Share of prompt blocks lost", unit: unitShare, steps: lostSteps(), decisions: true,
			about:   "Overlap blocks lost over all prompt blocks, a ratio of sums: the prefill work that is done again although a worker had it.",
			queries: []query{{shareEach(catalog.OverlapLostBlocks, catalog.RequestBlocks), policyLegend}}},
		{id: 24, kind: kindGraph, w: 8, title: "Non-max-overlap selections", unit: unitShare, steps: nonMaxSteps(),
			about:   "Share of selections of a worker although another eligible one had strictly more effective overlap. For candidates an expectation over ties.",
			queries: []query{{shareEach(catalog.NonMaxOverlapSelections, catalog.Decisions), policyLegend}}},
		{id: 25, kind: kindHeatmap, w: 8, title: "Blocks lost per selection, live", unit: unitBlocks, decisions: true, points: true,
			about:   "How large the losses of live are, for selections that lost any. Exemplars carry the request id, which kvshadow explain and the decision's page take.",
			queries: []query{{sum(s.rateOfBuckets(catalog.OverlapBlocksLost, live()), labelBucket), "{{le}}"}}},
		{id: 26, kind: kindGraph, w: 8, title: "Blocks lost per selection, the largest tenth", unit: unitBlocks,
			about:   "The 90th percentile of a loss, for selections that lost any, estimated from buckets that double. Large ones are conversations that moved away from their worker.",
			queries: []query{{quantile(0.9, s.rateOfBuckets(catalog.OverlapBlocksLost, policies()), byPolicy()...), policyLegend}}},
	}
}

func shadowPrice() []def {
	return []def{
		{id: 31, kind: kindGraph, w: 8, title: "Blocks kept against live", unit: unitBlocksRate, signed: true,
			about:   "Overlap blocks per second that live lost and the candidate would not have. Below 0 it would have lost more.",
			queries: []query{{savedEach(catalog.OverlapLostBlocks), policyLegend}}},
		{id: 32, kind: kindGraph, w: 8, title: "Load excess per decision", unit: unitBlocks,
			about:   "Load of the selected worker minus the least load among the eligible, in blocks: what is paid for overlap, in waiting. A candidate that keeps blocks and whose excess is not above live's is better on both sides.",
			queries: []query{{shareEach(catalog.LoadExcessBlocks, catalog.Decisions), policyLegend}}},
		{id: 33, kind: kindGraph, w: 8, title: "Prefix missing on the selected worker", unit: unitShare, max: 1,
			about:   "Prompt blocks that the selected worker's device memory lacked, over all prompt blocks: the prefill work there is, whether lost by choice or new to every worker.",
			queries: []query{{shareEach(catalog.MissingPrefixBlocks, catalog.RequestBlocks), policyLegend}}},
		{id: 34, kind: kindGraph, w: 12, title: "Diverging selections", unit: unitShare, max: 1,
			about:   "Share of decisions whose recorded worker is not among those the policy would have picked. Near 0 the policy is live under another name, and its numbers say so; near 1 the states it would lead to differ much from those it is judged in.",
			queries: []query{{shareEach(catalog.DivergingSelections, catalog.Decisions), policyLegend}}},
		{id: 35, kind: kindTable, w: 12, title: "Policies in use", unit: unitNumber,
			about:   "The policies with the parameters that differ from the router's defaults.",
			queries: []query{{sum(scope{{labelJob, varJob}}.gauge(catalog.PolicyInfo), catalog.LabelPolicy, catalog.LabelType, catalog.LabelParameters), ""}},
			columns: []string{catalog.LabelPolicy, catalog.LabelType, catalog.LabelParameters}},
	}
}
