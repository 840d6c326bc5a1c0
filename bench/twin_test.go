//go:build unix

package bench

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/kvshadow/kvshadow/analyzer/decision"
	"github.com/kvshadow/kvshadow/analyzer/twin"
	"github.com/kvshadow/kvshadow/internal/testfile"
)

// arrival is a request without its placement.
type arrival struct {
	AtMs   uint64   `json:"timestamp"`
	Input  uint64   `json:"input_length"`
	Output uint64   `json:"output_length"`
	Blocks []uint64 `json:"hash_ids"`
}

const mooncakeBlock = 512

// mooncake reads the conversation trace of $KVSHADOW_CORPUS, or makes one up
// of the same shape: 24 blocks a prompt, sessions that grow, one system prompt.
func mooncake(b *testing.B) []arrival {
	dir := os.Getenv("KVSHADOW_CORPUS")
	if dir == "" {
		return conversations(12_031)
	}
	var out []arrival
	for _, line := range testfile.Lines(b, filepath.Join(dir, "traces", "mooncake-conversation.jsonl.gz")) {
		var a arrival
		if err := json.Unmarshal(line, &a); err != nil {
			b.Fatal(err)
		}
		out = append(out, a)
	}
	return out
}

func conversations(n int) []arrival {
	r := rand.New(rand.NewPCG(1, 2))
	next := uint64(1)
	sessions := make([][]uint64, 600)
	out := make([]arrival, n)
	for i := range out {
		s := &sessions[r.IntN(len(sessions))]
		if len(*s) == 0 || len(*s) > 60 {
			*s = []uint64{0}
		}
		for range 1 + r.IntN(28) {
			*s = append(*s, next)
			next++
		}
		input := uint64(len(*s)*mooncakeBlock - r.IntN(mooncakeBlock))
		out[i] = arrival{AtMs: uint64(i) * 300, Input: input, Output: 50 + r.Uint64N(600), Blocks: append([]uint64(nil), *s...)}
	}
	return out
}

// place turns arrivals into lifecycles: each goes to the least loaded worker,
// with made-up durations, in the order of their ends as traces have them.
func place(in []arrival, workers int) []*decision.Lifecycle {
	busy := make([]uint64, workers) // until when, in ms
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	out := make([]*decision.Lifecycle, len(in))
	for i, a := range in {
		w := i % workers
		for j := range busy {
			if busy[j] < busy[w] {
				w = j
			}
		}
		prefill := 20 + a.Input/40
		busy[w] = max(busy[w], a.AtMs) + prefill
		total := busy[w] - a.AtMs + a.Output*20
		key := decision.Key{WorkerID: uint64(w+1) << 40}
		out[i] = &decision.Lifecycle{
			RequestID: fmt.Sprintf("request-%d", i), Model: "model", Received: start.Add(time.Duration(a.AtMs) * time.Millisecond),
			Wait: time.Millisecond, FirstToken: time.Duration(busy[w]-a.AtMs) * time.Millisecond, Total: time.Duration(total) * time.Millisecond,
			InputTokens: a.Input, OutputTokens: a.Output, CachedTokens: -1, BlockSizeTokens: mooncakeBlock,
			Hashes: a.Blocks, Prefill: key, Decode: key, HasWorkers: true,
		}
	}
	return out
}

// BenchmarkTwin rebuilds every decision of Mooncake's conversation trace. The
// aim is 200,000 requests/s at 16 workers.
func BenchmarkTwin(b *testing.B) {
	in := mooncake(b)
	for _, workers := range []int{4, 16, 64} {
		b.Run(fmt.Sprintf("workers=%d", workers), func(b *testing.B) {
			ls := place(in, workers)
			b.ReportAllocs()
			requests, blocks, cpu := 0, 0.0, cpuTime(b)
			for b.Loop() {
				t := twin.New(twin.Options{GPUBlocks: 1 << 12, Wait: 5 * time.Minute, Emit: func(d, _ *decision.Decision) {
					requests++
					blocks += d.Candidates[0].EffectiveOverlapBlocks
				}})
				for _, l := range ls {
					t.Lifecycle(l)
				}
				t.Flush()
				if c := t.Counts(); c.Late > 0 {
					b.Fatalf("%+v", c)
				}
			}
			b.ReportMetric(float64(requests)/b.Elapsed().Seconds(), "requests/s")
			b.ReportMetric(float64(requests)/(cpuTime(b)-cpu).Seconds(), "requests/cpu-s")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// cpuTime is what the process has used of all cores, the collector included.
// On a machine that does other things too it says more than elapsed time.
func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
