package analyzer

import (
	"bytes"
	"context"
	"errors"
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
// as one workload. For request traces it also returns what they record, and
// notes on what a reader should know.
func ReadWorkload(ctx context.Context, files *input.Set, opts WorkloadOptions) (*fleet.Workload, map[string]float64, []string, error) {
	if opts.HashTokens == 0 {
		opts.HashTokens = opts.BlockSize
	}
	mooncake := fleet.NewMooncake(opts.HashTokens, opts.BlockSize)
	lifecycles, notes, err := readTraces(ctx, files, mooncake.Line)
	switch {
	case err != nil:
		return nil, nil, nil, err
	case len(lifecycles) > 0 && mooncake.Len() > 0:
		return nil, nil, nil, errors.New("the input mixes request traces and Mooncake rows")
	case len(lifecycles) == 0:
		w, err := mooncake.Workload()
		return w, nil, notes, err
	}
	w, skipped, err := fleet.FromLifecycles(lifecycles, opts.BlockSize, opts.Closed)
	if err != nil {
		return nil, nil, nil, err
	}
	if skipped > 0 {
		notes = append(notes, fmt.Sprintf("%d of %d requests of the trace have no usable block hashes and were left out.", skipped, len(lifecycles)))
	}
	return w, fleet.Recorded(lifecycles), notes, nil
}

// ReadLifecycles reads request traces, and returns notes on what a reader should
// know.
func ReadLifecycles(ctx context.Context, files *input.Set) ([]*decision.Lifecycle, []string, error) {
	lifecycles, notes, err := readTraces(ctx, files, func([]byte) error { return errors.New("not a record of a request trace") })
	if err == nil && len(lifecycles) == 0 {
		err = errors.New("the input has no request")
	}
	return lifecycles, notes, err
}

// readTraces hands every line that isn't a router's record to other, and stops
// at its first error. Records that can't be decoded are left out and noted.
func readTraces(ctx context.Context, files *input.Set, other func(line []byte) error) (lifecycles []*decision.Lifecycle, notes []string, err error) {
	decoder := dynamo.NewDecoder(func(*decision.Decision) {})
	decoder.Lifecycle = func(l *decision.Lifecycle) { lifecycles = append(lifecycles, l) }
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var broken error
	fail := func(at input.Position, format string, err error) {
		if broken == nil {
			broken = fmt.Errorf("%s: "+format, at, err)
			stop() // no need to read on
		}
	}
	err = files.Each(ctx, func(stream uint64, at input.Position, line []byte) {
		if broken != nil || len(line) == 0 || decoder.Line(stream, line) || isOtherEvent(line) {
			return
		}
		if err := other(line); err != nil {
			fail(at, "%w", err)
		}
	}, func(at input.Position, err error) { fail(at, "the input breaks off: %w", err) })
	if broken != nil {
		err = broken
	}
	decoder.Undecodable(func(reason string, n uint64) {
		if n > 0 {
			notes = append(notes, fmt.Sprintf("%d record(s) of the trace couldn't be decoded (%s) and were left out.", n, reason))
		}
	})
	return lifecycles, notes, err
}

// isOtherEvent says whether a line is a request trace's record of something else
// than the end of a request.
func isOtherEvent(line []byte) bool {
	return bytes.Contains(line[:min(len(line), 512)], []byte(`"dynamo.request.trace`))
}
