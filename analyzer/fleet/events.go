package fleet

type eventKind uint8

const (
	evStep        eventKind = iota // a rank's step ends
	evTransferred                  // a prompt's cache is at its decode worker
	evArrive
)

type event struct {
	at      float64
	seq     uint64
	kind    eventKind
	turn    int32
	req     int32
	rank    *rank
	version uint32 // of the rank's step
}

// eventHeap is a binary heap by time, then by order of scheduling.
type eventHeap []event

func (e *event) before(o *event) bool { return e.at < o.at || e.at == o.at && e.seq < o.seq }

func (w *world) push(e event) {
	w.seq++
	e.seq = w.seq
	w.events = append(w.events, e)
	h := w.events
	for i := len(h) - 1; i > 0; {
		parent := (i - 1) / 2
		if !h[i].before(&h[parent]) {
			break
		}
		h[i], h[parent] = h[parent], h[i]
		i = parent
	}
}

func (w *world) pop() event {
	h := w.events
	top, last := h[0], len(h)-1
	h[0], h[last] = h[last], event{}
	h = h[:last]
	for i := 0; ; {
		child := 2*i + 1
		if child >= last {
			break
		}
		if child+1 < last && h[child+1].before(&h[child]) {
			child++
		}
		if !h[child].before(&h[i]) {
			break
		}
		h[i], h[child] = h[child], h[i]
		i = child
	}
	w.events = h
	return top
}
