package twin

import (
	"runtime"
	"testing"
	"time"

	"github.com/kvshadow/kvshadow/analyzer/decision"
)

// TestTwin_Memory fills 16 workers with 25,000 blocks each, which is a 16th of
// 64 workers with 100,000 blocks, several times over, and holds what stays
// against a 16th of 1 GiB. docs/twin.md states the number.
func TestTwin_Memory(t *testing.T) {
	const workers, capacity, prompt = 16, 25_000, 50
	before := heap()
	tw := New(Options{GPUBlocks: capacity, Wait: time.Second, Emit: func(*decision.Decision, *decision.Decision) {}})
	next := uint64(1)
	for i := range 3 * workers * capacity / prompt {
		hashes := make([]uint64, prompt)
		for j := range hashes {
			hashes[j] = next * 0x9e3779b97f4a7c15
			next++
		}
		tw.Lifecycle(on(at(float64(i*10), "request", prompt*10, hashes...), uint64(i%workers)))
	}
	tw.Flush()
	used := 0
	for _, k := range tw.fleets["m"].all {
		used += k.pool.Used()
	}
	bytes := heap() - before
	t.Logf("%.1f bytes a block, %d MiB for 64 workers of 100,000 blocks", float64(bytes)/float64(used), 16*bytes>>20)
	if used != workers*capacity || bytes > 1<<30/16 {
		t.Errorf("%d blocks take %d bytes", used, bytes)
	}
	runtime.KeepAlive(tw)
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
