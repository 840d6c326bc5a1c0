package analyzer

import (
	"testing"

	"github.com/kvshadow/kvshadow/analyzer/decision"
	"github.com/kvshadow/kvshadow/analyzer/report"
	"github.com/kvshadow/kvshadow/analyzer/twin"
	"github.com/kvshadow/kvshadow/internal/testfile"
)

// lines reads one of the captures of the command's tests.
func lines(t *testing.T, name string) [][]byte {
	t.Helper()
	return testfile.Lines(t, "../cmd/kvshadow/testdata/"+name+".jsonl.gz")
}

// feed hands each input to a decoder of its own and returns how many decisions
// came whole and how many rebuilt.
func feed(t *testing.T, opts twin.Options, inputs ...[][]byte) (i *Intake, whole, rebuilt int) {
	t.Helper()
	i = NewIntake(opts, func(d *decision.Decision) {
		if d.Rebuilt {
			rebuilt++
		} else {
			whole++
		}
	})
	for _, in := range inputs {
		d := i.NewDecoder()
		for _, line := range in {
			if err := d.Line(0, line); err != nil {
				t.Fatal(err)
			}
		}
		d.Flush()
	}
	i.Flush()
	return i, whole, rebuilt
}

// TestIntake_Both evaluates a choice once, in whichever order its two forms
// come, and compares them if the rows came first.
func TestIntake_Both(t *testing.T) {
	log, trace := lines(t, "twin-1.5.1.log"), lines(t, "twin-1.5.1.trace")
	f := func(wantWhole, wantRebuilt int, wantCompared uint64, inputs ...[][]byte) {
		t.Helper()
		i, whole, rebuilt := feed(t, twin.Options{GPUBlocks: 400}, inputs...)
		if whole != wantWhole || rebuilt != wantRebuilt {
			t.Fatalf("%d whole and %d rebuilt decisions; want %d and %d", whole, rebuilt, wantWhole, wantRebuilt)
		}
		want := report.Comparison{}
		if n := wantCompared; n > 0 { // 2 workers of 2 ranks, all exact
			want = report.Comparison{Selections: n, Candidates: 4 * n, OverlapExact: 4 * n, DecodeBlocksExact: 4 * n, RawPrefillExact: 4 * n}
		}
		if c := i.Inputs().Compared[decision.Decode]; c != want {
			t.Fatalf("%+v; want %+v", c, want)
		}
		if c := i.Inputs().Compared[decision.Prefill]; c != (report.Comparison{}) {
			t.Fatalf("%+v of prefill", c)
		}
	}
	f(40, 0, 0, log)
	f(0, 40, 0, trace)
	f(40, 0, 40, log, trace)
	f(40, 0, 40, trace, log) // nothing is rebuilt before the end
	f(40, 0, 0, log, nil)
}

// TestIntake_Undecodable counts requests that can't be rebuilt, and winners
// that no trace tells more of.
func TestIntake_Undecodable(t *testing.T) {
	log, trace := lines(t, "twin-1.6.1.log"), lines(t, "twin-1.6.1.trace")
	f := func(reason string, want uint64, inputs ...[][]byte) {
		t.Helper()
		i, _, _ := feed(t, twin.Options{}, inputs...)
		for r, n := range i.Inputs().Undecodable {
			switch {
			case r == reason && n != want:
				t.Fatalf("%d %s; want %d", n, r, want)
			case r != reason && n != 0:
				t.Fatalf("%d %s", n, r)
			}
		}
	}
	bare := []byte(`{"schema":"dynamo.request.trace.v1","event_type":"request_end","request":{"request_id":"a","request_received_ms":1,` +
		`"replay":{"trace_block_size":16,"input_length":15,"input_sequence_hashes":[7]}}}`)
	f("", 0, trace)
	f("", 0, log, trace)
	f("winner_without_rows", 60, log)
	f("winner_without_rows", 1, log, trace[1:])
	f("lifecycle_without_workers", 1, trace, [][]byte{bare})
}

func TestIntake_Lifecycles(t *testing.T) {
	i, _, rebuilt := feed(t, twin.Options{}, lines(t, "dynamo-pi-agent"))
	if i.Inputs().Lifecycles != 17 || rebuilt != 17 {
		t.Fatalf("%d requests, %d decisions; want 17 of both", i.Inputs().Lifecycles, rebuilt)
	}
}

func TestCompare(t *testing.T) {
	key := func(n uint64) decision.Key { return decision.Key{WorkerID: n} }
	f := func(want report.Comparison, change func(rebuilt, rows *decision.Decision)) {
		t.Helper()
		// 100 active tokens and 60 of the prompt are 10 blocks of 16.
		rebuilt := &decision.Decision{TracksPrefill: true, InputTokens: 60, BlockSizeTokens: 16, Candidates: []decision.Candidate{
			{Key: key(1), EffectiveOverlapBlocks: 2, DecodeCostBlocks: 5, ActivePrefillTokens: 100}, {Key: key(3)},
		}}
		rows := &decision.Decision{TracksPrefill: true, Candidates: []decision.Candidate{
			{Key: key(1), EffectiveOverlapBlocks: 2, DecodeCostBlocks: 5, RawPrefillBlocks: decision.Some(10)},
		}}
		change(rebuilt, rows)
		var got report.Comparison
		compare(&got, rebuilt, rows)
		if got != want {
			t.Fatalf("%+v; want %+v", got, want)
		}
	}
	f(report.Comparison{Selections: 1, Candidates: 1, OverlapExact: 1, DecodeBlocksExact: 1, RawPrefillExact: 1}, func(_, _ *decision.Decision) {})
	f(report.Comparison{Selections: 1, Candidates: 1, DecodeBlocksExact: 1, RawPrefillExact: 1},
		func(_, rows *decision.Decision) { rows.Candidates[0].EffectiveOverlapBlocks = 2.02 })
	f(report.Comparison{Selections: 1, Candidates: 1, OverlapExact: 1, RawPrefillExact: 1},
		func(rebuilt, _ *decision.Decision) { rebuilt.Candidates[0].DecodeCostBlocks = 6 })
	f(report.Comparison{Selections: 1, Candidates: 1, OverlapExact: 1, DecodeBlocksExact: 1},
		func(rebuilt, _ *decision.Decision) { rebuilt.Candidates[0].ActivePrefillTokens = 99 })
	f(report.Comparison{Selections: 1, MissingCandidates: 1},
		func(_, rows *decision.Decision) { rows.Candidates[0].WorkerID = 2 })
	f(report.Comparison{Selections: 1, Candidates: 1, OverlapExact: 1, DecodeBlocksExact: 1, RawPrefillExact: 1},
		func(rebuilt, rows *decision.Decision) { // decode routers count no prefill
			rebuilt.TracksPrefill, rows.TracksPrefill = false, false
			rebuilt.Candidates[0].ActivePrefillTokens = 1000
		})
}
