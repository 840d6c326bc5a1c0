package fleet

import (
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kvshadow/kvshadow/analyzer/decision"
)

// trace is what a recorder would write about a simulated world.
func trace(w *world) []*decision.Lifecycle {
	ms := func(v float64) time.Duration { return time.Duration(v * 1e6) }
	var out []*decision.Lifecycle
	for i := range w.reqs {
		r := &w.reqs[i]
		t := &w.load.turns[r.turn]
		out = append(out, &decision.Lifecycle{Received: time.UnixMilli(0).Add(ms(r.arrival)), FirstToken: ms(r.first - r.arrival), Total: ms(r.end - r.arrival),
			InputTokens: uint64(t.input), OutputTokens: uint64(t.output), CachedTokens: int64(r.reused), Prefill: r.rank.key, Decode: r.rank.key, HasWorkers: true})
	}
	return out
}

// TestCalibrateSimulated recovers the timing that made a trace.
func TestCalibrateSimulated(t *testing.T) {
	for _, tt := range []struct {
		name      string
		trace     string
		workers   int
		tolerance float64 // relative, in the range that was seen
	}{
		{"few at once", seedTrace, 8, 0.05},
		{"some at once", seedTrace, 2, 0.1},
		{"many at once", "testdata/mixed-3.trace.jsonl.gz", 2, 0.2},
	} {
		w := mustSimulate(t, fleetOf(tt.workers), readTrace(t, tt.trace), chooser(), 0)
		c, err := Calibrate(trace(w), 512*64)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		mock := MockTiming()
		for _, tokens := range []int{200, 1000, 2000, 3000} {
			got, want := c.Timing.Prefill(tokens), mock.Prefill(tokens)
			if math.Abs(got-want) > tt.tolerance*want {
				t.Errorf("%s: prefill of %d tokens takes %v ms; want about %v", tt.name, tokens, got, want)
			}
		}
		for u := int(100*c.Decode.Least) + 1; u < int(100*c.Decode.Most); u += 10 {
			got, want := c.Timing.Decode(1, u, 0, 100), mock.Decode(1, u, 0, 100)
			if math.Abs(got-want) > tt.tolerance*want {
				t.Errorf("%s: a step at %d %% takes %v ms; want about %v", tt.name, u, got, want)
			}
		}
	}
}

func TestCalibrateRefuses(t *testing.T) {
	w := mustSimulate(t, fleetOf(2), readTrace(t, seedTrace), chooser(), 0)
	good := trace(w)
	alike := make([]*decision.Lifecycle, 60)
	for i := range alike {
		l := *good[0]
		l.Received = l.Received.Add(time.Duration(i) * time.Minute)
		alike[i] = &l
	}
	homeless := *good[0]
	homeless.HasWorkers = false
	for _, tt := range []struct {
		name string
		ls   []*decision.Lifecycle
		want string
	}{
		{"none", nil, "prefill: 0 requests are usable, 20 are needed"},
		{"few", good[:19], "prefill: 19 requests are usable, 20 are needed"},
		{"without workers", []*decision.Lifecycle{&homeless}, "prefill: 0 requests are usable"},
		{"alike", alike, "prefill: the 60 usable requests are all alike"},
	} {
		if _, err := Calibrate(tt.ls, 512*64); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v; want %q", tt.name, err, tt.want)
		}
	}
	if _, err := Calibrate(good, 0); err == nil {
		t.Error("no capacity is no error")
	}
}

func TestFit(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	want := [3]float64{3e-6, 0.02, 12}
	var samples []sample
	for range 200 {
		x := 100 + 4000*r.Float64()
		s := sample{x * x, x, want[0]*x*x + want[1]*x + want[2]}
		if r.IntN(3) == 0 {
			s.y += 300 * r.Float64() // it waited
		}
		samples = append(samples, s)
	}
	got, f, err := fit(samples, true)
	if err != nil {
		t.Fatal(err)
	}
	for i := range want {
		if math.Abs(got[i]-want[i]) > 0.01*want[i] {
			t.Errorf("%v; want %v", got, want)
		}
	}
	if f.Offered != 200 || f.Used < 120 || f.Used > 140 || f.R2 < 0.9999 || f.Least < 100 || f.Most > 4100 {
		t.Errorf("%+v", f)
	}
	for i := range samples {
		samples[i].y = 7 + 0.5*samples[i].x - 1e-5*samples[i].xx // falls beyond 25,000
	}
	if got, _, err = fitGrowing(samples, 20_000); err != nil || math.Abs(got[0]+1e-5) > 1e-9 {
		t.Errorf("a parabola that grows far enough: %v, %v", got, err)
	}
	if got, _, err = fitGrowing(samples, 50_000); err != nil || got[0] != 0 || got[1] < 0.4 {
		t.Errorf("a parabola that falls: %v, %v; want a line", got, err)
	}
	if _, err := solve([3][4]float64{{1, 2, 3, 4}, {2, 4, 6, 8}, {0, 0, 1, 1}}); err == nil {
		t.Error("dependent equations have a solution")
	}
}

func TestCalibrationIsReadBack(t *testing.T) {
	w := mustSimulate(t, fleetOf(2), readTrace(t, seedTrace), chooser(), 0)
	c, err := Calibrate(trace(w), 512*64)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "timing.yaml")
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(c.WriteYAML(file), file.Close()); err != nil {
		t.Fatal(err)
	}
	got, err := LoadTiming(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, tokens := range []int{1, 100, 10_000} {
		if a, b := got.Prefill(tokens), c.Timing.Prefill(tokens); math.Abs(a-b) > 1e-4*b {
			t.Errorf("prefill of %d tokens takes %v ms after reading, %v before", tokens, a, b)
		}
	}
}
