package fleet

import (
	"fmt"
	"math"

	"github.com/kvshadow/kvshadow/analyzer/decision"
)

// choose asks the router for a rank and returns it with its overlap.
func (w *world) choose(ranks []*rank, t *turn, prefill bool) (*rank, int, error) {
	d := &w.d
	full := t.full
	d.InputTokens, d.BlockSizeTokens = uint64(t.input), uint32(w.cfg.BlockSize)
	d.RequestBlocks = uint64(ceilDiv(t.input, w.cfg.BlockSize))
	d.TracksPrefill, d.LoadOnly = prefill, !prefill
	d.WorkerType = decision.Decode
	if prefill && w.cfg.Workers == 0 {
		d.WorkerType = decision.Prefill
	}
	d.Candidates = d.Candidates[:0]
	best := 0
	for _, k := range ranks {
		if k.joins > w.now {
			continue
		}
		c := decision.Candidate{Key: k.key, ActivePrefillTokens: uint64(k.prefillTokens), ActiveRequests: uint64(k.requests)}
		if prefill {
			k.publish(w.now)
			overlap := k.overlap(full)
			best = max(best, overlap)
			c.EffectiveOverlapBlocks, c.CachedTokens = float64(overlap), uint64(overlap*w.cfg.BlockSize)
		}
		if !k.prefillOnly {
			c.DecodeCostBlocks = k.decodeCost(full)
		}
		d.Candidates = append(d.Candidates, c)
	}
	if len(d.Candidates) == 0 {
		return nil, 0, fmt.Errorf("no worker has joined at %v ms", w.now)
	}
	index, err := w.chooser.Prepare(d)
	if err != nil {
		return nil, 0, err
	}
	costs := w.costs[:len(index)]
	if err := w.chooser.Costs(w.policy, costs); err != nil {
		return nil, 0, err
	}
	c := &d.Candidates[index[w.draw(costs)]]
	overlap := int(c.EffectiveOverlapBlocks)
	if prefill {
		w.selections++
		if overlap < best {
			w.nonMax++
			w.lost += float64(best - overlap)
		}
	}
	for _, k := range ranks {
		if k.key == c.Key {
			return k, overlap, nil
		}
	}
	return nil, 0, fmt.Errorf("the chooser chose %v, which isn't there", c.Key)
}

// draw picks a candidate: the least cost, ties drawn evenly, or by softmax.
func (w *world) draw(costs []float64) int {
	if !w.chooser.Probabilities(w.policy, costs, w.chances) {
		sample := w.rng.Float64()
		for i := range costs {
			if sample -= w.chances[i]; sample <= 0 {
				return i
			}
		}
		return len(costs) - 1
	}
	least := math.Inf(1)
	for i, c := range costs {
		switch {
		case c < least:
			least = c
			w.ties = append(w.ties[:0], i)
		case c == least:
			w.ties = append(w.ties, i)
		}
	}
	if len(w.ties) == 1 {
		return w.ties[0]
	}
	return w.ties[w.rng.IntN(len(w.ties))]
}

// arrive routes a turn.
func (w *world) arrive(i int32) error {
	t := &w.load.turns[i]
	k, overlap, err := w.choose(w.prefill, t, true)
	if err != nil {
		return err
	}
	w.reqs = append(w.reqs, request{turn: i, arrival: w.now, rank: k})
	r := &w.reqs[len(w.reqs)-1]
	r.booked = max(0, t.input-overlap*w.cfg.BlockSize)
	k.prefillTokens += r.booked
	if !k.prefillOnly {
		k.book(t.full)
	}
	if t.index > 0 && w.last[t.session] != k.number {
		w.moved++
	}
	w.last[t.session] = k.number
	k.waiting = append(k.waiting, int32(len(w.reqs)-1))
	return k.wake(w)
}

// next schedules the session's next turn once one has ended.
func (w *world) next(r *request) {
	t := &w.load.turns[r.turn]
	if t.next >= 0 && !w.load.turns[t.next].open {
		w.push(event{at: max(w.now+w.load.turns[t.next].delay, w.load.turns[t.next].at), kind: evArrive, turn: t.next})
	}
}
