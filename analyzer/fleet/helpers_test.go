package fleet

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/kvshadow/kvshadow/analyzer/router/dynamo"
	"github.com/kvshadow/kvshadow/internal/testfile"
)

// seedTrace is the published workload's fourth seed.
const seedTrace = "../../testdata/simulation/seed-4.trace.jsonl.gz"

// eachLine calls f with every line of a gzipped file.
func eachLine(t testing.TB, path string, f func(line []byte) error) {
	t.Helper()
	for _, line := range testfile.Lines(t, path) {
		if err := f(line); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
	}
}

func readTrace(t testing.TB, path string) *Workload {
	t.Helper()
	m := NewMooncake(64, 64)
	eachLine(t, path, m.Line)
	load, err := m.Workload()
	if err != nil {
		t.Fatal(err)
	}
	return load
}

// parse makes a workload of rows with 64-token hashes.
func parse(t testing.TB, rows ...string) *Workload {
	t.Helper()
	m := NewMooncake(64, 64)
	for _, row := range rows {
		if err := m.Line([]byte(row)); err != nil {
			t.Fatal(err)
		}
	}
	load, err := m.Workload()
	if err != nil {
		t.Fatal(err)
	}
	return load
}

// row is a Mooncake row of a prompt of that many tokens whose block hashes count
// up from first.
func row(session, when string, input, output, first int) string {
	ids := make([]int, ceilDiv(input, 64))
	for i := range ids {
		ids[i] = first + i
	}
	text, err := json.Marshal(ids)
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf(`{"session_id":%q,%s,"input_length":%d,"output_length":%d,"hash_ids":%s}`, session, when, input, output, text)
}

// fleetOf is a configuration of the mock engine.
func fleetOf(workers int) Config {
	return Config{Workers: workers, Ranks: 1, GPUBlocks: 512, BlockSize: 64, MaxNumSeqs: 8,
		MaxBatchedTokens: DefaultMaxBatchedTokens, Timing: MockTiming()}
}

// policy is the default with changes.
func policy(change func(*dynamo.Params)) dynamo.Policy {
	p := dynamo.Policy{Name: "test", Params: dynamo.DefaultParams()}
	if change != nil {
		change(&p.Params)
	}
	return p
}

func chooser(policies ...dynamo.Policy) Chooser {
	if len(policies) == 0 {
		policies = []dynamo.Policy{policy(nil)}
	}
	return dynamo.NewScorer(policies)
}

func mustSimulate(t testing.TB, cfg Config, load *Workload, c Chooser, seed uint64) *world {
	t.Helper()
	w, err := simulate(cfg, load, c, 0, seed)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// randomWorkload has sessions that grow and share system prompts.
func randomWorkload(t testing.TB, r *rand.Rand) *Workload {
	var rows []string
	next := 1000
	for s := range 1 + r.IntN(12) {
		system := r.IntN(3) * 100
		var ids []int
		for i := range r.IntN(6) {
			ids = append(ids, system+i)
		}
		for turn := range 1 + r.IntN(6) {
			for range r.IntN(8) {
				ids = append(ids, next)
				next++
			}
			input := len(ids)*64 + 1 + r.IntN(63)
			when := fmt.Sprintf(`"timestamp":%d`, r.IntN(3000))
			if turn > 0 {
				when = fmt.Sprintf(`"delay":%d`, r.IntN(400))
			}
			hashes, err := json.Marshal(append(ids[:len(ids):len(ids)], -next&0xffffff))
			if err != nil {
				t.Fatal(err)
			}
			rows = append(rows, fmt.Sprintf(`{"session_id":"s%d",%s,"input_length":%d,"output_length":%d,"hash_ids":%s}`, s, when, input, r.IntN(150), hashes))
		}
	}
	return parse(t, rows...)
}

// randomFleet is small enough to be under pressure, and large enough for every
// request of a workload.
func randomFleet(r *rand.Rand, load *Workload) Config {
	cfg := fleetOf(1 + r.IntN(4))
	if r.IntN(3) == 0 {
		cfg.Workers, cfg.PrefillWorkers, cfg.DecodeWorkers = 0, 1+r.IntN(3), 1+r.IntN(3)
		cfg.TransferMs = float64(r.IntN(3)) * 7.5
	}
	cfg.Ranks = 1 + r.IntN(2)
	largest := 0
	for i := range load.turns {
		largest = max(largest, ceilDiv(load.turns[i].input+load.turns[i].output, 64))
	}
	cfg.GPUBlocks = largest + r.IntN(4*largest)
	cfg.MaxNumSeqs = 1 + r.IntN(8)
	cfg.MaxBatchedTokens = 1 << (6 + r.IntN(8))
	if max(cfg.Workers, cfg.PrefillWorkers) > 1 && r.IntN(4) == 0 {
		cfg.JoinMs = []float64{0, float64(r.IntN(2000))}
	}
	return cfg
}
