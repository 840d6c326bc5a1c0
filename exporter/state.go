// Package exporter is the long-running service: it takes input from sources,
// evaluates each decision as it comes, and serves the sums as metrics and as
// pages.
//
// One goroutine decodes and evaluates; everything else (scrapes, pages,
// reloads) reads its state under a mutex.
package exporter

import (
	"slices"
	"sync"
	"time"

	"github.com/kvshadow/kvshadow/analyzer"
	"github.com/kvshadow/kvshadow/analyzer/decision"
	"github.com/kvshadow/kvshadow/analyzer/router/dynamo"
	"github.com/kvshadow/kvshadow/analyzer/shadow"
)

// keptDecisions is how many recent decisions can be looked at.
const keptDecisions = 200

// state is what the service knows. Its methods may be called from several
// goroutines at once.
type state struct {
	mu       sync.Mutex
	policies []dynamo.Policy
	engine   *analyzer.Engine
	observe  func(*shadow.Evaluation)
	recent   []Recent // a ring
	seen     uint64
	loaded   time.Time
	refused  error // of the last reload
}

// Recent is a decision among the last ones.
type Recent struct {
	// Number counts decisions from 1; it names the decision's page.
	Number    uint64
	Decision  *decision.Decision
	Exclusion shadow.Exclusion
	Cause     decision.Cause
	Lost      float64
	// Diverging names the policies that would have picked another worker.
	Diverging []string
}

func newState(policies []dynamo.Policy, observe func(*shadow.Evaluation), now time.Time) *state {
	return &state{policies: policies, engine: analyzer.NewEngine(policies), observe: observe, loaded: now}
}

// evaluate takes one decision.
func (s *state) evaluate(d *decision.Decision) {
	s.mu.Lock()
	defer s.mu.Unlock()
	e := s.engine.Evaluate(d)
	s.observe(e)
	s.keep(e)
}

func (s *state) keep(e *shadow.Evaluation) {
	s.seen++
	if len(s.recent) < keptDecisions {
		s.recent = append(s.recent, Recent{Decision: &decision.Decision{}})
	}
	r := s.kept(s.seen) // its space is used again
	r.Number, r.Exclusion, r.Cause, r.Lost, r.Diverging = s.seen, e.Exclusion, e.Cause, 0, r.Diverging[:0]
	e.Decision.CopyTo(r.Decision)
	if e.Exclusion == shadow.Included {
		r.Lost = e.Effects[0].Lost.Float64()
		for i := range e.Effects {
			if e.Effects[i].Diverging > 0 {
				r.Diverging = append(r.Diverging, s.policies[i].Name)
			}
		}
	}
}

// kept returns the place of a decision in the ring.
func (s *state) kept(number uint64) *Recent { return &s.recent[(number-1)%keptDecisions] }

// clone returns a copy that stays as it is.
func (r *Recent) clone() Recent {
	c := *r
	c.Decision, c.Diverging = r.Decision.Clone(), slices.Clone(r.Diverging)
	return c
}

// replace puts other policies in use. A policy that stays the same, by name and
// weights, keeps its sums; the live policy's sums describe what the router
// really did and are kept in any case. also is called while no decision is
// evaluated.
func (s *state) replace(policies []dynamo.Policy, now time.Time, also func([]dynamo.Policy)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	also(policies)
	from := make([]int, len(policies))
	for i, p := range policies {
		from[i] = slices.Index(s.policies, p)
	}
	from[0] = 0
	s.engine = s.engine.WithPolicies(policies, from)
	s.policies, s.loaded, s.refused = policies, now, nil
}

// refuse notes that a reload failed and the policies stay.
func (s *state) refuse(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refused = err
}

// snapshot is a copy of the state at one moment.
type snapshot struct {
	policies []dynamo.Policy
	totals   *shadow.Totals
	seen     uint64
	loaded   time.Time
	refused  error
}

func (s *state) snapshot() snapshot {
	s.mu.Lock()
	defer s.mu.Unlock()
	return snapshot{s.policies, s.engine.Totals().Clone(), s.seen, s.loaded, s.refused}
}

// latest returns up to n recent decisions, the newest first.
func (s *state) latest(n int) []Recent {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]Recent, 0, min(n, len(s.recent)))
	for i := range cap(out) {
		out = append(out, s.kept(s.seen-uint64(i)).clone())
	}
	return out
}

// explain explains a recent decision; found is false once it is too old.
func (s *state) explain(number uint64) (e *decision.Explanation, r Recent, err error, found bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if number == 0 || number > s.seen || number+keptDecisions <= s.seen {
		return nil, r, nil, false
	}
	r = s.kept(number).clone()
	// The engine's scorer is in use by this mutex's holder only, but an
	// explanation must not see the columns of the stream's decision.
	e, err = analyzer.NewEngine(s.policies).Explain(r.Decision)
	return e, r, err, true
}
