package twin

import (
	"cmp"
	"math/bits"
	"slices"
	"time"

	"github.com/kvshadow/kvshadow/analyzer/decision"
)

// slowTwin does what [Twin] does once all lifecycles are known, in the most
// obvious way: it keeps lists and counts anew at each choice.
type slowTwin struct {
	opts     Options
	requests []*slowRequest // in the order of their choices
	caches   map[slowKey]*slowCache
	pending  []slowEvent
	out      []*decision.Decision
}

type slowKey struct {
	model string
	rankKey
}

type slowRequest struct {
	*decision.Lifecycle
	role              role
	full              []uint64
	on, decodeOn      slowKey
	base              time.Time
	chosen, decodeAt  time.Time
	first, end        time.Time
	booked            uint64
	begun, decodeHeld bool // the router counts it
	started, over     bool // first token came, last token came
	generated         uint64
	matched           int
	blocks            []*slowBlock
	gone              []uint64 // evicted by its allocation
}

type slowEvent struct {
	at  time.Time
	run func()
}

func (s *slowTwin) later(at time.Time, run func()) { s.pending = append(s.pending, slowEvent{at, run}) }

// rebuild takes everything at once.
func (s *slowTwin) rebuild(all []*decision.Lifecycle) []*decision.Decision {
	s.caches = map[slowKey]*slowCache{}
	for _, l := range all {
		if l.HasWorkers && len(l.Hashes) > 0 {
			s.requests = append(s.requests, s.request(l))
		}
	}
	slices.SortFunc(s.requests, func(a, b *slowRequest) int { return a.chosen.Compare(b.chosen) })
	for i, r := range s.requests {
		s.later(r.chosen, func() { s.choose(r, s.requests[:i+1]) })
	}
	for len(s.pending) > 0 {
		next := 0
		for i, e := range s.pending {
			if e.at.Before(s.pending[next].at) {
				next = i
			}
		}
		e := s.pending[next]
		s.pending = slices.Delete(s.pending, next, next+1)
		e.run()
	}
	return s.out
}

func (s *slowTwin) request(l *decision.Lifecycle) *slowRequest {
	r := &slowRequest{Lifecycle: l, full: l.Hashes[:min(len(l.Hashes), int(l.InputTokens)/int(l.BlockSizeTokens))]}
	r.on = slowKey{l.Model, rankKey{l.Prefill, prefill}}
	r.decodeOn = slowKey{l.Model, rankKey{l.Decode, decode}}
	r.role = prefill
	if l.Prefill == l.Decode {
		r.role, r.on.role = aggregated, aggregated
		r.decodeOn = r.on
	}
	for _, k := range []slowKey{r.on, r.decodeOn} {
		if s.caches[k] == nil {
			s.caches[k] = &slowCache{capacity: s.opts.GPUBlocks}
		}
	}
	or0 := func(d time.Duration) time.Duration { return max(0, d) }
	r.base = l.Received.Add(500 * time.Microsecond)
	r.chosen = r.base.Add(min(450*time.Microsecond, or0(l.Wait)))
	r.decodeAt = r.chosen.Add(1500 * time.Microsecond)
	r.first = r.base.Add(or0(l.FirstToken))
	if l.FirstToken < 0 {
		r.first = r.base.Add(or0(l.Total))
	}
	r.end = r.base.Add(or0(l.Total))
	if r.end.Before(r.first) {
		r.end = r.first
	}
	r.generated = max(1, l.OutputTokens) - 1
	return r
}

// admitted is when the prompt's blocks were allocated: the least time in which
// any request so far did such a prefill, before its first token.
func (r *slowRequest) admitted(sofar []*slowRequest) time.Time {
	// A number's first four binary digits.
	size := func(o *slowRequest) uint64 {
		n := o.InputTokens - min(o.InputTokens, uint64(max(0, o.CachedTokens)))
		shift := max(0, bits.Len64(n)-4)
		return n >> shift << shift
	}
	least := time.Duration(-1)
	for _, o := range sofar {
		d := o.FirstToken - o.Wait
		if o.Wait >= 0 && o.FirstToken >= 0 && d > 0 && size(o) >= size(r) && (least < 0 || d < least) {
			least = d
		}
	}
	if least < 0 {
		least = max(0, r.FirstToken)
	}
	at := r.first.Add(-least)
	for _, bound := range []time.Time{r.chosen, r.base.Add(max(0, r.Wait))} {
		if at.Before(bound) {
			at = bound
		}
	}
	if r.first.Before(at) {
		return r.first
	}
	return at
}

func (s *slowTwin) choose(r *slowRequest, sofar []*slowRequest) {
	size := uint64(r.BlockSizeTokens)
	cache := s.caches[r.on]
	// Generated text that this prompt shows to be cached.
	if n := s.overlap(r.on, r.full, r.chosen); n > 0 && r.CachedTokens > 0 && s.opts.ApproximateTTL == 0 {
		if reused := min(len(r.full), int(r.CachedTokens)/int(size)); reused > n {
			cache.name(r.full[n-1], r.full[n:reused])
		}
	}
	s.emit(r, r.role, r.Prefill, r.chosen)
	hit := uint64(s.overlap(r.on, r.full, r.chosen)) * size
	r.booked = r.InputTokens - min(r.InputTokens, hit)
	r.begun = true
	s.later(r.admitted(sofar), func() { s.admit(r) })
	if r.role == prefill {
		s.later(r.decodeAt, func() {
			s.emit(r, decode, r.Decode, r.decodeAt)
			r.decodeHeld = true
			end := r.end
			if end.Before(r.decodeAt) {
				end = r.decodeAt
			}
			s.later(end, func() { r.over = true })
		})
	}
}

func (s *slowTwin) admit(r *slowRequest) {
	cache, size := s.caches[r.on], int(r.BlockSizeTokens)
	for _, h := range r.full {
		if cache.find(h) == nil {
			break
		}
		r.matched++
	}
	if r.matched*size >= int(r.InputTokens) && r.matched > 0 {
		r.matched--
	}
	if r.CachedTokens >= 0 {
		r.matched = min(r.matched, int(r.CachedTokens)/size)
	}
	r.blocks = cache.hold(r.full[:r.matched])
	var fresh []*slowBlock
	fresh, r.gone = cache.allocate((int(r.InputTokens)+size-1)/size - r.matched)
	r.blocks = append(r.blocks, fresh...)
	s.later(r.first, func() { s.firstToken(r) })
}

func (s *slowTwin) firstToken(r *slowRequest) {
	r.started, r.gone = true, nil
	cache, size := s.caches[r.on], int(r.BlockSizeTokens)
	for i := r.matched; i < len(r.full); i++ {
		cache.cache(r.blocks[i], r.full[i])
	}
	if r.role == prefill {
		s.later(r.first.Add(s.opts.Handoff), func() { cache.release(r.blocks) })
		return
	}
	grow := func() {
		fresh, _ := cache.allocate(1)
		r.blocks = append(r.blocks, fresh...)
	}
	if r.generated > 0 {
		step := r.end.Sub(r.first) / time.Duration(r.generated)
		for held := len(r.blocks) * size; held < int(r.InputTokens+r.generated); held += size {
			if step == 0 {
				grow()
			} else {
				s.later(r.first.Add(time.Duration(held-int(r.InputTokens))*step), grow)
			}
		}
	}
	s.later(r.end, func() {
		r.over = true
		parent := uint64(0)
		if len(r.full) > 0 {
			parent = r.full[len(r.full)-1]
		}
		if n := int(r.InputTokens+r.generated) / size; n > len(r.full) {
			cache.keep(parent, r.blocks[len(r.full):n])
		}
		cache.release(r.blocks)
	})
}

// overlap is what the router believes cached.
func (s *slowTwin) overlap(k slowKey, prompt []uint64, at time.Time) int {
	has := func(h uint64) bool {
		if s.opts.ApproximateTTL == 0 && s.caches[k].find(h) != nil {
			return true
		}
		for _, o := range s.requests {
			switch {
			case o.on != k || !o.begun:
			case s.opts.ApproximateTTL > 0:
				if slices.Contains(o.full, h) && !o.chosen.Add(s.opts.ApproximateTTL).Before(at) {
					return true
				}
			case slices.Contains(o.gone, h):
				return true
			}
		}
		return false
	}
	n := 0
	for n < len(prompt) && has(prompt[n]) {
		n++
	}
	return n
}

func (s *slowTwin) emit(r *slowRequest, role role, selected decision.Key, at time.Time) {
	d := &decision.Decision{RequestID: r.RequestID, Model: r.Model, Time: at, Pool: poolNames[role], Selected: selected}
	for k := range s.caches {
		if k.model == r.Model && k.role == role && s.present(k, at) {
			d.Candidates = append(d.Candidates, s.candidate(r, k, at))
		}
	}
	slices.SortFunc(d.Candidates, func(a, b decision.Candidate) int {
		return cmp.Or(cmp.Compare(a.WorkerID, b.WorkerID), cmp.Compare(a.DPRank, b.DPRank))
	})
	s.out = append(s.out, d)
}

// present says whether a rank is at work within a minute.
func (s *slowTwin) present(k slowKey, at time.Time) bool {
	var from, to time.Time
	note := func(a, b time.Time) {
		if from.IsZero() || a.Before(from) {
			from = a
		}
		for _, t := range []time.Time{a, b} {
			if t.After(to) {
				to = t
			}
		}
	}
	for _, o := range s.requests {
		if o.on == k {
			note(o.chosen, o.first)
		}
		if o.decodeOn == k {
			note(o.chosen, o.end)
		}
	}
	return !at.Before(from.Add(-time.Minute)) && !at.After(to.Add(time.Minute))
}

func (s *slowTwin) candidate(r *slowRequest, k slowKey, at time.Time) decision.Candidate {
	c := decision.Candidate{Key: k.Key}
	active := map[uint64]bool{}
	for _, o := range s.requests {
		if o.on == k && o.begun && !o.started {
			c.ActivePrefillTokens += o.booked
		}
		if o.decodeOn == k && !o.over && (o.decodeHeld || o.role == aggregated && o.begun) {
			c.ActiveRequests++
			for _, h := range o.full {
				active[h] = true
			}
		}
	}
	if k.role != decode {
		n := s.overlap(k, r.full, at)
		c.EffectiveOverlapBlocks, c.CachedTokens = float64(n), uint64(n)*uint64(r.BlockSizeTokens)
	}
	if k.role != prefill {
		for _, h := range r.full {
			active[h] = true
		}
		c.DecodeCostBlocks = float64(len(active))
	}
	return c
}
