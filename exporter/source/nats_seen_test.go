package source

import (
	"math/rand/v2"
	"testing"
)

// TestSequences compares with a plain set.
func TestSequences(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var s sequences
		set := map[uint64]bool{}
		floor := uint64(0)
		for range 100 {
			if r.IntN(20) == 0 {
				floor = max(floor, r.Uint64N(60))
				after := r.Uint64N(60)
				want := uint64(0)
				for n := max(s.floor, after) + 1; n <= floor; n++ {
					if !set[n] {
						want++
					}
				}
				if got := s.missing(after, floor); got != want {
					t.Fatalf("missing(%d, %d) = %d, want %d: %+v", after, floor, got, want, s)
				}
				s.settle(floor)
				continue
			}
			n := 1 + r.Uint64N(60)
			want := n > floor && !set[n]
			if got := s.add(n); got != want {
				t.Fatalf("add(%d) = %v: %+v", n, got, s)
			}
			set[n] = true
		}
		for i, sp := range s.spans {
			last := s.floor
			if i > 0 {
				last = s.spans[i-1].to
			}
			if sp.from <= last+1 || sp.to < sp.from {
				t.Fatalf("%+v", s)
			}
		}
	}
}

func TestSequencesInOrder(t *testing.T) {
	var s sequences
	s.settle(10)
	for n := uint64(11); n < 10_000; n++ {
		s.add(n)
	}
	if s.floor != 9999 || s.gaps() || s.add(5) || s.add(9999) || !s.add(10_000) {
		t.Errorf("%+v", s)
	}
}
