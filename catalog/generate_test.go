package catalog_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/kvshadow/kvshadow/catalog"
	"github.com/kvshadow/kvshadow/catalog/diff"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(name, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs; run go test ./catalog -update if that is meant", name)
	}
}

// someUsage has what needs escaping.
func someUsage(name string) []string {
	if name != catalog.Decisions.Name {
		return nil
	}
	return []string{`dashboard "A|B", panel '{x} < y'`, "alert NoDecisions"}
}

// TestGenerate holds the pages as they look with the places of use; those of
// docs/ have the real places.
func TestGenerate(t *testing.T) {
	files, err := catalog.Generate(someUsage)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		golden(t, filepath.Join("testdata", "usage."+f.Name), excerpt(t, f))
	}
}

// excerpt is a page's part on kvshadow's evaluation.
func excerpt(t *testing.T, f catalog.File) []byte {
	t.Helper()
	end := map[string]string{"metrics.md": "\n### Sources", "metrics.mdx": "\n### Sources", "metrics.json": `"name": "kvshadow_non_max_overlap`}
	i := bytes.Index(f.Data, []byte(end[f.Name]))
	if i < 0 {
		t.Fatalf("%s has no %q", f.Name, end[f.Name])
	}
	return f.Data[:bytes.LastIndexByte(f.Data[:i], '\n')+1]
}

// TestGenerateComplete holds that each page has every metric, once.
func TestGenerateComplete(t *testing.T) {
	files, err := catalog.Generate(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range all() {
		for i, pattern := range []string{"\n#### " + m.Name + "\n", `<ParamField path="` + m.Name + `" type="` + string(m.Type) + `">`, `"name": "` + m.Name + `"`} {
			if n := strings.Count(string(files[i].Data), pattern); n != 1 {
				t.Errorf("%s has %q %d times", files[i].Name, pattern, n)
			}
		}
	}
	again, err := catalog.Generate(nil)
	if err != nil || !reflect.DeepEqual(files, again) {
		t.Errorf("the pages differ from one call to the next: %v", err)
	}
}

func TestParseDocument(t *testing.T) {
	doc := catalog.NewDocument(someUsage)
	text, err := doc.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	got, err := catalog.ParseDocument(text)
	if err != nil || !reflect.DeepEqual(got, doc) {
		t.Fatalf("the document comes back changed: %v", err)
	}
	f := func(text, want string) {
		t.Helper()
		_, err := catalog.ParseDocument([]byte(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v; want %q", err, want)
		}
	}
	f(``, "not a catalog: EOF")
	f(`[]`, "not a catalog: json:")
	f(`{"schema":"other"}`, `its schema is "other"`)
	f(`{"schema":"kvshadow.metrics.v1"} {}`, "something follows")
	f(`{"schema":"kvshadow.metrics.v1","metrics":[{"name":"a"},{}]}`, "metric 2 has no name")
	f(`{"schema":"kvshadow.metrics.v1","metrics":[{"name":"a"},{"name":"a"}]}`, "metric a is there twice")
}

// TestStableMetrics guards the stable metrics. New ones are added to the golden
// list by -update. It refuses to take one away or to change it: that is an edit
// of the list by hand, for reviewers to see.
func TestStableMetrics(t *testing.T) {
	const name = "testdata/stable-metrics.json"
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	old, err := catalog.ParseDocument(text)
	if err != nil {
		t.Fatal(err)
	}
	changes, err := diff.Compare(diff.FromDocument(old), diff.FromDocument(catalog.NewDocument(nil)))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range changes {
		if c.Breaks {
			t.Errorf("a stable metric changed: %s; edit %s by hand if that is meant", c, name)
		}
	}
	if t.Failed() {
		return
	}
	now := catalog.Document{Schema: catalog.Schema, GeneratedBy: "go test ./catalog -update, which only adds"}
	for _, e := range catalog.NewDocument(nil).Metrics {
		if e.Stability == catalog.Stable {
			now.Metrics = append(now.Metrics, catalog.Entry{
				Name: e.Name, System: e.System, Section: e.Section, Type: e.Type, Unit: e.Unit, Help: e.Help,
				Labels: e.Labels, Stability: e.Stability, Since: e.Since, Deprecated: e.Deprecated,
			})
		}
	}
	got, err := now.Marshal()
	if err != nil {
		t.Fatal(err)
	}
	golden(t, name, got)
}
