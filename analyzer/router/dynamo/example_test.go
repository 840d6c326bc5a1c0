package dynamo_test

import (
	"fmt"
	"strings"

	"github.com/kvshadow/kvshadow/analyzer/decision"
	"github.com/kvshadow/kvshadow/analyzer/router/dynamo"
)

const exampleLog = `2026-11-30T08:00:00Z DEBUG selector: Formula for worker_id=1 dp_rank=0 with 6.00 effective cached blocks: 5.000 = prefill_load_scale * adjusted_prefill_blocks + decode_blocks + active_request_cost_blocks = 1.000 * 4.000 + 1.000 + 0.000 (raw_prefill_blocks: 10.000, overlap_credit_blocks: 6.000, overlap_credit_decay: 1.000) request_id="r1" worker_type="prefill"
2026-11-30T08:00:00Z DEBUG selector: Formula for worker_id=2 dp_rank=0 with 0.00 effective cached blocks: 12.000 = prefill_load_scale * adjusted_prefill_blocks + decode_blocks + active_request_cost_blocks = 1.000 * 10.000 + 2.000 + 0.000 (raw_prefill_blocks: 10.000, overlap_credit_blocks: 0.000, overlap_credit_decay: 1.000) request_id="r1" worker_type="prefill"
2026-11-30T08:00:00Z  INFO selector: Selected worker request_id="r1" worker_id=1 worker_type=prefill dp_rank=0 logit=5.0
2026-11-30T08:00:01Z  INFO selector: Selected worker request_id="r2" worker_id=2 worker_type=prefill dp_rank=0 logit=7.0`

// Lines of a router's log become decisions; what can't be used is counted.
func ExampleDecoder() {
	d := dynamo.NewDecoder(func(d *decision.Decision) {
		fmt.Printf("%s (%s): worker %d of %d candidates\n", d.RequestID, d.WorkerType, d.Selected.WorkerID, len(d.Candidates))
	})
	for line := range strings.Lines(exampleLog) {
		d.Line(0, []byte(strings.TrimSuffix(line, "\n")))
	}
	d.Flush()
	d.Undecodable(func(reason string, n uint64) {
		if n > 0 {
			fmt.Println(reason, n)
		}
	})
	// Output:
	// r1 (prefill): worker 1 of 2 candidates
	// winner_without_rows 1
}

// A decision explained: what each worker costs, and which change of a single
// weight would have moved the request.
func ExampleScorer_Explain() {
	d := &decision.Decision{
		WorkerType: decision.Decode, InputTokens: 640, BlockSizeTokens: 64, RequestBlocks: 10, TracksPrefill: true,
		Selected: decision.Key{WorkerID: 2},
		Candidates: []decision.Candidate{
			{Key: decision.Key{WorkerID: 1}, EffectiveOverlapBlocks: 8, DecodeCostBlocks: 12},
			{Key: decision.Key{WorkerID: 2}, DecodeCostBlocks: 2},
		},
	}
	s := dynamo.NewScorer([]dynamo.Policy{{Name: "live", Params: dynamo.DefaultParams()}})
	e, err := s.Explain(d)
	if err != nil {
		fmt.Println(err)
		return
	}
	pick := e.Picks[0]
	fmt.Println("costs", pick.Costs[0].Total, "and", pick.Costs[1].Total)
	for _, f := range pick.Flips {
		fmt.Printf("worker %d wins beyond %s = %.4g\n", f.Winner.WorkerID, f.Parameter, f.At)
	}
	// Output:
	// costs 14 and 12
	// worker 1 wins beyond prefill_load_scale = 1.25
	// worker 1 wins beyond prefix_affinity_weight = 0.25
}
