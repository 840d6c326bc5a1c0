package dynamo

import (
	"errors"
	"time"

	"github.com/kvshadow/kvshadow/analyzer/decision"
)

// Reason says why a line or a decision could not be used.
type Reason uint8

// The reasons. The first four count lines, the others decisions.
const (
	// Truncated: the line ends inside its JSON object.
	Truncated Reason = iota
	// Malformed: one of the router's messages with values that can't be read.
	Malformed
	// UnknownFormula: a formula row with other terms than Dynamo's, or the
	// selection that it belongs to.
	UnknownFormula
	// UnknownWorkerType: a role that is neither prefill nor decode.
	UnknownWorkerType
	// RowsWithoutWinner: candidate rows whose selection never came.
	RowsWithoutWinner
	// WinnerWithoutRows: a selection without candidate rows, as every one is
	// in logs of Dynamo 1.6 and newer.
	WinnerWithoutRows
	// WinnerNotInRows: the selected worker has no row.
	WinnerNotInRows
	// InvalidTrace: a request trace's record with fields that can't be read.
	InvalidTrace
	// TraceWithoutReplay: a record without the prompt's block hashes.
	TraceWithoutReplay
	reasonCount
)

var reasonNames = [reasonCount]string{"truncated", "malformed", "unknown_formula", "unknown_worker_type",
	"rows_without_winner", "winner_without_rows", "winner_not_in_rows",
	"invalid_trace", "trace_without_replay"}

// String returns the label value.
func (r Reason) String() string { return reasonNames[r] }

// Advice says what a reason means to the user and what to do about it, as a
// sentence that follows a number; empty where the reason's name says it all.
func Advice(reason string) string {
	switch reason {
	case WinnerWithoutRows.String():
		return "selections have no candidate rows. Dynamo 1.6 and newer print none at any log level, so a log alone can't be re-scored there: " +
			"record request traces (DYN_REQUEST_TRACE=1). On 1.3 to 1.5 set DYN_LOG=dynamo_kv_router=debug,dynamo_llm::kv_router=debug."
	case UnknownFormula.String():
		return "rows or selections are of a cost formula that isn't Dynamo's own, and were not read."
	}
	return ""
}

// The bounds of what a Decoder remembers, in router messages and in the log's
// own time. The router writes the messages of one choice within a millisecond,
// so thousands of later messages mean that the missing one never comes, whatever
// the clock says; and a later choice by more than a second means it too, however
// few messages there are.
const (
	joinWindow  = 1024
	joinTime    = time.Second
	groupWindow = 8192
	maxInputs   = 16384
)

// Decoder joins the router's log lines into decisions: formula rows with the
// selection that ends them, with the prompt's length and with the messages
// that follow.
//
// Lines of several streams may be mixed; rows without a request id belong
// together only within their stream. A Decoder is not safe for concurrent use.
// Its memory is bounded: at most 8,192 open and 1,024 finished decisions, and
// the prompt lengths of the last 16,384 requests.
type Decoder struct {
	// Selection, if set, takes the selections that came without candidate
	// rows, which then don't count as undecodable.
	Selection func(*decision.Selection)
	// Lifecycle, if set, takes the requests that traces tell of; otherwise
	// traces are ignored.
	Lifecycle func(*decision.Lifecycle)
	// Capacity, if set, takes the KV capacity of a rank, in blocks, whenever
	// the log tells it.
	Capacity func(rank decision.Key, blocks int)

	emit     func(*decision.Decision)
	counts   [reasonCount]uint64
	messages uint64 // router messages so far: the decoder's clock
	f        fields
	plain    []byte
	traces   traceDecoder
	lastID   string

	groups  map[groupKey]*group // rows that wait for their selection
	oldest  fifo[groupRef]
	ready   fifo[*pending] // selections that wait for the messages behind them
	byID    map[string]*pending
	inputs  map[string]input
	inputID fifo[string]
	roles   map[uint64]decision.WorkerType // of workers in rows without ids
	newest  time.Time                      // of the selections
	// lastBest is the newest selection known to be tracked.
	lastBest uint64
}

// groupKey joins the rows of one choice. Rows without a request id have the
// stream instead; rows of the two roles never mix, since a disaggregated
// request is routed twice under one id.
type groupKey struct {
	id     string
	role   string
	stream uint64
}

type groupRef struct {
	key groupKey
	g   *group
	at  uint64
}

type group struct {
	rows     []row
	poisoned bool // a row of it could not be read
	closed   bool
}

type input struct {
	tokens    uint64
	blockSize uint32
}

// pending is a finished choice in its join window.
type pending struct {
	d       *decision.Decision
	at      uint64
	tracked bool // [ROUTING] Best was seen
}

// NewDecoder returns a decoder that hands each decision to emit, in the order
// of selection. emit owns the decision.
func NewDecoder(emit func(*decision.Decision)) *Decoder {
	return &Decoder{
		emit:   emit,
		groups: map[groupKey]*group{},
		byID:   map[string]*pending{},
		inputs: map[string]input{},
		roles:  map[uint64]decision.WorkerType{},
	}
}

// Undecodable calls f with every reason and how many lines or decisions were
// lost for it.
func (d *Decoder) Undecodable(f func(reason string, n uint64)) {
	for r, n := range d.counts {
		f(Reason(r).String(), n)
	}
}

// Line takes one line, without its end, and says whether it was one of the
// router's messages. The line may be reused afterwards.
func (d *Decoder) Line(stream uint64, line []byte) bool {
	if d.Lifecycle != nil && isTrace(line) {
		return d.trace(line)
	}
	k, object := classify(line)
	if k == kindNone {
		return false
	}
	var rest []byte
	if object != nil {
		if err := d.f.parseObject(object); err != nil {
			if errors.Is(err, errTruncated) {
				return d.lose(Truncated)
			}
			return d.lose(Malformed)
		}
		rest = d.f.message
		if k == kindSelected && !isSelection(rest) {
			return false
		}
	} else {
		d.plain = stripANSI(d.plain[:0], line)
		k, rest = classifyReadable(d.plain)
		d.f = fields{time: firstWord(d.plain)}
	}
	d.messages++
	d.message(k, stream, rest, object == nil)
	d.expire()
	return true
}

// trace takes a record of a request trace. Tool events and payloads are none of
// ours.
func (d *Decoder) trace(line []byte) bool {
	l, skip, err := d.traces.decode(line)
	switch {
	case err != nil:
		return d.lose(InvalidTrace)
	case skip == "without_replay":
		return d.lose(TraceWithoutReplay)
	case skip != "":
		return false
	}
	d.Lifecycle(l)
	return true
}

func (d *Decoder) lose(r Reason) bool {
	d.counts[r]++
	return true
}

// message dispatches on the kind. In a human-readable line the fields follow
// the message; in a JSON line nothing does.
func (d *Decoder) message(k kind, stream uint64, text []byte, readable bool) {
	switch k {
	case kindFormula:
		r, rest, ok := parseRow(text)
		if readable {
			d.f.parseReadable(rest)
		}
		ok = ok && (len(rest) == 0 || readable && fieldsFollow(rest))
		d.row(stream, r, ok)
	case kindSelected:
		sel, rest, ok := parseSelection(text)
		if readable {
			d.f.parseReadable(rest)
		}
		d.selected(stream, sel, ok)
	default:
		if readable {
			d.f.parseReadable(text)
		}
		d.context(k)
	}
}

// context takes the messages that add to a choice but aren't part of it.
func (d *Decoder) context(k kind) {
	id := d.intern(d.requestID())
	if id == "" {
		return
	}
	switch k {
	case kindRoutingInput:
		tokens, ok1 := parseUint(d.f.islTokens, 64)
		block, ok2 := parseUint(d.f.blockSize, 32)
		if !ok1 || !ok2 || block == 0 {
			d.lose(Malformed)
			return
		}
		d.remember(id, input{tokens, uint32(block)})
	case kindBest:
		if p := d.byID[id]; p != nil {
			p.tracked = true
			d.lastBest = max(d.lastBest, p.at)
			if blocks, ok := parseUint(d.f.totalBlocks, 64); ok && p.d.RequestBlocks == 0 {
				p.d.RequestBlocks = blocks
				p.d.Unknown &^= decision.UnknownRequestBlocks
			}
		}
	case kindNonMax:
		if p := d.byID[id]; p != nil && p.d.WorkerType.String() == string(d.f.workerType) {
			s := scanner{b: d.f.lostBlocks, ok: true}
			if lost := s.num(); s.ok {
				p.d.RecordedLostBlocks = decision.Some(lost)
			}
		}
	}
}

func (d *Decoder) remember(id string, in input) {
	if _, known := d.inputs[id]; !known {
		d.inputID.push(id)
	}
	d.inputs[id] = in
	for d.inputID.len() > maxInputs {
		delete(d.inputs, d.inputID.pop())
	}
}

// requestID returns the line's id, empty where the router had none to print.
func (d *Decoder) requestID() []byte {
	if id := d.f.requestID; string(id) != "-" {
		return id
	}
	return nil
}

// expire hands on what has waited long enough.
func (d *Decoder) expire() {
	for d.ready.len() > 0 {
		if p := d.ready.first(); d.messages-p.at <= joinWindow && d.newest.Sub(p.d.Time) <= joinTime {
			break
		}
		d.release(d.ready.pop())
	}
	for d.oldest.len() > 0 && d.messages-d.oldest.first().at > groupWindow {
		d.abandon(d.oldest.pop())
	}
}

// release emits a finished choice. One that was never announced as tracked,
// although a later one was, came from a query without a booking.
func (d *Decoder) release(p *pending) {
	if d.byID[p.d.RequestID] == p {
		delete(d.byID, p.d.RequestID)
	}
	if !p.tracked && p.at < d.lastBest && p.d.RequestID != "" && !p.d.Pinned {
		p.d.QueryOnly = true
	}
	d.emit(p.d)
}

// abandon gives up on rows whose selection never came. A pinned choice prints
// a single row, which is the selection too.
func (d *Decoder) abandon(ref groupRef) {
	g := ref.g
	if g.closed {
		return
	}
	g.closed = true
	if d.groups[ref.key] == g {
		delete(d.groups, ref.key)
	}
	role, pool, known := roleOf([]byte(ref.key.role))
	switch {
	case g.poisoned || len(g.rows) == 0: // counted when they were read
	case len(g.rows) == 1 && g.rows[0].pinned && known:
		x := build(g.rows, selection{Key: g.rows[0].Key}, role, pool)
		x.RequestID = ref.key.id
		d.length(x)
		d.ready.push(&pending{d: x, at: d.messages})
	default:
		d.lose(RowsWithoutWinner)
	}
}

// Flush ends the input: everything that waits is handed on or counted. The
// decoder can be used again afterwards.
func (d *Decoder) Flush() {
	for d.oldest.len() > 0 {
		d.abandon(d.oldest.pop())
	}
	d.FlushReady()
}

// FlushReady hands on the finished choices without waiting for messages that
// may follow them, for use when the input pauses. Choices whose selection is
// still to come stay.
func (d *Decoder) FlushReady() {
	for d.ready.len() > 0 {
		d.release(d.ready.pop())
	}
}

// fifo is a queue over a slice that keeps its memory.
type fifo[T any] struct {
	items []T
	head  int
}

func (q *fifo[T]) len() int { return len(q.items) - q.head }
func (q *fifo[T]) first() T { return q.items[q.head] }
func (q *fifo[T]) push(v T) { q.items = append(q.items, v) }
func (q *fifo[T]) pop() T {
	var zero T
	v := q.items[q.head]
	q.items[q.head] = zero
	q.head++
	if q.head*2 >= len(q.items) {
		n := copy(q.items, q.items[q.head:])
		clear(q.items[n:])
		q.items, q.head = q.items[:n], 0
	}
	return v
}
