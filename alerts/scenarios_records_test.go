package alerts

import (
	"time"

	"github.com/kvshadow/kvshadow/catalog"
)

// values are what the recording rules must record; nil means that a rule is
// absent.
type values struct {
	decisions                                            float64
	lost, missing, nonMax, diverging, excess, unfaithful float64
	unsupported, dropped, undecodable, notRebuilt        float64
	load                                                 []float64 // of each worker
	rejections                                           float64
}

// recordingScenarios are about every recording rule at once: two replicas of the
// exporter that read the same log, which must not change a share.
func recordingScenarios() []scenario {
	busy := pool{decisions: 30, blocks: 1500, checked: 30, missed: 3, policies: map[string]sums{
		catalog.PolicyLive: {lost: 150, missing: 600, nonMax: 6, diverging: 3, excess: 240, unsupported: 6},
	}}
	calm := pool{decisions: 30, blocks: 1500, checked: 30, policies: map[string]sums{catalog.PolicyLive: {}}}
	full := values{decisions: 1, lost: 0.1, missing: 0.4, nonMax: 0.2, diverging: 0.1, excess: 8, unfaithful: 0.1,
		unsupported: 0.2, dropped: 0.01, undecodable: 0.25, notRebuilt: 0.3, load: []float64{120, 30, 30}, rejections: 0.5}
	zero := values{decisions: 1, load: []float64{60, 60, 60}}
	const at, minutes = 100 * time.Minute, 100
	return []scenario{
		{kind: fires, story: "all recording rules have values", series: page(busy, full, growing(minutes), steady(minutes)), at: at, records: full.records()},
		{kind: staysSilent, story: "recording rules of a healthy fleet are 0, not absent", series: page(calm, zero, growing(minutes), steady(minutes)), at: at, records: zero.records()},
		{kind: noTraffic, story: "shares of nothing are absent, not NaN", series: page(busy, full, standing(minutes), func(float64) string { return stands(0, minutes) }), at: at, records: idle()},
		{kind: counterReset, story: "recording rules are the same after a restart", series: page(busy, full, restarting(minutes), steady(minutes)), at: at, records: full.records()},
	}
}

// page is what two replicas of the exporter and one frontend expose; counts are
// shapes of counters, gauges of gauges.
func page(p pool, v values, counts, gauges func(float64) string) []series {
	exporter := append(p.series(counts),
		from(catalog.SourceLines, counts(1000)),
		from(catalog.SourceDroppedLines, counts(1000*v.dropped)),
		from(catalog.SourceDecisions, counts(30)),
		from(catalog.SourceUndecodable, counts(30*v.undecodable/(1-v.undecodable)), catalog.LabelReason, "unknown_formula"),
		of(catalog.Lifecycles, counts(30)),
		of(catalog.LifecyclesLost, counts(30*v.notRebuilt), catalog.LabelReason, "lifecycle_without_workers"),
		of(catalog.LifecyclesLost, counts(0), catalog.LabelReason, catalog.ReasonWinnerWithoutRows),
	)
	all := append(exporter, on("b:9871", p.series(counts))...)
	all = append(all, booked(gauges, v.load...)...)
	return append(all, of(catalog.FrontendRouterQueueBackpressure, counts(60*v.rejections), catalog.LabelModel, "m",
		catalog.LabelWorkerType, prefill, catalog.LabelPolicyClass, "default", catalog.LabelReason, "request_limit"))
}

// records returns what each rule must record.
func (v values) records() []record {
	ofPool := labelSet("job", "kvshadow", "worker_type", prefill)
	ofLive := labelSet("job", "kvshadow", "worker_type", prefill, "policy", catalog.PolicyLive)
	ofSource := labelSet("job", "kvshadow", "instance", "a:9871", "source", logs)
	one := func(r recording, set map[string]string, value float64) record {
		return record{r, []sample{{set, value}}}
	}
	var out []record
	for _, w := range []string{short, mid, long} {
		out = append(out, one(lostShare(w), ofLive, v.lost), one(loadExcess(w), ofLive, v.excess))
	}
	out = append(out,
		one(routingRecordings()[0], ofPool, v.decisions),
		one(missingShare(short), ofLive, v.missing), one(nonMaxShare(short), ofLive, v.nonMax), one(nonMaxShare(mid), ofLive, v.nonMax),
		one(divergingShare(short), ofLive, v.diverging), one(divergingShare(long), ofLive, v.diverging),
		one(unsupportedShare(long), ofLive, v.unsupported), one(fidelity(mid), ofPool, 1-v.unfaithful),
		one(droppedShare(), ofSource, v.dropped), one(undecodableShare(), ofSource, v.undecodable),
		one(notRebuiltShare(), labelSet("job", "kvshadow", "instance", "a:9871"), v.notRebuilt),
	)
	return append(out, v.ofRouter()...)
}

func (v values) ofRouter() []record {
	pool := labelSet("job", "frontend", "worker_type", decode)
	refused := labelSet("job", "frontend", "model", "m", "worker_type", prefill, "policy_class", "default", "reason", "request_limit")
	workers := record{rule: workerLoad()}
	mean := 0.0
	for i, load := range v.load {
		set := labelSet("job", "frontend", "worker_type", decode, "dp_rank", "0", "worker_id", string(rune('1'+i)))
		workers.samples = append(workers.samples, sample{set, load})
		mean += load / float64(len(v.load))
	}
	return []record{
		workers, {meanLoad(), []sample{{pool, mean}}}, {imbalance(), []sample{{pool, v.load[0] / mean}}},
		{rejections(), []sample{{refused, v.rejections}}},
	}
}

// idle returns what the rules record without traffic: rates and loads of 0, and
// no share.
func idle() []record {
	zero := values{load: []float64{0, 0, 0}}
	var out []record
	for _, r := range zero.records() {
		switch r.rule.name {
		case routingRecordings()[0].name, rejections().name, workerLoad().name, meanLoad().name:
		default:
			r.samples = nil
		}
		out = append(out, r)
	}
	return out
}
