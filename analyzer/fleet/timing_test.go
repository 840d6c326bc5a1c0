package fleet

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestDecodeSums compares the closed form of a row of steps with their sum.
func TestDecodeSums(t *testing.T) {
	timings := map[string]Timing{
		"mock":         MockTiming(),
		"linear":       {DecodeMs: [3]float64{0, 20, 3}},
		"below a ms":   {DecodeMs: [3]float64{0, 5, 0.2}},
		"falls to 1":   {DecodeMs: [3]float64{-30, 10, 8}},
		"always cheap": {},
	}
	for name, timing := range timings {
		for _, x := range []struct{ steps, context, growth, capacity int }{
			{1, 3097, 1, 32768}, {31, 3097, 1, 32768}, {64, 30000, 8, 32768}, {500, 20000, 40, 32768}, {1, 1, 1, 1}, {1000, 0, 1, 1 << 30},
		} {
			sum := 0.0
			for i := range x.steps {
				sum += timing.Decode(1, x.context+i*x.growth, x.growth, x.capacity)
			}
			got := timing.Decode(x.steps, x.context, x.growth, x.capacity)
			if math.Abs(got-sum) > 1e-9*sum {
				t.Errorf("%s %+v: %v; one by one %v", name, x, got, sum)
			}
		}
	}
}

func TestTimingBounds(t *testing.T) {
	timing := Timing{PrefillMs: [3]float64{0, 1, -10}}
	if got := timing.Prefill(3); got != 0 {
		t.Errorf("prefill takes %v ms; want 0", got)
	}
	if got := timing.Decode(3, 9, 1, 10); got != 3 {
		t.Errorf("3 steps take %v ms; want 1 each at least", got)
	}
	mock := MockTiming()
	if full, over := mock.Decode(1, 100, 1, 100), mock.Decode(1, 250, 1, 100); full != over {
		t.Errorf("a step takes %v ms at the capacity and %v beyond; want the same", full, over)
	}
}

func TestLoadTiming(t *testing.T) {
	tests := []struct{ name, text, wrong string }{
		{"both", "prefill_ms: [1e-6, 0.02, 5]\ndecode_ms: [0, 10, 4]\n", ""},
		{"one", "decode_ms: [0, 10, 4]\n", ""},
		{"unknown field", "decode: [0, 10, 4]\n", "decode"},
		{"two numbers", "decode_ms: [0, 10]\n", "want 3 elements but got 2"},
		{"four numbers", "prefill_ms: [0, 10, 4, 1]\n", "want 3 elements but got 4"},
		{"not finite", "prefill_ms: [0, .nan, 4]\n", "finite"},
		{"text", "prefill_ms: quick\n", "line 1"},
		{"empty", "", "no documents"},
	}
	for _, tt := range tests {
		path := filepath.Join(t.TempDir(), "timing.yaml")
		if err := os.WriteFile(path, []byte(tt.text), 0o600); err != nil {
			t.Fatal(err)
		}
		got, err := LoadTiming(path)
		switch {
		case tt.wrong == "" && (err != nil || got.DecodeMs != [3]float64{0, 10, 4}):
			t.Errorf("%s: %+v, %v", tt.name, got, err)
		case tt.wrong != "" && (err == nil || !strings.Contains(err.Error(), tt.wrong) || !strings.Contains(err.Error(), path)):
			t.Errorf("%s: error %v; want one with the path and %q", tt.name, err, tt.wrong)
		}
	}
	if _, err := LoadTiming(filepath.Join(t.TempDir(), "none")); !os.IsNotExist(err) {
		t.Errorf("error %v", err)
	}
}
