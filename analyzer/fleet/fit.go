package fleet

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// fitGrowing fits a parabola if it keeps growing beyond the samples up to a
// place, as times do, and a line otherwise: samples of a narrow range tell no
// curvature.
func fitGrowing(samples []sample, upTo float64) (p [3]float64, f Fit, err error) {
	p, f, err = fit(samples, true)
	if err == nil && p[0]*upTo*upTo+p[1]*upTo < p[0]*f.Most*f.Most+p[1]*f.Most {
		return fit(samples, false)
	}
	return p, f, err
}

// fit finds a, b and c of a x^2 + b x + c along the lower edge of the samples,
// a = 0 for a line: whatever lies further above than the spread below it is left
// out, until nothing changes.
func fit(samples []sample, parabola bool) (p [3]float64, f Fit, err error) {
	if len(samples) < MinCalibration {
		return p, f, fmt.Errorf("%d requests are usable, %d are needed", len(samples), MinCalibration)
	}
	if !varied(samples) {
		return p, f, fmt.Errorf("the %d usable requests are all alike: a polynomial needs a range", len(samples))
	}
	used := samples
	for range 50 {
		if p, err = leastSquares(used, parabola); err != nil {
			return p, f, err
		}
		kept := trim(samples, p)
		if len(kept) < MinCalibration || !varied(kept) {
			break
		}
		same := len(kept) == len(used)
		if used = kept; same {
			break
		}
	}
	return p, quality(used, len(samples), p), nil
}

func (s *sample) residual(p [3]float64) float64 { return s.y - p[0]*s.xx - p[1]*s.x - p[2] }

// trim drops the samples that are further above the curve than most of those
// below it are under it.
func trim(samples []sample, p [3]float64) []sample {
	var below []float64
	for i := range samples {
		if r := samples[i].residual(p); r < 0 {
			below = append(below, -r)
		}
	}
	limit := 3 * quantile(below, 0.5)
	var kept []sample
	for i := range samples {
		if samples[i].residual(p) <= limit {
			kept = append(kept, samples[i])
		}
	}
	return kept
}

// varied says whether three coefficients can be told apart: the samples have
// more than three different places over a range that isn't narrow.
func varied(samples []sample) bool {
	places := map[float64]bool{}
	least, most := math.Inf(1), math.Inf(-1)
	for i := range samples {
		x := samples[i].x
		places[x] = true
		least, most = min(least, x), max(most, x)
	}
	return len(places) > 3 && most-least > 0.2*most
}

// leastSquares solves the normal equations, whose unknowns are scaled so that
// each is near 1.
func leastSquares(samples []sample, parabola bool) (p [3]float64, err error) {
	scale := 0.0
	for i := range samples {
		scale = max(scale, math.Abs(samples[i].x))
	}
	var m [3][4]float64
	for i := range samples {
		s := &samples[i]
		row := [4]float64{s.xx / scale / scale, s.x / scale, 1, s.y}
		for a := range 3 {
			for b := range 4 {
				m[a][b] += row[a] * row[b]
			}
		}
	}
	if !parabola {
		m[0], m[1][0], m[2][0] = [4]float64{1, 0, 0, 0}, 0, 0
	}
	if p, err = solve(m); err != nil {
		return p, err
	}
	return [3]float64{p[0] / scale / scale, p[1] / scale, p[2]}, nil
}

// solve eliminates three equations with the largest pivots.
func solve(m [3][4]float64) (x [3]float64, err error) {
	for c := range 3 {
		pivot := c
		for r := c + 1; r < 3; r++ {
			if math.Abs(m[r][c]) > math.Abs(m[pivot][c]) {
				pivot = r
			}
		}
		m[c], m[pivot] = m[pivot], m[c]
		if math.Abs(m[c][c]) < 1e-9 {
			return x, errors.New("the usable requests are too much alike: a polynomial needs a range")
		}
		for r := range 3 {
			if r != c {
				factor := m[r][c] / m[c][c]
				for k := c; k < 4; k++ {
					m[r][k] -= factor * m[c][k]
				}
			}
		}
	}
	for c := range 3 {
		x[c] = m[c][3] / m[c][c]
	}
	return x, nil
}

func quality(used []sample, offered int, p [3]float64) Fit {
	f := Fit{Used: len(used), Offered: offered, Least: math.Inf(1), Most: math.Inf(-1)}
	mean, squares, total := 0.0, 0.0, 0.0
	for i := range used {
		mean += used[i].y / float64(len(used))
	}
	var errs []float64
	for i := range used {
		r := used[i].residual(p)
		errs = append(errs, math.Abs(r))
		squares += r * r
		total += (used[i].y - mean) * (used[i].y - mean)
		f.Least, f.Most = min(f.Least, used[i].x), max(f.Most, used[i].x)
	}
	slices.Sort(errs)
	f.MedianError, f.TailError = quantile(errs, 0.5), quantile(errs, 0.9)
	if total > 0 {
		f.R2 = 1 - squares/total
	}
	return f
}
