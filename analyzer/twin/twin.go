// Package twin rebuilds a router's decisions from request lifecycles alone.
//
// A router's loads are bookkeeping over request lifecycles, and the caches of
// its workers follow from the prompts that they served. The twin keeps both:
// per worker rank the blocks of unfinished requests, the prefill tokens that
// are booked, and a block manager like the engine's. At the moment of each
// request's choice it reads off what the router saw of every candidate, and
// hands on a decision like one that came from the router's own log.
//
// Traces come at the end of a request, so choices are rebuilt behind a
// watermark: only when everything that began earlier can be known.
//
// Package twin knows no particular router: which cost function judges the
// rebuilt decisions is the caller's matter. docs/twin.md has the model, what it
// was checked against, and what it can't know.
package twin

import (
	"math"
	"time"

	"github.com/kvshadow/kvshadow/analyzer/decision"
)

// Options configures a [Twin].
type Options struct {
	// GPUBlocks is the KV capacity of a worker rank, in blocks, where the input
	// doesn't tell; 0 stands for unknown, and then nothing is ever evicted.
	GPUBlocks int
	// Capacities has the KV capacity of a rank by model; models that it lacks
	// have GPUBlocks.
	Capacities map[string]int
	// ApproximateTTL is set for routers without KV events: they believe a
	// prompt cached on its worker from the choice on, for that long.
	ApproximateTTL time.Duration
	// Wait is how long after a choice its record may come, in the records' own
	// time; 0 stands for the end of the input.
	Wait time.Duration
	// Handoff is how long a prefill worker keeps a request's blocks after the
	// first token, until the decode worker has them; 0 means [DefaultHandoff].
	Handoff time.Duration
	// Emit takes each rebuilt decision, in the order of the choices. It is valid
	// until Emit returns. recorded is the same choice as the router's rows have
	// it, or nil; see [Twin.Observe].
	Emit func(rebuilt, recorded *decision.Decision)
}

// DefaultHandoff is the default of [Options.Handoff]: in captures of a
// disaggregated deployment it lies between 43 and 340 ms with a median of 61.
const DefaultHandoff = 60 * time.Millisecond

// Moments that traces round or leave out, measured on captures of 1.5.1 and
// 1.6.1 whose logs have microseconds.
const (
	// receivedRounding is half of the millisecond to which Received is rounded
	// down.
	receivedRounding = 500 * time.Microsecond
	// choiceDelay is from the request's arrival to its choice.
	choiceDelay = 450 * time.Microsecond
	// decodeDelay is from the prefill choice to the decode choice, where the
	// decode worker is chosen while prefill runs.
	decodeDelay = 1500 * time.Microsecond
	// patience is how much longer than Options.Wait a selection is remembered:
	// the record of its request comes when the request is over.
	patience = 10 * time.Minute
	// presence is how long before and after its requests a worker counts as a
	// candidate.
	presence = time.Minute
	// forgetAfter is how long after its last request a worker's cache is
	// forgotten.
	forgetAfter = time.Hour
	// clockStep is how many lifecycles in a row have to be over before the
	// watermark until it counts as set back with their clock.
	clockStep = 64
)

// Counts says what could not be rebuilt.
type Counts struct {
	// WithoutWorkers counts lifecycles that don't name their workers, as rows
	// without a session do: their load is missing in every other decision.
	WithoutWorkers uint64
	// WithoutBlocks counts lifecycles without block hashes or block size.
	WithoutBlocks uint64
	// Late counts lifecycles that came after the watermark had passed them.
	// What they left in caches is rebuilt, their decisions are lost.
	Late uint64
	// Unmatched counts selections of a log whose lifecycle never came.
	Unmatched uint64
	// Uncompared counts choices that came whole too, so long before their
	// lifecycle that what they held was forgotten.
	Uncompared uint64
	// LearnedOverlaps counts choices whose overlap reaches into generated text,
	// known only from what the engine reported to have reused: a check of these
	// overlaps says no more than that router and engine agreed.
	LearnedOverlaps uint64
	// OverCapacity counts blocks that a rank held beyond its capacity: the
	// capacity is wrong, or requests waited where the twin thought they ran.
	OverCapacity uint64
}

// Twin rebuilds decisions. It is not safe for concurrent use.
type Twin struct {
	opts     Options
	counts   Counts
	fleets   map[string]*fleet // by model
	waiting  timeHeap          // lifecycles whose choice isn't rebuilt yet
	events   timeHeap
	now      int64 // the time that has been rebuilt, in ns
	horizon  int64 // the newest moment that a record spoke of
	sequence uint64
	known    selections
	prefill  prefillTimes
	behind   int // lifecycles in a row that are over before the watermark
	// told are the capacities that a log tells, and toldLast the last of them.
	told     map[decision.Key]int
	toldLast int
	d        decision.Decision // the one being rebuilt
	// spare are finished requests, whose space new ones take.
	spare []*request
}

// New returns a twin that has seen nothing.
func New(opts Options) *Twin {
	if opts.Handoff == 0 {
		opts.Handoff = DefaultHandoff
	}
	return &Twin{opts: opts, fleets: map[string]*fleet{}, now: math.MinInt64, horizon: math.MinInt64,
		known: newSelections(), told: map[decision.Key]int{}}
}

// Counts returns what could not be rebuilt so far.
func (t *Twin) Counts() Counts { return t.counts }

// Lifecycle takes a finished request. The twin owns it.
func (t *Twin) Lifecycle(l *decision.Lifecycle) {
	switch {
	case !l.HasWorkers:
		t.counts.WithoutWorkers++
		return
	case l.BlockSizeTokens == 0 || len(l.Hashes) == 0:
		t.counts.WithoutBlocks++
		return
	}
	r := t.newRequest(l)
	over := max(r.end, r.chosen)
	if over >= t.now {
		t.behind = 0
	} else if t.behind++; t.behind == clockStep {
		t.setBack(r)
	}
	if r.chosen < t.now {
		t.late(r)
	} else {
		t.push(&t.waiting, r.chosen, evChoice, r)
	}
	t.advance(over)
}

// setBack follows a clock that was set back: everything that waits is rebuilt,
// and what was believed until some time to come is given up.
func (t *Twin) setBack(r *request) {
	t.rebuild(math.MaxInt64)
	t.behind, t.now, t.horizon = 0, r.chosen, math.MinInt64
	for _, f := range t.fleets {
		f.disbelieve(func(*belief) bool { return true })
		for _, k := range f.all {
			k.firstSeen, k.lastSeen = min(k.firstSeen, t.now), min(k.lastSeen, t.now)
		}
	}
	r.prefillRank.seen(r.chosen, max(r.chosen, r.first))
	r.decodeRank.seen(r.chosen, max(r.chosen, r.end))
}

// Selection takes a winner that a log printed, with its exact time and cost.
func (t *Twin) Selection(s *decision.Selection) {
	t.known.add(s.RequestID, s.WorkerType, known{selection: s, at: s.Time}, &t.counts)
	if !s.Time.IsZero() {
		t.advance(s.Time.UnixNano())
		t.expire(s.Time)
	}
}

// expire forgets choices whose lifecycles won't come any more.
func (t *Twin) expire(now time.Time) {
	if t.opts.Wait > 0 {
		t.known.expire(now.Add(-t.opts.Wait-patience), &t.counts)
	}
}

// Observe takes a decision that came whole from another source. When the twin
// rebuilds the same choice, both are handed on together.
func (t *Twin) Observe(d *decision.Decision) {
	if d.RequestID == "" {
		return
	}
	t.known.add(d.RequestID, d.WorkerType, known{recorded: d, whole: true, at: d.Time}, &t.counts)
	if !d.Time.IsZero() {
		t.advance(d.Time.UnixNano())
		t.expire(d.Time)
	}
}

// SetCapacity sets the KV capacity of a model's ranks, in blocks, as the
// router's own metrics tell it.
func (t *Twin) SetCapacity(model string, blocks int) {
	t.fleet(model).capacity = blocks
	t.setCapacities()
}

// SetRankCapacity sets the KV capacity of one rank, as a log tells it. Where
// nothing else tells of other ranks, they have the same.
func (t *Twin) SetRankCapacity(rank decision.Key, blocks int) {
	if t.told[rank] == blocks {
		return
	}
	if len(t.told) >= maxKnown {
		clear(t.told)
	}
	t.told[rank], t.toldLast = blocks, blocks
	t.setCapacities()
}

func (t *Twin) setCapacities() {
	for _, f := range t.fleets {
		for _, k := range f.all {
			k.setCapacity(t.capacity(f, k.Key))
		}
	}
}

// Idle tells that nothing came for a while, so that choices which wait for
// records that don't come are rebuilt at last.
func (t *Twin) Idle(d time.Duration) {
	if t.horizon != math.MinInt64 {
		t.advance(t.horizon + int64(d))
	}
}

// Flush rebuilds everything that waits. The twin can be used again afterwards.
func (t *Twin) Flush() {
	t.rebuild(math.MaxInt64)
	t.known.drop(&t.counts)
}

// advance moves the horizon and rebuilds what lies behind the watermark.
func (t *Twin) advance(moment int64) {
	t.horizon = max(t.horizon, moment)
	if t.opts.Wait > 0 {
		t.rebuild(t.horizon - int64(t.opts.Wait))
	}
}

// rebuild runs all choices and events up to a moment, in order of time.
func (t *Twin) rebuild(until int64) {
	for {
		choice, event := t.waiting.first(), t.events.first()
		next := event
		if event == nil || choice != nil && choice.at < event.at {
			next = choice
		}
		if next == nil || next.at > until {
			break
		}
		t.now = max(t.now, next.at)
		if next == choice {
			t.choose(t.waiting.pop().r)
		} else {
			e := t.events.pop()
			t.run(e)
		}
	}
	if until != math.MaxInt64 {
		t.now = max(t.now, until)
	}
}

// late takes in a lifecycle whose time has been rebuilt already: what it left
// in its worker's cache still counts for later choices.
func (t *Twin) late(r *request) {
	t.counts.Late++
	t.known.take(r.l.RequestID, decision.Decode)
	if !r.l.Aggregated() {
		t.known.take(r.l.RequestID, decision.Prefill)
	}
	t.begin(r)
	t.book(r)
	t.admit(r)
	t.firstToken(r)
	t.release(r)
	if r.l.Aggregated() {
		t.end(r)
		return
	}
	r.decodeRank.open--
	t.part(r)
}
