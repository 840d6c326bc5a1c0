package kvcache

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// slowPool does what [Pool] does, in the most obvious way: a list of all blocks
// in the order in which they got their hashes, and the free ones in the order
// in which they were released.
type slowPool struct {
	capacity int
	blocks   []*slowBlock // resident
	free     []*slowBlock // those without references, longest free first
	evicted  []uint64
}

type slowBlock struct {
	refs   int
	hash   uint64 // of a cached block
	parent uint64 // of generated text
	place  int    // in that text
	state  state
}

func (s *slowPool) find(hash uint64) *slowBlock {
	for _, b := range s.blocks {
		if b.state == cached && b.hash == hash {
			return b
		}
	}
	return nil
}

func (s *slowPool) match(hashes []uint64) int {
	n := 0
	for n < len(hashes) && s.find(hashes[n]) != nil {
		n++
	}
	return n
}

func (s *slowPool) fits(prefix []uint64, fresh int) bool {
	held := len(s.blocks) - len(s.free)
	for _, h := range prefix {
		if s.find(h).refs == 0 {
			held++
		}
	}
	return s.capacity == 0 || held+fresh <= s.capacity
}

func (s *slowPool) hold(prefix []uint64) (out []*slowBlock) {
	for _, h := range prefix {
		b := s.find(h)
		b.refs++
		s.free = slices.DeleteFunc(s.free, func(o *slowBlock) bool { return o == b })
		out = append(out, b)
	}
	return out
}

func (s *slowPool) allocate(fresh int) (out []*slowBlock, over int) {
	for s.capacity > 0 && len(s.blocks)+fresh > s.capacity && len(s.free) > 0 {
		b := s.free[0]
		s.free = s.free[1:]
		s.remove(b)
		if b.state == cached && s.find(b.hash) == nil {
			s.evicted = append(s.evicted, b.hash)
		}
	}
	if s.capacity > 0 {
		over = max(0, len(s.blocks)+fresh-s.capacity)
	}
	for range fresh {
		out = append(out, &slowBlock{refs: 1})
	}
	s.blocks = append(s.blocks, out...)
	return out, over
}

func (s *slowPool) remove(b *slowBlock) {
	s.blocks = slices.DeleteFunc(s.blocks, func(o *slowBlock) bool { return o == b })
}

func (s *slowPool) cache(b *slowBlock, hash uint64) (first bool) {
	if b.state == cached {
		return false
	}
	first = s.find(hash) == nil
	s.remove(b) // to the end of the copies
	s.blocks = append(s.blocks, b)
	b.state, b.hash = cached, hash
	return first
}

// name finds the blocks of the text that was kept last.
func (s *slowPool) keepAfter(parent uint64, blocks []*slowBlock) {
	for _, b := range s.blocks { // older texts after the same prompt are forgotten
		if b.state == anonymous && b.parent == parent {
			b.parent = 0
		}
	}
	for i, b := range blocks {
		b.state, b.parent, b.place = anonymous, parent, i
	}
}

func (s *slowPool) name(parent uint64, hashes []uint64) int {
	n := 0
	for _, h := range hashes {
		i := slices.IndexFunc(s.blocks, func(b *slowBlock) bool {
			return b.state == anonymous && b.parent == parent && b.place == n
		})
		if i < 0 {
			break
		}
		s.cache(s.blocks[i], h)
		n++
	}
	s.keepAfter(parent, nil)
	return n
}

func (s *slowPool) release(blocks []*slowBlock) {
	for _, b := range slices.Backward(blocks) {
		if b.refs--; b.refs > 0 {
			continue
		}
		if b.state == private {
			s.remove(b)
		} else {
			s.free = append(s.free, b)
		}
	}
}

// user is a request in both pools.
type user struct {
	prompt []uint64
	ids    []int32
	slow   []*slowBlock
	done   bool // its blocks have their hashes
}

// TestPool_Reference lets random requests use a small pool: with common
// beginnings, copies of the same block, generated text, some of which later
// prompts go on with, and more held than the capacity.
func TestPool_Reference(t *testing.T) {
	for seed := range uint64(150) {
		if err := comparePools(seed, 400); err != nil {
			t.Fatalf("seed %d: %s", seed, err)
		}
	}
}

// recorder is a table that lists what was deleted from it.
type recorder struct {
	Table
	deleted []uint64
}

func (r *recorder) Delete(hash uint64) {
	r.Table.Delete(hash)
	r.deleted = append(r.deleted, hash)
}

func comparePools(seed uint64, steps int) error {
	r := rand.New(rand.NewPCG(seed, 2))
	capacity := []int{0, 6, 15, 40}[r.IntN(4)]
	index := &recorder{}
	p := New(capacity, index)
	s := &slowPool{capacity: capacity}
	var users []*user
	for i := range steps {
		switch n := r.IntN(6); {
		case n < 2 || len(users) == 0:
			u, err := arrive(r, p, s)
			if err != nil {
				return fmt.Errorf("step %d: %w", i, err)
			}
			users = append(users, u)
		case n < 4:
			compute(users[r.IntN(len(users))], p, s)
		case n == 4:
			j := r.IntN(len(users))
			leave(r, users[j], p, s)
			users = slices.Delete(users, j, j+1)
		default:
			if r.IntN(20) == 0 && capacity > 0 {
				capacity = 5 + r.IntN(30)
				p.SetCapacity(capacity)
				s.capacity = capacity
			}
		}
		if err := equalPools(p, s, index.deleted); err != nil {
			return fmt.Errorf("step %d: %w", i, err)
		}
	}
	return nil
}

// chain makes the hash of a block from the one before it.
func chain(parent uint64, token int) uint64 { return (parent+uint64(token)+1)*0x9e3779b97f4a7c15 | 1 }

func arrive(r *rand.Rand, p *Pool, s *slowPool) (*user, error) {
	u := &user{}
	last := uint64(0)
	for range 1 + r.IntN(6) {
		last = chain(last, r.IntN(2)) // two ways to go on, so prefixes are shared
		u.prompt = append(u.prompt, last)
	}
	if k := r.IntN(len(u.prompt)); k > 0 {
		if got, want := p.Name(u.prompt[k-1], u.prompt[k:]), s.name(u.prompt[k-1], u.prompt[k:]); got != want {
			return nil, fmt.Errorf("Name gave %d blocks their hashes; want %d", got, want)
		}
	}
	m := p.Match(u.prompt)
	if want := s.match(u.prompt); m != want {
		return nil, fmt.Errorf("Match is %d; want %d", m, want)
	}
	m = r.IntN(m + 1) // requests may use less than there is
	fresh := len(u.prompt) - m + r.IntN(2)
	fits := p.Fits(u.prompt[:m], fresh)
	if want := s.fits(u.prompt[:m], fresh); fits != want {
		return nil, fmt.Errorf("Fits is %t; want %t", fits, want)
	}
	u.ids, u.slow = p.Hold(u.prompt[:m], nil), s.hold(u.prompt[:m])
	ids, over := p.Allocate(fresh, u.ids)
	slow, wantOver := s.allocate(fresh)
	if over != wantOver || fits && over > 0 {
		return nil, fmt.Errorf("Allocate went over by %d; want %d; Fits said %t", over, wantOver, fits)
	}
	u.ids, u.slow = ids, append(u.slow, slow...)
	return u, nil
}

func compute(u *user, p *Pool, s *slowPool) {
	for i, h := range u.prompt {
		if !u.done {
			p.Cache(u.ids[i], h)
			s.cache(u.slow[i], h)
		}
	}
	u.done = true
	ids, _ := p.Allocate(1, u.ids)
	slow, _ := s.allocate(1)
	u.ids, u.slow = ids, append(u.slow, slow...)
}

func leave(r *rand.Rand, u *user, p *Pool, s *slowPool) {
	if n := len(u.prompt); u.done && len(u.ids) > n {
		full := n + r.IntN(len(u.ids)-n+1)
		if r.IntN(2) == 0 {
			for i := n; i < full; i++ {
				p.Keep(u.ids[i])
				u.slow[i].state = anonymous
			}
		} else if full > n {
			p.KeepAfter(u.prompt[n-1], u.ids[n:full])
			s.keepAfter(u.prompt[n-1], u.slow[n:full])
		}
	}
	p.Release(u.ids)
	s.release(u.slow)
}

func equalPools(p *Pool, s *slowPool, evicted []uint64) error {
	switch {
	case p.Used() != len(s.blocks):
		return fmt.Errorf("Used is %d; want %d", p.Used(), len(s.blocks))
	case p.Held() != len(s.blocks)-len(s.free):
		return fmt.Errorf("Held is %d; want %d", p.Held(), len(s.blocks)-len(s.free))
	case !slices.Equal(evicted, s.evicted):
		return fmt.Errorf("evicted %d; want %d", evicted, s.evicted)
	}
	for _, h := range s.evicted {
		if p.Has(h) != (s.find(h) != nil) {
			return fmt.Errorf("Has(%d) is %t", h, p.Has(h))
		}
	}
	for _, b := range s.blocks {
		if b.state == cached && !p.Has(b.hash) {
			return fmt.Errorf("Has(%d) is false", b.hash)
		}
	}
	parents := map[uint64]bool{}
	for _, b := range s.blocks {
		parents[b.parent] = b.state == anonymous
	}
	if p.grown.Len() > len(parents) {
		return fmt.Errorf("%d generated texts are remembered; there are at most %d", p.grown.Len(), len(parents))
	}
	free := 0
	for id := p.oldest; id != none; id = p.slots[id].next {
		if sl, want := p.slots[id], s.free[free]; sl.state != want.state || sl.refs != 0 || want.state == cached && sl.hash != want.hash {
			return fmt.Errorf("free block %d is %+v; want %+v", free, sl, *want)
		}
		free++
	}
	if free != len(s.free) {
		return fmt.Errorf("%d free blocks; want %d", free, len(s.free))
	}
	return nil
}
