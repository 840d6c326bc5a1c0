package twin

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/kvshadow/kvshadow/analyzer/decision"
)

var epoch = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// TestTwin_Reference compares every rebuilt decision with the slow twin's.
func TestTwin_Reference(t *testing.T) {
	decisions := 0
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 3))
		opts := randomOptions(r)
		all := randomLifecycles(r, 60)
		slow := &slowTwin{opts: opts}
		want := slow.rebuild(all)
		got, tw := rebuild(opts, all)
		decisions += len(got)
		if err := equalDecisions(got, want); err != nil {
			t.Fatalf("seed %d, %+v: %s", seed, opts, err)
		}
		if c := tw.Counts(); c.Late > 0 || int(c.WithoutWorkers)+len(slow.requests) != len(all) {
			t.Fatalf("seed %d: %+v with %d of %d requests", seed, c, len(slow.requests), len(all))
		}
		if err := idle(tw); err != nil {
			t.Fatalf("seed %d: %s", seed, err)
		}
	}
	t.Logf("%d decisions compared", decisions)
}

// idle says what a twin holds although every request is over.
func idle(tw *Twin) error {
	for _, f := range tw.fleets {
		for _, k := range f.all {
			if k.pool.Held() != 0 || k.open != 0 || k.activeBlocks != 0 || k.prefillTokens != 0 || k.requests != 0 {
				return fmt.Errorf("%+v isn't idle: %d blocks held", k.rankKey, k.pool.Held())
			}
		}
		f.look(nil, 1<<62) // ends all beliefs
		nodes := 0
		for n := range f.index.nodes {
			if f.index.table.Get(f.index.nodes[n].hash) != int32(n) {
				continue
			}
			nodes++
			if p := &f.index.nodes[n]; p.refs != 0 || p.active != 0 || p.assumed != 0 || p.slot == none {
				return fmt.Errorf("node %d stays: %+v", n, *p)
			}
		}
		if nodes != f.index.table.Len() {
			return fmt.Errorf("%d nodes for %d hashes", nodes, f.index.table.Len())
		}
	}
	return nil
}

func rebuild(opts Options, all []*decision.Lifecycle) ([]*decision.Decision, *Twin) {
	var out []*decision.Decision
	opts.Emit = func(d, _ *decision.Decision) { out = append(out, d.Clone()) }
	tw := New(opts)
	for _, l := range all {
		tw.Lifecycle(l)
	}
	tw.Flush()
	return out, tw
}

// equalDecisions compares what is rebuilt, with the candidates in any order.
func equalDecisions(got, want []*decision.Decision) error {
	if len(got) != len(want) {
		return fmt.Errorf("%d decisions; want %d", len(got), len(want))
	}
	for i, g := range got {
		w := want[i]
		if g.RequestID != w.RequestID || g.Model != w.Model || g.Pool != w.Pool || g.Selected != w.Selected || !g.Time.Equal(w.Time) {
			return fmt.Errorf("decision %d is %+v;\nwant %+v", i, g, w)
		}
		a, b := sorted(g), sorted(w)
		if !reflect.DeepEqual(a, b) {
			return fmt.Errorf("decision %d of %s, %s:\n%+v; want\n%+v", i, g.RequestID, g.Pool, a, b)
		}
	}
	return nil
}

func sorted(d *decision.Decision) []decision.Candidate {
	out := slices.Clone(d.Candidates)
	slices.SortFunc(out, func(a, b decision.Candidate) int {
		return cmp.Or(cmp.Compare(a.WorkerID, b.WorkerID), cmp.Compare(a.DPRank, b.DPRank))
	})
	return out
}

func randomOptions(r *rand.Rand) Options {
	opts := Options{Handoff: time.Duration(1+r.IntN(200)) * time.Millisecond}
	if r.IntN(4) > 0 {
		opts.GPUBlocks = 4 + r.IntN(40) // less than what runs at once, or hardly
	}
	if r.IntN(4) == 0 {
		opts.ApproximateTTL = time.Duration(1+r.IntN(20)) * time.Second
	}
	return opts
}

// randomLifecycles makes requests of two models, of which one may be
// disaggregated: prompts that share their beginnings or go on with what an
// earlier one generated, requests that failed, workers that come and go.
func randomLifecycles(r *rand.Rand, n int) []*decision.Lifecycle {
	ranks, workers, apart := 1+r.IntN(2), 1+r.IntN(3), r.IntN(2) == 0
	pause := time.Duration(1+r.IntN(300)) * 10 * time.Millisecond
	if n > 1000 { // no worker without a request for a minute
		pause = 300 * time.Millisecond
	}
	var out []*decision.Lifecycle
	at := epoch
	for i := range n {
		at = at.Add(time.Duration(r.Int64N(int64(pause))))
		if n < 1000 && r.IntN(40) == 0 {
			at = at.Add(100 * time.Second)
		}
		l := &decision.Lifecycle{
			RequestID: fmt.Sprintf("r%03d", i), Model: fmt.Sprint("m", r.IntN(2)), Received: at, BlockSizeTokens: 4,
			Wait: absent(r, 1000*time.Microsecond), FirstToken: absent(r, 2*time.Second), Total: absent(r, 10*time.Second),
			OutputTokens: uint64(r.IntN(60)), CachedTokens: -1, HasWorkers: r.IntN(30) > 0,
		}
		prompt(r, l, out)
		if r.IntN(3) > 0 {
			l.CachedTokens = int64(r.IntN(int(l.InputTokens) + 1))
		}
		l.Prefill = decision.Key{WorkerID: uint64(r.IntN(workers)), DPRank: uint32(r.IntN(ranks))}
		l.Decode = l.Prefill
		if apart && l.Model == "m1" {
			l.Decode.WorkerID = 100 + uint64(r.IntN(workers))
		}
		out = append(out, l)
	}
	slices.SortFunc(out, func(a, b *decision.Lifecycle) int {
		return cmp.Compare(a.Received.UnixNano()+int64(a.Total), b.Received.UnixNano()+int64(b.Total))
	})
	return out
}

func absent(r *rand.Rand, most time.Duration) time.Duration {
	if r.IntN(12) == 0 {
		return -1
	}
	return time.Duration(1 + r.Int64N(int64(most)))
}

// prompt gives a lifecycle its blocks: new ones, or an earlier prompt with more.
func prompt(r *rand.Rand, l *decision.Lifecycle, before []*decision.Lifecycle) {
	last := uint64(0)
	if len(before) > 0 && r.IntN(2) == 0 {
		full := before[r.IntN(len(before))].FullBlocks()
		l.Hashes = append(l.Hashes, full...)
		if len(full) > 0 {
			last = full[len(full)-1]
		}
	}
	for range r.IntN(7) {
		last = (last + uint64(r.IntN(2)) + 1) * 0x9e3779b97f4a7c15
		l.Hashes = append(l.Hashes, last)
	}
	l.InputTokens = 4 * uint64(len(l.Hashes))
	if len(l.Hashes) == 0 || r.IntN(3) > 0 { // the beginning of another block
		l.InputTokens += 1 + r.Uint64N(3)
		if len(l.Hashes) == 0 || r.IntN(2) == 0 {
			l.Hashes = append(l.Hashes, r.Uint64())
		}
	}
}
