package diff

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kvshadow/kvshadow/catalog"
	"github.com/kvshadow/kvshadow/catalog/page"
)

const (
	page151 = "../testdata/dynamo-1.5.1-disagg.metrics.txt"
	page161 = "../testdata/dynamo-1.6.1-agg.metrics.txt"
	shadow  = "../testdata/kvshadow.metrics.txt"
)

func compare(t *testing.T, from, to Side) (string, int) {
	t.Helper()
	changes, err := Compare(from, to)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, c := range changes {
		lines = append(lines, c.String())
	}
	return strings.Join(lines, "\n"), Breaks(changes)
}

func counter() catalog.Entry {
	return catalog.Entry{
		Name: "kvshadow_things_total", System: catalog.SystemShadow, Type: catalog.Counter, Unit: "blocks", Help: "Things.",
		Labels:    []catalog.Label{{Name: "policy"}, {Name: "reason", Values: []string{"a", "b"}}},
		Stability: catalog.Stable,
	}
}

func document(entries ...catalog.Entry) Side {
	return FromDocument(catalog.Document{Schema: catalog.Schema, Metrics: entries})
}

func TestCompareCatalogs(t *testing.T) {
	f := func(change func(e *catalog.Entry), want string, breaks int) {
		t.Helper()
		for _, stability := range []catalog.Stability{catalog.Stable, catalog.Alpha} {
			before, after := counter(), counter()
			before.Stability, after.Stability = stability, stability
			change(&after)
			w, b := want, breaks
			if stability == catalog.Alpha {
				w, b = strings.ReplaceAll(w, " (stable)", ""), 0
			}
			if got, n := compare(t, document(before), document(after)); got != w || n != b {
				t.Errorf("%s: %q, %d breaks; want %q, %d", stability, got, n, w, b)
			}
		}
	}
	f(func(e *catalog.Entry) {}, "", 0)
	f(func(e *catalog.Entry) { e.HowToUse, e.Since, e.Help = "x", "9", "Other." }, "", 0)
	f(func(e *catalog.Entry) { e.Name = "kvshadow_others_total" }, "renamed    kvshadow_things_total -> kvshadow_others_total (stable)", 1)
	f(func(e *catalog.Entry) { e.Name, e.Help = "kvshadow_others_total", "Others." },
		"removed    kvshadow_things_total (stable)\nadded      kvshadow_others_total: counter", 1)
	f(func(e *catalog.Entry) { e.Type = catalog.Gauge }, "type       kvshadow_things_total: counter -> gauge (stable)", 1)
	f(func(e *catalog.Entry) { e.Unit = "" }, "unit       kvshadow_things_total: blocks -> none (stable)", 1)
	f(func(e *catalog.Entry) { e.Labels = e.Labels[:1] }, "labels     kvshadow_things_total: -reason (stable)", 1)
	f(func(e *catalog.Entry) { e.Labels = append(e.Labels, catalog.Label{Name: "x"}) }, "labels     kvshadow_things_total: +x (stable)", 1)
	f(func(e *catalog.Entry) { e.Labels[1].Values = []string{"a"} }, "values     kvshadow_things_total: reason -b (stable)", 1)
	f(func(e *catalog.Entry) { e.Labels[1].Values = []string{"a", "b", "c"} }, "values     kvshadow_things_total: reason +c", 0)
	f(func(e *catalog.Entry) { e.Labels[1].Values = nil }, "", 0)
	f(func(e *catalog.Entry) { e.Deprecated = "0.2: use others" }, "deprecated kvshadow_things_total: 0.2: use others", 0)
	f(func(e *catalog.Entry) { e.Name, e.Unit = "kvshadow_others_total", "bytes" },
		"renamed    kvshadow_things_total -> kvshadow_others_total (stable)\nunit       kvshadow_things_total: blocks -> bytes (stable)", 2)
}

func TestCompareStability(t *testing.T) {
	f := func(before, after []catalog.Entry, want string, breaks int) {
		t.Helper()
		if got, n := compare(t, document(before...), document(after...)); got != want || n != breaks {
			t.Errorf("%q, %d breaks; want %q, %d", got, n, want, breaks)
		}
	}
	stable, alpha, leaving := counter(), counter(), counter()
	alpha.Stability = catalog.Alpha
	leaving.Deprecated = "0.2: without replacement"
	f([]catalog.Entry{stable}, []catalog.Entry{alpha}, "stability  kvshadow_things_total: stable -> alpha (stable)", 1)
	f([]catalog.Entry{alpha}, []catalog.Entry{stable}, "stability  kvshadow_things_total: alpha -> stable", 0)
	f([]catalog.Entry{stable}, nil, "removed    kvshadow_things_total (stable)", 1)
	f([]catalog.Entry{leaving}, nil, "removed    kvshadow_things_total", 0)
	f(nil, []catalog.Entry{stable}, "added      kvshadow_things_total: counter", 0)
	f(nil, nil, "", 0)
}

// TestRenamedNearest pairs two renamed metrics that differ in their names only.
func TestRenamedNearest(t *testing.T) {
	named := func(name string) catalog.Entry {
		e := counter()
		e.Name = name
		return e
	}
	got, _ := compare(t, document(named("kvshadow_first_total"), named("kvshadow_second_total")), document(named("kvshadow_a_second_total"), named("kvshadow_a_first_total")))
	want := "renamed    kvshadow_first_total -> kvshadow_a_first_total (stable)\nrenamed    kvshadow_second_total -> kvshadow_a_second_total (stable)"
	if got != want {
		t.Errorf("%q; want %q", got, want)
	}
}

func read(t *testing.T, name string) Side {
	t.Helper()
	s, err := Read(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestComparePages compares the captured pages, and each with the catalog.
func TestComparePages(t *testing.T) {
	catalogued := FromDocument(catalog.NewDocument(nil))
	f := func(from, to Side, want ...string) {
		t.Helper()
		if got, n := compare(t, from, to); got != strings.Join(want, "\n") || n != 0 {
			t.Errorf("%d breaks: %s", n, got)
		}
	}
	new161 := func(format func(m catalog.Metric) string) []string {
		var lines []string
		for _, name := range FromDocument(catalog.NewDocument(nil)).names() {
			if m, _ := catalog.Find(name); m.Since == catalog.Dynamo161 {
				lines = append(lines, format(m))
			}
		}
		return lines
	}
	added := new161(func(m catalog.Metric) string { return "added      " + m.Name + ": " + string(m.Type) })
	absent := new161(func(m catalog.Metric) string { return "absent     " + m.Name + ": seen in 1.6.1 only" })
	f(read(t, page151), read(t, page151))
	f(read(t, page151), read(t, page161), append([]string{"labels     dynamo_component_router_input_sequence_tokens: +model, +phase"}, added...)...)
	f(catalogued, read(t, page151), absent...)
	f(read(t, page151), catalogued, absent...)
	f(catalogued, read(t, page161))
	f(catalogued, read(t, shadow))
	f(read(t, shadow), catalogued)
}

// TestCompareMutatedPage makes changes to a page of kvshadow and looks for them
// against the catalog, the original page, and the other way round.
func TestCompareMutatedPage(t *testing.T) {
	text, err := os.ReadFile(shadow)
	if err != nil {
		t.Fatal(err)
	}
	original := read(t, shadow)
	f := func(from, to, want string) {
		t.Helper()
		p, err := page.Parse("page", "", []byte(strings.ReplaceAll(string(text), from, to)))
		if err != nil {
			t.Fatal(err)
		}
		for _, side := range []Side{original, FromDocument(catalog.NewDocument(nil))} {
			if got, n := compare(t, side, FromPage(p)); got != want || n != strings.Count(want, "(stable)") {
				t.Errorf("%d breaks: %q; want %q", n, got, want)
			}
		}
	}
	f("kvshadow_decisions_total", "kvshadow_choices_total", "renamed    kvshadow_decisions_total -> kvshadow_choices_total (stable)")
	f("TYPE kvshadow_decisions_total counter", "TYPE kvshadow_decisions_total gauge", "type       kvshadow_decisions_total: counter -> gauge (stable)")
	f("kvshadow_decisions_total{worker_type=", "kvshadow_decisions_total{role=", "labels     kvshadow_decisions_total: -worker_type, +role (stable)")
	f("kvshadow_source_open_files", "kvshadow_source_files", "renamed    kvshadow_source_open_files -> kvshadow_source_files")
}

// TestCompareForeign holds what other metrics a page may have.
func TestCompareForeign(t *testing.T) {
	parse := func(text string) Side {
		t.Helper()
		p, err := page.Parse("page", "", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		return FromPage(p)
	}
	text, err := os.ReadFile(shadow)
	if err != nil {
		t.Fatal(err)
	}
	more := parse(string(text) + "# TYPE go_x gauge\ngo_x 1\n# TYPE kvshadow_build_info gauge\nkvshadow_build_info 1\n# TYPE kvshadow_x gauge\nkvshadow_x 1\n")
	f := func(from, to Side, want string) {
		t.Helper()
		if got, _ := compare(t, from, to); got != want {
			t.Errorf("%q; want %q", got, want)
		}
	}
	catalogued := FromDocument(catalog.NewDocument(nil))
	f(catalogued, more, "added      kvshadow_x: gauge")
	f(more, catalogued, "removed    kvshadow_x")
	f(read(t, shadow), more, "added      go_x: gauge\nadded      kvshadow_build_info: gauge\nadded      kvshadow_x: gauge")
	if _, err := Compare(catalogued, parse("go_x 1\n")); err == nil || !strings.Contains(err.Error(), "nothing to compare") {
		t.Errorf("error %v", err)
	}
}

func TestReadFailure(t *testing.T) {
	f := func(text, want string) {
		t.Helper()
		name := filepath.Join(t.TempDir(), "in")
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Read(t.Context(), name); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), name) {
			t.Errorf("error %v; want %q", err, want)
		}
	}
	f("", "no metrics")
	f("{}", "its schema is")
	f("  {", "not a catalog: unexpected EOF")
	f("what is this", "not a metrics page")
	if _, err := Read(t.Context(), filepath.Join(t.TempDir(), "missing")); err == nil {
		t.Error("a missing file is read")
	}
}
