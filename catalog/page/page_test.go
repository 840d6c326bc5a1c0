package page

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/kvshadow/kvshadow/catalog"
)

const text = `# HELP kvshadow_a_total Things.
# TYPE kvshadow_a_total counter
kvshadow_a_total{x="1",y="2"} 3
kvshadow_a_total{x="2"} 3
# TYPE h_seconds histogram
h_seconds_bucket{x="1",le="1.0"} 1
h_seconds_bucket{x="1",le="+Inf"} 2
h_seconds_sum{x="1"} 3
h_seconds_count{x="1"} 2
# TYPE s summary
s{quantile="0.5"} 1
s_sum 1
s_count 1
`

const openMetrics = `# HELP kvshadow_a Things.
# TYPE kvshadow_a counter
kvshadow_a_total{x="1",y="2"} 3 # {request_id="q"} 1
kvshadow_a_created{x="1",y="2"} 3
kvshadow_a_total{x="2"} 3
# TYPE h_seconds histogram
# UNIT h_seconds seconds
h_seconds_bucket{x="1",le="1.0"} 1 # {request_id="q"} 1.0
h_seconds_bucket{x="1",le="+Inf"} 2
h_seconds_sum{x="1"} 3
h_seconds_count{x="1"} 2
# TYPE s summary
s{quantile="0.5"} 1
s_sum 1
s_count 1
# EOF
`

func parse(t *testing.T, contentType, text string) *Page {
	t.Helper()
	p, err := Parse("test", contentType, []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestParse(t *testing.T) {
	f := func(contentType, text string) {
		t.Helper()
		p := parse(t, contentType, text)
		want := func(name string, typ catalog.Type, help string, series int, labels ...string) {
			t.Helper()
			f := p.Find(name)
			if f == nil {
				t.Fatalf("%s isn't found", name)
			}
			if got := slices.Sorted(maps.Keys(f.Labels)); f.Type != typ || f.Help != help || f.Series != series || !slices.Equal(got, labels) {
				t.Errorf("%s: %+v; want type %s, help %q, %d series, labels %q", name, f, typ, help, series, labels)
			}
		}
		want("kvshadow_a_total", catalog.Counter, "Things.", 2, "x", "y")
		want("h_seconds", catalog.Histogram, "", 1, "x")
		want("s", "summary", "", 1)
		if len(p.Families()) != 3 || p.Find("nothing") != nil || p.Find("h_seconds_bucket") != nil {
			t.Errorf("families %v", p.Families())
		}
		if !p.Shows(catalog.SystemShadow) || p.Shows(catalog.SystemRouter) {
			t.Error("the page shows kvshadow only")
		}
	}
	f("", text)
	f("", strings.ReplaceAll(text, "\n", "\n\n"))
	f("text/plain; version=0.0.4; charset=utf-8", text)
	f("", openMetrics)
	f("application/openmetrics-text; version=1.0.0; charset=utf-8", openMetrics)
}

// TestParseUntyped reads pages without types, as some agents write them.
func TestParseUntyped(t *testing.T) {
	p := parse(t, "", "a_total 1\nh_bucket{x=\"1\",le=\"+Inf\"} 1\nh_sum{x=\"1\"} 1\nh_count{x=\"1\"} 1\n")
	if f := p.Find("a_total"); f.Type != Untyped || f.Series != 1 {
		t.Errorf("a_total: %+v", f)
	}
	if f := p.Find("h"); f.Name != "h" || f.Type != Untyped || len(f.Labels) != 1 || !f.Labels["x"]["1"] {
		t.Errorf("h: %+v", f)
	}
	if f := p.Find("h_bucket"); len(f.Labels) != 2 {
		t.Errorf("h_bucket lost its le: %+v", f)
	}
}

func TestParseFailure(t *testing.T) {
	f := func(contentType, text, want string) {
		t.Helper()
		_, err := Parse("test", contentType, []byte(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v; want %q", err, want)
		}
	}
	f("", "", "test: no metrics")
	f("", "# just a comment\n", "test: no metrics")
	f("", "hello, world\n", "test: not a metrics page: ")
	f("", "a{x=\"1\" 3\n", "test: not a metrics page: ")
	f("", "<!doctype html><p>kvshadow", "is an HTML page")
	f("text/html; charset=utf-8", "a 1\n", "is an HTML page")
	f("", "# TYPE a counter\n", "test: no metrics")
	f("application/openmetrics-text; version=1.0.0", "a{ 1\n# EOF\n", "test: not a metrics page: ")
}

func TestMerge(t *testing.T) {
	p := New()
	p.Merge(parse(t, "", "# TYPE a counter\na{x=\"1\"} 1\n"))
	p.Merge(parse(t, "", "# TYPE a gauge\na{x=\"2\",y=\"3\"} 1\n# TYPE b gauge\nb 1\n"))
	a := p.Find("a")
	if a.Type != catalog.Counter || a.Series != 2 || !a.Labels["x"]["1"] || !a.Labels["x"]["2"] || !a.Labels["y"]["3"] {
		t.Errorf("a: %+v", a)
	}
	if p.Find("b") == nil || len(p.Sources) != 2 {
		t.Errorf("the page: %+v", p)
	}
}
