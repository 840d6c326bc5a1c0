package twin

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kvshadow/kvshadow/analyzer/decision"
)

// TestTwin_OutOfOrder hands records on up to 40 s too late, within the
// watermark: the same decisions come out in the same order.
func TestTwin_OutOfOrder(t *testing.T) {
	for seed := range uint64(20) {
		r := rand.New(rand.NewPCG(seed, 4))
		opts := randomOptions(r)
		opts.Wait = 2 * time.Minute
		all := randomLifecycles(r, 1500)
		for i := range all { // many at the same moment
			all[i].Received = all[i].Received.Truncate(50 * time.Millisecond)
			if all[i].Wait > 0 {
				all[i].Wait = time.Millisecond
			}
		}
		want, tw := rebuild(opts, all)
		if c := tw.Counts(); c.Late > 0 {
			t.Fatalf("seed %d: %+v", seed, c)
		}
		end := func(l *decision.Lifecycle) int64 { return l.Received.UnixNano() + int64(l.Total) }
		delayed := map[*decision.Lifecycle]int64{}
		for _, l := range all {
			delayed[l] = end(l) + r.Int64N(40e9)
		}
		shuffled := slices.Clone(all)
		slices.SortFunc(shuffled, func(a, b *decision.Lifecycle) int { return int(delayed[a] - delayed[b]) })
		got, tw := rebuild(opts, shuffled)
		if c := tw.Counts(); c.Late > 0 {
			t.Fatalf("seed %d: %+v", seed, c)
		}
		if err := equalDecisions(got, want); err != nil {
			t.Fatalf("seed %d: %s", seed, err)
		}
		// Without a watermark it's the same too.
		opts.Wait = 0
		for range 2 {
			r.Shuffle(len(shuffled), func(i, j int) { shuffled[i], shuffled[j] = shuffled[j], shuffled[i] })
			again, _ := rebuild(opts, shuffled)
			if err := equalDecisions(again, want); err != nil {
				t.Fatalf("seed %d: %s", seed, err)
			}
		}
	}
}

// TestTwin_Late loses nothing in silence: each request is a decision for each
// of its roles, or counted. What a late one computed is known afterwards.
func TestTwin_Late(t *testing.T) {
	var got []*decision.Decision
	tw := New(Options{Wait: time.Second, Emit: func(d, _ *decision.Decision) { got = append(got, d.Clone()) }})
	tw.Lifecycle(at(0, "a", 10, 1))
	tw.Lifecycle(at(60e3, "b", 10, 2)) // the watermark passes 59.2 s
	tw.Lifecycle(at(30e3, "late", 20, 3, 4))
	tw.Lifecycle(apart(at(31e3, "apart", 10, 5)))
	tw.Lifecycle(at(61e3, "c", 30, 3, 4, 5))
	tw.Flush()
	if s, want := show(got), "a 1:0/0/1\nb 1:0/0/1\nc 1:2/0/3\n"; s != want {
		t.Fatalf("%s; want %s", s, want)
	}
	if c := tw.Counts(); c.Late != 2 {
		t.Fatalf("%+v", c)
	}
	if err := idle(tw); err != nil {
		t.Fatal(err)
	}
}

// TestTwin_ClockSteps sets clocks forwards and backwards by seconds to hours.
func TestTwin_ClockSteps(t *testing.T) {
	for seed := range uint64(100) {
		r := rand.New(rand.NewPCG(seed, 5))
		opts := randomOptions(r)
		opts.Wait = []time.Duration{0, time.Second, time.Minute}[r.IntN(3)]
		all := randomLifecycles(r, 300)
		shift := time.Duration(0)
		for _, l := range all {
			if r.IntN(30) == 0 {
				shift += time.Duration(r.Int64N(int64(20*time.Hour))) - 10*time.Hour
			}
			l.Received = l.Received.Add(shift)
			if r.IntN(100) == 0 { // beyond what nanoseconds can count
				l.Received = []time.Time{time.UnixMilli(253402300799999), time.Unix(0, 0)}[r.IntN(2)]
			}
		}
		roles, emitted, usable := map[string]int{}, map[string]int{}, uint64(0)
		for _, l := range all {
			if l.HasWorkers {
				usable++
				roles[l.RequestID] = 1
				if !l.Aggregated() {
					roles[l.RequestID] = 2
				}
			}
		}
		got, tw := rebuild(opts, all)
		for _, d := range got {
			emitted[d.RequestID]++
			if d.Find(d.Selected) < 0 {
				t.Fatalf("seed %d: the selected worker is no candidate of %+v", seed, d)
			}
		}
		c := tw.Counts()
		if uint64(len(emitted))+c.Late != usable || c.WithoutWorkers != uint64(len(all))-usable {
			t.Fatalf("seed %d: %d requests of %d rebuilt, %+v", seed, len(emitted), usable, c)
		}
		for id, n := range emitted {
			if n != roles[id] {
				t.Fatalf("seed %d: %d decisions of %s; want %d", seed, n, id, roles[id])
			}
		}
		if opts.Wait == 0 && c.Late > 0 {
			t.Fatalf("seed %d: late without a watermark: %+v", seed, c)
		}
		if err := idle(tw); err != nil {
			t.Fatalf("seed %d: %s", seed, err)
		}
	}
}

// TestTwin_SetBack goes on after a clock was set back for good, or a single
// record came from the future.
func TestTwin_SetBack(t *testing.T) {
	f := func(first time.Duration, opts Options) {
		t.Helper()
		n := 0
		opts.Wait, opts.Emit = time.Minute, func(*decision.Decision, *decision.Decision) { n++ }
		tw := New(opts)
		tw.Lifecycle(at(float64(first.Milliseconds()), "x", 10, 1))
		const more = 1000
		for i := range more {
			tw.Lifecycle(at(float64(i*1000), fmt.Sprint(i), 10, 2))
		}
		tw.Flush()
		if c := tw.Counts(); c.Late != clockStep-1 || n != 1+more-(clockStep-1) {
			t.Fatalf("%d decisions, %+v", n, c)
		}
		if k := tw.fleets["m"].pools[aggregated][0]; k.lastSeen > epoch.Add(more*time.Second).UnixNano() {
			t.Fatal("the worker stays present in the future")
		}
		if err := idle(tw); err != nil {
			t.Fatal(err)
		}
	}
	f(3*time.Hour, Options{})
	f(100*365*24*time.Hour, Options{GPUBlocks: 5})
	f(3*time.Hour, Options{ApproximateTTL: time.Minute})
}

// TestTwin_Watermark rebuilds a choice when its wait is over: by later records,
// by a selection's time, or by time that passes without any.
func TestTwin_Watermark(t *testing.T) {
	f := func(want string, then func(*Twin)) {
		t.Helper()
		var ids []string
		tw := New(Options{Wait: 10 * time.Second, Emit: func(d, _ *decision.Decision) { ids = append(ids, d.RequestID) }})
		tw.Idle(time.Hour) // nothing came yet
		tw.Lifecycle(at(1000, "a", 10, 1))
		if len(ids) > 0 {
			t.Fatal("rebuilt at once")
		}
		then(tw)
		if got := strings.Join(ids, " "); got != want {
			t.Fatalf("%q; want %q", got, want)
		}
	}
	// a is chosen at 1 s and over at 1.2 s.
	f("", func(tw *Twin) { tw.Lifecycle(at(10_799, "b", 10, 1)) })  // over at 10.999 s
	f("a", func(tw *Twin) { tw.Lifecycle(at(10_801, "b", 10, 1)) }) // over at 11.001 s
	f("", func(tw *Twin) { tw.Idle(9 * time.Second) })
	f("a", func(tw *Twin) { tw.Idle(9 * time.Second); tw.Idle(time.Second) })
	f("a", func(tw *Twin) { tw.Selection(&decision.Selection{RequestID: "b", Time: epoch.Add(12 * time.Second)}) })
	f("a", func(tw *Twin) { tw.Observe(&decision.Decision{RequestID: "b", Time: epoch.Add(12 * time.Second)}) })
	f("", func(tw *Twin) { tw.Observe(&decision.Decision{Time: epoch.Add(12 * time.Second)}) }) // joins nothing
	f("a", (*Twin).Flush)
	f("a b", func(tw *Twin) { tw.Flush(); tw.Lifecycle(at(1500, "b", 10, 1)); tw.Flush() })
}

// TestTwin_Forget drops workers and models that vanished long ago.
func TestTwin_Forget(t *testing.T) {
	f := func(opts Options) {
		t.Helper()
		opts.Wait, opts.Emit = time.Second, func(*decision.Decision, *decision.Decision) {}
		tw := New(opts)
		for i := range uint64(50) { // a new worker every 10 minutes
			l := on(at(float64(i*600_000), fmt.Sprint(i), 20, 1, 1000+i), i)
			if i%2 == 1 {
				l.Model = fmt.Sprint("m", i)
			}
			tw.Lifecycle(l)
		}
		tw.Flush()
		ranks := 0
		for model, f := range tw.fleets {
			ranks += len(f.all)
			if len(f.all) != len(f.pools[aggregated]) || len(f.on) > 8 || f.index.table.Len() > 8 {
				t.Fatalf("%s: %d ranks, %d in the pool, %d numbers, %d blocks", model, len(f.all), len(f.pools[aggregated]), len(f.on), f.index.table.Len())
			}
		}
		// In 1 hour there are 6, and forgetting waits for the next new worker.
		if ranks > 8 || len(tw.fleets) > 5 {
			t.Fatalf("%d ranks of %d models stay", ranks, len(tw.fleets))
		}
		if err := idle(tw); err != nil {
			t.Fatal(err)
		}
	}
	f(Options{GPUBlocks: 10})
	f(Options{ApproximateTTL: time.Minute})
}

// A model goes on when its first worker is forgotten at the sight of another.
func TestTwin_ForgetAndGoOn(t *testing.T) {
	var got []*decision.Decision
	tw := New(Options{Wait: time.Second, Emit: func(d, _ *decision.Decision) { got = append(got, d.Clone()) }})
	tw.Lifecycle(at(0, "a", 10, 1))
	on2 := func(ms float64, id string) { tw.Lifecycle(on(at(ms, id, 20, 1, 2), 2)) }
	other := at(10_700_000, "other", 10, 1)
	other.Model = "n" // its time shows that worker 1 is gone
	tw.Lifecycle(other)
	on2(10_800_000, "b")
	on2(10_801_000, "c")
	tw.Flush()
	if s, want := show(got), "a 1:0/0/1\nother 1:0/0/1\nb 2:0/0/2\nc 2:2/0/2\n"; s != want {
		t.Fatalf("%s; want %s", s, want)
	}
	if len(tw.fleets) != 2 || len(tw.fleets["m"].all) != 1 {
		t.Fatalf("%d fleets", len(tw.fleets))
	}
}

func TestTimeHeap(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 6))
	var tw Twin
	var want []event
	for range 500 {
		e := event{int64(r.IntN(50)), kind(r.IntN(int(evChoice))), tw.sequence + 1, nil}
		tw.push(&tw.events, e.at, e.kind, nil)
		want = append(want, e)
	}
	slices.SortStableFunc(want, func(a, b event) int { return int(a.at-b.at)*100 + int(a.kind) - int(b.kind) })
	for i := range want {
		if got := tw.events.pop(); !reflect.DeepEqual(got, want[i]) {
			t.Fatalf("event %d is %+v; want %+v", i, got, want[i])
		}
	}
	if tw.events.first() != nil {
		t.Fatal("not empty")
	}
}
