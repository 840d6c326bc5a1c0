package fleet

import (
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/kvshadow/kvshadow/analyzer/router/dynamo"
)

// random returns a workload and a fleet for it.
func random(t *testing.T, seed uint64) (*Workload, Config) {
	r := rand.New(rand.NewPCG(seed, 2))
	load := randomWorkload(t, r)
	return load, randomFleet(r, load)
}

// TestConservation runs random fleets event by event.
func TestConservation(t *testing.T) {
	for seed := range uint64(200) {
		load, cfg := random(t, seed)
		w, err := newWorld(cfg, load, chooser(), 0, seed)
		if err != nil {
			t.Fatal(err)
		}
		before := 0.0
		for len(w.events) > 0 {
			if err := w.advance(); err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			if w.now < before {
				t.Fatalf("seed %d: time runs backwards, from %v to %v", seed, before, w.now)
			}
			before = w.now
			for _, k := range append(w.prefill[:len(w.prefill):len(w.prefill)], w.decode...) {
				checkRank(t, w, k)
			}
		}
		checkEnd(t, w)
		if t.Failed() {
			t.Fatalf("seed %d, %+v", seed, cfg)
		}
	}
}

// checkRank checks what must hold between any two events.
func checkRank(t *testing.T, w *world, k *rank) {
	if used := k.pool.Used(); used > w.cfg.GPUBlocks {
		t.Errorf("%v uses %d blocks of %d", k.key, used, w.cfg.GPUBlocks)
	}
	if n := len(k.running); n > w.cfg.MaxNumSeqs {
		t.Errorf("%v runs %d sequences, %d are allowed", k.key, n, w.cfg.MaxNumSeqs)
	}
	if k.prefillTokens < 0 || k.requests < 0 {
		t.Errorf("%v has %d prefill tokens and %d requests on the books", k.key, k.prefillTokens, k.requests)
	}
	for _, id := range k.running {
		r := &w.reqs[id]
		if room := len(r.ids) * w.cfg.BlockSize; r.computed > room || r.computed > w.length(r) {
			t.Errorf("request %d has computed %d of %d tokens in blocks for %d", id, r.computed, w.length(r), room)
		}
	}
}

// checkEnd checks a finished world: nothing is lost, held or booked any more.
func checkEnd(t *testing.T, w *world) {
	if _, err := w.result(); err != nil {
		t.Error(err)
	}
	for _, k := range append(w.prefill[:len(w.prefill):len(w.prefill)], w.decode...) {
		if k.pool.Held() != 0 || k.activeBlocks != 0 || k.requests != 0 || k.prefillTokens != 0 {
			t.Errorf("%v is left with %d held blocks, %d active blocks, %d requests, %d prefill tokens",
				k.key, k.pool.Held(), k.activeBlocks, k.requests, k.prefillTokens)
		}
	}
	stored := map[*rank]map[uint64]bool{}
	for i := range w.reqs {
		r := &w.reqs[i]
		load := &w.load.turns[r.turn]
		if stored[r.rank] == nil {
			stored[r.rank] = map[uint64]bool{}
		}
		if r.first <= r.arrival || r.end < r.first || load.output > 1 && r.end == r.first {
			t.Errorf("request %d arrives at %v, has its first token at %v and ends at %v", i, r.arrival, r.first, r.end)
		}
		if !r.preempted && (r.reused >= load.input || r.reused%w.cfg.BlockSize != 0) {
			t.Errorf("request %d reuses %d of %d tokens", i, r.reused, load.input)
		}
		for _, h := range load.full[:r.reused/w.cfg.BlockSize] {
			if !stored[r.rank][h] && !r.preempted {
				t.Errorf("request %d reuses block %d, which %v never stored", i, h, r.rank.key)
			}
		}
		for _, h := range load.full {
			stored[r.rank][h] = true
		}
	}
}

// TestSingleSteps compares rows of decode steps with steps taken one by one.
func TestSingleSteps(t *testing.T) {
	for seed := range uint64(200) {
		load, cfg := random(t, seed)
		rows := mustSimulate(t, cfg, load, chooser(), seed)
		single, err := newWorld(cfg, load, chooser(), 0, seed)
		if err != nil {
			t.Fatal(err)
		}
		single.single = true
		for len(single.events) > 0 {
			if err := single.advance(); err != nil {
				t.Fatal(err)
			}
		}
		near := func(a, b float64) bool { return math.Abs(a-b) <= 1e-6*math.Max(1, math.Abs(b)) }
		for i := range rows.reqs {
			a, b := &rows.reqs[i], &single.reqs[i]
			if !near(a.first, b.first) || !near(a.end, b.end) || a.reused != b.reused || a.rank.number != b.rank.number {
				t.Fatalf("seed %d, request %d: rows give first %v end %v reused %d, single steps %v %v %d; %+v",
					seed, i, a.first, a.end, a.reused, b.first, b.end, b.reused, cfg)
			}
		}
	}
}

func TestSameSeedSameResult(t *testing.T) {
	load := readTrace(t, seedTrace)
	c := chooser(policy(func(p *dynamo.Params) { p.RouterTemperature = 0.5 }))
	results := map[float64]bool{}
	for seed := range uint64(4) {
		var runs [2]*Result
		for i := range runs {
			var err error
			if runs[i], err = Run(fleetOf(2), load, c, 0, seed); err != nil {
				t.Fatal(err)
			}
		}
		if !reflect.DeepEqual(runs[0], runs[1]) {
			t.Errorf("seed %d: %+v and then %+v", seed, runs[0], runs[1])
		}
		results[runs[0].Duration] = true
	}
	if len(results) < 2 {
		t.Error("every seed gives the same world")
	}
}

func TestIndependentOfCores(t *testing.T) {
	x := &Experiment{Config: fleetOf(2), Workload: readTrace(t, seedTrace), Policies: 2, Seeds: 3,
		Chooser: func() Chooser {
			return chooser(policy(nil), policy(func(p *dynamo.Params) { p.PrefixAffinityWeight = 2 }))
		}}
	var results [2][][]*Result
	for i, cores := range []int{1, 4} {
		before := runtime.GOMAXPROCS(cores)
		var err error
		results[i], err = x.Run(t.Context())
		runtime.GOMAXPROCS(before)
		if err != nil {
			t.Fatal(err)
		}
	}
	if !reflect.DeepEqual(results[0], results[1]) {
		t.Error("one core and four give different results")
	}
}

func TestMoreWorkersLoseNothing(t *testing.T) {
	load := readTrace(t, seedTrace)
	for _, workers := range []int{1, 2, 3, 8, 40} {
		for _, split := range []bool{false, true} {
			cfg := fleetOf(workers)
			if split {
				cfg.Workers, cfg.PrefillWorkers, cfg.DecodeWorkers = 0, workers, workers
			}
			r, err := Run(cfg, load, chooser(), 0, 1)
			if err != nil || r.Requests != load.Len() {
				t.Errorf("%d workers (disaggregated: %v): %+v, %v", workers, split, r, err)
			}
		}
	}
}

func TestBadFleets(t *testing.T) {
	load := parse(t, row("a", `"timestamp":0`, 640, 64, 1))
	tests := []struct {
		name string
		edit func(*Config)
		want string
	}{
		{"no workers", func(c *Config) { c.Workers = 0 }, "needs workers"},
		{"no decode workers", func(c *Config) { c.Workers, c.PrefillWorkers = 0, 1 }, "needs workers"},
		{"no ranks", func(c *Config) { c.Ranks = 0 }, "must be positive"},
		{"no seats", func(c *Config) { c.MaxNumSeqs = 0 }, "must be positive"},
		{"too small", func(c *Config) { c.GPUBlocks = 10 }, "request 1 needs 11 blocks, a rank has 10"},
		{"nobody there yet", func(c *Config) { c.JoinMs = []float64{5} }, "no worker has joined"},
		{"no decode worker yet", func(c *Config) {
			c.Workers, c.PrefillWorkers, c.DecodeWorkers, c.JoinMs = 0, 1, 1, []float64{0, 1e6}
		}, "no worker has joined"},
	}
	for _, tt := range tests {
		cfg := fleetOf(1)
		tt.edit(&cfg)
		if _, err := Run(cfg, load, chooser(), 0, 0); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v; want one that has %q", tt.name, err, tt.want)
		}
	}
}

func ExampleRun() {
	m := NewMooncake(64, 64)
	for _, row := range []string{
		`{"session_id":"a","timestamp":0,"input_length":130,"output_length":2,"hash_ids":[1,2,3]}`,
		`{"session_id":"a","delay":100,"input_length":200,"output_length":2,"hash_ids":[1,2,4,5]}`,
	} {
		if err := m.Line([]byte(row)); err != nil {
			fmt.Println(err)
		}
	}
	load, err := m.Workload()
	if err != nil {
		fmt.Println(err)
	}
	policies := []dynamo.Policy{{Name: "live", Params: dynamo.DefaultParams()}}
	r, err := Run(fleetOf(1), load, dynamo.NewScorer(policies), 0, 0)
	if err != nil {
		fmt.Println(err)
	}
	fmt.Printf("%d requests, %d tokens of resumed turns computed again\n", r.Requests, r.RecomputedPrefillTokens)
	// Output: 2 requests, 72 tokens of resumed turns computed again
}
