package twin

import (
	"time"

	"github.com/kvshadow/kvshadow/analyzer/decision"
)

// maxKnown bounds what is remembered of choices whose lifecycle hasn't come: a
// request's record comes at its end.
const maxKnown = 1 << 16

// selections remembers what a log said of choices until their lifecycles come.
type selections struct {
	byKey map[selectionKey]known
	order []selectionKey
}

type selectionKey struct {
	id   string
	role decision.WorkerType
}

// known is what a log said of a choice: its end, or all of it.
type known struct {
	selection *decision.Selection
	recorded  *decision.Decision
}

func newSelections() selections { return selections{byKey: map[selectionKey]known{}} }

func (s *selections) add(id string, role decision.WorkerType, k known, counts *Counts) {
	key := selectionKey{id, role}
	if _, again := s.byKey[key]; !again {
		s.order = append(s.order, key)
	}
	s.byKey[key] = k
	for len(s.byKey) > maxKnown {
		s.forget(counts)
	}
}

// forget drops the oldest choice.
func (s *selections) forget(counts *Counts) {
	key := s.order[0]
	s.order = s.order[1:]
	if k, ok := s.byKey[key]; ok && k.selection != nil {
		counts.Unmatched++
	}
	delete(s.byKey, key)
}

// expire forgets the choices from before a moment.
func (s *selections) expire(before time.Time, counts *Counts) {
	for len(s.order) > 0 {
		if k, ok := s.byKey[s.order[0]]; ok && !k.time().Before(before) {
			return
		}
		s.forget(counts)
	}
}

// drop forgets everything.
func (s *selections) drop(counts *Counts) {
	for len(s.order) > 0 {
		s.forget(counts)
	}
}

func (s *selections) time(id string, role decision.WorkerType) (time.Time, bool) {
	k, ok := s.byKey[selectionKey{id, role}]
	if !ok {
		return time.Time{}, false
	}
	return k.time(), !k.time().IsZero()
}

func (k known) time() time.Time {
	if k.selection != nil {
		return k.selection.Time
	}
	return k.recorded.Time
}

// take returns what is known of a choice and forgets it.
func (s *selections) take(id string, role decision.WorkerType) known {
	key := selectionKey{id, role}
	k := s.byKey[key]
	delete(s.byKey, key)
	return k
}
