package fleet

import (
	"math"
	"testing"
)

func near(a, b float64) bool { return math.Abs(a-b) <= 1e-6 }

// TestLoneRequest is calculated by hand from the mock engine's polynomials: a
// prompt of 3,096 tokens takes 4.209989e-07*3096^2 + 1.518344e-02*3096 +
// 16.50142 = 67.544716 ms, a decode step of 3,097 tokens in 32,768 takes
// 10.614716 ms.
func TestLoneRequest(t *testing.T) {
	w := mustSimulate(t, fleetOf(1), parse(t, row("a", `"timestamp":0`, 3096, 2, 1)), chooser(), 0)
	r := &w.reqs[0]
	if !near(r.first, 67.544716) || !near(r.end-r.first, 10.614716) {
		t.Errorf("first token after %v ms and the second %v ms later; want 67.544716 and 10.614716", r.first, r.end-r.first)
	}
}

func TestSmallCases(t *testing.T) {
	timing := MockTiming()
	prefill := func(tokens int) float64 { return timing.Prefill(tokens) }
	decode := func(context int) float64 { return timing.Decode(1, context, 1, 512*64) }
	type want struct {
		first, end float64
		reused     int
	}
	tests := []struct {
		name string
		edit func(*Config)
		rows []string
		want []want
	}{
		{"one token", nil, []string{row("a", `"timestamp":5`, 64, 1, 1)}, []want{{prefill(64), prefill(64), 0}}},
		{"no token counts as one", nil, []string{row("a", `"timestamp":5`, 64, 0, 1)}, []want{{prefill(64), prefill(64), 0}}},
		// The full blocks of the first turn are found, the last prompt token is
		// always computed.
		{"second turn", nil, []string{row("a", `"timestamp":0`, 200, 1, 1), row("a", `"delay":50`, 192, 1, 1)},
			[]want{{prefill(200), prefill(200), 0}, {prefill(200) + 50 + prefill(64), prefill(200) + 50 + prefill(64), 128}}},
		// A step starts with the first prompt of an instant; the other one finds its
		// blocks.
		{"same instant", nil, []string{row("a", `"timestamp":0`, 300, 1, 1), row("b", `"timestamp":0`, 100, 1, 1)},
			[]want{{prefill(300), prefill(300), 0}, {prefill(300) + prefill(36), prefill(300) + prefill(36), 64}}},
		// Two prompts in a step are two of their mean, 200 tokens less 32, and the
		// second finds what the first is about to compute.
		{"batch", nil, []string{row("c", `"timestamp":0`, 64, 1, 99), row("a", `"timestamp":1`, 300, 1, 1), row("b", `"timestamp":1`, 100, 1, 1)},
			[]want{{prefill(64), prefill(64), 0}, {prefill(64) + prefill(336), prefill(64) + prefill(336), 0},
				{prefill(64) + prefill(336), prefill(64) + prefill(336), 64}}},
		// A request that comes during a step waits for its end, and its prefill
		// goes before the other's decode step.
		{"queue", nil, []string{row("a", `"timestamp":0`, 640, 3, 1), row("b", `"timestamp":1`, 64, 1, 99)},
			[]want{{prefill(640), prefill(640) + prefill(64) + decode(641) + decode(642), 0},
				{prefill(640) + prefill(64) + decode(641), prefill(640) + prefill(64) + decode(641), 0}}},
		{"one seat", func(c *Config) { c.MaxNumSeqs = 1 }, []string{row("a", `"timestamp":0`, 64, 2, 1), row("b", `"timestamp":0`, 64, 1, 99)},
			[]want{{prefill(64), prefill(64) + decode(65), 0}, {2*prefill(64) + decode(65), 2*prefill(64) + decode(65), 0}}},
		{"pieces", func(c *Config) { c.MaxBatchedTokens = 64 }, []string{row("a", `"timestamp":0`, 130, 1, 1)},
			[]want{{2*prefill(64) + prefill(2), 2*prefill(64) + prefill(2), 0}}},
		// The decode worker makes the first token too.
		{"disaggregated", func(c *Config) { c.Workers, c.PrefillWorkers, c.DecodeWorkers, c.TransferMs = 0, 1, 1, 7 },
			[]string{row("a", `"timestamp":0`, 640, 2, 1)},
			[]want{{prefill(640) + 7 + decode(640), prefill(640) + 7 + decode(640) + decode(641), 0}}},
	}
	for _, tt := range tests {
		cfg := fleetOf(1)
		if tt.edit != nil {
			tt.edit(&cfg)
		}
		w := mustSimulate(t, cfg, parse(t, tt.rows...), chooser(), 0)
		for i, x := range tt.want {
			r := &w.reqs[i]
			if !near(r.first, x.first) || !near(r.end, x.end) || r.reused != x.reused {
				t.Errorf("%s, request %d: first token at %v, end at %v, %d reused; want %+v", tt.name, i, r.first, r.end, r.reused, x)
			}
		}
	}
}

// TestJoin has a worker that isn't there for the first request.
func TestJoin(t *testing.T) {
	cfg := fleetOf(2)
	cfg.JoinMs = []float64{0, 10}
	load := parse(t, row("a", `"timestamp":0`, 640, 400, 1), row("b", `"timestamp":9`, 640, 400, 50), row("c", `"timestamp":11`, 640, 400, 90))
	w := mustSimulate(t, cfg, load, chooser(), 0)
	for i, want := range []int32{0, 0, 1} {
		if got := w.reqs[i].rank.number; got != want {
			t.Errorf("request %d went to worker %d; want %d", i, got, want)
		}
	}
}

// TestRanks has every rank of a worker keep a cache of its own.
func TestRanks(t *testing.T) {
	cfg := fleetOf(1)
	cfg.Ranks = 2
	load := parse(t, row("a", `"timestamp":0`, 640, 400, 1), row("b", `"timestamp":1`, 640, 400, 50), row("a", `"delay":1`, 640, 1, 1))
	w := mustSimulate(t, cfg, load, chooser(), 0)
	a, b, again := w.reqs[0].rank, w.reqs[1].rank, w.reqs[2]
	if a == b || a.key.WorkerID != 0 || b.key.WorkerID != 0 || a.key.DPRank == b.key.DPRank {
		t.Errorf("the first requests went to %v and %v; want two ranks of worker 0", a.key, b.key)
	}
	if again.rank != a || again.reused != 576 {
		t.Errorf("the second turn reuses %d tokens on %v; want 576 on %v", again.reused, again.rank.key, a.key)
	}
}

// TestMoved counts turns on another worker than the turn before.
func TestMoved(t *testing.T) {
	load := parse(t, row("a", `"timestamp":0`, 640, 1, 1), row("a", `"delay":1`, 640, 1, 1), row("a", `"delay":1`, 640, 1, 1))
	for _, tt := range []struct {
		choices []uint64
		moved   int
		nonMax  int
		lost    float64
		tokens  int
	}{
		{[]uint64{0, 0, 0}, 0, 0, 0, 64 + 64},
		{[]uint64{0, 1, 1}, 1, 1, 10, 640 + 64},
		{[]uint64{0, 1, 0}, 2, 1, 10, 640 + 64},
	} {
		f := &forced{Chooser: chooser(), prefill: tt.choices}
		res, err := Run(fleetOf(2), load, f, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		if res.MovedSessions != tt.moved || res.NonMaxOverlapSelections != tt.nonMax || res.OverlapBlocksLost != tt.lost || res.RecomputedPrefillTokens != tt.tokens {
			t.Errorf("%v: %+v; want %d moved, %d non-max, %v lost, %d tokens", tt.choices, res, tt.moved, tt.nonMax, tt.lost, tt.tokens)
		}
	}
}

// TestEvents has KV events reach the router when a step ends, not before.
func TestEvents(t *testing.T) {
	w, err := newWorld(fleetOf(1), parse(t, row("a", `"timestamp":0`, 640, 5, 1)), chooser(), 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	k := w.prefill[0]
	full := w.load.turns[0].full
	if err := w.advance(); err != nil { // it arrives
		t.Fatal(err)
	}
	if k.publish(w.now + 1); k.overlap(full) != 0 {
		t.Error("the router knows of blocks during their step")
	}
	if k.publish(k.visibleAt); k.overlap(full) != 10 {
		t.Errorf("the router knows %d of 10 blocks after their step", k.overlap(full))
	}
	if k.decodeCost(full) != 10 || k.decodeCost([]uint64{1, 77}) != 11 {
		t.Errorf("decode cost %v and %v; want 10 and 11", k.decodeCost(full), k.decodeCost([]uint64{1, 77}))
	}
}
