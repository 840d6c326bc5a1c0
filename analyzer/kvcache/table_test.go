package kvcache

import (
	"math/rand/v2"
	"testing"
)

// TestTable compares with a Go map. Few different keys make collisions, gaps
// and wrap-arounds frequent.
func TestTable(t *testing.T) {
	f := func(seed uint64, keys int, operations int) {
		t.Helper()
		r := rand.New(rand.NewPCG(seed, 1))
		var table Table
		want := map[uint64]int32{}
		for i := range operations {
			key := uint64(r.IntN(keys))
			if r.IntN(3) > 0 {
				key *= 0x0001_0001_0000_0001
			}
			switch r.IntN(3) {
			case 0:
				table.Delete(key)
				delete(want, key)
			default:
				table.Put(key, int32(i))
				want[key] = int32(i)
			}
			if table.Len() != len(want) {
				t.Fatalf("seed %d, operation %d: Len is %d; want %d", seed, i, table.Len(), len(want))
			}
			probe := uint64(r.IntN(keys))
			v, ok := want[probe]
			if !ok {
				v = -1
			}
			if got := table.Get(probe); got != v {
				t.Fatalf("seed %d, operation %d: Get(%d) is %d; want %d", seed, i, probe, got, v)
			}
		}
		for key, v := range want {
			if got := table.Get(key); got != v {
				t.Fatalf("seed %d: Get(%d) is %d; want %d", seed, key, got, v)
			}
		}
	}
	for seed := range uint64(30) {
		f(seed, 1+int(seed), 300)
		f(seed, 1000, 3000)
	}
}

func TestTable_Zero(t *testing.T) {
	var table Table
	if table.Get(0) != -1 || table.Len() != 0 {
		t.Fatal("the zero value isn't empty")
	}
	table.Delete(0)
	table.Put(0, 0)
	if table.Get(0) != 0 || table.Get(1) != -1 || table.Len() != 1 {
		t.Fatal("0 isn't a key and a value like others")
	}
	table.Delete(1)
	table.Delete(0)
	if table.Get(0) != -1 || table.Len() != 0 {
		t.Fatal("0 is still there")
	}
}
