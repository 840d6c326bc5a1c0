package twin

import (
	"time"

	"github.com/kvshadow/kvshadow/analyzer/decision"
)

// request is a lifecycle with its moments, in ns, and what it holds.
type request struct {
	l      *decision.Lifecycle
	blocks []uint64 // full blocks of the prompt
	fleet  *fleet

	chosen, decodeChosen    int64
	admitted, first, end    int64
	step                    int64 // between two generated tokens
	generated               uint64
	prefillRank, decodeRank *rank

	booked  uint64 // prefill tokens
	ids     []int32
	matched int
	evicted []uint64 // by its allocation, told to the router at the first token
}

func (t *Twin) newRequest(l *decision.Lifecycle) *request {
	r := &request{l: l, blocks: l.FullBlocks(), fleet: t.fleet(l.Model)}
	role := decision.Prefill
	if l.Aggregated() {
		role = decision.Decode
	}
	received := l.Received.Add(receivedRounding)
	if at, ok := t.known.time(l.RequestID, role); ok {
		received = clamp(at.Add(-choiceDelay), l.Received, l.Received.Add(2*receivedRounding))
		r.chosen = at.UnixNano()
	} else {
		r.chosen = received.Add(min(choiceDelay, max(0, l.Wait))).UnixNano()
	}
	base := received.UnixNano()
	r.decodeChosen = r.chosen + int64(decodeDelay)
	if at, ok := t.known.time(l.RequestID, decision.Decode); ok && !l.Aggregated() {
		r.decodeChosen = at.UnixNano()
	}
	r.setMoments(base, &t.prefill)
	r.prefillRank = t.rank(r.fleet, r.prefillKey())
	r.decodeRank = t.rank(r.fleet, r.decodeKey())
	return r
}

func clamp(at, lo, hi time.Time) time.Time {
	if at.Before(lo) {
		return lo
	}
	if at.After(hi) {
		return hi
	}
	return at
}

// setMoments places the request's moments. What a trace leaves out, as for
// requests that failed, happens at once.
func (r *request) setMoments(base int64, times *prefillTimes) {
	l := r.l
	r.first = base + int64(max(0, l.FirstToken))
	if l.FirstToken < 0 {
		r.first = base + int64(max(0, l.Total))
	}
	r.end = max(r.first, base+int64(max(0, l.Total)))
	r.admitted = min(r.first, max(r.chosen, base+int64(max(0, l.Wait)), r.first-times.least(l)))
	if l.OutputTokens > 1 {
		r.generated = l.OutputTokens - 1
		r.step = (r.end - r.first) / int64(r.generated)
	}
}

func (r *request) prefillKey() rankKey {
	if r.l.Aggregated() {
		return rankKey{r.l.Prefill, aggregated}
	}
	return rankKey{r.l.Prefill, prefill}
}

func (r *request) decodeKey() rankKey {
	if r.l.Aggregated() {
		return rankKey{r.l.Decode, aggregated}
	}
	return rankKey{r.l.Decode, decode}
}

func (r *request) ranks() [2]rankKey { return [2]rankKey{r.prefillKey(), r.decodeKey()} }

// prefillTimes learns the least time from handing over to first token, by
// uncached prompt tokens. A request whose first token took longer waited in
// the engine before it was admitted.
type prefillTimes struct {
	least64 [64 * prefillStep]time.Duration
}

// prefillStep is how many buckets each doubling of the tokens has.
const prefillStep = 8

func (p *prefillTimes) bucket(l *decision.Lifecycle) int {
	tokens := l.InputTokens
	if l.CachedTokens > 0 {
		tokens -= min(tokens, uint64(l.CachedTokens))
	}
	b := 0
	for tokens >= 2*prefillStep {
		tokens >>= 1
		b += prefillStep
	}
	return b + int(tokens)
}

func (p *prefillTimes) learn(l *decision.Lifecycle) {
	if l.FirstToken < 0 || l.Wait < 0 || l.FirstToken <= l.Wait {
		return
	}
	if d, b := l.FirstToken-l.Wait, p.bucket(l); p.least64[b] == 0 || d < p.least64[b] {
		p.least64[b] = d
	}
}

// least returns a bound on the prefill time, in ns: what any longer prefill has
// been done in. Without one the request counts as admitted when handed over.
func (p *prefillTimes) least(l *decision.Lifecycle) int64 {
	best := time.Duration(0)
	for _, d := range p.least64[min(p.bucket(l), len(p.least64)-1):] {
		if d > 0 && (best == 0 || d < best) {
			best = d
		}
	}
	if best == 0 {
		return int64(max(0, l.FirstToken))
	}
	return int64(best)
}
