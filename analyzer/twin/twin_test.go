package twin

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kvshadow/kvshadow/analyzer/decision"
)

// at returns a lifecycle of worker 1 whose choice is at that many ms: Received
// is half a millisecond earlier, because traces round it down, and there is no
// wait. Blocks have 10 tokens.
func at(ms float64, id string, tokens uint64, hashes ...uint64) *decision.Lifecycle {
	return &decision.Lifecycle{
		RequestID: id, Model: "m", Received: epoch.Add(time.Duration(ms*1e6) - receivedRounding),
		FirstToken: 100 * time.Millisecond, Total: 200 * time.Millisecond,
		InputTokens: tokens, OutputTokens: 1, CachedTokens: -1, BlockSizeTokens: 10, Hashes: hashes,
		Prefill: decision.Key{WorkerID: 1}, Decode: decision.Key{WorkerID: 1}, HasWorkers: true,
	}
}

func on(l *decision.Lifecycle, worker uint64) *decision.Lifecycle {
	l.Prefill.WorkerID, l.Decode.WorkerID = worker, worker
	return l
}

func apart(l *decision.Lifecycle) *decision.Lifecycle {
	l.Prefill.WorkerID, l.Decode.WorkerID = 1, 2
	return l
}

// show writes decisions as "id worker:overlap/prefill tokens/decode blocks".
func show(ds []*decision.Decision) string {
	var b strings.Builder
	for _, d := range ds {
		b.WriteString(d.RequestID)
		if d.LoadOnly {
			b.WriteString("(decode)")
		}
		for _, c := range sorted(d) {
			fmt.Fprintf(&b, " %d:%v/%d/%v", c.WorkerID, c.EffectiveOverlapBlocks, c.ActivePrefillTokens, c.DecodeCostBlocks)
		}
		b.WriteString("\n")
	}
	return b.String()
}

func TestTwin(t *testing.T) {
	f := func(name string, opts Options, want string, all ...*decision.Lifecycle) {
		t.Helper()
		got, _ := rebuild(opts, all)
		if s := show(got); s != strings.TrimLeft(want, "\n") {
			t.Errorf("%s:\n%swant%s", name, s, want)
		}
	}
	free := Options{}

	// a books its 25 tokens and holds 2 full blocks until its end at 200; c
	// shares 1 of its 2: 2 + 2 - 1 = 3 decode blocks. What a computes is cached
	// with its first token at 100; d at 150 finds both blocks cached and in use:
	// a's 2, b's 1 (2 blocks less the common first), c's, which is the same as
	// b's second: 3 in use, and none is new to d but its third.
	f("loads", free, `
a 1:0/0/2
b 1:0/25/3
c 1:0/45/3
d 1:2/20/4
`, at(0, "a", 25, 1, 2, 99), at(60, "b", 20, 1, 3), at(70, "c", 20, 1, 3), at(165, "d", 30, 1, 3, 4))

	// A booking is the prompt less the blocks that the router thinks cached:
	// 45 - 2*10 = 25.
	f("booking", free, `
a 1:0/0/2
b 1:2/0/4
c 1:0/25/5
`, at(0, "a", 20, 1, 2), at(300, "b", 45, 1, 2, 3, 4), at(301, "c", 10, 9))

	// Overlap counts leading blocks only, and on each worker what it served. At
	// d, c has booked 30 - 20 = 10 tokens on worker 1 and holds 3 blocks there.
	f("prefix", free, `
a 1:0/0/2 2:0/0/2
b 1:0/20/4 2:0/0/2
c 1:2/0/3 2:0/0/3
d 1:0/10/4 2:0/0/1
`, at(0, "a", 20, 1, 2), on(at(1, "b", 20, 3, 4), 2), at(500, "c", 30, 1, 2, 4), at(501, "d", 10, 8))

	// 3 blocks of space. b's admission at 300 evicts a's block 2, which was
	// released first, and then block 1 (2+2 > 3: one has to go). The router
	// hears of it with b's first token at 400: c at 350 believes in both.
	f("evictions are heard of late", Options{GPUBlocks: 3}, `
a 1:0/0/2
b 1:0/0/2
c 1:2/20/4
d 1:1/0/2
`, at(0, "a", 20, 1, 2), at(300, "b", 20, 3, 4), at(350, "c", 20, 1, 2), at(2000, "d", 20, 1, 5))

	// Generated text takes space: 10 prompt tokens and 20 generated ones that
	// were computed (the last isn't) fill 3 blocks, of which 2 stay anonymous.
	// b needs 1 of 4, and nothing is evicted; c needs 2 more and takes the
	// oldest: first the end of the text that a generated, then its beginning.
	long := at(0, "a", 10, 1)
	long.OutputTokens = 21
	f("generated blocks", Options{GPUBlocks: 4}, `
a 1:0/0/1
b 1:0/0/1
c 1:0/0/2
d 1:1/0/1
`, long, at(300, "b", 10, 2), at(600, "c", 20, 3, 4), at(900, "d", 10, 1))

	// The engine says that it reused 20 of c's tokens, 1 block more than any
	// prompt explains: it is the text that a generated, and d finds it too.
	text, goesOn := at(0, "a", 10, 1), at(300, "c", 30, 1, 7, 8)
	text.OutputTokens, goesOn.CachedTokens = 11, 20
	f("generated text in a later prompt", free, `
a 1:0/0/1
c 1:2/0/3
d 1:3/0/3
`, text, goesOn, at(600, "d", 35, 1, 7, 8))

	// Without KV events the router believes a's block from its choice at 0 for
	// 1 s, at the end of which b comes; c comes 1 s and 1 ns after b.
	f("approximate", Options{ApproximateTTL: time.Second, GPUBlocks: 1}, `
a 1:0/0/1
b 1:1/0/1
c 1:0/0/1
`, at(0, "a", 10, 1), at(1000, "b", 10, 1), at(2000.000001, "c", 10, 1))

	// A prefill worker has no decode load; a decode worker no prefill and no
	// overlap. The decode choice comes 1.5 ms later. a's blocks stay on the
	// prefill worker for the handoff of 60 ms after 100, so that b, admitted at
	// 120, evicts nothing although 2 blocks are all there is. b's decode block is
	// in use until 320, and c's come on top: 1 + 2 = 3.
	f("disaggregated", Options{GPUBlocks: 2, Handoff: 60 * time.Millisecond}, `
a 1:0/0/0
a(decode) 2:0/0/2
b 1:0/0/0
b(decode) 2:0/0/3
c 1:2/0/0
c(decode) 2:0/0/3
`, apart(at(0, "a", 20, 1, 2)), apart(at(120, "b", 10, 3)), apart(at(250, "c", 20, 1, 2)))

	// Two models share nothing.
	other := at(10, "b", 10, 1)
	other.Model = "n"
	f("models", free, `
a 1:0/0/1
b 1:0/0/1
`, at(0, "a", 10, 1), other)

	// A worker is a candidate from 1 minute before it begins to work until 1
	// minute after its end: worker 2 for b, 60 s before its first choice, and for d,
	// which comes 60 s after its end at 100.2 s, but not for e.
	f("presence", free, `
a 1:0/0/1
b 1:0/0/1 2:0/0/1
c 1:0/0/1 2:0/0/1
d 1:0/0/1 2:0/0/1
e 1:0/10/2
`, at(0, "a", 10, 1), at(40e3, "b", 10, 2), on(at(100e3, "c", 10, 3), 2), at(160_200, "d", 10, 4), at(160_201, "e", 10, 5))

	// What a failed request doesn't say happens at once.
	failed := at(0, "a", 25, 1, 2)
	failed.FirstToken, failed.Total, failed.Wait, failed.OutputTokens = -1, -1, -1, 50
	f("failed", Options{GPUBlocks: 8}, `
a 1:0/0/2
b 1:2/0/2
`, failed, at(1, "b", 20, 1, 2))
}

// TestTwin_Facts checks what doesn't change from candidate to candidate.
func TestTwin_Facts(t *testing.T) {
	l := at(5, "a", 25, 1, 2)
	l.SessionID, l.HitRate = "s", decision.Some(0.5)
	got, _ := rebuild(Options{}, []*decision.Lifecycle{l})
	d := got[0]
	// ceil(25/10) = 3 blocks, half of them cached: 1.5.
	if d.SessionID != "s" || d.Pool != "aggregated" || d.WorkerType != decision.Decode || !d.Rebuilt || !d.TracksPrefill || d.LoadOnly ||
		d.InputTokens != 25 || d.BlockSizeTokens != 10 || d.RequestBlocks != 3 || d.RecordedOverlapBlocks != decision.Some(1.5) ||
		d.Unknown != decision.UnknownCapacity || !d.Time.Equal(epoch.Add(5*time.Millisecond)) {
		t.Fatalf("%+v", d)
	}
	got, _ = rebuild(Options{GPUBlocks: 9}, []*decision.Lifecycle{apart(l)})
	if p, d := got[0], got[1]; p.WorkerType != decision.Prefill || p.Pool != "prefill" || !p.TracksPrefill || p.Unknown != 0 ||
		d.WorkerType != decision.Decode || d.Pool != "decode" || d.TracksPrefill || !d.LoadOnly || d.RecordedOverlapBlocks.Set ||
		d.Time.Sub(p.Time) != decodeDelay || p.Selected.WorkerID != 1 || d.Selected.WorkerID != 2 {
		t.Fatalf("%+v\n%+v", p, d)
	}
}

func TestTwin_Capacity(t *testing.T) {
	f := func(want int, unknown bool, gpuBlocks int, set func(*Twin)) {
		t.Helper()
		var got *decision.Decision
		tw := New(Options{GPUBlocks: gpuBlocks, Capacities: map[string]int{"other": 99}, Emit: func(d, _ *decision.Decision) { got = d }})
		set(tw)
		tw.Lifecycle(at(0, "a", 10, 1))
		tw.Flush()
		k := tw.fleets["m"].pools[aggregated][0]
		if k.pool.Capacity() != want || (got.Unknown == decision.UnknownCapacity) != unknown {
			t.Fatalf("capacity %d, unknown %v; want %d, %t", k.pool.Capacity(), got.Unknown, want, unknown)
		}
		// Told later, all ranks follow.
		tw.SetRankCapacity(k.Key, 77)
		if k.pool.Capacity() != 77 {
			t.Fatalf("capacity %d", k.pool.Capacity())
		}
	}
	this, other := decision.Key{WorkerID: 1}, decision.Key{WorkerID: 2}
	f(0, true, 0, func(*Twin) {})
	f(5, false, 5, func(*Twin) {})
	f(6, false, 5, func(tw *Twin) { tw.SetCapacity("m", 6) })
	f(5, false, 5, func(tw *Twin) { tw.SetCapacity("n", 6) })
	f(7, false, 5, func(tw *Twin) { tw.SetCapacity("m", 6); tw.SetRankCapacity(this, 7) })
	f(6, false, 5, func(tw *Twin) { tw.SetRankCapacity(other, 7); tw.SetCapacity("m", 6) })
	f(7, false, 0, func(tw *Twin) { tw.SetRankCapacity(other, 7) })
	f(5, false, 5, func(tw *Twin) { tw.SetRankCapacity(other, 7) })
	f(8, false, 5, func(tw *Twin) { tw.opts.Capacities["m"] = 8 })
	f(7, false, 5, func(tw *Twin) { tw.opts.Capacities["m"] = 8; tw.SetRankCapacity(this, 7) })
}

func TestTwin_Counts(t *testing.T) {
	f := func(want Counts, all ...*decision.Lifecycle) {
		t.Helper()
		_, tw := rebuild(Options{GPUBlocks: 2}, all)
		if tw.Counts() != want {
			t.Fatalf("%+v; want %+v", tw.Counts(), want)
		}
	}
	nameless, bare, sizeless := at(0, "a", 10, 1), at(0, "b", 10), at(0, "c", 10, 1)
	nameless.HasWorkers, sizeless.BlockSizeTokens = false, 0
	f(Counts{WithoutWorkers: 1, WithoutBlocks: 2}, nameless, bare, sizeless)
	f(Counts{OverCapacity: 1}, at(0, "a", 20, 1, 2), at(1, "b", 10, 3))
	// A record can't make the twin allocate without bound.
	endless := at(0, "a", 10, 1)
	endless.OutputTokens = 1 << 63
	f(Counts{OverCapacity: 1 + (maxGenerated+9)/10 - 2}, endless)
}
