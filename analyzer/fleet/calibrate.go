package fleet

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"github.com/kvshadow/kvshadow/analyzer/decision"
)

// Calibration is a timing fitted to recorded requests, and how well it fits.
type Calibration struct {
	Timing          Timing
	Prefill, Decode Fit
}

// Fit says how well a polynomial fits. Errors are of the requests that were
// used, in milliseconds; those that the fit left out had waited.
type Fit struct {
	Used, Offered          int
	Least, Most            float64 // of what the polynomial depends on
	MedianError, TailError float64 // absolute: median and 90th percentile
	R2                     float64
}

// MinCalibration is how many requests each polynomial needs at least.
const MinCalibration = 20

// Calibrate fits step times to the requests of a trace. capacity is the KV
// capacity of a worker rank in tokens.
//
// Prefill time is what the trace says lies between the hand-over to a worker and
// the first token. Requests that queued, or shared their steps with others, took
// longer than their prefill, hardly ever less: the polynomial goes along the
// lower edge. Decode time is the mean time between tokens, less the prefill of others
// that came in between.
func Calibrate(ls []*decision.Lifecycle, capacity int) (*Calibration, error) {
	if capacity <= 0 {
		return nil, errors.New("the KV capacity must be positive")
	}
	ls = slices.Clone(ls)
	slices.SortStableFunc(ls, func(a, b *decision.Lifecycle) int { return a.Received.Compare(b.Received) })
	var c Calibration
	var err error
	for range 3 { // each part corrects for the other
		if c.Timing.PrefillMs, c.Prefill, err = fitGrowing(prefillSamples(ls, &c.Timing, float64(capacity)), math.MaxInt32); err != nil {
			return nil, fmt.Errorf("prefill: %w", err)
		}
		if c.Timing.DecodeMs, c.Decode, err = fitGrowing(decodeSamples(ls, &c.Timing, float64(capacity)), 1); err != nil {
			return nil, fmt.Errorf("decode: %w", err)
		}
	}
	return &c, nil
}

// sample is one request: y depends on the means of x^2 and x.
type sample struct{ xx, x, y float64 }

// prefillSamples pairs uncached tokens with the time to the first token: of the
// requests that met nobody on their worker; where those are too few, of all whose
// prefill met no other one; and where those are too few, of all. Where others were
// decoding, half a decode step that was under way comes off, and the one that
// shared the step of the prefill.
func prefillSamples(ls []*decision.Lifecycle, timing *Timing, capacity float64) []sample {
	var all, undisturbed, alone []sample
	for _, g := range byWorker(ls, func(l *decision.Lifecycle) decision.Key { return l.Prefill }) {
		for i := range g.spans {
			s := &g.spans[i]
			if s.l.CachedTokens < 0 || s.l.Wait < 0 {
				continue
			}
			t, u, met, prefills := s.uncached(), 0.0, false, false
			for _, o := range g.others(i) {
				met = met || o.begin < s.first && o.leaves() > s.begin
				prefills = prefills || o.begin < s.first && o.first > s.begin
				if o.l.Aggregated() {
					u += o.tokens(s.begin) / capacity
				}
			}
			x := sample{t * t, t, s.first - s.begin}
			if u > 0 {
				x.y -= 1.5 * timing.decodeAt(u)
			}
			all = append(all, x)
			if !prefills {
				undisturbed = append(undisturbed, x)
			}
			if !met {
				alone = append(alone, x)
			}
		}
	}
	for _, samples := range [][]sample{alone, undisturbed} {
		if len(samples) >= MinCalibration && varied(samples) {
			return samples
		}
	}
	return all
}

// decodeSamples pairs the time of a decode step, as the mean over a request's
// tokens, with the share of the KV capacity that all decoding sequences of its
// worker took meanwhile.
func decodeSamples(ls []*decision.Lifecycle, timing *Timing, capacity float64) []sample {
	const points = 16 // at which the load during a request is looked at
	var out []sample
	for _, g := range byWorker(ls, func(l *decision.Lifecycle) decision.Key { return l.Decode }) {
		for i := range g.spans {
			s := &g.spans[i]
			if s.l.OutputTokens < 8 || s.end <= s.first {
				continue // a few tokens say little of a step
			}
			others := g.others(i)
			x := sample{y: (s.end - s.first - s.interrupted(others, timing)) / float64(s.l.OutputTokens-1)}
			for p := range points {
				at := s.first + (s.end-s.first)*(float64(p)+0.5)/points
				u := s.tokens(at)
				for _, o := range others {
					u += o.tokens(at)
				}
				u = min(1, u/capacity)
				x.x += u / points
				x.xx += u * u / points
			}
			out = append(out, x)
		}
	}
	return out
}

// span is a request on a worker; times in milliseconds.
type span struct {
	l                 *decision.Lifecycle
	begin, first, end float64
}

func (s *span) uncached() float64 {
	return float64(s.l.InputTokens) - float64(max(0, s.l.CachedTokens))
}

// leaves is when the request leaves the worker that prefills it.
func (s *span) leaves() float64 {
	if s.l.Aggregated() {
		return s.end
	}
	return s.first
}

// tokens is the length of the sequence at a time, 0 when it doesn't decode.
func (s *span) tokens(at float64) float64 {
	if at < s.first || at >= s.end {
		return 0
	}
	return float64(s.l.InputTokens) + float64(s.l.OutputTokens)*(at-s.first)/(s.end-s.first)
}

// interrupted is how long the prefill of others held up the decode steps.
func (s *span) interrupted(others []*span, timing *Timing) float64 {
	ms := 0.0
	for _, o := range others {
		if o.l.Prefill == s.l.Decode && o.first > s.first && o.first <= s.end {
			ms += timing.Prefill(int(o.uncached()))
		}
	}
	return ms
}

// group holds the spans of a worker by beginning.
type group struct {
	spans   []span
	longest float64
}

// byWorker groups the requests whose times and workers are known.
func byWorker(ls []*decision.Lifecycle, worker func(*decision.Lifecycle) decision.Key) []*group {
	index := map[decision.Key]*group{}
	var groups []*group
	for _, l := range ls {
		if !l.HasWorkers || l.FirstToken <= 0 || l.Total < l.FirstToken || l.InputTokens == 0 {
			continue
		}
		g := index[worker(l)]
		if g == nil {
			g = &group{}
			index[worker(l)] = g
			groups = append(groups, g)
		}
		at := milliseconds(l.Received.Sub(ls[0].Received))
		s := span{l, at + milliseconds(max(0, l.Wait)), at + milliseconds(l.FirstToken), at + milliseconds(l.Total)}
		g.spans = append(g.spans, s)
		g.longest = max(g.longest, s.end-s.begin)
	}
	for _, g := range groups {
		slices.SortStableFunc(g.spans, func(a, b span) int { return cmp.Compare(a.begin, b.begin) })
	}
	return groups
}

// others returns the spans that overlap with the i-th.
func (g *group) others(i int) []*span {
	s := &g.spans[i]
	from, _ := slices.BinarySearchFunc(g.spans, s.begin-g.longest, func(o span, at float64) int { return cmp.Compare(o.begin, at) })
	var out []*span
	for j := from; j < len(g.spans) && g.spans[j].begin <= s.end; j++ {
		if o := &g.spans[j]; j != i && o.end >= s.begin {
			out = append(out, o)
		}
	}
	return out
}

// WriteYAML writes the file that [LoadTiming] reads, with how well it fits as
// comments.
func (c *Calibration) WriteYAML(w io.Writer) error {
	p, d := c.Timing.PrefillMs, c.Timing.DecodeMs
	_, err := fmt.Fprintf(w, `# Step times for kvshadow simulate --timing, in milliseconds.
# %s
# A t^2 + B t + C of t uncached tokens:
prefill_ms: [%.6g, %.6g, %.6g]
# %s
# P u^2 + Q u + R of the share u of the KV capacity:
decode_ms: [%.6g, %.6g, %.6g]
`, c.Prefill.Text("prefill", "tokens"), p[0], p[1], p[2], c.Decode.Text("decode", "of the KV capacity"), d[0], d[1], d[2])
	return err
}

// Text says how well a part fits, in one line.
func (f *Fit) Text(part, unit string) string {
	span := fmt.Sprintf("%.0f to %.0f", f.Least, f.Most)
	if f.Most <= 1 {
		span = fmt.Sprintf("%.0f to %.0f %%", 100*f.Least, 100*f.Most)
	}
	return fmt.Sprintf("%s: %d of %d requests, %s %s; error %.2f ms (median), %.2f ms (90th percentile); R2 %.4f",
		part, f.Used, f.Offered, span, unit, f.MedianError, f.TailError, f.R2)
}
