package fleet

import (
	"slices"
	"time"

	"github.com/kvshadow/kvshadow/analyzer/decision"
)

// Recorded returns what a trace says of the fleet that served it: the figures
// of a simulation that it can be compared with, under their names. What the
// trace doesn't say is left out.
func Recorded(ls []*decision.Lifecycle) map[string]float64 {
	ls = slices.Clone(ls)
	slices.SortStableFunc(ls, func(a, b *decision.Lifecycle) int { return a.Received.Compare(b.Received) })
	r := record{workers: map[string]decision.Key{}, sessions: map[string]bool{}}
	for _, l := range ls {
		r.add(l)
	}
	return r.figures(len(ls))
}

// record sums a trace up.
type record struct {
	workers  map[string]decision.Key // of a session's turn before
	sessions map[string]bool

	moved                     int
	input, cached, recomputed float64
	ttft, resumed             []float64
	itls                      float64
	streams                   int
	begin, end                time.Time
}

func (r *record) add(l *decision.Lifecycle) {
	turn := l.SessionID != "" && r.sessions[l.SessionID]
	r.sessions[l.SessionID] = true
	if l.CachedTokens >= 0 {
		r.input += float64(l.InputTokens)
		r.cached += float64(l.CachedTokens)
		if turn {
			r.recomputed += float64(l.InputTokens) - float64(l.CachedTokens)
		}
	}
	if l.FirstToken >= 0 {
		ms := milliseconds(l.FirstToken)
		r.ttft = append(r.ttft, ms)
		if turn {
			r.resumed = append(r.resumed, ms)
		}
		if l.Total > l.FirstToken && l.OutputTokens > 1 {
			r.itls += milliseconds(l.Total-l.FirstToken) / float64(l.OutputTokens-1)
			r.streams++
		}
	}
	if l.HasWorkers && l.SessionID != "" {
		if before, ok := r.workers[l.SessionID]; ok && before != l.Prefill {
			r.moved++
		}
		r.workers[l.SessionID] = l.Prefill
	}
	if r.begin.IsZero() {
		r.begin = l.Received
	}
	if end := l.Received.Add(max(0, l.Total)); end.After(r.end) {
		r.end = end
	}
}

func (r *record) figures(requests int) map[string]float64 {
	out := map[string]float64{"requests": float64(requests), "duration_ms": milliseconds(r.end.Sub(r.begin))}
	if len(r.workers) > 0 {
		out["moved_sessions"] = float64(r.moved)
	}
	if r.input > 0 {
		out["prefix_cache_reused_ratio"] = r.cached / r.input
	}
	if len(r.ttft) > 0 {
		out["ttft_p50_ms"], out["ttft_p95_ms"] = quantile(r.ttft, 0.5), quantile(r.ttft, 0.95)
	}
	if len(r.resumed) > 0 {
		out["resumed_ttft_p95_ms"] = quantile(r.resumed, 0.95)
		if r.input > 0 {
			out["recomputed_prefill_tokens"] = r.recomputed
		}
	}
	if r.streams > 0 {
		out["itl_mean_ms"] = r.itls / float64(r.streams)
	}
	return out
}

func milliseconds(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e6 }
