// Package kvcache is the block manager of one worker rank, as vLLM-like engines
// have it: a fixed number of KV blocks, full blocks shared by content hash
// through reference counts, and the least recently released ones evicted first.
// The twin and the fleet simulation use the same one.
package kvcache

// none ends the linked lists.
const none = int32(-1)

// Pool holds the blocks of one rank. It is not safe for concurrent use. A block
// takes 52 to 72 bytes, 32 of them if its index is elsewhere.
//
// A block is one of three: private (held by one request, unknown to others),
// cached (its content has a hash, by which other requests find it), or
// anonymous (worth keeping but with unknown hash, as generated text is to a
// reader of traces). Released private blocks are free at once; cached and
// anonymous ones stay until their space is needed.
type Pool struct {
	capacity int
	slots    []slot
	unused   []int32 // slots without a block
	first    Index   // the first copy of each resident hash
	grown    Table   // by the hash before it, the first block of generated text
	oldest   int32   // the list of evictable blocks, least recently released first
	newest   int32
	evictees int
}

type state uint8

const (
	private state = iota
	anonymous
	cached
)

type slot struct {
	hash       uint64
	refs       int32
	prev, next int32 // of the evictable blocks
	twin       int32 // another copy of the same hash; the next of generated text
	last       int32 // of the copies, if this is the first
	state      state
}

// Index finds the first copy of each resident block by its hash, or by whatever
// numbers stand for hashes. Get returns -1 for others. Delete tells it that the
// last copy was evicted.
type Index interface {
	Get(hash uint64) int32
	Put(hash uint64, id int32)
	Delete(hash uint64)
}

// New returns an empty pool of capacity blocks; 0 stands for no limit. It keeps
// its index in an empty [Table], or wherever else the caller knows more of its
// blocks.
func New(capacity int, index Index) *Pool {
	return &Pool{capacity: capacity, first: index, oldest: none, newest: none}
}

// SetCapacity changes the number of blocks, 0 for no limit. A smaller pool
// shrinks with the next allocation.
func (p *Pool) SetCapacity(capacity int) { p.capacity = capacity }

// Capacity returns the number of blocks, 0 for no limit.
func (p *Pool) Capacity() int { return p.capacity }

// Used returns how many blocks are held or kept.
func (p *Pool) Used() int { return len(p.slots) - len(p.unused) }

// Held returns how many blocks requests hold; the others can be evicted.
func (p *Pool) Held() int { return p.Used() - p.evictees }

// Has says whether a full block with that hash is resident.
func (p *Pool) Has(hash uint64) bool {
	return p.first.Get(hash) != none
}

// Match returns how many of the hashes are resident, from the first on.
func (p *Pool) Match(hashes []uint64) int {
	for i, h := range hashes {
		if p.first.Get(h) == none {
			return i
		}
	}
	return len(hashes)
}

// Fits says whether fresh blocks can be allocated beside holding a resident
// prefix (see [Pool.Match]), without exceeding the capacity.
func (p *Pool) Fits(prefix []uint64, fresh int) bool {
	if p.capacity == 0 {
		return true
	}
	pinned := 0
	for _, h := range prefix {
		if p.slots[p.first.Get(h)].refs == 0 {
			pinned++
		}
	}
	return p.Used()-(p.evictees-pinned)+fresh <= p.capacity
}

// Hold takes a reference on each block of a resident prefix (see [Pool.Match])
// and appends them to ids.
func (p *Pool) Hold(prefix []uint64, ids []int32) []int32 {
	for _, h := range prefix {
		id := p.first.Get(h)
		s := &p.slots[id]
		if s.refs == 0 {
			p.unlink(id)
		}
		s.refs++
		ids = append(ids, id)
	}
	return ids
}

// Allocate appends fresh private blocks to ids, evicting as many as the
// capacity asks for. If too few can be evicted the pool grows past its
// capacity: over says by how many blocks. Callers that must not do that ask
// [Pool.Fits] first.
func (p *Pool) Allocate(fresh int, ids []int32) (out []int32, over int) {
	if p.capacity > 0 {
		for over = p.Used() + fresh - p.capacity; over > 0 && p.oldest != none; over-- {
			p.evict()
		}
	}
	for range fresh {
		id := int32(len(p.slots))
		if n := len(p.unused); n > 0 {
			id, p.unused = p.unused[n-1], p.unused[:n-1]
		} else {
			p.slots = append(p.slots, slot{})
		}
		p.slots[id] = slot{refs: 1, prev: none, next: none, twin: none}
		ids = append(ids, id)
	}
	return ids, max(0, over)
}

// Cache gives a held private block its hash, and says whether that is the first
// copy. Another copy of a resident hash takes space of its own and is found only
// when the first is gone.
func (p *Pool) Cache(id int32, hash uint64) (first bool) {
	s := &p.slots[id]
	if s.state == cached {
		return false
	}
	s.state, s.hash, s.twin = cached, hash, none
	head := p.first.Get(hash)
	if head == none {
		s.last = id
		p.first.Put(hash, id)
		return true
	}
	h := &p.slots[head]
	p.slots[h.last].twin, h.last = id, id
	return false
}

// Keep makes a held private block anonymous.
func (p *Pool) Keep(id int32) {
	if s := &p.slots[id]; s.state == private {
		s.state = anonymous
	}
}

// KeepAfter makes held private blocks anonymous that hold text generated after
// the block of hash parent.
func (p *Pool) KeepAfter(parent uint64, ids []int32) {
	if len(ids) == 0 {
		return
	}
	next := none
	for i := len(ids) - 1; i >= 0; i-- {
		if s := &p.slots[ids[i]]; s.state == private {
			s.state, s.hash, s.twin = anonymous, parent, next
			next = ids[i]
		}
	}
	if next != none {
		p.grown.Put(parent, next)
	}
}

// Name gives the blocks that were last kept after parent the hashes that turned
// out to be theirs, and returns how many have one now.
func (p *Pool) Name(parent uint64, hashes []uint64) int {
	id := p.grown.Get(parent)
	p.grown.Delete(parent)
	for i, h := range hashes {
		// The end of the text may have been evicted, and its space used anew.
		if id == none || p.slots[id].state != anonymous || p.slots[id].hash != parent {
			return i
		}
		next := p.slots[id].twin
		p.Cache(id, h)
		id = next
	}
	return len(hashes)
}

// Release gives up one reference on each block, the last one first, so that the
// end of a prompt is evicted before its beginning.
func (p *Pool) Release(ids []int32) {
	for i := len(ids) - 1; i >= 0; i-- {
		id := ids[i]
		s := &p.slots[id]
		if s.refs--; s.refs > 0 {
			continue
		}
		if s.state == private {
			p.unused = append(p.unused, id)
			continue
		}
		s.prev, s.next = p.newest, none
		if p.newest == none {
			p.oldest = id
		} else {
			p.slots[p.newest].next = id
		}
		p.newest = id
		p.evictees++
	}
}

// evict frees the least recently released block.
func (p *Pool) evict() {
	id := p.oldest
	p.unlink(id)
	s := &p.slots[id]
	switch {
	case s.state == cached:
		p.forget(id, s)
	case p.grown.Get(s.hash) == id:
		p.grown.Delete(s.hash)
	}
	s.state = private
	p.unused = append(p.unused, id)
}

// forget takes a copy out of the index.
func (p *Pool) forget(id int32, s *slot) {
	if head := p.first.Get(s.hash); head != id {
		before := head
		for p.slots[before].twin != id {
			before = p.slots[before].twin
		}
		if p.slots[before].twin = s.twin; s.twin == none {
			p.slots[head].last = before
		}
		return
	}
	if s.twin != none {
		p.slots[s.twin].last = s.last
		p.first.Put(s.hash, s.twin)
		return
	}
	p.first.Delete(s.hash)
}

func (p *Pool) unlink(id int32) {
	s := &p.slots[id]
	if s.prev == none {
		p.oldest = s.next
	} else {
		p.slots[s.prev].next = s.next
	}
	if s.next == none {
		p.newest = s.prev
	} else {
		p.slots[s.next].prev = s.prev
	}
	s.prev, s.next = none, none
	p.evictees--
}
