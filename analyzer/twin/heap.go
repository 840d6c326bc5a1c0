package twin

// kind is what happens at a moment. At equal times the lower kind is first:
// what a request gives up is free for a choice at the same moment.
type kind uint8

const (
	evEnd        kind = iota // the last token: the router forgets the request
	evRelease                // the engine lets go of its blocks
	evFirstToken             // prefill is over, its blocks are known to the router
	evAdmit                  // the engine allocates the prompt's blocks
	evGrow                   // the engine allocates a block for generated tokens
	evChoice                 // the router chooses
	evDecode                 // the router chooses a decode worker
)

// event is something that happens to a request.
type event struct {
	at   int64 // ns
	kind kind
	seq  uint64 // of scheduling, to keep order where all else is equal
	r    *request
}

func (e *event) before(o *event) bool {
	if e.at != o.at {
		return e.at < o.at
	}
	if e.kind != o.kind {
		return e.kind < o.kind
	}
	if e.kind == evChoice && e.r.l.RequestID != o.r.l.RequestID {
		return e.r.l.RequestID < o.r.l.RequestID // whatever the order in which records come
	}
	return e.seq < o.seq
}

// timeHeap is a binary heap of events. container/heap would box each of them.
type timeHeap []event

func (h timeHeap) first() *event {
	if len(h) == 0 {
		return nil
	}
	return &h[0]
}

func (t *Twin) push(h *timeHeap, at int64, k kind, r *request) {
	t.sequence++
	*h = append(*h, event{at, k, t.sequence, r})
	q := *h
	for i := len(q) - 1; i > 0; {
		parent := (i - 1) / 2
		if !q[i].before(&q[parent]) {
			break
		}
		q[i], q[parent] = q[parent], q[i]
		i = parent
	}
}

func (h *timeHeap) pop() event {
	q := *h
	top, last := q[0], len(q)-1
	q[0], q[last] = q[last], event{}
	q = q[:last]
	for i := 0; ; {
		child := 2*i + 1
		if child >= last {
			break
		}
		if child+1 < last && q[child+1].before(&q[child]) {
			child++
		}
		if !q[child].before(&q[i]) {
			break
		}
		q[i], q[child] = q[child], q[i]
		i = child
	}
	*h = q
	return top
}
