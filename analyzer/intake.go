package analyzer

import (
	"math"
	"time"

	"github.com/kvshadow/kvshadow/analyzer/decision"
	"github.com/kvshadow/kvshadow/analyzer/input"
	"github.com/kvshadow/kvshadow/analyzer/report"
	"github.com/kvshadow/kvshadow/analyzer/router/dynamo"
	"github.com/kvshadow/kvshadow/analyzer/twin"
)

// Intake turns lines of every known kind into decisions: those that come whole,
// and those that have to be rebuilt from traces. Its decoders share one twin,
// so that a router's log and its trace may come by different ways. It is not
// safe for concurrent use.
type Intake struct {
	twin       *twin.Twin
	emit       func(*decision.Decision)
	lifecycles uint64
	compared   [len(decision.WorkerTypes)]report.Comparison
}

// NewIntake returns an intake that hands decisions to emit. The options' Emit
// is ignored.
func NewIntake(opts twin.Options, emit func(*decision.Decision)) *Intake {
	i := &Intake{emit: emit}
	opts.Emit = i.rebuilt
	i.twin = twin.New(opts)
	return i
}

// NewDecoder returns a decoder for one input. Lines whose joining needs order
// must come from one decoder.
func (i *Intake) NewDecoder() *input.Decoder {
	d := dynamo.NewDecoder(i.whole)
	d.Selection = i.twin.Selection
	d.Capacity = i.twin.SetRankCapacity
	d.Lifecycle = func(l *decision.Lifecycle) {
		i.lifecycles++
		i.twin.Lifecycle(l)
	}
	return input.NewDecoder(d, i.whole)
}

// Decision takes a decision that came whole.
func (i *Intake) whole(d *decision.Decision) {
	i.emit(d)
	i.twin.Observe(d)
}

// rebuilt takes a decision of the twin. One that came whole too has been
// evaluated, and shows how exact the twin is.
func (i *Intake) rebuilt(d, recorded *decision.Decision) {
	if recorded == nil {
		i.emit(d)
		return
	}
	compare(&i.compared[d.WorkerType], d, recorded)
}

// SetCapacity sets the KV capacity of a model's ranks, in blocks.
func (i *Intake) SetCapacity(model string, blocks int) { i.twin.SetCapacity(model, blocks) }

// Idle tells that no input came for a while.
func (i *Intake) Idle(d time.Duration) { i.twin.Idle(d) }

// Flush rebuilds what still waits for more input.
func (i *Intake) Flush() { i.twin.Flush() }

// Lifecycles returns how many requests traces told of.
func (i *Intake) Lifecycles() uint64 { return i.lifecycles }

// LearnedOverlaps returns for how many choices the overlap was learned from
// what the engine reported afterwards.
func (i *Intake) LearnedOverlaps() uint64 { return i.twin.Counts().LearnedOverlaps }

// OverCapacityBlocks returns how many blocks rebuilt caches held beyond the
// capacity that was told.
func (i *Intake) OverCapacityBlocks() uint64 { return i.twin.Counts().OverCapacity }

// Compared returns how the rebuilt decisions of a role compare with those that
// came whole.
func (i *Intake) Compared(t decision.WorkerType) report.Comparison { return i.compared[t] }

// The reasons under which requests count that could not be rebuilt.
const (
	reasonWithoutWorkers = "lifecycle_without_workers"
	reasonWithoutBlocks  = "lifecycle_without_blocks"
	reasonLate           = "lifecycle_late"
)

// Undecodable calls f with each reason for which a trace's request or a lone
// selection was lost, and how often.
func (i *Intake) Undecodable(f func(reason string, n uint64)) {
	c := i.twin.Counts()
	f(reasonWithoutWorkers, c.WithoutWorkers)
	f(reasonWithoutBlocks, c.WithoutBlocks)
	f(reasonLate, c.Late)
	f(dynamo.WinnerWithoutRows.String(), c.Unmatched)
}

// compare counts which of the router's numbers the twin has, for every
// candidate of both. Rows have three decimals, overlap two.
func compare(c *report.Comparison, rebuilt, rows *decision.Decision) {
	c.Selections++
	for j := range rows.Candidates {
		want := &rows.Candidates[j]
		i := rebuilt.Find(want.Key)
		if i < 0 {
			c.MissingCandidates++
			continue
		}
		got := &rebuilt.Candidates[i]
		c.Candidates++
		count(&c.OverlapExact, math.Abs(got.EffectiveOverlapBlocks-want.EffectiveOverlapBlocks) < 0.01)
		count(&c.DecodeBlocksExact, math.Abs(got.DecodeCostBlocks-want.DecodeCostBlocks) < 0.001)
		count(&c.RawPrefillExact, math.Abs(rawBlocks(rebuilt, got)-rawBlocks(rows, want)) < 0.001)
	}
}

func count(n *uint64, ok bool) {
	if ok {
		*n++
	}
}

// rawBlocks is the prefill on a rank with this prompt, in blocks.
func rawBlocks(d *decision.Decision, c *decision.Candidate) float64 {
	switch {
	case !d.TracksPrefill:
		return 0
	case c.RawPrefillBlocks.Set:
		return c.RawPrefillBlocks.Value
	}
	return float64(c.ActivePrefillTokens+d.InputTokens) / float64(d.BlockSizeTokens)
}
