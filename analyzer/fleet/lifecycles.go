package fleet

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/kvshadow/kvshadow/analyzer/decision"
)

// FromLifecycles makes a workload of the requests of a trace. They arrive when
// they did, or, with closed, each turn of a session the recorded pause after
// the one before it ended. Lifecycles whose length or hashes aren't known are
// left out; the second result counts them.
func FromLifecycles(ls []*decision.Lifecycle, blockSize int, closed bool) (*Workload, int, error) {
	ls = slices.Clone(ls)
	slices.SortStableFunc(ls, func(a, b *decision.Lifecycle) int { return a.Received.Compare(b.Received) })
	l := &Workload{ids: map[string]int32{}}
	ends := map[string]float64{}
	skipped := 0
	for _, x := range ls {
		if x.InputTokens == 0 || len(x.Hashes) == 0 || x.BlockSizeTokens == 0 {
			skipped++
			continue
		}
		if int(x.BlockSizeTokens)%blockSize != 0 {
			return nil, skipped, fmt.Errorf("request %s: its hashes are of %d tokens, no multiple of the block size %d", x.RequestID, x.BlockSizeTokens, blockSize)
		}
		if !covers(len(x.Hashes), int(x.InputTokens), int(x.BlockSizeTokens), blockSize) || x.InputTokens > maxTokens || x.OutputTokens > maxTokens {
			skipped++
			continue
		}
		at := float64(x.Received.UnixMicro()) / 1000
		t := turn{next: -1, input: int(x.InputTokens), output: int(max(1, x.OutputTokens)), at: at,
			full: expand(x.Hashes, int(x.InputTokens), int(x.BlockSizeTokens), blockSize)}
		var session *string
		if x.SessionID != "" {
			session = &x.SessionID
		}
		if end, resumed := ends[x.SessionID]; resumed && session != nil {
			t.delay, t.open = max(0, at-end), !closed
			if closed {
				t.at = math.Inf(-1)
			}
		}
		ends[x.SessionID] = at + float64(max(0, x.Total).Microseconds())/1000
		l.join(t, session)
	}
	if len(l.turns) == 0 {
		return nil, skipped, errors.New("the trace has no request with block hashes")
	}
	return l.start(), skipped, nil
}
