package shadow

import (
	"math"
	"math/big"
	"math/rand"
	"testing"
)

func TestFixed_Exact(t *testing.T) {
	f := func(v float64, want string) {
		t.Helper()
		x := toFixed(v)
		if x.Float64() != v || x.String() != want {
			t.Errorf("%v became %v, %q", v, x.Float64(), x)
		}
	}
	f(0, "0")
	f(1, "1")
	f(-2.5, "-2.5")
	f(48.375, "48.375")
	f(1.0/(1<<20), "9.5367431640625e-07")
	f(1<<33-1.0/(1<<20), "8.589934591999999e+09")
	f(1<<42, "4.398046511104e+12")
	// Whatever came from blocks of a power of two of tokens.
	r := rand.New(rand.NewSource(1))
	for range 10000 {
		v := float64(r.Intn(1<<30)) / float64(int(1)<<r.Intn(21))
		if toFixed(v).Float64() != v {
			t.Errorf("%v became %v", v, toFixed(v).Float64())
		}
	}
}

func TestFixed_Rounding(t *testing.T) {
	f := func(v float64, want Fixed) {
		t.Helper()
		if got := toFixed(v); got != want {
			t.Errorf("%v became %d, want %d", v, got, want)
		}
	}
	const unit = 1.0 / (1 << 20)
	f(0.5*unit, 1)
	f(-0.5*unit, -1)
	f(0.49*unit, 0)
	f(1.5*unit, 2)
	f(1.0/3, 349525) // 2^20/3 = 349525.33
	f(2.0/3, 699051) // 699050.67
	// Out of range, values saturate.
	f(8.8e12, math.MaxInt64)
	f(-8.8e12, math.MinInt64)
	f(1e300, math.MaxInt64)
	f(math.Inf(1), math.MaxInt64)
	f(math.Inf(-1), math.MinInt64)
	f(8.7e12, 8.7e12*(1<<20))
}

// TestFixed_Sums: sums are exact and don't depend on their order, which sums
// of floats do.
func TestFixed_Sums(t *testing.T) {
	r := rand.New(rand.NewSource(2))
	values, exact := make([]Fixed, 2000), new(big.Rat)
	for i := range values {
		v := r.Float64() * math.Pow(10, float64(r.Intn(9)))
		values[i] = toFixed(v)
		exact.Add(exact, new(big.Rat).SetFrac64(int64(values[i]), 1<<20))
	}
	var want Fixed
	for range 20 {
		r.Shuffle(len(values), func(i, j int) { values[i], values[j] = values[j], values[i] })
		var sum Fixed
		for _, v := range values {
			sum += v
		}
		if want == 0 {
			want = sum
		}
		if sum != want || new(big.Rat).SetFrac64(int64(sum), 1<<20).Cmp(exact) != 0 {
			t.Errorf("the sum is %d, want %d", sum, want)
		}
	}
}
