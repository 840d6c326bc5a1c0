package fleet

import (
	"fmt"
	"math"
	"os"

	"go.yaml.in/yaml/v4"
)

// Timing says how long an engine's step takes, in milliseconds. The formula is
// the mock engine's: prefill of t uncached tokens takes A t^2 + B t + C, a
// decode step takes P u^2 + Q u + R, where u is the tokens of all sequences that
// decode over the tokens of the KV capacity, at most 1; and it takes at least 1.
type Timing struct {
	PrefillMs [3]float64 `yaml:"prefill_ms"` // A, B, C
	DecodeMs  [3]float64 `yaml:"decode_ms"`  // P, Q, R
}

// MockTiming returns the default timing of Dynamo's mock engine.
func MockTiming() Timing {
	return Timing{
		PrefillMs: [3]float64{4.209989e-07, 1.518344e-02, 1.650142e+01},
		DecodeMs:  [3]float64{-25.74, 54.01, 5.74},
	}
}

// LoadTiming reads a timing file: YAML with prefill_ms and decode_ms, three
// numbers each.
func LoadTiming(path string) (Timing, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return Timing{}, err
	}
	t := MockTiming()
	if err := yaml.Load(data, &t, yaml.WithKnownFields()); err != nil {
		return Timing{}, fmt.Errorf("%s: %w", path, err)
	}
	for _, v := range append(t.PrefillMs[:], t.DecodeMs[:]...) {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return Timing{}, fmt.Errorf("%s: a number is not finite", path)
		}
	}
	return t, nil
}

// Prefill returns the time for uncached prompt tokens.
func (t *Timing) Prefill(tokens int) float64 {
	x := float64(tokens)
	return max(0, t.PrefillMs[0]*x*x+t.PrefillMs[1]*x+t.PrefillMs[2])
}

// Decode returns the time of a row of decode steps: the first reads context
// tokens of a capacity, each further one grows by growth more.
func (t *Timing) Decode(steps int, context, growth, capacity int) float64 {
	n, u, du := float64(steps), float64(context)/float64(capacity), float64(growth)/float64(capacity)
	last := u + (n-1)*du
	if last > 1 || t.decodeAt(u) < 1 || t.decodeAt(last) < 1 {
		return t.decodeOneByOne(steps, u, du)
	}
	i, ii := n*(n-1)/2, (n-1)*n*(2*n-1)/6 // sums of i and of i^2
	squares := n*u*u + 2*u*du*i + du*du*ii
	return t.DecodeMs[0]*squares + t.DecodeMs[1]*(n*u+du*i) + t.DecodeMs[2]*n
}

func (t *Timing) decodeOneByOne(steps int, u, du float64) float64 {
	sum := 0.0
	for i := range steps {
		sum += max(1, t.decodeAt(u+float64(i)*du))
	}
	return sum
}

func (t *Timing) decodeAt(u float64) float64 {
	u = min(u, 1)
	return t.DecodeMs[0]*u*u + t.DecodeMs[1]*u + t.DecodeMs[2]
}
