package twin_test

import (
	"fmt"
	"time"

	"github.com/kvshadow/kvshadow/analyzer/decision"
	"github.com/kvshadow/kvshadow/analyzer/twin"
)

// Two requests with a common beginning: when the second comes, the first has
// left two blocks in the cache of its worker and still holds them.
func Example() {
	t := twin.New(twin.Options{GPUBlocks: 1000, Emit: func(d, _ *decision.Decision) {
		for _, c := range d.Candidates {
			fmt.Printf("%s: worker %d has %v of %d blocks, would hold %v and has %d tokens to prefill\n",
				d.RequestID, c.WorkerID, c.EffectiveOverlapBlocks, d.RequestBlocks, c.DecodeCostBlocks, c.ActivePrefillTokens)
		}
	}})
	worker := decision.Key{WorkerID: 7}
	request := func(id string, after time.Duration, hashes ...uint64) {
		t.Lifecycle(&decision.Lifecycle{
			RequestID: id, Received: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC).Add(after),
			FirstToken: 50 * time.Millisecond, Total: 2 * time.Second,
			InputTokens: 192, OutputTokens: 20, CachedTokens: -1, BlockSizeTokens: 64, Hashes: hashes,
			Prefill: worker, Decode: worker, HasWorkers: true,
		})
	}
	request("second", time.Second, 1, 2, 9) // records may come in any order
	request("first", 0, 1, 2, 3)
	t.Flush()
	// Output:
	// first: worker 7 has 0 of 3 blocks, would hold 3 and has 0 tokens to prefill
	// second: worker 7 has 2 of 3 blocks, would hold 4 and has 0 tokens to prefill
}
