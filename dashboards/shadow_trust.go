package dashboards

import "github.com/kvshadow/kvshadow/catalog"

// shadowTrust tells what the comparison rests on.
func shadowTrust() []def {
	s := shadowScope()
	byType := catalog.LabelWorkerType
	seen := perWorkerType(catalog.Decisions)
	exact := sum(s.rate(catalog.RebuiltExact), byType, catalog.LabelQuantity)
	return []def{
		{id: 41, kind: kindGraph, w: 8, title: "Decisions reproduced", unit: unitShare, max: 1, steps: fidelitySteps(),
			about:   "Fidelity over time. A fall at a rollout means that the live weights changed and the policies file did not.",
			queries: []query{{reproduced(), "{{worker_type}}"}}},
		{id: 42, kind: kindGraph, w: 8, title: "Not reproduced, by cause", unit: unitShare, stacked: true,
			about:   "Share of checked decisions that were not reproduced, by cause. weights: the live policy isn't what production runs. stale_state: the rebuilt state was behind. unknown_formula: a release that kvshadow doesn't know.",
			queries: []query{{ratioEach(sum(s.rate(catalog.FidelityMismatches), byType, catalog.LabelCause), perWorkerType(catalog.FidelityChecked), byType), "{{cause}}, {{worker_type}}"}}},
		{id: 43, kind: kindGraph, w: 8, title: "Excluded, by reason", unit: unitDecisionsRate, stacked: true,
			about:   "Decisions that no policy could have made otherwise, or that can't be judged. pinned: a session's worker was dictated. query_only: nothing was booked.",
			queries: []query{{sum(s.rate(catalog.DecisionsExcluded), byType, catalog.LabelReason), "{{reason}}, {{worker_type}}"}}},
		{id: 44, kind: kindGraph, w: 8, title: "Approximated decisions", unit: unitShare, max: 1,
			about:   "Share of decisions that lack an input which the policy's cost needs (host and disk tiers, active requests). Its numbers for them are approximations.",
			queries: []query{{shareEach(catalog.UnsupportedDecisions, catalog.Decisions), policyLegend}}},
		{id: 45, kind: kindGraph, w: 8, title: "Prompts of unknown length", unit: unitShare, max: 1, steps: []step{below(green), from(0.05, yellow)},
			about:   "Share of decisions without a recorded prompt length. They count as selections, and add nothing to shares of prompt blocks.",
			queries: []query{{ratio(perWorkerType(catalog.RequestsOfUnknownLength), seen), "{{worker_type}}"}}},
		{id: 46, kind: kindGraph, w: 8, title: "Rebuilt exactly", unit: unitShare, max: 1, steps: []step{below(red), from(0.9, yellow), from(0.95, green)},
			about:   "With request traces as input: share of candidates whose overlap, decode blocks and prefill load came out as in the router's own rows, where there are rows to compare with.",
			queries: []query{{ratioEach(exact, perWorkerType(catalog.RebuiltCandidates), byType), "{{quantity}}, {{worker_type}}"}}},
	}
}
