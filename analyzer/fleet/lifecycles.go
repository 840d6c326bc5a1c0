package fleet

import (
	"errors"
	"fmt"
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
		at := float64(x.Received.UnixMicro()) / 1000
		t := turn{next: -1, input: int(x.InputTokens), output: int(max(1, x.OutputTokens)), at: at,
			full: expand(x.Hashes, int(x.InputTokens), int(x.BlockSizeTokens), blockSize)}
		var session *string
		if x.SessionID != "" {
			session = &x.SessionID
		}
		if end, resumed := ends[x.SessionID]; resumed && session != nil {
			t.delay = max(0, at-end)
			t.open = !closed
		}
		ends[x.SessionID] = at + float64(max(0, x.Total).Microseconds())/1000
		l.join(t, session)
	}
	if len(l.turns) == 0 {
		return nil, skipped, errors.New("the trace has no request with block hashes")
	}
	return l.start(), skipped, nil
}

// Recorded returns what a trace says of the fleet that served it: the figures
// of a simulation that it can be compared with.
func Recorded(ls []*decision.Lifecycle) map[string]float64 {
	ls = slices.Clone(ls)
	slices.SortStableFunc(ls, func(a, b *decision.Lifecycle) int { return a.Received.Compare(b.Received) })
	out := map[string]float64{}
	var input, cached, itls float64
	var ttft, resumed []float64
	streams, moved := 0, 0
	last := map[string]decision.Key{}
	for _, l := range ls {
		before, turn := last[l.SessionID]
		turn = turn && l.SessionID != ""
		if l.CachedTokens >= 0 {
			input += float64(l.InputTokens)
			cached += float64(l.CachedTokens)
		}
		if l.FirstToken >= 0 {
			ms := float64(l.FirstToken.Microseconds()) / 1000
			ttft = append(ttft, ms)
			if turn {
				resumed = append(resumed, ms)
			}
			if l.Total > l.FirstToken && l.OutputTokens > 1 {
				itls += float64((l.Total - l.FirstToken).Microseconds()) / 1000 / float64(l.OutputTokens-1)
				streams++
			}
		}
		if l.HasWorkers {
			if turn && before != l.Prefill {
				moved++
			}
			last[l.SessionID] = l.Prefill
		}
	}
	out["requests"] = float64(len(ls))
	if len(last) > 0 {
		out["moved_sessions"] = float64(moved)
	}
	if input > 0 {
		out["prefix_cache_reused_ratio"] = cached / input
	}
	if len(ttft) > 0 {
		out["ttft_p50_ms"], out["ttft_p95_ms"] = quantile(ttft, 0.5), quantile(ttft, 0.95)
	}
	if len(resumed) > 0 {
		out["resumed_ttft_p95_ms"] = quantile(resumed, 0.95)
	}
	if streams > 0 {
		out["itl_mean_ms"] = itls / float64(streams)
	}
	return out
}
