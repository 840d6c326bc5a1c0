package fleet

// blocks is what is known of each block of a workload on one rank. Workloads
// number their blocks, so nothing has to be hashed. What a rank never had takes
// no space beyond a pointer for a page.
type blocks struct{ pages []*page }

const pageBlocks = 128

type page [pageBlocks]cell

// cell is a block on a rank; the zero cell is a block that isn't there.
type cell struct {
	slot   int32 // in the pool, from 1 on
	active int32 // unfinished requests that have the block
	known  bool  // the router believes it cached
}

// get returns what is known of a block.
func (b *blocks) get(block uint64) cell {
	if i := block / pageBlocks; i < uint64(len(b.pages)) && b.pages[i] != nil {
		return b.pages[i][block%pageBlocks]
	}
	return cell{}
}

// at returns the cell of a block, to be changed.
func (b *blocks) at(block uint64) *cell {
	i := block / pageBlocks
	for i >= uint64(len(b.pages)) {
		b.pages = append(b.pages, nil)
	}
	if b.pages[i] == nil {
		b.pages[i] = new(page)
	}
	return &b.pages[i][block%pageBlocks]
}

// Get, Put and Delete make the rank the index of its pool.

func (k *rank) Get(block uint64) int32 { return k.blocks.get(block).slot - 1 }

func (k *rank) Put(block uint64, slot int32) { k.blocks.at(block).slot = slot + 1 }

// Delete notes a block that was evicted, too.
func (k *rank) Delete(block uint64) {
	k.blocks.at(block).slot = 0
	k.changes = append(k.changes, change{block, false})
}
