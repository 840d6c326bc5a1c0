// Package bench holds the benchmarks. Timings are compared side by side within
// one run, never asserted.
package bench

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/kvshadow/kvshadow/analyzer/decision"
	"github.com/kvshadow/kvshadow/analyzer/router/dynamo"
	"github.com/kvshadow/kvshadow/analyzer/shadow"
)

// policies returns the live defaults and n-1 candidates.
func policies(n int) []dynamo.Policy {
	out := []dynamo.Policy{{Name: "live", Params: dynamo.DefaultParams()}}
	for i := 1; i < n; i++ {
		p := dynamo.DefaultParams()
		switch i % 3 {
		case 0:
			p.PrefillLoadScale = float64(1 + i)
		case 1:
			p.PrefixAffinityWeight = float64(i)
		case 2:
			p.OverlapScoreCredit = 1 + float64(i)/4
		}
		out = append(out, dynamo.Policy{Name: fmt.Sprintf("p%d", i), Params: p})
	}
	return out
}

// randomDecision returns an aggregated decision with that many workers, whose
// selected worker is the one that the defaults pick.
func randomDecision(r *rand.Rand, workers int) *decision.Decision {
	d := &decision.Decision{
		WorkerType: decision.Decode, InputTokens: 3096, BlockSizeTokens: 64, RequestBlocks: 49, TracksPrefill: true,
	}
	for i := range workers {
		overlap := float64(0)
		if r.IntN(4) == 0 {
			overlap = float64(r.IntN(48))
		}
		d.Candidates = append(d.Candidates, decision.Candidate{
			Key: decision.Key{WorkerID: uint64(i) << 40}, EffectiveOverlapBlocks: overlap,
			ActivePrefillTokens: uint64(r.IntN(20000)), DecodeCostBlocks: float64(r.IntN(400)),
		})
	}
	s := dynamo.NewScorer(policies(1))
	costs := make([]float64, workers)
	if _, err := s.Prepare(d); err != nil {
		panic(err)
	}
	if err := s.Costs(0, costs); err != nil {
		panic(err)
	}
	best := 0
	for i, c := range costs {
		if c < costs[best] {
			best = i
		}
	}
	d.Selected = d.Candidates[best].Key
	return d
}

// BenchmarkEvaluate is the whole evaluation of a decision: columns, costs of
// every policy, picks, effects.
func BenchmarkEvaluate(b *testing.B) {
	const n = 8
	for _, workers := range []int{2, 8, 64, 512, 1024} {
		b.Run(fmt.Sprintf("policies=%d/workers=%d", n, workers), func(b *testing.B) {
			r := rand.New(rand.NewPCG(1, 2))
			ds := make([]*decision.Decision, 64)
			for i := range ds {
				ds[i] = randomDecision(r, workers)
			}
			e := shadow.NewEvaluator(dynamo.NewScorer(policies(n)), n)
			for _, d := range ds {
				e.Evaluate(d)
			}
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				e.Evaluate(ds[i%len(ds)])
				i++
			}
			perCell(b, workers*n)
		})
	}
}

// BenchmarkCosts is the cost function alone.
func BenchmarkCosts(b *testing.B) {
	const n = 8
	for _, workers := range []int{2, 8, 64, 512, 1024} {
		b.Run(fmt.Sprintf("policies=%d/workers=%d", n, workers), func(b *testing.B) {
			d := randomDecision(rand.New(rand.NewPCG(1, 2)), workers)
			s := dynamo.NewScorer(policies(n))
			if _, err := s.Prepare(d); err != nil {
				b.Fatal(err)
			}
			costs := make([]float64, workers)
			b.ReportAllocs()
			for b.Loop() {
				for p := range n {
					if err := s.Costs(p, costs); err != nil {
						b.Fatal(err)
					}
				}
			}
			perCell(b, workers*n)
		})
	}
}

// perCell reports the time per worker and policy.
func perCell(b *testing.B, cells int) {
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(cells), "ns/worker-policy")
}
