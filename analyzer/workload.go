package analyzer

import (
	"context"
	"fmt"

	"github.com/kvshadow/kvshadow/analyzer/decision"
	"github.com/kvshadow/kvshadow/analyzer/fleet"
	"github.com/kvshadow/kvshadow/analyzer/input"
	"github.com/kvshadow/kvshadow/analyzer/router/dynamo"
)

// WorkloadOptions says how traces become a workload.
type WorkloadOptions struct {
	// BlockSize is the engine's block in tokens; HashTokens is how many tokens
	// a hash of a Mooncake-format trace stands for, 0 for as many.
	BlockSize, HashTokens int
	// Closed lets each turn of a session in a request trace wait for the turn
	// before it.
	Closed bool
}

// ReadWorkload reads traces, in Mooncake's format or Dynamo's request traces,
// as one workload. For request traces it also returns what they record.
func ReadWorkload(ctx context.Context, files *input.Set, opts WorkloadOptions) (*fleet.Workload, map[string]float64, []string, error) {
	var lifecycles []*decision.Lifecycle
	decoder := dynamo.NewDecoder(func(*decision.Decision) {})
	decoder.Lifecycle = func(l *decision.Lifecycle) { lifecycles = append(lifecycles, l) }
	mooncake := fleet.NewMooncake(max(opts.HashTokens, opts.BlockSize), opts.BlockSize)
	var broken error
	err := files.Each(ctx, func(stream uint64, at input.Position, line []byte) {
		if broken != nil || len(line) == 0 || decoder.Line(stream, line) {
			return
		}
		if err := mooncake.Line(line); err != nil {
			broken = fmt.Errorf("%s: %w", at, err)
		}
	}, func(at input.Position, err error) { broken = fmt.Errorf("%s: the input breaks off: %w", at, err) })
	switch {
	case err != nil:
		return nil, nil, nil, err
	case broken != nil:
		return nil, nil, nil, broken
	case len(lifecycles) > 0 && mooncake.Len() > 0:
		return nil, nil, nil, fmt.Errorf("the input mixes request traces and Mooncake rows")
	case len(lifecycles) == 0:
		w, err := mooncake.Workload()
		return w, nil, nil, err
	}
	w, skipped, err := fleet.FromLifecycles(lifecycles, opts.BlockSize, opts.Closed)
	var notes []string
	if skipped > 0 {
		notes = append(notes, fmt.Sprintf("%d requests of the trace have no block hashes and were left out.", skipped))
	}
	return w, fleet.Recorded(lifecycles), notes, err
}
