package fleet

import (
	"context"
	"errors"
	"math"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/kvshadow/kvshadow/analyzer/decision"
)

// TestStudentT compares with published tables.
func TestStudentT(t *testing.T) {
	for freedom, want := range map[int]float64{1: 12.7062, 2: 4.3027, 9: 2.2622, 10: 2.2281, 15: 2.1314, 19: 2.0930, 29: 2.0452, 99: 1.9842, 1000: 1.9623} {
		if got := studentT(freedom); math.Abs(got-want) > 1e-4 {
			t.Errorf("%d degrees of freedom: %v; want %v", freedom, got, want)
		}
	}
}

func TestSummarise(t *testing.T) {
	worlds := func(values ...float64) (out []*Result) {
		for _, v := range values {
			out = append(out, &Result{Duration: v})
		}
		return out
	}
	duration := func(r *Result) float64 { return r.Duration }
	live := worlds(10, 20, 30)
	// The differences are 1, 2 and 6: mean 3, standard deviation sqrt(7), half
	// width 4.3027 * sqrt(7/3).
	got := Summarise(worlds(11, 22, 36), live, duration)
	want := Summary{Mean: 23, Min: 11, Max: 36, Difference: 3, HalfWidth: 4.3027 * math.Sqrt(7.0/3)}
	for _, x := range [][2]float64{{got.Mean, want.Mean}, {got.Min, want.Min}, {got.Max, want.Max}, {got.Difference, want.Difference}, {got.HalfWidth, want.HalfWidth}} {
		if math.Abs(x[0]-x[1]) > 1e-9 {
			t.Fatalf("%+v; want %+v", got, want)
		}
	}
	if s := Summarise(live[:1], live[:1], duration); s.Mean != 10 || s.Difference != 0 || !math.IsNaN(s.HalfWidth) {
		t.Errorf("one seed: %+v", s)
	}
	if s := Summarise(live, live, duration); s.Difference != 0 || s.HalfWidth != 0 {
		t.Errorf("live against itself: %+v", s)
	}
}

func TestQuantile(t *testing.T) {
	for _, tt := range []struct {
		values []float64
		q      float64
		want   float64
	}{{nil, 0.5, 0}, {[]float64{7}, 0.95, 7}, {[]float64{3, 1}, 0.5, 2}, {[]float64{4, 1, 2, 3}, 1, 4}, {[]float64{5, 1, 2, 3, 4}, 0.95, 4.8}} {
		if got := quantile(tt.values, tt.q); math.Abs(got-tt.want) > 1e-12 {
			t.Errorf("quantile(%v, %v) = %v; want %v", tt.values, tt.q, got, tt.want)
		}
	}
}

// broken fails at the n-th choice.
type broken struct {
	Chooser
	left int
}

func (b *broken) Prepare(d *decision.Decision) ([]int, error) {
	if b.left--; b.left < 0 {
		return nil, errors.New("broken")
	}
	return b.Chooser.Prepare(d)
}

func TestExperimentFails(t *testing.T) {
	x := &Experiment{Config: fleetOf(2), Workload: readTrace(t, seedTrace), Policies: 1, Seeds: 50,
		Chooser: func() Chooser { return &broken{chooser(), 300} }}
	if _, err := x.Run(t.Context()); err == nil || !strings.Contains(err.Error(), "policy 0, seed ") || !strings.Contains(err.Error(), "broken") {
		t.Errorf("error %v", err)
	}
}

func TestExperimentStops(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var done atomic.Int64
	x := &Experiment{Config: fleetOf(2), Workload: readTrace(t, seedTrace), Policies: 2, Seeds: 5000,
		Chooser: func() Chooser { return chooser() }, Done: func() { done.Add(1); cancel() }}
	x.Policies = 1
	if _, err := x.Run(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v; want context.Canceled", err)
	}
	if n := done.Load(); n == 0 || n == 5000 {
		t.Errorf("%d worlds were done", n)
	}
}
