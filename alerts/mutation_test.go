package alerts

import (
	"slices"
	"strings"
	"testing"

	"github.com/kvshadow/kvshadow/catalog"
)

// change returns a mutation of the rule of that name.
func change(name string, do func(*Rule)) func([]Group) {
	return func(groups []Group) {
		for _, g := range groups {
			for i := range g.Rules {
				if g.Rules[i].Name() == name {
					do(&g.Rules[i])
				}
			}
		}
	}
}

// swap replaces text in the expression of a rule.
func swap(name, before, after string) func([]Group) {
	return change(name, func(r *Rule) { r.Expr = strings.Replace(r.Expr, before, after, 1) })
}

// TestLintMutations holds that the linter finds every kind of drift in the
// rules.
func TestLintMutations(t *testing.T) {
	share := lostShare(short).name
	for name, m := range map[string]struct {
		mutate func([]Group)
		want   string
	}{
		"metric renamed":     {swap(share, "overlap_lost_blocks", "overlap_blocks"), "neither in the catalog"},
		"label renamed":      {swap(fidelity(mid).name, "cause", "reason"), `label "reason" isn't in the catalog`},
		"matcher renamed":    {swap(SessionsMoving, `{policy=`, `{model=`), `no label "model"`},
		"unknown value":      {swap(share, "request_blocks_total", `request_blocks_total{worker_type="agg"}`), `no worker_type "agg"`},
		"rate lost":          {swap(rejections().name, "rate(dynamo_frontend_router_queue_backpressure_total[5m])", "dynamo_frontend_router_queue_backpressure_total"), `is a counter under ""`},
		"gauge rated":        {swap(InputBehind, "kvshadow_source_lag_seconds", "rate(kvshadow_source_lag_seconds[5m])"), `is a gauge under "rate"`},
		"summed before rate": {swap(rejections().name, "rate(dynamo_frontend_router_queue_backpressure_total[5m])", "rate(sum(dynamo_frontend_router_queue_backpressure_total)[5m:])"), `is a counter under ""`},
		"guard lost":         {swap(share, " > 0)", ")"), "isn't kept above 0"},
		"no PromQL":          {swap(ReloadFailed, "==", "=="+"="), "no PromQL"},
		"no MetricsQL":       {swap(ReloadFailed, "== 0", "== 0)"), "no MetricsQL"},
		"for lost":           {change(ReloadFailed, func(r *Rule) { r.For = "" }), "for is missing"},
		"for of 0":           {change(ReloadFailed, func(r *Rule) { r.For = "0s" }), "for is missing"},
		"severity":           {change(ReloadFailed, func(r *Rule) { r.Labels = map[string]string{"severity": "page"} }), `severity "page"`},
		"runbook lost":       {change(ReloadFailed, func(r *Rule) { r.Annotations.RunbookURL = "" }), "annotation is missing"},
		"value lost":         {change(ReloadFailed, func(r *Rule) { r.Annotations.Description = "x" }), "lacks the value"},
		"label of a text":    {change(ReloadFailed, func(r *Rule) { r.Annotations.Description += "{{ $labels.source }}" }), `name label "source"`},
		"duplicate":          {change(ReloadFailed, func(r *Rule) { r.Alert = InputBehind }), "duplicate name"},
		"record's name":      {change(share, func(r *Rule) { r.Record = "overlap:share" }), "name must be"},
		"order":              {func(g []Group) { slices.Reverse(g[0].Rules) }, "recorded before in this group"},
		"uses lost":          {change(share, func(r *Rule) { r.reads = r.reads[:1] }), "says that it reads"},
	} {
		groups := Groups(Default())
		m.mutate(groups)
		wantProblem(t, name, lint(groups, known()), m.want)
	}
}

func wantProblem(t *testing.T, name string, problems []string, want string) {
	t.Helper()
	if !slices.ContainsFunc(problems, func(p string) bool { return strings.Contains(p, want) }) {
		t.Errorf("%s: want a problem with %q, got %q", name, want, problems)
	}
}

// TestCatalogDrift holds that the linter finds every kind of drift in the
// catalog under the rules.
func TestCatalogDrift(t *testing.T) {
	for name, d := range map[string]struct {
		metric catalog.Metric
		drift  func(*catalog.Metric)
		want   string
	}{
		"renamed":       {catalog.OverlapLostBlocks, func(m *catalog.Metric) { m.Name = "kvshadow_lost_blocks_total" }, "neither in the catalog"},
		"label dropped": {catalog.FidelityMismatches, func(m *catalog.Metric) { m.Labels = []string{catalog.LabelWorkerType} }, `label "cause" isn't in the catalog`},
		"label renamed": {catalog.FrontendRouterQueueBackpressure, func(m *catalog.Metric) { m.Labels = []string{"model", "pool", "policy_class", "reason"} }, `label "worker_type"`},
		"counter now":   {catalog.SourceLag, func(m *catalog.Metric) { m.Type = catalog.Counter }, `is a counter under ""`},
		"gauge now":     {catalog.Decisions, func(m *catalog.Metric) { m.Type = catalog.Gauge }, `is a gauge under "rate"`},
	} {
		all := known()
		for i := range all {
			if all[i].Name == d.metric.Name {
				d.drift(&all[i])
			}
		}
		wantProblem(t, name, lint(Groups(Default()), all), d.want)
	}
}

// TestScenarioMutations holds that the scenarios notice when an alert's
// condition is weakened: for each clause there is one that then goes wrong.
func TestScenarioMutations(t *testing.T) {
	skipSlow(t)
	for name, m := range map[string]struct {
		alert  string
		mutate func(*Thresholds)
	}{
		"no least number of decisions": {OverlapLost, func(x *Thresholds) { x.OverlapLost.MinDecisions = 0 }},
		"load is no reason":            {OverlapLost, func(x *Thresholds) { x.OverlapLost.MinLoadExcess = 0 }},
		"any share of moves":           {SessionsMoving, func(x *Thresholds) { x.SessionsMoving.MinNonMaxShare = 0 }},
		"any extra load":               {CandidateBetter, func(x *Thresholds) { x.CandidateBetter.MaxExtraLoad = 1e6 }},
		"any distance":                 {CandidateBetter, func(x *Thresholds) { x.CandidateBetter.MaxDiverging = 1 }},
		"any input lacks":              {CandidateBetter, func(x *Thresholds) { x.CandidateBetter.MaxUnsupported = 1 }},
		"any fidelity":                 {CandidateBetter, func(x *Thresholds) { x.CandidateBetter.MinFidelity = 0 }},
		"idle pools matter":            {LoadImbalance, func(x *Thresholds) { x.LoadImbalance.MinMeanBlocks = 0 }},
		"any lag":                      {InputBehind, func(x *Thresholds) { x.InputBehind.For = 6e10 }},
		"unused sources count":         {InputSilent, func(x *Thresholds) { x.InputSilent.MinLines = 0 }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := Default()
			m.mutate(&o.Thresholds)
			file := writeRules(t, o)
			for _, s := range scenarios() {
				if s.alert == m.alert && s.kind != fires && len(s.firing) == 0 && len(s.play(t, file)) > 0 {
					return // noticed
				}
			}
			t.Errorf("no scenario of %s notices", m.alert)
		})
	}
}
