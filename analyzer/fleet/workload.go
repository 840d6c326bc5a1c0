package fleet

import (
	"math"

	"github.com/kvshadow/kvshadow/analyzer/kvcache"
)

// Workload is the requests of a simulation, in sessions: a turn begins some
// time after the one before it ended.
type Workload struct {
	turns []turn
	first []int32 // of each session
	ids   map[string]int32
	// blocks is how many different ones there are. They have numbers in the
	// order in which they appear, so that a prompt's lie close together.
	blocks uint64
}

type turn struct {
	session, index int32
	next           int32
	input, output  int
	full           []uint64 // the full blocks, by hash until start numbers them
	at             float64  // ms; the earliest beginning
	delay          float64  // ms after the turn before
	open           bool     // arrives at its time, whatever became of the turn before
}

// Len returns the number of requests.
func (l *Workload) Len() int { return len(l.turns) }

// covers says whether so many hashes are enough for the full engine blocks of a
// prompt.
func covers(hashes, input, hashTokens, blockSize int) bool {
	return hashes >= ceilDiv(input/blockSize*blockSize, hashTokens)
}

// expand turns hashes of hashTokens each into hashes of full engine blocks.
func expand(ids []uint64, input, hashTokens, blockSize int) []uint64 {
	per := uint64(hashTokens / blockSize)
	full := make([]uint64, input/blockSize)
	for i := range full {
		full[i] = ids[uint64(i)/per]*per + uint64(i)%per
	}
	return full
}

// join appends a turn to its session, or begins one.
func (l *Workload) join(t turn, session *string) {
	id := int32(len(l.turns))
	if session != nil {
		if last, ok := l.ids[*session]; ok {
			before := &l.turns[last]
			before.next, t.session, t.index = id, before.session, before.index+1
			l.ids[*session] = id
			l.turns = append(l.turns, t)
			return
		}
		l.ids[*session] = id
	}
	t.session = int32(len(l.first))
	l.first = append(l.first, id)
	l.turns = append(l.turns, t)
}

// number replaces the hashes of all blocks.
func (l *Workload) number() {
	var numbers kvcache.Table
	for i := range l.turns {
		for j, hash := range l.turns[i].full {
			n := numbers.Get(hash)
			if n < 0 {
				n = int32(numbers.Len())
				numbers.Put(hash, n)
			}
			l.turns[i].full[j] = uint64(n)
		}
	}
	l.blocks = uint64(numbers.Len())
}

// start numbers the blocks and makes the first arrival the beginning of time.
func (l *Workload) start() *Workload {
	l.ids = nil
	l.number()
	begin := math.Inf(1)
	for i := range l.turns {
		if at := l.turns[i].at; !math.IsInf(at, -1) {
			begin = min(begin, at)
		}
	}
	for i := range l.turns {
		if l.turns[i].index == 0 && math.IsInf(l.turns[i].at, -1) {
			l.turns[i].at = begin
		}
		l.turns[i].at -= begin
	}
	return l
}
