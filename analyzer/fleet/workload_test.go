package fleet

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kvshadow/kvshadow/analyzer/decision"
)

func TestMooncakeRows(t *testing.T) {
	tests := []struct{ name, row, wrong string }{
		{"plain", `{"timestamp":0,"input_length":100,"output_length":5,"hash_ids":[1,2]}`, ""},
		{"other names", `{"created_time":0.5,"input_tokens":100,"output_tokens":5,"hash_ids":[1,2],"session_id":"a"}`, ""},
		{"unknown fields", `{"timestamp":0,"input_length":100,"output_length":5,"hash_ids":[1,2],"priority":{"a":[1,"]}"]}}`, ""},
		{"nulls", `{"timestamp":0,"session_id":null,"delay":null,"input_length":100,"output_length":5,"hash_ids":[1,2]}`, ""},
		{"white space", " { \"timestamp\" : 0 ,\t\"input_length\":100,\"output_length\":5,\"hash_ids\" : [ 1 , 2 ] } \n", ""},
		{"no partial block", `{"timestamp":0,"input_length":100,"output_length":5,"hash_ids":[1]}`, ""},
		{"large hash", `{"timestamp":0,"input_length":100,"output_length":5,"hash_ids":[18446744073709551615,2]}`, ""},
		{"negative hash", `{"timestamp":0,"input_length":100,"output_length":5,"hash_ids":[-3,2]}`, ""},
		{"no JSON", `hello`, "neither a Mooncake row nor a request trace"},
		{"cut off", `{"timestamp":0,"input_length":100,"output_len`, "neither a Mooncake row nor a request trace"},
		{"rubbish behind", `{"timestamp":0,"input_length":100,"output_length":5,"hash_ids":[1,2]} x`, "neither a Mooncake row nor a request trace"},
		{"an array", `[1,2]`, "neither a Mooncake row nor a request trace"},
		{"another object", `{"level":"INFO","message":"hello"}`, "input_length is missing"},
		{"no output", `{"timestamp":0,"input_length":100,"hash_ids":[1,2]}`, "output_length is missing"},
		{"text for a number", `{"timestamp":0,"input_length":"100","output_length":5,"hash_ids":[1,2]}`, "input_length"},
		{"fraction", `{"timestamp":0,"input_length":100.5,"output_length":5,"hash_ids":[1,2]}`, "input_length"},
		{"negative input", `{"timestamp":0,"input_length":-1,"output_length":5,"hash_ids":[1,2]}`, "input_length"},
		{"no input", `{"timestamp":0,"input_length":0,"output_length":5,"hash_ids":[]}`, "input_length"},
		{"huge input", `{"timestamp":0,"input_length":9007199254740993,"output_length":5,"hash_ids":[1]}`, "input_length"},
		{"huge output", `{"timestamp":0,"input_length":100,"output_length":99999999999999999999,"hash_ids":[1,2]}`, "output_length"},
		{"negative output", `{"timestamp":0,"input_length":100,"output_length":-5,"hash_ids":[1,2]}`, "output_length"},
		{"missing hashes", `{"timestamp":0,"input_length":200,"output_length":5,"hash_ids":[1,2]}`, "2 hash_ids don't cover 200 input tokens of 64 a hash"},
		{"no hashes", `{"timestamp":0,"input_length":100,"output_length":5}`, "0 hash_ids don't cover"},
		{"hash of text", `{"timestamp":0,"input_length":100,"output_length":5,"hash_ids":["a",2]}`, "hash_ids"},
		{"never", `{"input_length":100,"output_length":5,"hash_ids":[1,2]}`, "neither a timestamp nor a session_id with a delay"},
		{"delay of nobody", `{"delay":5,"input_length":100,"output_length":5,"hash_ids":[1,2]}`, "neither a timestamp nor a session_id with a delay"},
		{"negative delay", `{"session_id":"a","delay":-5,"input_length":100,"output_length":5,"hash_ids":[1,2]}`, "delay"},
		{"huge time", `{"timestamp":1e300,"input_length":100,"output_length":5,"hash_ids":[1,2]}`, "timestamp"},
		{"infinite time", `{"timestamp":1e999,"input_length":100,"output_length":5,"hash_ids":[1,2]}`, "timestamp"},
	}
	for _, tt := range tests {
		m := NewMooncake(64, 64)
		err := m.Line([]byte(tt.row))
		switch {
		case tt.wrong == "" && (err != nil || m.Len() != 1):
			t.Errorf("%s: %d rows, error %v", tt.name, m.Len(), err)
		case tt.wrong != "" && (err == nil || !strings.Contains(err.Error(), tt.wrong)):
			t.Errorf("%s: error %v; want one with %q", tt.name, err, tt.wrong)
		}
	}
}

// Two engine blocks to a hash: 14, 15, 18, 19 and 14, 15, 20, which get numbers
// in the order in which they appear.
func TestBlockSizes(t *testing.T) {
	m := NewMooncake(128, 64)
	for _, row := range []string{
		`{"timestamp":0,"input_length":300,"output_length":1,"hash_ids":[7,9,11]}`,
		`{"timestamp":1,"input_length":200,"output_length":1,"hash_ids":[7,10]}`,
	} {
		if err := m.Line([]byte(row)); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := m.load.turns[0].full, []uint64{14, 15, 18, 19}; !slices.Equal(got, want) {
		t.Errorf("blocks %v; want %v", got, want)
	}
	load, err := m.Workload()
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range [][]uint64{{0, 1, 2, 3}, {0, 1, 4}} {
		if got := load.turns[i].full; !slices.Equal(got, want) || load.blocks != 5 {
			t.Errorf("turn %d has the blocks %v of %d; want %v of 5", i, got, load.blocks, want)
		}
	}
	if err := NewMooncake(100, 64).Line([]byte(`{}`)); err == nil || !strings.Contains(err.Error(), "100 tokens, which is no multiple of the block size 64") {
		t.Errorf("error %v", err)
	}
	if _, err := NewMooncake(64, 64).Workload(); err == nil {
		t.Error("an empty trace is no error")
	}
}

// TestSessions has turns follow each other: at their time or the delay after
// the turn before, whichever is later.
func TestSessions(t *testing.T) {
	load := parse(t, row("a", `"timestamp":1000`, 64, 1, 1), row("a", `"delay":50`, 64, 1, 1), row("b", `"timestamp":900`, 64, 1, 9), row("a", `"timestamp":5000,"delay":50`, 64, 1, 1))
	w := mustSimulate(t, fleetOf(1), load, chooser(), 0)
	prefill := MockTiming()
	second := 100 + prefill.Prefill(64) + 50
	for i, want := range []float64{0, 100, second, 4100} {
		if got := w.reqs[i].arrival; !near(got, want) {
			t.Errorf("request %d arrives at %v; want %v", i, got, want)
		}
	}
}

func lifecycle(session string, at, total time.Duration, hashes ...uint64) *decision.Lifecycle {
	return &decision.Lifecycle{RequestID: session, SessionID: session, Received: time.UnixMilli(1_700_000_000_000).Add(at),
		Wait: time.Millisecond, FirstToken: 20 * time.Millisecond, Total: total, InputTokens: uint64(len(hashes) * 64), OutputTokens: 11,
		CachedTokens: 64, BlockSizeTokens: 64, Hashes: hashes}
}

func TestFromLifecycles(t *testing.T) {
	ls := []*decision.Lifecycle{ // by end, as traces are
		lifecycle("b", 10*time.Millisecond, 50*time.Millisecond, 5, 6),
		lifecycle("a", 0, 100*time.Millisecond, 1, 2),
		lifecycle("a", 400*time.Millisecond, 100*time.Millisecond, 1, 2, 3),
		{RequestID: "bare", InputTokens: 5},
	}
	for _, closed := range []bool{false, true} {
		load, skipped, err := FromLifecycles(ls, 64, closed)
		if err != nil || skipped != 1 || load.Len() != 3 {
			t.Fatalf("%d requests, %d skipped, %v", load.Len(), skipped, err)
		}
		first := mustSimulate(t, fleetOf(1), load, chooser(), 0)
		want := 400.0
		if closed { // the recorded pause of 300 ms after this end
			want = first.reqs[0].end + 300
		}
		if got := first.reqs[2].arrival; !near(got, want) {
			t.Errorf("closed %v: the second turn arrives at %v; want %v", closed, got, want)
		}
	}
	if _, _, err := FromLifecycles(ls, 48, false); err == nil {
		t.Error("hashes of 64 tokens pass for blocks of 48")
	}
	if _, _, err := FromLifecycles(ls[3:], 64, false); err == nil {
		t.Error("a trace without hashes passes")
	}
}

func TestRecorded(t *testing.T) {
	a, b := lifecycle("a", 0, 120*time.Millisecond, 1, 2), lifecycle("a", time.Second, 220*time.Millisecond, 1, 2)
	a.HasWorkers, b.HasWorkers = true, true
	b.Prefill.WorkerID, b.FirstToken = 4, 40*time.Millisecond
	got := Recorded([]*decision.Lifecycle{b, a})
	for key, want := range map[string]float64{"requests": 2, "moved_sessions": 1, "prefix_cache_reused_ratio": 0.5,
		"ttft_p50_ms": 30, "resumed_ttft_p95_ms": 40, "itl_mean_ms": 14, "recomputed_prefill_tokens": 64, "duration_ms": 1220} {
		if !near(got[key], want) {
			t.Errorf("%s is %v; want %v", key, got[key], want)
		}
	}
}

func FuzzMooncake(f *testing.F) {
	f.Add([]byte(`{"timestamp":0,"input_length":100,"output_length":5,"hash_ids":[1,2]}`))
	f.Add([]byte(`{"session_id":"aé","delay":1e2,"input_length":1,"output_length":0,"hash_ids":[],"x":{"y":[null,true]}}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		m := NewMooncake(128, 64)
		if m.Line(line) != nil {
			return
		}
		load, err := m.Workload()
		if err != nil {
			t.Fatal(err)
		}
		if x := &load.turns[0]; x.input > 1<<20 || x.output > 1<<16 {
			return
		}
		cfg := fleetOf(1)
		cfg.GPUBlocks = 1 << 15
		w := mustSimulate(t, cfg, load, chooser(), 0)
		if _, err := w.result(); err != nil {
			t.Error(err)
		}
	})
}
