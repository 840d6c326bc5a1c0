package dashboards

import (
	"bytes"
	"encoding/json"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

var update = flag.Bool("update", false, "rewrite dashboards/generated")

// TestGenerated holds the committed output against the definitions.
func TestGenerated(t *testing.T) {
	want := map[string][]byte{}
	add := func(folder string, o Options, formats ...Format) {
		files, err := Generate(o, formats...)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			want[filepath.Join("generated", folder, filepath.FromSlash(f.Name))] = f.Data
		}
	}
	add("prometheus", Options{}, Formats()...)
	add("victoriametrics", Options{Flavor: VictoriaMetrics}, JSON)
	if *update {
		if err := os.RemoveAll("generated"); err != nil {
			t.Fatal(err)
		}
		for name, data := range want {
			if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(name, data, 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	err := filepath.WalkDir("generated", func(name string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		got, err := os.ReadFile(name)
		if data, ok := want[name]; !ok {
			t.Errorf("%s is generated no more; run go test ./dashboards -update", name)
		} else if !bytes.Equal(got, data) {
			t.Errorf("%s differs from the definitions; run go test ./dashboards -update", name)
		}
		delete(want, name)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for name := range want {
		t.Errorf("%s is missing; run go test ./dashboards -update", name)
	}
}

// TestFormats reads every format as its consumer does: the dashboard inside is
// always the same.
func TestFormats(t *testing.T) {
	f := func(format Format, inside func(name string, data []byte) string) {
		t.Helper()
		files, err := Generate(Options{}, format)
		if err != nil {
			t.Fatal(err)
		}
		files = slices.DeleteFunc(files, func(f File) bool { return f.Name == "provisioning/kvshadow.yaml" })
		for i, d := range All(Options{}) {
			want, err := d.Encode()
			if err != nil {
				t.Fatal(err)
			}
			if got := inside(d.UID, files[i].Data); got != string(want) {
				t.Errorf("%s: %s holds another dashboard", format, files[i].Name)
			}
			if len(files[i].Data) > 1<<20 {
				t.Errorf("%s: %s is larger than a Kubernetes object may be", format, files[i].Name)
			}
		}
	}
	read := func(data []byte, v any) {
		t.Helper()
		if err := yaml.Unmarshal(data, v); err != nil {
			t.Fatal(err)
		}
	}
	f(JSON, func(_ string, data []byte) string { return string(data) })
	f(Provisioning, func(_ string, data []byte) string { return string(data) })
	f(ConfigMap, func(uid string, data []byte) string {
		var m struct {
			Kind     string
			Metadata struct{ Labels map[string]string }
			Data     map[string]string
		}
		read(data, &m)
		if m.Kind != "ConfigMap" || m.Metadata.Labels["grafana_dashboard"] != "1" {
			t.Errorf("the sidecar doesn't find %s", uid)
		}
		return m.Data[uid+".json"]
	})
	f(GrafanaDashboard, func(uid string, data []byte) string {
		var m struct {
			Kind string
			Spec struct {
				JSON             string `yaml:"json"`
				InstanceSelector struct {
					MatchLabels map[string]string `yaml:"matchLabels"`
				} `yaml:"instanceSelector"`
			}
		}
		read(data, &m)
		if m.Kind != "GrafanaDashboard" || len(m.Spec.InstanceSelector.MatchLabels) == 0 {
			t.Errorf("no Grafana takes %s", uid)
		}
		return m.Spec.JSON
	})
	var p struct {
		APIVersion int `yaml:"apiVersion"`
		Providers  []struct{ Type string }
	}
	read([]byte(provider), &p)
	if p.APIVersion != 1 || len(p.Providers) != 1 || p.Providers[0].Type != "file" {
		t.Errorf("provider %+v", p)
	}
}

func TestParse(t *testing.T) {
	f := func(name string, want int) {
		t.Helper()
		got, err := ParseFormats(name)
		if len(got) != want || (err != nil) != (want == 0) {
			t.Errorf("ParseFormats(%q): %v, %v", name, got, err)
		}
	}
	f("all", 4)
	f("configmap", 1)
	f("yaml", 0)
	if _, err := ParseFlavor("graphite"); err == nil {
		t.Error("ParseFlavor takes graphite")
	}
}

// TestFlavors wants two flavours that don't share uids and differ in nothing
// but the data source.
func TestFlavors(t *testing.T) {
	a, b := All(Options{}), All(Options{Flavor: VictoriaMetrics})
	for i := range a {
		if a[i].UID == b[i].UID {
			t.Errorf("uid %s is of both", a[i].UID)
		}
		x, err := json.Marshal(a[i].Panels)
		if err != nil {
			t.Fatal(err)
		}
		y, err := json.Marshal(b[i].Panels)
		if err != nil {
			t.Fatal(err)
		}
		if strings.ReplaceAll(string(y), "victoriametrics-metrics-datasource", "prometheus") != string(x) {
			t.Errorf("%s: panels differ", a[i].UID)
		}
	}
}
