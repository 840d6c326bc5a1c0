package alerts

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/VictoriaMetrics/metricsql"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/kvshadow/kvshadow/catalog"
)

// linter holds rules against a catalog and against each other.
type linter struct {
	metrics  map[string]catalog.Metric
	recorded map[string][]string // of the group: rule to the metrics it reads
	names    map[string]bool     // of all rules
	problems []string
}

func newLinter(known []catalog.Metric) *linter {
	l := &linter{metrics: make(map[string]catalog.Metric), names: make(map[string]bool)}
	for _, m := range known {
		l.metrics[m.Name] = m
	}
	return l
}

func (l *linter) report(where, format string, args ...any) {
	l.problems = append(l.problems, where+": "+fmt.Sprintf(format, args...))
}

func lint(groups []Group, known []catalog.Metric) []string {
	l := newLinter(known)
	for _, g := range groups {
		l.recorded = make(map[string][]string)
		for _, r := range g.Rules {
			l.rule(r)
		}
	}
	return l.problems
}

var recordName = regexp.MustCompile(`^kvshadow:[a-z][a-z0-9_]*:[a-z][a-z0-9_]*$`)

func (l *linter) rule(r Rule) {
	if l.names[r.Name()] {
		l.report(r.Where(), "duplicate name")
	}
	l.names[r.Name()] = true
	reads, allowed := l.expr(r.Where(), r.Expr)
	if (r.Alert == "") == (r.Record == "") {
		l.report(r.Where(), "must be an alert or a recording rule")
	}
	if r.Record != "" {
		if !recordName.MatchString(r.Record) || r.For != "" {
			l.report(r.Where(), "name must be kvshadow:METRIC:OPERATION, and for is no part of it")
		}
		l.recorded[r.Record] = reads
	} else {
		l.alert(r, allowed)
	}
	l.uses(r, reads)
}

// uses holds what the definition says it reads against what the parser finds.
func (l *linter) uses(r Rule, reads []string) {
	var said []string
	for _, u := range r.uses() {
		said = append(said, u.Metric.Name)
		for _, label := range u.Labels {
			if !slices.Contains(l.metrics[u.Metric.Name].Labels, label) {
				l.report(r.Where(), "uses label %q, which %s hasn't", label, u.Metric.Name)
			}
		}
	}
	slices.Sort(said)
	reads = slices.Sorted(slices.Values(reads)) // a copy: others hold it
	if reads = slices.Compact(reads); !slices.Equal(said, reads) {
		l.report(r.Where(), "says that it reads %v, reads %v", said, reads)
	}
}

var templateLabel = regexp.MustCompile(`\$labels\.([a-zA-Z_]+)`)

func (l *linter) alert(r Rule, allowed []string) {
	if d, err := model.ParseDuration(r.For); err != nil || d <= 0 {
		l.report(r.Where(), "for is missing or %q", r.For)
	}
	if !slices.Contains(Severities(), r.Labels["severity"]) {
		l.report(r.Where(), "severity %q isn't one of %v", r.Labels["severity"], Severities())
	}
	a := r.Annotations
	if a == nil || a.Summary == "" || a.RunbookURL == "" || a.Dashboard == "" {
		l.report(r.Where(), "an annotation is missing")
		return
	}
	if !strings.Contains(a.Description, "$value") {
		l.report(r.Where(), "the description lacks the value")
	}
	for _, m := range templateLabel.FindAllStringSubmatch(a.Summary+a.Description, -1) {
		if !slices.Contains(allowed, m[1]) {
			l.report(r.Where(), "the texts name label %q, which the series haven't", m[1])
		}
	}
}

// scraped are labels that no process exposes.
func scraped() []string { return []string{labelJob, labelInstance, labelPod} }

// expr returns the catalog's metrics that an expression reads, and the labels
// that it may name.
func (l *linter) expr(where, text string) (reads, allowed []string) {
	if _, err := metricsql.Parse(text); err != nil {
		l.report(where, "no MetricsQL: %v", err)
	}
	tree, err := parser.NewParser(parser.Options{}).ParseExpr(text)
	if err != nil {
		l.report(where, "no PromQL: %v", err)
		return nil, nil
	}
	parser.Inspect(tree, func(n parser.Node, path []parser.Node) error {
		if s, ok := n.(*parser.VectorSelector); ok {
			reads = append(reads, l.selector(where, s, path)...)
		}
		if b, ok := n.(*parser.BinaryExpr); ok && b.Op == parser.DIV && !guarded(b.RHS) {
			l.report(where, "a denominator isn't kept above 0: %s", b.RHS)
		}
		return nil
	})
	allowed = l.labelsOf(reads)
	parser.Inspect(tree, func(n parser.Node, _ []parser.Node) error {
		for _, name := range grouping(n) {
			if !slices.Contains(allowed, name) {
				l.report(where, "label %q isn't in the catalog for what is read", name)
			}
		}
		return nil
	})
	return reads, allowed
}

// guarded says whether a denominator can't be 0.
func guarded(e parser.Expr) bool {
	for {
		p, ok := e.(*parser.ParenExpr)
		if !ok {
			break
		}
		e = p.Expr
	}
	if n, ok := e.(*parser.NumberLiteral); ok {
		return n.Val != 0
	}
	b, ok := e.(*parser.BinaryExpr)
	return ok && b.Op == parser.GTR && !b.ReturnBool && b.RHS.String() == "0"
}

// grouping returns the labels that a node groups or joins by.
func grouping(n parser.Node) []string {
	switch n := n.(type) {
	case *parser.AggregateExpr:
		return n.Grouping
	case *parser.BinaryExpr:
		if n.VectorMatching != nil {
			return slices.Concat(n.VectorMatching.MatchingLabels, n.VectorMatching.Include)
		}
	}
	return nil
}

func (l *linter) labelsOf(metrics []string) []string {
	all := scraped()
	for _, name := range metrics {
		m := l.metrics[name]
		all = append(all, m.Labels...)
		if m.Type == catalog.Histogram {
			all = append(all, "le")
		}
	}
	return all
}

// selector checks one selector, and returns the metrics behind it.
func (l *linter) selector(where string, s *parser.VectorSelector, path []parser.Node) []string {
	reads, isRecord := l.recorded[s.Name]
	m, known := l.metrics[s.Name]
	if !known {
		m, known = l.metrics[family(s.Name)]
		known = known && m.Type == catalog.Histogram
	}
	switch {
	case isRecord:
	case known:
		reads = []string{m.Name}
		l.rated(where, m, path)
	default:
		l.report(where, "%s is neither in the catalog nor recorded before in this group", s.Name)
		return nil
	}
	for _, x := range s.LabelMatchers {
		if x.Name == model.MetricNameLabel {
			continue
		}
		if !slices.Contains(l.labelsOf(reads), x.Name) {
			l.report(where, "%s has no label %q", s.Name, x.Name)
		}
		for _, r := range reads {
			set, closed := l.metrics[r].Values[x.Name]
			if closed && x.Type == labels.MatchEqual && !slices.Contains(set, x.Value) {
				l.report(where, "%s has no %s %q", r, x.Name, x.Value)
			}
		}
	}
	return reads
}

// rated holds that a counter is rated first, and a gauge never.
func (l *linter) rated(where string, m catalog.Metric, path []parser.Node) {
	function := ""
	if n := len(path); n >= 2 {
		if _, isRange := path[n-1].(*parser.MatrixSelector); isRange {
			if call, ok := path[n-2].(*parser.Call); ok {
				function = call.Func.Name
			} else if args, ok := path[n-2].(parser.Expressions); ok && n >= 3 && len(args) == 1 {
				function = path[n-3].(*parser.Call).Func.Name
			}
		}
	}
	isRate := function == "rate" || function == "increase"
	if (m.Type != catalog.Gauge) != isRate {
		l.report(where, "%s is a %s under %q", m.Name, m.Type, function)
	}
}

func known() []catalog.Metric { return append(catalog.Shadow(), catalog.Router()...) }

func TestLint(t *testing.T) {
	for _, p := range lint(Groups(Default()), known()) {
		t.Error(p)
	}
}

// TestLintScoped lints the rules with labels that tell deployments apart, which
// the linter takes for the scrape's.
func TestLintScoped(t *testing.T) {
	o := Default()
	o.Thresholds.ScopeLabels = []string{labelPod, labelJob}
	for _, p := range lint(Groups(o), known()) {
		t.Error(p)
	}
}

// TestUses holds that what verify and the reference get is complete.
func TestUses(t *testing.T) {
	seen := make(map[string]bool)
	for _, u := range Uses() {
		if seen[u.Where+u.Metric.Name] {
			t.Errorf("%s lists %s twice", u.Where, u.Metric.Name)
		}
		seen[u.Where+u.Metric.Name] = true
	}
	for _, g := range Groups(Default()) {
		for _, r := range g.Rules {
			if !slices.ContainsFunc(Uses(), func(u catalog.Use) bool { return u.Where == r.Where() }) {
				t.Errorf("%s uses nothing", r.Where())
			}
		}
	}
	i := slices.IndexFunc(Uses(), func(u catalog.Use) bool {
		return u.Where == "alert "+SessionsMoving && u.Metric.Name == catalog.NonMaxOverlapSelections.Name
	})
	if got := Uses()[i].Labels; !slices.Equal(got, []string{catalog.LabelPolicy}) {
		t.Errorf("labels %v read through a recording rule; want policy", got)
	}
}

// TestPanels holds that every alert, and nothing else, has a panel.
func TestPanels(t *testing.T) {
	got := slices.Sorted(maps.Keys(panels()))
	if want := alertNames(); !slices.Equal(got, want) {
		t.Errorf("panels for %v\nalerts are %v", got, want)
	}
	if url := Dashboards("https://g").PanelURL("nothing"); url != "" {
		t.Errorf("no alert has panel %s", url)
	}
}

func alertNames() []string {
	var names []string
	for _, g := range Groups(Default()) {
		for _, r := range g.Rules {
			if r.Alert != "" {
				names = append(names, r.Alert)
			}
		}
	}
	slices.Sort(names)
	return names
}
