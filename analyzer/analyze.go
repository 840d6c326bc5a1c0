// Package analyzer joins the parts that turn recorded router input into sums:
// decoding, re-scoring, summing. It knows no network and no clock.
package analyzer

import (
	"context"
	"fmt"

	"github.com/kvshadow/kvshadow/analyzer/decision"
	"github.com/kvshadow/kvshadow/analyzer/input"
	"github.com/kvshadow/kvshadow/analyzer/report"
	"github.com/kvshadow/kvshadow/analyzer/router/dynamo"
	"github.com/kvshadow/kvshadow/analyzer/shadow"
	"github.com/kvshadow/kvshadow/analyzer/twin"
)

// Engine evaluates decisions under a fixed list of policies and sums the
// effects. It is not safe for concurrent use.
type Engine struct {
	scorer    *dynamo.Scorer
	evaluator *shadow.Evaluator
	totals    *shadow.Totals
}

// NewEngine returns an engine for the policies, the live one first.
func NewEngine(policies []dynamo.Policy) *Engine {
	names := make([]string, len(policies))
	for i, p := range policies {
		names[i] = p.Name
	}
	scorer := dynamo.NewScorer(policies)
	return &Engine{
		scorer:    scorer,
		evaluator: shadow.NewEvaluator(scorer, len(policies)),
		totals:    shadow.NewTotals(names),
	}
}

// Evaluate evaluates a decision and adds it to the totals. The result is valid
// until the next call.
func (e *Engine) Evaluate(d *decision.Decision) *shadow.Evaluation {
	v := e.evaluator.Evaluate(d)
	e.totals.Add(v)
	return v
}

// Totals returns the sums so far. They change with the next Evaluate.
func (e *Engine) Totals() *shadow.Totals { return e.totals }

// Explain judges a decision under every policy and adds it to nothing.
func (e *Engine) Explain(d *decision.Decision) (*decision.Explanation, error) {
	return e.scorer.Explain(d)
}

// Read decodes every line of the opened files and hands the decisions to emit,
// those that opts' twin rebuilds included. What can't be used is counted in the
// result; warn is called where a reader can do something about it (a refused
// record, a file that breaks off).
func Read(ctx context.Context, files *input.Set, opts twin.Options, emit func(*decision.Decision), warn func(input.Position, error)) (report.Inputs, error) {
	var decisions, broken uint64
	intake := NewIntake(opts, func(d *decision.Decision) {
		decisions++
		emit(d)
	})
	decoder := intake.NewDecoder()
	err := files.Each(ctx, func(stream uint64, at input.Position, line []byte) {
		if err := decoder.Line(stream, line); err != nil {
			warn(at, err)
		}
	}, func(at input.Position, err error) {
		broken++
		warn(at, fmt.Errorf("the input breaks off: %w", err))
	})
	if err != nil {
		return report.Inputs{}, err
	}
	decoder.Flush()
	intake.Flush()
	in := intake.Inputs()
	decoder.Undecodable(func(reason string, n uint64) { in.Undecodable[reason] += n })
	in.Files, in.Decisions, in.IgnoredLines = files.Len(), decisions, decoder.Ignored()
	in.Lines, in.Undecodable[input.TooLong], in.Bytes = files.Counted()
	in.Undecodable[input.Broken] = broken
	return in, nil
}

// WithPolicies returns an engine for other policies that continues the sums of
// e. from gives, for each policy, the position in e of the one whose sums it
// takes over, or -1 to start from 0.
func (e *Engine) WithPolicies(policies []dynamo.Policy, from []int) *Engine {
	n := NewEngine(policies)
	n.totals = e.totals.Select(n.totals.Policies, from)
	return n
}
