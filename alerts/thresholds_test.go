package alerts

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
)

func TestParseThresholds(t *testing.T) {
	got, err := ParseThresholds("t.yaml", []byte("scope_labels: [cluster]\nfidelity_low: {severity: critical, for: 1h, min_fidelity: 0.9}\ninput_silent: {enabled: false}\n"))
	if err != nil {
		t.Fatal(err)
	}
	want := DefaultThresholds()
	want.ScopeLabels = []string{"cluster"}
	want.FidelityLow.Common = Common{Enabled: true, Severity: "critical", For: model.Duration(time.Hour)}
	want.FidelityLow.MinFidelity = 0.9
	want.InputSilent.Enabled = false
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestParseThresholdsNothing(t *testing.T) {
	for _, text := range []string{"", "# nothing\n", "---\n", "null\n", "{}\n"} {
		got, err := ParseThresholds("t.yaml", []byte(text))
		if err != nil || !reflect.DeepEqual(got, DefaultThresholds()) {
			t.Errorf("%q: %v; want the defaults", text, err)
		}
	}
}

// TestDefaultsComplete holds that the embedded file sets every value: a zero
// would be one that was forgotten.
func TestDefaultsComplete(t *testing.T) {
	v := reflect.ValueOf(DefaultThresholds())
	for i := range v.NumField() {
		if name := v.Type().Field(i).Name; name != "ScopeLabels" {
			nonZero(t, name, v.Field(i))
		}
	}
}

func nonZero(t *testing.T, name string, v reflect.Value) {
	t.Helper()
	for i := range v.NumField() {
		f := v.Field(i)
		if f.Kind() == reflect.Struct {
			nonZero(t, name, f)
		} else if f.IsZero() {
			t.Errorf("%s.%s is not set", name, v.Type().Field(i).Name)
		}
	}
}

func TestParseThresholdsFailure(t *testing.T) {
	for text, want := range map[string]string{
		"fidelity: {}":                                      `t.yaml:1: the file has no "fidelity": allowed are scope_labels, overlap_lost_without_load_reason,`,
		"\n\nfidelity_low:\n  fidelity: 1":                  `t.yaml:4: fidelity_low has no "fidelity": allowed are enabled, severity, for, min_fidelity, min_checked`,
		"fidelity_low:\n  min_fidelity: 95":                 `t.yaml:2: fidelity_low.min_fidelity must be a number between 0 and 1, is "95"`,
		"fidelity_low: {min_fidelity: .nan}":                "must be a number between 0 and 1",
		"fidelity_low: {min_fidelity: '0.9'}":               "must be a number",
		"fidelity_low: {min_fidelity: }":                    "must be a number",
		"fidelity_low: {min_fidelity: [1]}":                 "t.yaml:1: fidelity_low.min_fidelity must be a single value",
		"records_undecodable: {min_undecodable: -1}":        `must be a number of 0 or more, is "-1"`,
		"worker_load_imbalance: {max_over_mean: 0}":         "must be a number of 1 or more",
		"fidelity_low: {for: 0s}":                           `fidelity_low.for must be a time above 0 such as 15m, is "0s"`,
		"fidelity_low: {for: 5}":                            "must be a time above 0",
		"fidelity_low: {severity: page}":                    `must be one of critical, warning, info, is "page"`,
		"fidelity_low: {enabled: maybe}":                    "must be true or false",
		"fidelity_low: 3":                                   "t.yaml:1: fidelity_low must be a map",
		"- fidelity_low":                                    "t.yaml:1: the file must be a map",
		"fidelity_low: {}\nfidelity_low: {}":                `t.yaml:2: the file has "fidelity_low" twice, in line 1 too`,
		"scope_labels: cluster":                             "scope_labels must be a list of label names",
		"scope_labels: [a-b]":                               `scope_labels: "a-b" is no label name`,
		"scope_labels: [a, a]":                              `scope_labels: "a" stands there twice`,
		"{}\n---\n{}":                                       "one YAML document is allowed",
		"a: [":                                              "t.yaml: ",
		"sessions_keep_moving: {max_load_excess_blocks: 9}": "must not be above overlap_lost_without_load_reason.min_load_excess_blocks (4)",
	} {
		_, err := ParseThresholds("t.yaml", []byte(text))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: error %v; want one with %q", text, err, want)
		}
	}
}

// TestDisabled holds that an alert can be left out, and a threshold is used.
func TestDisabled(t *testing.T) {
	o := Default()
	o.Thresholds.InputSilent.Enabled = false
	o.Thresholds.InputBehind.MaxLag = model.Duration(90 * time.Second)
	o.Runbooks, o.Panels = "", nil
	var behind *Rule
	for _, g := range Groups(o) {
		for _, r := range g.Rules {
			switch r.Alert {
			case InputSilent:
				t.Errorf("%s is disabled", r.Alert)
			case InputBehind:
				behind = &r
			}
		}
	}
	if behind == nil || behind.Expr != "kvshadow_source_lag_seconds > 90" || behind.Annotations.RunbookURL+behind.Annotations.Dashboard != "" {
		t.Errorf("got %+v", behind)
	}
}

func FuzzParseThresholds(f *testing.F) {
	f.Add(defaults)
	f.Add([]byte("fidelity_low: {for: 5m}"))
	f.Add([]byte("a: &a [*a]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		x, err := ParseThresholds("t.yaml", data)
		if err == nil {
			o := Default()
			o.Thresholds = x
			if _, err := Generate(o, Formats()); err != nil {
				t.Error(err)
			}
		}
	})
}
