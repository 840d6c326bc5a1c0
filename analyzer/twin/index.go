package twin

import "github.com/kvshadow/kvshadow/analyzer/kvcache"

// none ends the linked lists.
const none = int32(-1)

// index is what the router and the engines know of the blocks of a fleet: on
// which ranks each of them is in use or cached, and in which slot of the rank's
// pool. All candidates of a choice are read off in one walk over the prompt.
// Its arrays hold no pointers. Most blocks are on one rank only.
type index struct {
	table     kvcache.Table // nodes by hash
	nodes     []node
	more      []entry // the entries of nodes beyond the first
	freeNode  int32
	freeEntry int32
}

// node is a block. It lives while requests refer to it or ranks have it; if no
// rank does, its entry's rank is none. Nodes are numbered, and their numbers
// stand for hashes.
type node struct {
	hash uint64
	refs int32
	entry
}

// entry is a block on a rank.
type entry struct {
	rank    int32 // number in the fleet
	next    int32 // further entry of the node, or free
	slot    int32 // in the rank's pool, or none
	active  int32 // unfinished requests that have the block
	assumed int32 // reasons why the router believes it cached that isn't
}

func newIndex() index { return index{freeNode: none, freeEntry: none} }

// intern appends the nodes of blocks, with a reference on each.
func (x *index) intern(blocks, out []uint64) []uint64 {
	for _, h := range blocks {
		n := x.table.Get(h)
		if n == none {
			n = x.insert(h)
		}
		x.nodes[n].refs++
		out = append(out, uint64(n))
	}
	return out
}

func (x *index) insert(hash uint64) int32 {
	n := x.freeNode
	if n != none {
		x.freeNode = x.nodes[n].next
	} else {
		n = int32(len(x.nodes))
		x.nodes = append(x.nodes, node{})
	}
	x.nodes[n] = node{hash: hash, entry: entry{rank: none, next: none}}
	x.table.Put(hash, n)
	return n
}

// release gives up the references of intern.
func (x *index) release(nodes []uint64) {
	for _, n := range nodes {
		x.nodes[n].refs--
		x.collect(n)
	}
}

func (x *index) collect(n uint64) {
	if p := &x.nodes[n]; p.refs == 0 && p.rank == none {
		x.table.Delete(p.hash)
		p.next, x.freeNode = x.freeNode, int32(n)
	}
}

// find returns the entry of a rank, or nil. It is valid until the next add.
func (x *index) find(n uint64, rank int32) *entry {
	e := &x.nodes[n].entry
	for e.rank != rank {
		if e.next == none {
			return nil
		}
		e = &x.more[e.next]
	}
	return e
}

// add returns the entry of a rank, which is new if need be.
func (x *index) add(n uint64, rank int32) *entry {
	if e := x.find(n, rank); e != nil {
		return e
	}
	fresh := entry{rank: rank, next: none, slot: none}
	head := &x.nodes[n].entry
	if head.rank == none {
		*head = fresh
		return head
	}
	id := x.freeEntry
	if id != none {
		x.freeEntry = x.more[id].next
	} else {
		id = int32(len(x.more))
		x.more = append(x.more, entry{})
	}
	fresh.next, head.next = head.next, id
	x.more[id] = fresh
	return &x.more[id]
}

// tidy removes the entry of a rank if it says nothing any more.
func (x *index) tidy(n uint64, e *entry) {
	if e.active == 0 && e.assumed == 0 && e.slot == none {
		x.remove(n, e.rank)
	}
}

func (x *index) remove(n uint64, rank int32) {
	head := &x.nodes[n].entry
	if head.rank == rank {
		id := head.next
		if id == none {
			head.rank = none
			x.collect(n)
			return
		}
		*head = x.more[id]
		x.free(id)
		return
	}
	for e := head; e.next != none; e = &x.more[e.next] {
		if id := e.next; x.more[id].rank == rank {
			e.next = x.more[id].next
			x.free(id)
			return
		}
	}
}

func (x *index) free(id int32) { x.more[id].next, x.freeEntry = x.freeEntry, id }

// forget removes ranks from every block.
func (x *index) forget(ranks map[int32]bool) {
	for n := range x.nodes {
		if x.table.Get(x.nodes[n].hash) != int32(n) {
			continue // free
		}
		for rank := range ranks {
			if x.nodes[n].rank != none && x.find(uint64(n), rank) != nil {
				x.remove(uint64(n), rank)
			}
		}
	}
}

// prefix is how much of a prompt a rank has, in blocks from the first on.
type prefix struct{ cached, active int32 }

// look measures a prompt on every rank. Hashes chain, so a block is shared only
// if all before it are. bySlot says that what is resident counts as cached.
func (x *index) look(nodes []uint64, on []prefix, bySlot bool) {
	clear(on)
	for i, n := range nodes {
		e, i, more := &x.nodes[n].entry, int32(i), false
		for e.rank != none {
			p := &on[e.rank]
			if p.cached == i && (e.assumed > 0 || bySlot && e.slot != none) {
				p.cached++
				more = true
			}
			if p.active == i && e.active > 0 {
				p.active++
				more = true
			}
			if e.next == none {
				break
			}
			e = &x.more[e.next]
		}
		if !more {
			return
		}
	}
}
