package twin

import (
	"fmt"
	"testing"
	"time"

	"github.com/kvshadow/kvshadow/analyzer/decision"
)

func selection(ms float64, id string, worker uint64, cost float64) *decision.Selection {
	return &decision.Selection{
		RequestID: id, Time: epoch.Add(time.Duration(ms * 1e6)), WorkerType: decision.Decode,
		Selected: decision.Key{WorkerID: worker}, CostBlocks: decision.Some(cost),
	}
}

// TestTwin_Selection joins what a log says of a choice: its worker, its cost,
// and its exact time if that lies within the millisecond of the trace.
func TestTwin_Selection(t *testing.T) {
	f := func(s *decision.Selection, wantWorker uint64, wantCost decision.Float, wantMs float64) {
		t.Helper()
		var got *decision.Decision
		tw := New(Options{Emit: func(d, _ *decision.Decision) {
			if d.RequestID == "a" {
				got = d
			}
		}})
		tw.Selection(s)
		tw.Lifecycle(on(at(1, "other", 10, 1), 2))
		tw.Lifecycle(at(5, "a", 10, 1))
		tw.Flush()
		if got.Selected.WorkerID != wantWorker || got.SelectedCostBlocks != wantCost {
			t.Fatalf("worker %d at %v; want %d at %v", got.Selected.WorkerID, got.SelectedCostBlocks, wantWorker, wantCost)
		}
		if want := epoch.Add(time.Duration(wantMs * 1e6)); !got.Time.Equal(want) {
			t.Fatalf("at %s; want %s", got.Time, want)
		}
	}
	f(selection(5.25, "a", 1, 7), 1, decision.Some(7), 5.25)
	f(selection(5.25, "b", 1, 7), 1, decision.Float{}, 5)    // of another request
	f(selection(5.25, "a", 2, 7), 2, decision.Some(7), 5.25) // the log knows better
	f(selection(5.25, "a", 9, 7), 1, decision.Some(7), 5.25) // but not of an unknown worker
	timeless := selection(0, "a", 1, 7)
	timeless.Time = time.Time{}
	f(timeless, 1, decision.Some(7), 5)
	prefill := selection(5.25, "a", 1, 7)
	prefill.WorkerType = decision.Prefill // aggregated workers count as decode
	f(prefill, 1, decision.Float{}, 5)
}

// The roles of a disaggregated request are joined apart.
func TestTwin_SelectionRoles(t *testing.T) {
	var got []*decision.Decision
	tw := New(Options{Emit: func(d, _ *decision.Decision) { got = append(got, d.Clone()) }})
	p, d := selection(5.1, "a", 1, 7), selection(9, "a", 2, 8)
	p.WorkerType = decision.Prefill
	tw.Selection(p)
	tw.Selection(d)
	tw.Lifecycle(apart(at(5, "a", 10, 1)))
	tw.Flush()
	if len(got) != 2 || got[0].SelectedCostBlocks.Value != 7 || got[1].SelectedCostBlocks.Value != 8 ||
		!got[0].Time.Equal(p.Time) || !got[1].Time.Equal(d.Time) || tw.Counts() != (Counts{}) {
		t.Fatalf("%+v, %+v", got, tw.Counts())
	}
}

func TestTwin_Unmatched(t *testing.T) {
	f := func(want uint64, wait time.Duration, then func(*Twin)) {
		t.Helper()
		tw := New(Options{Wait: wait, Emit: func(*decision.Decision, *decision.Decision) {}})
		tw.Selection(selection(0, "a", 1, 7))
		tw.Selection(selection(1, "a", 1, 7)) // again
		tw.Observe(&decision.Decision{RequestID: "rows", WorkerType: decision.Decode, Time: epoch})
		then(tw)
		if got := tw.Counts().Unmatched; got != want {
			t.Fatalf("%d unmatched; want %d", got, want)
		}
	}
	f(0, 0, func(*Twin) {})
	f(1, 0, (*Twin).Flush) // decisions that came whole need no match
	f(0, 0, func(tw *Twin) { tw.Lifecycle(at(0, "a", 10, 1)); tw.Flush() })
	f(1, time.Second, func(tw *Twin) { tw.Selection(selection(602e3, "b", 1, 7)) })
	f(0, time.Second, func(tw *Twin) { tw.Selection(selection(600e3, "b", 1, 7)) })
	f(1, time.Second, func(tw *Twin) {
		tw.Observe(&decision.Decision{RequestID: "b", Time: epoch.Add(602 * time.Second)})
	})
	f(0, time.Second, func(tw *Twin) { // its request came, but late: it counts as that
		tw.Lifecycle(at(60e3, "b", 10, 1))
		tw.Lifecycle(at(0, "a", 10, 1))
		tw.Flush()
	})
	f(1<<16+1, 0, func(tw *Twin) {
		for i := range 1 << 16 {
			tw.Selection(selection(2, fmt.Sprint(i), 1, 7))
		}
		tw.Flush()
	})
}

// TestTwin_Observe hands on both forms of a choice, however many decisions came
// whole before: what they held is forgotten some time, that they were is not.
func TestTwin_Observe(t *testing.T) {
	var compared, rebuilt int
	tw := New(Options{Emit: func(d, recorded *decision.Decision) {
		if recorded == nil {
			rebuilt++
			return
		}
		compared++
		if recorded.RequestID != d.RequestID || d.SelectedCostBlocks != decision.Some(3) {
			t.Fatalf("%+v is compared with %+v", d, recorded)
		}
	}})
	const n = 1<<16 + 5000
	rows := make([]decision.Candidate, 2)
	for i := range n {
		tw.Observe(&decision.Decision{RequestID: fmt.Sprint(i), WorkerType: decision.Decode, Candidates: rows, SelectedCostBlocks: decision.Some(3)})
	}
	if tw.known.rows > maxRows || len(tw.known.byKey) > maxKnown {
		t.Fatalf("%d choices with %d candidates are remembered", len(tw.known.byKey), tw.known.rows)
	}
	for i := range n {
		tw.Lifecycle(at(float64(i), fmt.Sprint(i), 10, 1))
	}
	tw.Lifecycle(at(0, "new", 10, 1))
	tw.Flush()
	if c := tw.Counts(); rebuilt != 1 || compared != 1<<16 || c.Uncompared != 5000 || c.Unmatched != 0 {
		t.Fatalf("%d rebuilt, %d compared, %+v", rebuilt, compared, c)
	}
	if tw.known.rows != 0 || len(tw.known.byKey) != 0 || tw.known.whole.Len() != 0 {
		t.Fatalf("%d choices with %d candidates are remembered", len(tw.known.byKey), tw.known.rows)
	}
}

// Decisions with many candidates are forgotten sooner, the oldest first.
func TestTwin_ObserveMany(t *testing.T) {
	compared, last := 0, ""
	tw := New(Options{Emit: func(d, recorded *decision.Decision) { compared++; last = d.RequestID }})
	rows := make([]decision.Candidate, maxRows/4)
	for _, id := range []string{"a", "b", "c", "c", "d", "e"} {
		tw.Observe(&decision.Decision{RequestID: id, WorkerType: decision.Decode, Candidates: rows})
	}
	for i, id := range []string{"a", "b", "c", "d", "e"} {
		tw.Lifecycle(at(float64(i), id, 10, 1))
	}
	tw.Flush()
	if c := tw.Counts(); compared != 4 || last != "e" || c.Uncompared != 1 || tw.known.rows != 0 {
		t.Fatalf("%d compared, the last %s, %+v, %d rows", compared, last, c, tw.known.rows)
	}
}
