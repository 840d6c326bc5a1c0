package dashboards

import (
	"context"
	"slices"
	"testing"

	"github.com/kvshadow/kvshadow/analyzer/report"
	"github.com/kvshadow/kvshadow/catalog"
	"github.com/kvshadow/kvshadow/catalog/page"
	"github.com/kvshadow/kvshadow/catalog/verify"
)

// TestUses wants known metrics and labels, and every essential one in use.
func TestUses(t *testing.T) {
	unused := map[string]bool{}
	for _, m := range slices.Concat(catalog.Shadow(), catalog.Router()) {
		if m.Essential {
			unused[m.Name] = true
		}
	}
	for _, u := range Uses() {
		delete(unused, u.Metric.Name)
		if _, ok := catalog.Find(u.Metric.Name); !ok && !slices.ContainsFunc(ProcessMetrics(), func(m catalog.Metric) bool { return m.Name == u.Metric.Name }) {
			t.Errorf("%s: %s is in no catalog", u.Where, u.Metric.Name)
		}
		for _, l := range u.Labels {
			if !slices.Contains(u.Metric.Labels, l) {
				t.Errorf("%s: %s has no label %s", u.Where, u.Metric.Name, l)
			}
		}
	}
	for name := range unused {
		t.Errorf("%s is essential and on no dashboard", name)
	}
}

// TestPages holds every panel and variable against pages of real processes.
func TestPages(t *testing.T) {
	f := func(name string, system catalog.System, least int) {
		t.Helper()
		p, err := page.Read(context.Background(), "../catalog/testdata/"+name)
		if err != nil {
			t.Fatal(err)
		}
		r := verify.Check(p, verify.Only(Uses(), system))
		for _, x := range r.Problems {
			t.Errorf("%s: %s", name, x)
		}
		if found := r.Checked - len(r.Notes); found < least {
			t.Errorf("%s: only %d uses of %d find their metric: %v", name, found, r.Checked, r.Notes)
		}
	}
	f("dynamo-1.5.1-disagg.metrics.txt", catalog.SystemRouter, 60)
	f("dynamo-1.6.1-agg.metrics.txt", catalog.SystemRouter, 60)
	f("kvshadow.metrics.txt", catalog.SystemShadow, 50)
}

func TestMinFidelity(t *testing.T) {
	if minFidelity != report.DefaultMinFidelity {
		t.Errorf("thresholds are at %g, reports refuse a verdict below %g", minFidelity, report.DefaultMinFidelity)
	}
}
