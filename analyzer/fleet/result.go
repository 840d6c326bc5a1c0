package fleet

import (
	"fmt"
	"math"
	"slices"
)

// Result is the outcome of one world. Times are in milliseconds.
type Result struct {
	Requests                int
	MovedSessions           int
	NonMaxOverlapSelections int
	OverlapBlocksLost       float64
	RecomputedPrefillTokens int // on resumed turns
	PrefixCacheReusedRatio  float64
	TTFTP50, TTFTP95        float64
	ResumedTTFTP95          float64
	ITLMean                 float64
	Duration                float64
}

func (w *world) result() (*Result, error) {
	res := &Result{Requests: len(w.reqs), MovedSessions: w.moved, NonMaxOverlapSelections: w.nonMax, OverlapBlocksLost: w.lost}
	if len(w.reqs) != w.load.Len() {
		return nil, fmt.Errorf("%d of %d requests were simulated", len(w.reqs), w.load.Len())
	}
	var ttft, resumed []float64
	var input, reused, itls float64
	streams := 0
	for i := range w.reqs {
		r := &w.reqs[i]
		t := &w.load.turns[r.turn]
		if r.end == 0 && w.now > 0 && r.generated < t.output {
			return nil, fmt.Errorf("request %d never ended", i+1)
		}
		input += float64(t.input)
		reused += float64(r.reused)
		ttft = append(ttft, r.first-r.arrival)
		if t.index > 0 {
			resumed = append(resumed, r.first-r.arrival)
			res.RecomputedPrefillTokens += t.input - r.reused
		}
		if t.output > 1 {
			itls += (r.end - r.first) / float64(t.output-1)
			streams++
		}
		res.Duration = max(res.Duration, r.end)
	}
	res.PrefixCacheReusedRatio = reused / input
	res.TTFTP50, res.TTFTP95, res.ResumedTTFTP95 = quantile(ttft, 0.5), quantile(ttft, 0.95), quantile(resumed, 0.95)
	if streams > 0 {
		res.ITLMean = itls / float64(streams)
	}
	return res, nil
}

// quantile interpolates between the two nearest ranks; 0 for no values.
func quantile(values []float64, q float64) float64 {
	if len(values) == 0 {
		return 0
	}
	slices.Sort(values)
	at := q * float64(len(values)-1)
	i := int(at)
	if i+1 >= len(values) {
		return values[len(values)-1]
	}
	return values[i] + (at-math.Floor(at))*(values[i+1]-values[i])
}
