package shadow

import (
	"math"
	"strconv"
)

// Fixed is a number of blocks or selections with 20 binary places. Sums of it
// are exact and independent of their order, so that partial results merge to
// the same total whichever way the input was divided. It holds up to 8.7e12
// and is exact for every value that comes from a block size of up to 2^20
// that is a power of two.
type Fixed int64

const fixedOne = 1 << 20

// toFixed rounds half away from zero; values out of range saturate.
func toFixed(v float64) Fixed {
	v = math.Round(v * fixedOne)
	switch {
	case v >= math.MaxInt64:
		return math.MaxInt64
	case v <= math.MinInt64:
		return math.MinInt64
	}
	return Fixed(v)
}

// Float64 returns the value; it is exact below 2^33.
func (f Fixed) Float64() float64 { return float64(f) / fixedOne }

// String returns the shortest decimal form.
func (f Fixed) String() string { return strconv.FormatFloat(f.Float64(), 'g', -1, 64) }
