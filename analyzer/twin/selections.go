package twin

import (
	"hash/maphash"
	"time"

	"github.com/kvshadow/kvshadow/analyzer/decision"
	"github.com/kvshadow/kvshadow/analyzer/kvcache"
)

// What is remembered of choices whose lifecycle hasn't come is bounded: a
// request's record comes at its end.
const (
	maxKnown = 1 << 16
	maxRows  = 1 << 17 // candidates of recorded decisions
	maxWhole = 1 << 22 // ids of decisions that came whole, of which no more is known
)

// selections remembers what a log said of choices until their lifecycles come.
type selections struct {
	byKey map[selectionKey]known
	order []selectionKey
	// rows counts the candidates of the recorded decisions, which stand in
	// recorded, oldest first.
	rows     int
	recorded []selectionKey
	// whole has the hashed keys of forgotten decisions that came whole, so that
	// no choice counts twice.
	whole kvcache.Table
	seed  maphash.Seed
}

type selectionKey struct {
	id   string
	role decision.WorkerType
}

// known is what a log said of a choice: its end, or all of it.
type known struct {
	at        time.Time
	selection *decision.Selection
	recorded  *decision.Decision
	whole     bool
}

func newSelections() selections {
	return selections{byKey: map[selectionKey]known{}, seed: maphash.MakeSeed()}
}

func (s *selections) add(id string, role decision.WorkerType, k known, counts *Counts) {
	key := selectionKey{id, role}
	old, again := s.byKey[key]
	if !again {
		s.order = append(s.order, key)
	}
	s.shed(&old)
	s.byKey[key] = k
	if k.recorded != nil {
		s.rows += k.candidates()
		s.recorded = append(s.recorded, key)
	}
	for s.rows > maxRows {
		s.shedOldest()
	}
	for len(s.order) > maxKnown {
		s.forget(counts)
	}
}

// shed gives up what a choice held.
func (s *selections) shed(k *known) {
	s.rows -= k.candidates()
	k.recorded = nil
}

func (s *selections) shedOldest() {
	key := s.recorded[0]
	s.recorded = s.recorded[1:]
	if k, ok := s.byKey[key]; ok {
		s.shed(&k)
		s.byKey[key] = k
	}
}

// forget drops the oldest choice.
func (s *selections) forget(counts *Counts) {
	key := s.order[0]
	s.order = s.order[1:]
	k, ok := s.byKey[key]
	switch {
	case !ok:
		return
	case k.selection != nil:
		counts.Unmatched++
	case s.whole.Len() < maxWhole:
		s.whole.Put(s.hash(key), 0)
	}
	s.shed(&k)
	delete(s.byKey, key)
}

func (s *selections) hash(key selectionKey) uint64 { return maphash.Comparable(s.seed, key) }

// expire forgets the choices from before a moment.
func (s *selections) expire(before time.Time, counts *Counts) {
	for len(s.order) > 0 {
		if k, ok := s.byKey[s.order[0]]; ok && !k.at.Before(before) {
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
	at := s.byKey[selectionKey{id, role}].at
	return at, !at.IsZero()
}

// take returns what is known of a choice and forgets it.
func (s *selections) take(id string, role decision.WorkerType) known {
	key := selectionKey{id, role}
	k, ok := s.byKey[key]
	if !ok && s.whole.Len() > 0 {
		hash := s.hash(key)
		k.whole = s.whole.Get(hash) != none
		s.whole.Delete(hash)
		return k
	}
	s.rows -= k.candidates()
	delete(s.byKey, key)
	return k
}

func (k *known) candidates() int {
	if k.recorded == nil {
		return 0
	}
	return len(k.recorded.Candidates)
}
