package source

import "slices"

// span is a range of sequence numbers, both ends included.
type span struct{ from, to uint64 }

// sequences is a set of the sequence numbers of a stream that were read. It
// takes little memory as long as they come mostly in order, whatever their
// number.
type sequences struct {
	// floor stands for itself and all numbers below it: none of these will be
	// read any more.
	floor uint64
	spans []span // ascending, not adjacent, all above floor+1
}

// has says whether the number needn't be read.
func (s *sequences) has(n uint64) bool {
	i := s.search(n)
	return n <= s.floor || i < len(s.spans) && s.spans[i].from <= n
}

// add adds a number and returns false if the set had it.
func (s *sequences) add(n uint64) bool {
	if s.has(n) {
		return false
	}
	i := s.search(n)
	before := i > 0 && s.spans[i-1].to+1 == n
	after := i < len(s.spans) && s.spans[i].from == n+1
	switch {
	case before && after:
		s.spans[i-1].to = s.spans[i].to
		s.spans = slices.Delete(s.spans, i, i+1)
	case before:
		s.spans[i-1].to = n
	case after:
		s.spans[i].from = n
	default:
		s.spans = slices.Insert(s.spans, i, span{n, n})
	}
	s.settle(s.floor)
	return true
}

// search returns the index of the first span that ends at n or later.
func (s *sequences) search(n uint64) int {
	i, _ := slices.BinarySearchFunc(s.spans, n, func(sp span, n uint64) int {
		if sp.to < n {
			return -1
		}
		return 1
	})
	return i
}

// settle raises the floor.
func (s *sequences) settle(floor uint64) {
	s.floor = max(s.floor, floor)
	for len(s.spans) > 0 && s.spans[0].from <= s.floor+1 {
		s.floor = max(s.floor, s.spans[0].to)
		s.spans = slices.Delete(s.spans, 0, 1)
	}
}

// missing counts the numbers above after and the floor, up to upTo, that the
// set hasn't.
func (s *sequences) missing(after, upTo uint64) uint64 {
	after = max(after, s.floor)
	if upTo <= after {
		return 0
	}
	n := upTo - after
	for _, sp := range s.spans {
		if from, to := max(sp.from, after+1), min(sp.to, upTo); from <= to {
			n -= to - from + 1
		}
	}
	return n
}

// gaps says whether numbers above the floor are missing in between.
func (s *sequences) gaps() bool { return len(s.spans) > 0 }
