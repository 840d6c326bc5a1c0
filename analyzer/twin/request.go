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

	base                    int64 // when it came
	chosen, decodeChosen    int64
	admitted, first, end    int64
	step                    int64 // between two generated tokens
	generated               uint64
	prefillRank, decodeRank *rank

	nodes   []uint64 // of its blocks
	parts   int      // that are over: the engine's and the router's
	booked  uint64   // prefill tokens
	ids     []int32
	matched int
	evicted []uint64 // nodes, by its allocation; told to the router at the first token
}

// maxGenerated bounds what a record can make the twin allocate: no model
// generates that many tokens.
const maxGenerated = 1 << 20

func (t *Twin) newRequest(l *decision.Lifecycle) *request {
	r := &request{}
	if n := len(t.spare); n > 0 {
		r, t.spare = t.spare[n-1], t.spare[:n-1]
	}
	r.l, r.blocks, r.fleet = l, l.FullBlocks(), t.fleet(l.Model)
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
	r.base = received.UnixNano()
	r.decodeChosen = r.chosen + int64(decodeDelay)
	if at, ok := t.known.time(l.RequestID, decision.Decode); ok && !l.Aggregated() {
		r.decodeChosen = at.UnixNano()
	}
	r.setMoments()
	r.prefillRank = t.rank(r.fleet, r.prefillKey())
	r.prefillRank.seen(r.chosen, max(r.chosen, r.first))
	r.prefillRank.open++
	r.decodeRank = t.rank(r.fleet, r.decodeKey())
	r.decodeRank.seen(r.chosen, max(r.chosen, r.end))
	r.decodeRank.open++
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

// setMoments places what the record tells. What it leaves out, as for requests
// that failed, happens at once.
func (r *request) setMoments() {
	l := r.l
	r.first = r.base + int64(max(0, l.FirstToken))
	if l.FirstToken < 0 {
		r.first = r.base + int64(max(0, l.Total))
	}
	r.end = max(r.first, r.base+int64(max(0, l.Total)))
	if l.OutputTokens > 1 {
		r.generated = min(l.OutputTokens-1, maxGenerated)
		r.step = (r.end - r.first) / int64(r.generated)
	}
}

// setAdmitted places the moment when the engine allocates the prompt's blocks.
func (r *request) setAdmitted(times *prefillTimes) {
	handedOver := r.base + int64(max(0, r.l.Wait))
	r.admitted = min(r.first, max(r.chosen, handedOver, r.first-times.least(r.l)))
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

// prefillTimes learns the least time from handing over to first token, by
// uncached prompt tokens. A request whose first token took longer waited in
// the engine before it was admitted.
type prefillTimes struct {
	// atLeast has, for each bucket, the least of it and of all above; 0 if
	// there is none.
	atLeast [64 * prefillStep]time.Duration
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
	d := l.FirstToken - l.Wait
	for b := p.bucket(l); b >= 0 && (p.atLeast[b] == 0 || d < p.atLeast[b]); b-- {
		p.atLeast[b] = d
	}
}

// least returns a bound on the prefill time, in ns: what any longer prefill has
// been done in. Without one the request counts as admitted when handed over.
func (p *prefillTimes) least(l *decision.Lifecycle) int64 {
	if d := p.atLeast[p.bucket(l)]; d > 0 {
		return int64(d)
	}
	return int64(max(0, l.FirstToken))
}
