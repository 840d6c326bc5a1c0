package alerts

import "github.com/kvshadow/kvshadow/catalog"

// Names of the alerts. A runbook page has the same name.
const (
	OverlapLost        = "KVShadowOverlapLostWithoutLoadReason"
	SessionsMoving     = "KVShadowSessionsKeepMoving"
	CandidateBetter    = "KVShadowCandidatePolicyBetter"
	FidelityLow        = "KVShadowFidelityLow"
	InputBehind        = "KVShadowInputBehind"
	InputSilent        = "KVShadowInputSilent"
	RecordsDropped     = "KVShadowRecordsDropped"
	RecordsUndecodable = "KVShadowRecordsUndecodable"
	NotRebuilt         = "KVShadowRequestsNotRebuilt"
	ReloadFailed       = "KVShadowPoliciesReloadFailed"
	LoadImbalance      = "KVRouterWorkerLoadImbalance"
	QueueBackpressure  = "KVRouterQueueBackpressure"
	ObserverSilent     = "KVRouterOverlapObserverSilent"
)

// The windows of the recording rules: dashboards, alerts on live, and the
// comparison of policies.
const (
	short = "5m"
	mid   = "30m"
	long  = "1h"
)

// perBlock records the share of prompt blocks that a counter of blocks is.
func perBlock(name string, m catalog.Metric, window string) recording {
	return recording{name + window, ratioPerPolicy(rate(m, window).replicas(), rate(catalog.RequestBlocks, window).replicas())}
}

// perDecision records a counter for each decision.
func perDecision(name string, m catalog.Metric, window string) recording {
	return recording{name + window, ratioPerPolicy(rate(m, window).replicas(), rate(catalog.Decisions, window).replicas())}
}

func lostShare(window string) recording {
	return perBlock("kvshadow:overlap_lost_blocks:share", catalog.OverlapLostBlocks, window)
}

func missingShare(window string) recording {
	return perBlock("kvshadow:missing_prefix_blocks:share", catalog.MissingPrefixBlocks, window)
}

func nonMaxShare(window string) recording {
	return perDecision("kvshadow:non_max_overlap_selections:share", catalog.NonMaxOverlapSelections, window)
}

func divergingShare(window string) recording {
	return perDecision("kvshadow:diverging_selections:share", catalog.DivergingSelections, window)
}

func unsupportedShare(window string) recording {
	return perDecision("kvshadow:unsupported_decisions:share", catalog.UnsupportedDecisions, window)
}

func loadExcess(window string) recording {
	return perDecision("kvshadow:load_excess_blocks:per_decision", catalog.LoadExcessBlocks, window)
}

// fidelity records the share of checked decisions that were reproduced.
func fidelity(window string) recording {
	missed := rate(catalog.FidelityMismatches, window).replicas(catalog.LabelCause)
	return recording{"kvshadow:fidelity:share" + window, compose("1 - %s", ratio(missed, rate(catalog.FidelityChecked, window).replicas()))}
}

func routingRecordings() []recording {
	return []recording{
		{"kvshadow:decisions:rate" + short, rate(catalog.Decisions, short).replicas()},
		lostShare(short), missingShare(short), nonMaxShare(short), divergingShare(short), loadExcess(short),
		lostShare(mid), nonMaxShare(mid), loadExcess(mid), fidelity(mid),
		lostShare(long), divergingShare(long), unsupportedShare(long), loadExcess(long),
	}
}

func routingAlerts(t Thresholds) []alert {
	return []alert{overlapLost(t), sessionsMoving(t), candidateBetter(t), fidelityLow(t)}
}

// enough returns the pools that had so many in the window, to be joined with
// "and ignoring (policy)": a share of a few decisions says nothing.
func enough(m catalog.Metric, window string, least float64) expr {
	return compose("%s >= %s", increase(m, window).replicas(), least)
}

// overlapLost: neither did live take a worker with the prefix, nor one with
// little load.
func overlapLost(t Thresholds) alert {
	x := t.OverlapLost
	return alert{
		OverlapLost, x.Common,
		compose("%s > %s\nand\n%s > %s\nand ignoring (%s)\n%s",
			lostShare(mid).live(), x.MinLostShare, loadExcess(mid).live(), x.MinLoadExcess,
			catalog.LabelPolicy, enough(catalog.Decisions, mid, x.MinDecisions)),
		"The router gives up cached prefix without a load reason.",
		"{{ $value | humanizePercentage }} of the prompt blocks that {{ $labels.worker_type }} workers were asked for in 30m lay cached on an eligible worker that was not selected, and the selected ones were not the least loaded either.",
	}
}

// sessionsMoving: live takes the least loaded workers, and pays with prefix.
func sessionsMoving(t Thresholds) alert {
	x := t.SessionsMoving
	return alert{
		SessionsMoving, x.Common,
		compose("%s > %s\nand\n%s <= %s\nand ignoring (%s)\n%s",
			nonMaxShare(mid).live(), x.MinNonMaxShare, loadExcess(mid).live(), x.MaxLoadExcess,
			catalog.LabelPolicy, enough(catalog.Decisions, mid, x.MinDecisions)),
		"Sessions keep moving away from their cached prefix.",
		"{{ $value | humanizePercentage }} of the {{ $labels.worker_type }} selections in 30m went to a worker although another eligible one held more of the prompt, to save little load.",
	}
}

// candidateBetter holds a candidate against live where open-loop numbers can be
// trusted: near live, reproduced, and with every input of its cost.
func candidateBetter(t Thresholds) alert {
	x, policy := t.CandidateBetter, catalog.LabelPolicy
	return alert{
		CandidateBetter, x.Common,
		compose(`(%s - ignoring (%s) group_right () %s) > %s
and
(%s - ignoring (%s) group_left () %s) < %s
and
%s < %s
and
%s < %s
and ignoring (%s)
%s >= %s
and ignoring (%s)
%s`,
			lostShare(long).live(), policy, lostShare(long).candidates(), x.MinMargin,
			loadExcess(long).candidates(), policy, loadExcess(long).live(), x.MaxExtraLoad,
			divergingShare(long).candidates(), x.MaxDiverging,
			unsupportedShare(long).candidates(), x.MaxUnsupported,
			policy, fidelity(mid).series(), x.MinFidelity,
			policy, enough(catalog.Decisions, long, x.MinDecisions)),
		"Policy {{ $labels.policy }} would keep more of the cached prefix.",
		"In the states that the live policy visited, {{ $labels.policy }} would have lost {{ $value | humanizePercentage }} of all prompt blocks less on {{ $labels.worker_type }} workers, at a load excess that the thresholds allow. Latency is not known from this: simulate before switching.",
	}
}

func fidelityLow(t Thresholds) alert {
	x := t.FidelityLow
	return alert{
		FidelityLow, x.Common,
		compose("%s < %s\nand\n%s", fidelity(mid).series(), x.MinFidelity, enough(catalog.FidelityChecked, mid, x.MinChecked)),
		"kvshadow does not reproduce the router's decisions.",
		"Only {{ $value | humanizePercentage }} of the {{ $labels.worker_type }} decisions of 30m came out again under the live policy; comparisons with other policies can't be trusted until the cause is known.",
	}
}
