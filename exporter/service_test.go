package exporter

import (
	"bytes"
	"flag"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/prometheus/common/expfmt"

	"github.com/kvshadow/kvshadow/analyzer"
	"github.com/kvshadow/kvshadow/analyzer/decision"
	"github.com/kvshadow/kvshadow/analyzer/input"
	"github.com/kvshadow/kvshadow/analyzer/report"
	"github.com/kvshadow/kvshadow/analyzer/router/dynamo"
	"github.com/kvshadow/kvshadow/analyzer/twin"
	"github.com/kvshadow/kvshadow/exporter/demo"
	"github.com/kvshadow/kvshadow/exporter/source"
)

var update = flag.Bool("update", false, "rewrite the golden files")

const testSource = "stdin:"

// capture returns the log of the disaggregated demo. The router's own /metrics
// of that run read 8 prefill non-max-overlap selections and 321 blocks lost.
func capture(t *testing.T) []byte {
	t.Helper()
	files, err := input.Open([]string{"demo/disagg-1.5.1.log.jsonl.gz"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer files.Close()
	var b bytes.Buffer
	err = files.Each(t.Context(), func(_ uint64, _ input.Position, line []byte) {
		b.Write(line)
		b.WriteByte('\n')
	}, func(_ input.Position, err error) { t.Fatal(err) })
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func demoPolicies(t *testing.T) []dynamo.Policy {
	t.Helper()
	f, err := dynamo.ParsePolicies("policies.yaml", demo.Policies)
	if err != nil {
		t.Fatal(err)
	}
	return f.Policies()
}

// newService returns a service with one source whose clock stands still. load
// gives the policies; nil stands for the demo's.
func newService(t *testing.T, text string, load func() ([]dynamo.Policy, error)) *Service {
	t.Helper()
	spec, err := source.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	if load == nil {
		load = func() ([]dynamo.Policy, error) { return demoPolicies(t), nil }
	}
	s, err := New(Options{
		Sources: []source.Spec{spec}, Policies: load, Stdin: strings.NewReader(""),
		Logger: slog.New(slog.DiscardHandler), Now: func() time.Time { return time.Unix(1796000000, 0) },
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// play evaluates a log as if the source had read it, in chunks of whole lines.
func play(t *testing.T, s *Service, log []byte) {
	t.Helper()
	stream := s.queue.NewStream()
	for len(log) > 0 {
		n := bytes.LastIndexByte(log[:min(len(log), 1<<16)], '\n') + 1
		item := source.Item{Source: testSource, Stream: stream, Lines: log[:n]}
		if err := s.queue.TryPut(item); err != nil {
			t.Fatal(err)
		}
		log = log[n:]
	}
	s.queue.Close()
	s.consume()
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(name, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs; got:\n%s", name, got)
	}
}

func get(t *testing.T, h http.Handler, path string, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, path, nil)
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// textPage returns the service's own metrics as Prometheus text.
func textPage(t *testing.T, s *Service) []byte {
	t.Helper()
	families, err := s.Registry().Gather()
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	for _, f := range families {
		if _, err := expfmt.MetricFamilyToText(&b, f); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

// TestMetricsGolden holds the whole page of the service's own metrics after
// one run of the capture. The numbers of live are the router's own.
func TestMetricsGolden(t *testing.T) {
	s := newService(t, testSource, nil)
	play(t, s, capture(t))
	page := textPage(t, s)
	golden(t, "testdata/metrics.golden", page)
	for _, line := range []string{
		`kvshadow_decisions_total{worker_type="prefill"} 240`,
		`kvshadow_decisions_total{worker_type="decode"} 240`,
		`kvshadow_non_max_overlap_selections_total{policy="live",worker_type="prefill"} 8`,
		`kvshadow_overlap_lost_blocks_total{policy="live",worker_type="prefill"} 321`,
		`kvshadow_overlap_blocks_lost_count{policy="live",worker_type="prefill"} 8`,
		`kvshadow_overlap_blocks_lost_sum{policy="live",worker_type="prefill"} 321`,
		`kvshadow_fidelity_checked_total{worker_type="prefill"} 240`,
	} {
		if !bytes.Contains(page, []byte(line+"\n")) {
			t.Errorf("the page lacks %s", line)
		}
	}
}

// TestMetricsInitialised holds what is there before the first decision: every
// series, at 0.
func TestMetricsInitialised(t *testing.T) {
	s := newService(t, testSource, nil)
	page := textPage(t, s)
	golden(t, "testdata/metrics-start.golden", page)
	for _, name := range []string{"kvshadow_non_max_overlap_selections_total", "kvshadow_overlap_lost_blocks_total",
		"kvshadow_diverging_selections_total", "kvshadow_missing_prefix_blocks_total", "kvshadow_load_excess_blocks_total"} {
		for _, p := range demoPolicies(t) {
			for _, wt := range decision.WorkerTypes {
				line := name + `{policy="` + p.Name + `",worker_type="` + wt.String() + `"} 0`
				if !bytes.Contains(page, []byte(line+"\n")) {
					t.Errorf("the page lacks %s", line)
				}
			}
		}
	}
}

func TestMetricsLint(t *testing.T) {
	s := newService(t, testSource, nil)
	problems, err := testutil.GatherAndLint(s.Gatherer())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		if strings.HasPrefix(p.Metric, "kvshadow_") {
			t.Errorf("%s: %s", p.Metric, p.Text)
		}
	}
}

// TestAgreesWithReport compares a scrape with the report of the same input, to
// the last digit.
func TestAgreesWithReport(t *testing.T) {
	log := capture(t)
	s := newService(t, testSource, nil)
	play(t, s, log)
	engine := analyzer.NewEngine(demoPolicies(t))
	decoder := analyzer.NewIntake(twin.Options{}, func(d *decision.Decision) { engine.Evaluate(d) }).NewDecoder()
	for line := range bytes.Lines(log) {
		if err := decoder.Line(1, bytes.TrimSuffix(line, []byte{'\n'})); err != nil {
			t.Fatal(err)
		}
	}
	decoder.Flush()
	want := report.New(engine.Totals(), report.Inputs{}, 0.95, dynamo.Advice)
	got := report.New(s.state.snapshot().totals, report.Inputs{}, 0.95, dynamo.Advice)
	for i := range want.Pools {
		for j := range want.Pools[i].Policies {
			if got.Pools[i].Policies[j].Sums != want.Pools[i].Policies[j].Sums {
				t.Errorf("%s: got %+v, want %+v", want.Pools[i].WorkerType, got.Pools[i].Policies[j], want.Pools[i].Policies[j])
			}
		}
	}
}

func TestMetricsFormats(t *testing.T) {
	s := newService(t, testSource, nil)
	play(t, s, capture(t))
	h := s.Handler()
	f := func(accept, contentType, part string) {
		t.Helper()
		w := get(t, h, "/metrics", "Accept", accept)
		if w.Code != http.StatusOK || !strings.HasPrefix(w.Header().Get("Content-Type"), contentType) {
			t.Errorf("Accept %s: %d %s", accept, w.Code, w.Header().Get("Content-Type"))
		}
		if !strings.Contains(w.Body.String(), part) {
			t.Errorf("Accept %s: the page lacks %q", accept, part)
		}
	}
	f("text/plain", "text/plain", `kvshadow_decisions_total{worker_type="prefill"} 240`)
	f("application/openmetrics-text; version=1.0.0", "application/openmetrics-text", `le="64.0"} 8 # {request_id="2564499e-75a0-4a09-92c7-f004afea12b9"} 54.0`)
	f("application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited", "application/vnd.google.protobuf", "kvshadow_overlap_blocks_lost")
	f("text/plain", "text/plain", "process_resident_memory_bytes")
	f("text/plain", "text/plain", "kvshadow_build_info")
}

// TestNativeHistogram reads the histogram in the form that only protobuf has.
func TestNativeHistogram(t *testing.T) {
	s := newService(t, testSource, nil)
	play(t, s, capture(t))
	families, err := s.Registry().Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() != "kvshadow_overlap_blocks_lost" {
			continue
		}
		for _, m := range f.Metric {
			if h := m.GetHistogram(); h.GetSchema() != 3 || len(h.Bucket) < 16 {
				t.Errorf("schema %d with %d classic buckets, want schema 3 (factor 1.1) and 16 or more", h.GetSchema(), len(h.Bucket))
			}
		}
		return
	}
	t.Error("no histogram")
}
