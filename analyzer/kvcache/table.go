package kvcache

import "math/rand/v2"

// Table maps content hashes to small numbers from 0 on. It does what a Go map
// does with one cache miss instead of several: 16 bytes an entry, at a load
// between 2/5 and 4/5. The zero value is an empty table.
type Table struct {
	cells []cell
	n     int
	shift uint
	seed  uint64
}

type cell struct {
	key   uint64
	value int32 // none where there is no entry
}

// Len returns the number of entries.
func (t *Table) Len() int { return t.n }

// Get returns the number of a hash, or -1.
func (t *Table) Get(hash uint64) int32 {
	if t.n == 0 {
		return none
	}
	mask := len(t.cells) - 1
	for i := t.home(hash); ; i = (i + 1) & mask {
		if c := &t.cells[i]; c.value == none || c.key == hash {
			return c.value
		}
	}
}

// Put sets the number of a hash, which must not be negative.
func (t *Table) Put(hash uint64, value int32) {
	if 5*(t.n+1) > 4*len(t.cells) {
		t.grow()
	}
	mask := len(t.cells) - 1
	i := t.home(hash)
	for ; t.cells[i].value != none; i = (i + 1) & mask {
		if t.cells[i].key == hash {
			t.cells[i].value = value
			return
		}
	}
	t.cells[i] = cell{hash, value}
	t.n++
}

// Delete removes a hash if it is there.
func (t *Table) Delete(hash uint64) {
	if t.n == 0 {
		return
	}
	mask := len(t.cells) - 1
	i := t.home(hash)
	for ; t.cells[i].key != hash || t.cells[i].value == none; i = (i + 1) & mask {
		if t.cells[i].value == none {
			return
		}
	}
	t.n--
	// Entries behind the gap move into it unless that is before their home.
	for j := i; ; {
		j = (j + 1) & mask
		if t.cells[j].value == none {
			break
		}
		if h := t.home(t.cells[j].key); (j-h)&mask >= (j-i)&mask {
			t.cells[i] = t.cells[j]
			i = j
		}
	}
	t.cells[i].value = none
}

// home is where the search for a hash begins. The hashes of other systems may
// be small numbers or chosen by someone, so they are mixed with a secret.
func (t *Table) home(hash uint64) int {
	h := (hash ^ t.seed) * 0x9e3779b97f4a7c15
	h ^= h >> 32
	return int(h * 0xd6e8feb86659fd93 >> t.shift)
}

func (t *Table) grow() {
	old := *t
	size := max(16, 2*len(old.cells))
	t.cells, t.n = make([]cell, size), 0
	for i := range t.cells {
		t.cells[i].value = none
	}
	t.shift = 64
	for s := size; s > 1; s >>= 1 {
		t.shift--
	}
	if t.seed == 0 {
		t.seed = rand.Uint64() | 1
	}
	for _, c := range old.cells {
		if c.value != none {
			t.Put(c.key, c.value)
		}
	}
}
