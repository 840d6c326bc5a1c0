package kvcache_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/kvshadow/kvshadow/analyzer/kvcache"
)

// Two prompts of three blocks, the first two in common, in a pool of four.
func ExamplePool() {
	p := kvcache.New(4, &kvcache.Table{})
	serve := func(prompt ...uint64) {
		n := p.Match(prompt)
		ids := p.Hold(prompt[:n], nil)
		ids, _ = p.Allocate(len(prompt)-n, ids)
		for i := n; i < len(prompt); i++ {
			p.Cache(ids[i], prompt[i])
		}
		p.Release(ids)
		fmt.Println(n, "reused,", p.Used(), "of", p.Capacity(), "in use,", p.Held(), "held")
	}
	serve(1, 2, 3)
	serve(1, 2, 4)
	serve(5, 6) // block 3 is free for the longest time, then comes the end of 1, 2, 4
	fmt.Println(p.Has(2), p.Has(3), p.Has(4))
	// Output:
	// 0 reused, 3 of 4 in use, 0 held
	// 2 reused, 4 of 4 in use, 0 held
	// 0 reused, 4 of 4 in use, 0 held
	// true false false
}

// A later prompt shows what the text was that an earlier request generated.
func ExamplePool_Name() {
	p := kvcache.New(0, &kvcache.Table{})
	ids, _ := p.Allocate(3, nil)
	p.Cache(ids[0], 10)
	p.KeepAfter(10, ids[1:])
	p.Release(ids)
	next := []uint64{10, 11, 12, 13}
	fmt.Println(p.Match(next))
	fmt.Println(p.Name(10, next[1:]), p.Match(next))
	// Output:
	// 1
	// 2 3
}

func TestPool_Over(t *testing.T) {
	f := func(capacity, held, fresh, wantOver int) {
		t.Helper()
		p := kvcache.New(capacity, &kvcache.Table{})
		ids, _ := p.Allocate(held, nil)
		fits := p.Fits(nil, fresh)
		ids, over := p.Allocate(fresh, ids)
		if over != wantOver || fits != (wantOver == 0) {
			t.Fatalf("over by %d, fits %t; want over by %d", over, fits, wantOver)
		}
		p.Release(ids)
		if p.Used() != 0 || p.Held() != 0 {
			t.Fatalf("private blocks stay: %d used, %d held", p.Used(), p.Held())
		}
	}
	f(10, 4, 6, 0)
	f(10, 4, 7, 1)
	f(10, 12, 1, 3)
	f(0, 1000, 1000, 0)
	f(10, 0, 0, 0)
}

// A pool that is full works without allocating.
func TestPool_Allocations(t *testing.T) {
	p := kvcache.New(1000, &kvcache.Table{})
	ids, next := make([]int32, 0, 64), uint64(0)
	serve := func() {
		ids, _ = p.Allocate(50, ids[:0])
		for _, id := range ids {
			p.Cache(id, next)
			next++
		}
		p.Release(ids)
	}
	for range 100 {
		serve()
	}
	if n := testing.AllocsPerRun(200, serve); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestPool_Memory holds what a block takes against what the documentation says.
func TestPool_Memory(t *testing.T) {
	const blocks, stated = 100_000, 72
	before := heap()
	p := kvcache.New(blocks, &kvcache.Table{})
	var ids []int32
	for i := range uint64(3 * blocks) {
		ids, _ = p.Allocate(1, ids[:0])
		p.Cache(ids[0], i)
		p.Release(ids)
	}
	got := float64(heap()-before) / blocks
	t.Logf("%.1f bytes a block", got)
	if p.Used() != blocks || got > stated {
		t.Errorf("%.1f bytes a block with %d blocks; want at most %d", got, p.Used(), stated)
	}
	runtime.KeepAlive(p)
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
