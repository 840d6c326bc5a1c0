// Package kvcache is the block manager of one worker rank, as vLLM-like engines
// have it: a fixed number of KV blocks, full blocks shared by content hash
// through reference counts, and the least recently released ones evicted first.
// The twin and the fleet simulation use the same one.
package kvcache

// none ends the linked lists.
const none = int32(-1)

// Pool holds the blocks of one rank. It is not safe for concurrent use. A block
// takes about 50 bytes.
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
	first    map[uint64]int32
	oldest   int32 // the list of evictable blocks, least recently released first
	newest   int32
	evictees int
	evicted  func(hash uint64)
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
	twin       int32 // another copy of the same hash
	state      state
}

// New returns an empty pool of capacity blocks; 0 stands for no limit. evicted
// is called with each hash whose last copy is gone; it may be nil.
func New(capacity int, evicted func(hash uint64)) *Pool {
	if evicted == nil {
		evicted = func(uint64) {}
	}
	return &Pool{capacity: capacity, first: map[uint64]int32{}, oldest: none, newest: none, evicted: evicted}
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
	_, ok := p.first[hash]
	return ok
}

// Match returns how many of the hashes are resident, from the first on.
func (p *Pool) Match(hashes []uint64) int {
	for i, h := range hashes {
		if _, ok := p.first[h]; !ok {
			return i
		}
	}
	return len(hashes)
}

// Fits says whether fresh blocks can be allocated beside holding the prefix,
// without exceeding the capacity.
func (p *Pool) Fits(prefix []uint64, fresh int) bool {
	if p.capacity == 0 {
		return true
	}
	pinned := 0
	for _, h := range prefix {
		if p.slots[p.first[h]].refs == 0 {
			pinned++
		}
	}
	return p.Used()-(p.evictees-pinned)+fresh <= p.capacity
}

// Hold takes a reference on each block of a resident prefix (see [Pool.Match])
// and appends them to ids.
func (p *Pool) Hold(prefix []uint64, ids []int32) []int32 {
	for _, h := range prefix {
		id := p.first[h]
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

// Cache gives a held private block its hash. A second copy of a resident hash
// takes space of its own and is found only when the first is gone.
func (p *Pool) Cache(id int32, hash uint64) {
	s := &p.slots[id]
	if s.state == cached {
		return
	}
	s.state, s.hash = cached, hash
	head, ok := p.first[hash]
	if !ok {
		p.first[hash] = id
		return
	}
	for p.slots[head].twin != none {
		head = p.slots[head].twin
	}
	p.slots[head].twin = id
}

// Keep makes a held private block anonymous.
func (p *Pool) Keep(id int32) {
	if s := &p.slots[id]; s.state == private {
		s.state = anonymous
	}
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
	if s.state == cached {
		p.forget(id, s)
	}
	p.unused = append(p.unused, id)
}

// forget takes a copy out of the index.
func (p *Pool) forget(id int32, s *slot) {
	if head := p.first[s.hash]; head != id {
		for p.slots[head].twin != id {
			head = p.slots[head].twin
		}
		p.slots[head].twin = s.twin
		return
	}
	if s.twin != none {
		p.first[s.hash] = s.twin
		return
	}
	delete(p.first, s.hash)
	p.evicted(s.hash)
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
