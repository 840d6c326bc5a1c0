package catalog_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/kvshadow/kvshadow/catalog"
)

func all() []catalog.Metric { return append(catalog.Shadow(), catalog.Router()...) }

// TestDefinitions holds what every definition needs.
func TestDefinitions(t *testing.T) {
	seen := map[string]bool{}
	for _, m := range all() {
		for _, problem := range problemsOf(m) {
			t.Errorf("%s: %s", m.Name, problem)
		}
		if seen[m.Name] {
			t.Errorf("%s is defined twice", m.Name)
		}
		seen[m.Name] = true
		if found, ok := catalog.Find(m.Name); !ok || found.Help != m.Help {
			t.Errorf("Find(%q) is %v, %v", m.Name, found, ok)
		}
	}
	if _, ok := catalog.Find("kvshadow_nothing"); ok {
		t.Error("Find finds what isn't there")
	}
}

var release = regexp.MustCompile(`^\d+\.\d+(\.\d+)?$`)

func problemsOf(m catalog.Metric) []string {
	var problems []string
	must := func(ok bool, text string) {
		if !ok {
			problems = append(problems, text)
		}
	}
	must(catalog.SystemOf(m.Name) != "", "belongs to no system")
	must(strings.HasSuffix(m.Help, "."), "the help text is no sentence")
	must(strings.HasSuffix(m.HowToUse, "."), "how to use is no sentence")
	must(m.Cardinality != "", "has no cardinality")
	must(m.Stability == catalog.Stable || m.Stability == catalog.Alpha, "has no stability")
	must(release.MatchString(m.Since), "since is no release")
	for l, values := range m.Values {
		must(slices.Contains(m.Labels, l), "has values for "+l+", which is no label")
		must(slices.IsSorted(values) && len(slices.Compact(slices.Clone(values))) == len(values), "values of "+l+" aren't sorted and unique")
	}
	for l, since := range m.LabelSince {
		must(slices.Contains(m.Labels, l), "has a release for "+l+", which is no label")
		must(slices.Contains(m.Releases, since), l+" came with a release that isn't the metric's")
	}
	if catalog.SystemOf(m.Name) == catalog.SystemShadow {
		must(m.Releases == nil && m.LabelSince == nil, "is kvshadow's and has releases of the router")
		return problems
	}
	must(m.Stability == catalog.Alpha, "is Dynamo's, whose metrics aren't ours to promise")
	must(len(m.Releases) > 0 && m.Releases[0] == m.Since, "since isn't the first release")
	for _, r := range m.Releases {
		must(slices.Contains(catalog.RouterReleases(), r), "claims the unknown release "+r)
	}
	return problems
}

var (
	inCode   = regexp.MustCompile("`([^`]*)`")
	aMetric  = regexp.MustCompile(`\b(?:kvshadow|dynamo)_[a-z0-9_]+\b(\()?`)
	partName = regexp.MustCompile(`_(bucket|sum|count)$`)
)

// TestHowToUse holds that the advice has an expression with the metric itself,
// and names only catalogued metrics and labels that exist.
func TestHowToUse(t *testing.T) {
	labels := []string{catalog.LabelNamespace, catalog.LabelComponent}
	for _, m := range all() {
		labels = append(labels, m.Labels...)
	}
	for _, m := range all() {
		code := strings.Join(inCode.FindAllString(m.HowToUse, -1), " ")
		if !strings.Contains(code, m.Name) {
			t.Errorf("%s: no expression uses it", m.Name)
		}
		for _, name := range aMetric.FindAllString(m.HowToUse, -1) {
			if slices.Contains(labels, name) {
				continue
			}
			def, ok := catalog.Find(name)
			if !ok {
				if def, ok = catalog.Find(partName.ReplaceAllString(name, "")); ok && def.Type != catalog.Histogram {
					t.Errorf("%s: %s is a part of a %s", m.Name, name, def.Type)
				}
			}
			if !ok {
				t.Errorf("%s: names %s, which is in no catalog", m.Name, name)
			}
		}
		if n := strings.Count(m.HowToUse, "`"); n%2 != 0 {
			t.Errorf("%s: odd number of backticks", m.Name)
		}
	}
}

func TestMissing(t *testing.T) {
	f := func(m catalog.Metric, want string) {
		t.Helper()
		if got := m.Missing(); got != want {
			t.Errorf("Missing() = %q; want %q", got, want)
		}
	}
	f(catalog.Metric{}, "")
	f(catalog.Metric{Releases: catalog.RouterReleases()}, "")
	f(catalog.Metric{Releases: []string{"1.6.1"}}, "seen in 1.6.1 only")
	f(catalog.Metric{Releases: []string{"1.6.1"}, Optional: "with a cache only"}, "with a cache only")
}

func TestUsageOf(t *testing.T) {
	u := catalog.UsageOf([]catalog.Use{
		{Where: "panel 'A'", Metric: catalog.Decisions}, {Where: "panel 'B'", Metric: catalog.PolicyInfo},
		{Where: "panel 'A'", Metric: catalog.Decisions}, {Where: "alert C", Metric: catalog.Decisions},
	})
	if got := strings.Join(u(catalog.Decisions.Name), "; "); got != "panel 'A'; alert C" {
		t.Errorf("decisions are used by %q", got)
	}
	if got := u(catalog.SourceLag.Name); got != nil {
		t.Errorf("lag is used by %q", got)
	}
}
