package catalog_test

import (
	"bytes"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"

	"github.com/kvshadow/kvshadow/analyzer/router/dynamo"
	"github.com/kvshadow/kvshadow/catalog"
	"github.com/kvshadow/kvshadow/exporter"
	"github.com/kvshadow/kvshadow/exporter/demo"
	"github.com/kvshadow/kvshadow/exporter/source"
)

// registry returns the registry of a fresh exporter with one source.
func registry(t *testing.T) *prometheus.Registry {
	t.Helper()
	spec, err := source.Parse("stdin:")
	if err != nil {
		t.Fatal(err)
	}
	s, err := exporter.New(exporter.Options{
		Sources: []source.Spec{spec}, Stdin: strings.NewReader(""), Logger: slog.New(slog.DiscardHandler),
		Now: func() time.Time { return time.Unix(1796000000, 0) },
		Policies: func() ([]dynamo.Policy, error) {
			f, err := dynamo.ParsePolicies("policies.yaml", demo.Policies)
			if err != nil {
				return nil, err
			}
			return f.Policies(), nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	return s.Registry()
}

// TestShadowIsRegistered holds the catalog against what a fresh exporter
// exposes: each has nothing that the other lacks.
func TestShadowIsRegistered(t *testing.T) {
	r := registry(t)
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	exposed := map[string]*dto.MetricFamily{}
	for _, f := range families {
		exposed[f.GetName()] = f
		if !slices.ContainsFunc(catalog.Shadow(), func(m catalog.Metric) bool { return m.Name == f.GetName() }) {
			t.Errorf("%s is registered, but not in the catalog", f.GetName())
		}
	}
	for _, m := range catalog.Shadow() {
		if f := exposed[m.Name]; f == nil {
			t.Errorf("%s is in the catalog, but not registered", m.Name)
		} else {
			checkFamily(t, m, f)
		}
	}
	if n := described(r); n != len(catalog.Shadow()) {
		t.Errorf("%d metrics are described, %d are in the catalog", n, len(catalog.Shadow()))
	}
}

// described counts the metrics that a registry knows of, with or without
// series.
func described(r *prometheus.Registry) int {
	ch := make(chan *prometheus.Desc, 1000)
	r.Describe(ch)
	return len(ch)
}

func checkFamily(t *testing.T, m catalog.Metric, f *dto.MetricFamily) {
	t.Helper()
	if got := strings.ToLower(f.GetType().String()); got != string(m.Type) {
		t.Errorf("%s is registered as a %s, and a %s in the catalog", m.Name, got, m.Type)
	}
	if f.GetHelp() != m.Help {
		t.Errorf("%s has the help text %q; want %q", m.Name, f.GetHelp(), m.Help)
	}
	values := map[string]map[string]bool{}
	for _, s := range f.Metric {
		for _, l := range s.Label {
			if values[l.GetName()] == nil {
				values[l.GetName()] = map[string]bool{}
			}
			values[l.GetName()][l.GetValue()] = true
		}
	}
	if got, want := slices.Sorted(maps.Keys(values)), slices.Sorted(slices.Values(m.Labels)); !slices.Equal(got, want) {
		t.Errorf("%s has the labels %q; want %q", m.Name, got, want)
	}
	for label, want := range m.Values { // all are there before anything happened
		if got := slices.Sorted(maps.Keys(values[label])); !slices.Equal(got, want) {
			t.Errorf("%s has %s = %q; want %q", m.Name, label, got, want)
		}
	}
}

// TestShadowPage keeps the page of a fresh exporter for the tests of other
// packages.
func TestShadowPage(t *testing.T) {
	families, err := registry(t).Gather()
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	for _, f := range families {
		if _, err := expfmt.MetricFamilyToText(&b, f); err != nil {
			t.Fatal(err)
		}
	}
	golden(t, "testdata/kvshadow.metrics.txt", b.Bytes())
}

func TestShadowLint(t *testing.T) {
	problems, err := testutil.GatherAndLint(registry(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}
