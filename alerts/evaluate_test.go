package alerts

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/rules"
)

// step is the evaluation interval: that of the scrapes, or a longer one for
// scenarios of hours. It stays below 5m: vmalert looks back no further for what
// another rule recorded, and sees that one evaluation late.
func (s scenario) step() time.Duration {
	switch {
	case s.at > time.Hour:
		return 4 * time.Minute
	case s.at > 30*time.Minute:
		return 2 * time.Minute
	}
	return time.Minute
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// fired is an alert that fires, with everything that is sent.
type fired struct{ labels, annotations map[string]string }

// fleet evaluates the generated rule file over the series of a scenario, as
// Prometheus does.
type fleet struct {
	loader *promqltest.LazyLoader
	groups map[string]*rules.Group
}

func newFleet(t *testing.T, file string, all []series) *fleet {
	t.Helper()
	var load strings.Builder
	load.WriteString("load 1m\n")
	for _, s := range all {
		fmt.Fprintf(&load, "  %s %s\n", s.selector(), s.values)
	}
	p := parser.NewParser(parser.Options{})
	loader, err := promqltest.NewLazyLoader(load.String(), promqltest.LazyLoaderOpts{EnableAtModifier: true, EnableNegativeOffset: true, Parser: p})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = loader.Close() })
	m := rules.NewManager(&rules.ManagerOptions{
		QueryFunc:    rules.EngineQueryFunc(loader.QueryEngine(), loader.Storage()),
		AppendableV2: loader.Storage(),
		Context:      context.Background(),
		NotifyFunc:   func(context.Context, string, ...*rules.Alert) {},
		Logger:       slog.New(slog.DiscardHandler),
		Parser:       p,
	})
	groups, errs := m.LoadGroups(time.Minute, labels.EmptyLabels(), "", nil, false, file)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	for _, g := range groups {
		for _, r := range g.AlertingRules() {
			r.SetRestored(true) // else ALERTS is not written
		}
	}
	return &fleet{loader, groups}
}

// run evaluates all rules at each step. No rule may fail or record NaN.
func (f *fleet) run(t *testing.T, step, until time.Duration) {
	t.Helper()
	for at := time.Duration(0); at <= until; at += step {
		now := time.Unix(0, 0).UTC().Add(at)
		f.loader.WithSamplesTill(now, func(err error) {
			if err != nil {
				t.Fatal(err)
			}
			for _, g := range f.groups {
				g.Eval(f.loader.Context(), now)
				for _, r := range g.Rules() {
					if r.LastError() != nil {
						t.Fatalf("%s: %s: %v", at, r.Name(), r.LastError())
					}
				}
			}
		})
		if at%(20*time.Minute) == 0 {
			f.checkNumbers(t, at)
		}
	}
}

func (f *fleet) checkNumbers(t *testing.T, at time.Duration) {
	t.Helper()
	for _, v := range f.query(t, `{__name__=~"kvshadow:.+"}`, at) {
		if math.IsNaN(v.F) || math.IsInf(v.F, 0) {
			t.Fatalf("%s: %s is %v", at, v.Metric, v.F)
		}
	}
}

// query evaluates an instant query.
func (f *fleet) query(t *testing.T, q string, at time.Duration) promql.Vector {
	t.Helper()
	query, err := f.loader.QueryEngine().NewInstantQuery(f.loader.Context(), f.loader.Queryable(), nil, q, time.Unix(0, 0).UTC().Add(at))
	if err != nil {
		t.Fatalf("%s: %v", q, err)
	}
	defer query.Close()
	v, err := query.Exec(f.loader.Context()).Vector()
	if err != nil {
		t.Fatalf("%s: %v", q, err)
	}
	return slices.Clone(v)
}

// firing returns the alerts that fire, by name.
func (f *fleet) firing() map[string][]fired {
	all := make(map[string][]fired)
	for _, g := range f.groups {
		for _, r := range g.AlertingRules() {
			for _, a := range r.ActiveAlerts() {
				if a.State == rules.StateFiring {
					set := a.Labels.Map()
					delete(set, labels.AlertName)
					all[r.Name()] = append(all[r.Name()], fired{set, a.Annotations.Map()})
				}
			}
		}
	}
	return all
}

// play runs a scenario and returns what fires of the alert that it is about.
func (s scenario) play(t *testing.T, file string) []fired {
	t.Helper()
	f := newFleet(t, file, s.series)
	if s.alert != "" { // groups are independent of each other
		maps.DeleteFunc(f.groups, func(_ string, g *rules.Group) bool { return g.Name() != groupOf(s.alert) })
	}
	f.run(t, s.step(), s.at)
	for _, r := range s.records {
		f.checkRecord(t, r, s.at)
	}
	got := f.firing()
	if s.alert != "" && s.kind != fires {
		return got[s.alert]
	}
	for name := range got {
		if s.alert != "" && name != s.alert {
			t.Errorf("%s fires too: causes are told apart by alerts that don't share scenarios", name)
		}
	}
	return got[s.alert]
}

// rounded is the query that hides what floats and extrapolation leave open. The
// product drops the name, which VictoriaMetrics' round keeps.
func (r record) rounded() string { return fmt.Sprintf("round(1 * %s, 0.0001)", r.rule.name) }

func (f *fleet) checkRecord(t *testing.T, r record, at time.Duration) {
	t.Helper()
	got := make(map[string]float64)
	for _, s := range f.query(t, r.rounded(), at) {
		got[labelText(s.Metric.Map())] = s.F
	}
	want := make(map[string]float64)
	for _, s := range r.samples {
		want[labelText(s.labels)] = math.Round(s.value*1e4) / 1e4
	}
	if !maps.Equal(got, want) {
		t.Errorf("%s\n got %v\nwant %v", r.rule.name, got, want)
	}
}

// writeRules writes the default rules into a file of their own.
func writeRules(t *testing.T, o Options) string {
	t.Helper()
	files, err := Generate(o, []Format{FormatRules})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), files[0].Name)
	if err := os.WriteFile(path, files[0].Data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestScenarios plays every scenario: what must fire fires, with the labels and
// the text, and nothing else does. The committed unit tests for promtool and
// vmalert-tool are the same scenarios.
func TestScenarios(t *testing.T) {
	skipSlow(t)
	file := writeRules(t, Default())
	all := scenarios()
	played := make([][]fired, len(all))
	t.Run("play", func(t *testing.T) {
		for i, s := range all {
			t.Run(s.title(), func(t *testing.T) {
				t.Parallel()
				played[i] = s.play(t, file)
				checkFired(t, played[i], s.firing)
			})
		}
	})
	if !t.Failed() {
		checkGolden(t, "tests", unitTests(all, played))
	}
}

// skipSlow skips evaluation under the race detector: it takes ten times as long
// there, and runs Prometheus' code, not ours.
func skipSlow(t *testing.T) {
	t.Helper()
	if raceDetector {
		t.Skip("runs without the race detector")
	}
}

func (s scenario) title() string {
	return fmt.Sprintf("%s/%s/%s", s.about(), s.kind, s.story)
}

// about is the alert that the scenario is about, or "recordings".
func (s scenario) about() string {
	if s.alert == "" {
		return "recordings"
	}
	return s.alert
}

// TestScope holds that a label that tells deployments apart does: the router of
// one cluster counts, that of another doesn't.
func TestScope(t *testing.T) {
	o := Default()
	o.Thresholds.ScopeLabels = []string{"cluster"}
	all := observerSilentScenarios()
	silent, counting := all[0], all[1]
	silent.series = append(in("silent", silent.series), in("counting", counting.series)...)
	silent.firing[0].labels["cluster"] = "silent"
	checkFired(t, silent.play(t, writeRules(t, o)), silent.firing)
}

// in puts series into a cluster.
func in(cluster string, all []series) []series {
	var out []series
	for _, s := range all {
		set := maps.Clone(s.labels)
		set["cluster"] = cluster
		out = append(out, series{s.name, set, s.values})
	}
	return out
}

func checkFired(t *testing.T, got []fired, want []firing) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d alerts fire, want %d: %v", len(got), len(want), got)
	}
	for i, w := range want {
		if !maps.Equal(got[i].labels, w.labels) {
			t.Errorf("labels\n got %v\nwant %v", labelText(got[i].labels), labelText(w.labels))
		}
		if text := got[i].annotations["description"]; !strings.Contains(text, w.text) || strings.Contains(text, "{{") || strings.Contains(text, "error") {
			t.Errorf("description %q lacks %q, or a template failed", text, w.text)
		}
	}
}

// TestCoverage holds that every alert and recording rule has a scenario of each
// kind, and prints the table.
func TestCoverage(t *testing.T) {
	seen := make(map[string]map[kind]int)
	note := func(rule string, k kind) {
		if seen[rule] == nil {
			seen[rule] = make(map[kind]int)
		}
		seen[rule][k]++
	}
	for _, s := range scenarios() {
		if s.alert != "" {
			note(s.alert, s.kind)
		}
		for _, r := range s.records {
			note(r.rule.name, s.kind)
		}
	}
	t.Logf("%-56s %s", "scenarios of", kinds())
	for _, g := range Groups(Default()) {
		for _, r := range g.Rules {
			var counts []int
			for _, k := range kinds() {
				counts = append(counts, seen[r.Name()][k])
				if seen[r.Name()][k] == 0 {
					t.Errorf("%s has no scenario of kind %q", r.Where(), k)
				}
			}
			t.Logf("%-56s %v", r.Name(), counts)
			delete(seen, r.Name())
		}
	}
	for name := range seen {
		t.Errorf("scenarios of %s, which no rule is called", name)
	}
}
