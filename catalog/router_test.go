package catalog_test

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"testing"

	"github.com/kvshadow/kvshadow/catalog"
	"github.com/kvshadow/kvshadow/catalog/page"
)

// captured are pages of real routers, by release. They are cut down to the
// catalogued metrics.
var captured = map[string]string{
	catalog.Dynamo151: "testdata/dynamo-1.5.1-disagg.metrics.txt",
	catalog.Dynamo161: "testdata/dynamo-1.6.1-agg.metrics.txt",
}

func capture(t *testing.T, release string) *page.Page {
	t.Helper()
	name := captured[release]
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	p, err := page.Parse(name, "", text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestRouterReleases holds every claim of a release against that release's
// page: name, help text, type, and labels, no fewer and no more.
func TestRouterReleases(t *testing.T) {
	for _, release := range catalog.RouterReleases() {
		p := capture(t, release)
		for _, m := range catalog.Router() {
			f, claimed := p.Find(m.Name), slices.Contains(m.Releases, release)
			switch {
			case claimed && f == nil:
				t.Errorf("%s: %s is not on the page", release, m.Name)
			case !claimed && f != nil:
				t.Errorf("%s: %s is on the page, which the definition doesn't say", release, m.Name)
			case claimed:
				checkCaptured(t, release, m, f)
			}
		}
		for _, f := range p.Families() {
			if _, ok := catalog.Find(f.Name); !ok {
				t.Errorf("%s: %s is on the trimmed page, but not in the catalog", release, f.Name)
			}
		}
	}
}

func checkCaptured(t *testing.T, release string, m catalog.Metric, f *page.Family) {
	t.Helper()
	if f.Type != m.Type {
		t.Errorf("%s: %s is a %s; want %s", release, m.Name, f.Type, m.Type)
	}
	if f.Help != m.Help && f.Help+"." != m.Help {
		t.Errorf("%s: %s has the help text %q; want %q", release, m.Name, f.Help, m.Help)
	}
	var want []string
	for _, l := range m.Labels {
		if since := m.LabelSince[l]; since == "" || slices.Index(catalog.RouterReleases(), since) <= slices.Index(catalog.RouterReleases(), release) {
			want = append(want, l)
		}
	}
	slices.Sort(want)
	if got := slices.Sorted(maps.Keys(f.Labels)); !slices.Equal(got, want) {
		t.Errorf("%s: %s has the labels %q; want %q", release, m.Name, got, want)
	}
	for label, allowed := range m.Values {
		for v := range f.Labels[label] {
			if !slices.Contains(allowed, v) {
				t.Errorf("%s: %s has %s=%q; want one of %q", release, m.Name, label, v, allowed)
			}
		}
	}
}

// TestOverlapBuckets holds that kvshadow's histogram has the bounds of the
// router's.
func TestOverlapBuckets(t *testing.T) {
	text, err := os.ReadFile(captured[catalog.Dynamo151])
	if err != nil {
		t.Fatal(err)
	}
	var bounds []float64
	for _, m := range regexp.MustCompile(`(?m)^dynamo_component_router_overlap_blocks_lost_bucket\{.*le="([0-9.]+)"`).FindAllStringSubmatch(string(text), -1) {
		b, err := strconv.ParseFloat(m[1], 64)
		if err != nil {
			t.Fatal(err)
		}
		bounds = append(bounds, b)
	}
	if !slices.Equal(bounds, catalog.OverlapBuckets()) {
		t.Errorf("the router has %v, kvshadow %v", bounds, catalog.OverlapBuckets())
	}
}
