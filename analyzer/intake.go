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

// NewIntake returns an intake that hands decisions to emit, which may use each
// until it returns. The options' Emit is ignored.
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

// The reasons under which requests count that could not be rebuilt.
const (
	reasonWithoutWorkers = "lifecycle_without_workers"
	reasonWithoutBlocks  = "lifecycle_without_blocks"
	reasonLate           = "lifecycle_late"
)

// Inputs returns what traces told of and what was rebuilt from them, with every
// reason for which a request or a lone selection was lost. What only a reader
// of files or lines knows is left at 0.
func (i *Intake) Inputs() report.Inputs {
	c := i.twin.Counts()
	return report.Inputs{
		Lifecycles: i.lifecycles, LearnedOverlaps: c.LearnedOverlaps, OverCapacityBlocks: c.OverCapacity,
		Undecodable: map[string]uint64{
			reasonWithoutWorkers:              c.WithoutWorkers,
			reasonWithoutBlocks:               c.WithoutBlocks,
			reasonLate:                        c.Late,
			dynamo.WinnerWithoutRows.String(): c.Unmatched,
		},
		Compared: i.compared,
	}
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
