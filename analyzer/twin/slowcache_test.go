package twin

import "slices"

// slowCache is an engine's block manager as a list of blocks.
type slowCache struct {
	capacity int
	blocks   []*slowBlock // copies of a hash in the order in which they got it
	free     []*slowBlock // longest free first
}

type slowBlock struct {
	refs  int
	kind  string // "", "cached" or "generated"
	hash  uint64 // its own, or that of the block before generated text
	place int    // in generated text
}

func (c *slowCache) find(hash uint64) *slowBlock {
	for _, b := range c.blocks {
		if b.kind == "cached" && b.hash == hash {
			return b
		}
	}
	return nil
}

func (c *slowCache) remove(b *slowBlock) {
	c.blocks = slices.DeleteFunc(c.blocks, func(o *slowBlock) bool { return o == b })
}

func (c *slowCache) hold(prefix []uint64) (out []*slowBlock) {
	for _, h := range prefix {
		b := c.find(h)
		b.refs++
		c.free = slices.DeleteFunc(c.free, func(o *slowBlock) bool { return o == b })
		out = append(out, b)
	}
	return out
}

// allocate returns new blocks and the hashes that are gone for them.
func (c *slowCache) allocate(fresh int) (out []*slowBlock, gone []uint64) {
	for c.capacity > 0 && len(c.blocks)+fresh > c.capacity && len(c.free) > 0 {
		b := c.free[0]
		c.free = c.free[1:]
		c.remove(b)
		if b.kind == "cached" && c.find(b.hash) == nil {
			gone = append(gone, b.hash)
		}
	}
	for range fresh {
		out = append(out, &slowBlock{refs: 1})
	}
	c.blocks = append(c.blocks, out...)
	return out, gone
}

func (c *slowCache) cache(b *slowBlock, hash uint64) {
	c.remove(b)
	c.blocks = append(c.blocks, b)
	b.kind, b.hash = "cached", hash
}

func (c *slowCache) generated(parent uint64) (out []*slowBlock) {
	for _, b := range c.blocks {
		if b.kind == "generated" && b.hash == parent {
			out = append(out, b)
		}
	}
	return out
}

func (c *slowCache) keep(parent uint64, blocks []*slowBlock) {
	for _, b := range c.generated(parent) {
		b.kind = "forgotten"
	}
	for i, b := range blocks {
		b.kind, b.hash, b.place = "generated", parent, i
	}
}

func (c *slowCache) name(parent uint64, hashes []uint64) {
	text := c.generated(parent)
	for i, h := range hashes {
		at := slices.IndexFunc(text, func(b *slowBlock) bool { return b.place == i })
		if at < 0 {
			break
		}
		c.cache(text[at], h)
	}
	c.keep(parent, nil)
}

func (c *slowCache) release(blocks []*slowBlock) {
	for _, b := range slices.Backward(blocks) {
		if b.refs--; b.refs > 0 {
			continue
		}
		if b.kind == "" {
			c.remove(b)
		} else {
			c.free = append(c.free, b)
		}
	}
}
