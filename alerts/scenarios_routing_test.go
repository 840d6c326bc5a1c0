package alerts

import (
	"time"

	"github.com/kvshadow/kvshadow/catalog"
)

const (
	prefill = catalog.WorkerTypePrefill
	decode  = catalog.WorkerTypeDecode
)

// routed are the labels of an alert about a policy's choices.
func routed(severity string) map[string]string {
	return labelSet("job", "kvshadow", "policy", catalog.PolicyLive, "worker_type", prefill, "severity", severity)
}

// live is a pool that only the live policy is evaluated on: 30 decisions of 50
// blocks a minute.
func live(s sums) pool {
	return pool{decisions: 30, blocks: 1500, checked: 30, policies: map[string]sums{catalog.PolicyLive: s}}
}

// fourOf makes the four scenarios of an alert on a pool: the bad pool fires, the
// good one doesn't, and the bad one doesn't without traffic. After a restart of
// the exporter the bad one goes on firing.
func fourOf(name string, at time.Duration, bad, good pool, story string, want firing) []scenario {
	minutes := int(at / time.Minute)
	return []scenario{
		{alert: name, kind: fires, story: "bad", series: bad.series(growing(minutes)), at: at, firing: []firing{want}},
		{alert: name, kind: staysSilent, story: story, series: good.series(growing(minutes)), at: at},
		{alert: name, kind: noTraffic, story: "counters stand still", series: bad.series(standing(minutes)), at: at},
		{alert: name, kind: counterReset, story: "the exporter restarts", series: bad.series(restarting(minutes)), at: at, firing: []firing{want}},
	}
}

func overlapLostScenarios() []scenario {
	bad, good := live(sums{lost: 150, nonMax: 12, excess: 240}), live(sums{lost: 150, nonMax: 12, excess: 30})
	all := fourOf(OverlapLost, time.Hour, bad, good, "the load is a reason", firing{routed("warning"), "10% of the prompt blocks that prefill workers"})
	few := bad
	few.decisions, few.blocks = 3, 150
	few.policies = map[string]sums{catalog.PolicyLive: {lost: 15, excess: 24}}
	return append(all, scenario{alert: OverlapLost, kind: staysSilent, story: "too few decisions", series: few.series(growing(60)), at: time.Hour})
}

func sessionsMovingScenarios() []scenario {
	bad, good := live(sums{lost: 150, nonMax: 6, excess: 30}), live(sums{lost: 15, nonMax: 1, excess: 30})
	return fourOf(SessionsMoving, time.Hour, bad, good, "few move", firing{routed("warning"), "20% of the prefill selections"})
}

func candidateBetterScenarios() []scenario {
	const at = 4 * time.Hour
	with := func(candidate sums) pool {
		p := live(sums{lost: 120, nonMax: 2, excess: 60})
		p.policies["affinity-4"] = candidate
		return p
	}
	better := sums{lost: 15, nonMax: 1, diverging: 5, excess: 90}
	costly, far, blind := better, better, better
	costly.excess, far.diverging, blind.unsupported = 300, 15, 15
	want := firing{routed("info"), "would have lost 7% of all prompt blocks less on prefill workers"}
	want.labels["policy"] = "affinity-4"
	all := fourOf(CandidateBetter, at, with(better), with(costly), "it would cost too much load", want)
	unfaithful := with(better)
	unfaithful.missed = 6
	for _, x := range []struct {
		story string
		pool  pool
	}{{"it is too far from live", with(far)}, {"its cost lacks an input", with(blind)}, {"decisions aren't reproduced", unfaithful}} {
		all = append(all, scenario{alert: CandidateBetter, kind: staysSilent, story: x.story, series: x.pool.series(growing(240)), at: at})
	}
	return all
}

func fidelityLowScenarios() []scenario {
	bad, good := live(sums{}), live(sums{})
	bad.missed, good.missed = 3, 0.6
	want := firing{labelSet("job", "kvshadow", "worker_type", prefill, "severity", "warning"), "Only 90% of the prefill decisions"}
	return fourOf(FidelityLow, time.Hour, bad, good, "2 % are missed", want)
}
