package fleet

import "sort"

// launch times the scheduled step and lets it run: its prefill, and then one
// decode step of the sequences that were decoding before. A prompt's first token
// comes out of its prefill.
//
// Decode steps that change nothing but token counts follow each other without
// an event: the step stands for as many as there are until a request ends, a
// block is full, or another request may come in.
func (k *rank) launch(w *world, b *prefillBatch) {
	k.decoding, k.context = 0, 0
	ready := 0
	for _, id := range k.running {
		r := &w.reqs[id]
		if r.computed < w.length(r) {
			continue
		}
		ready++
		if r.generated > 0 || k.decodeOnly {
			k.decoding++
			k.context += w.length(r)
		}
	}
	if ready == 0 && !b.work {
		k.busy = false
		return
	}
	k.busy, k.steps, k.started, k.prefillMs = true, 1, w.now, 0
	if b.count > 0 {
		k.prefillMs = w.cfg.Timing.Prefill(b.count * (b.total/b.count - b.prefix/b.count))
	} else if !w.single && (k.closed || len(k.waiting) == 0) && ready == len(k.running) {
		k.steps = k.stretch(w)
	}
	k.visibleAt = k.started + k.duration(w, 1) // the first of them
	k.await(w)
}

// duration is the time of the step under way if it stands for so many.
func (k *rank) duration(w *world, steps int) float64 {
	ms := k.prefillMs
	if k.decoding > 0 {
		ms += w.cfg.Timing.Decode(steps, k.context, k.decoding, w.cfg.GPUBlocks*w.cfg.BlockSize)
	}
	return ms
}

// await schedules the end of the step; an end scheduled before is void.
func (k *rank) await(w *world) {
	k.version++
	w.push(event{at: k.started + k.duration(w, k.steps), kind: evStep, rank: k, version: k.version})
}

// interrupt ends a row of decode steps with the one under way, so that a new
// request can come in.
func (k *rank) interrupt(w *world) {
	if k.steps == 1 || k.closed {
		return
	}
	under := 1 + sort.Search(k.steps-1, func(i int) bool { return k.started+k.duration(w, i+1) >= w.now })
	if under < k.steps {
		k.steps = under
		k.await(w)
	}
}

// stretch is how many decode steps in a row need no new block and end no
// request.
func (k *rank) stretch(w *world) int {
	steps := 1 << 30
	for _, id := range k.running {
		r := &w.reqs[id]
		left := w.load.turns[r.turn].output - r.generated
		room := len(r.ids)*w.cfg.BlockSize - r.computed + 1
		steps = min(steps, left, room)
	}
	return max(1, steps)
}

// finishStep emits the tokens of a step, ends what is complete, and starts the
// next one.
func (k *rank) finishStep(w *world) error {
	k.busy = false
	k.publish(w.now)
	k.pool.Release(k.parting)
	k.parting = k.parting[:0]
	done := k.running[:0:0]
	keep := k.running[:0]
	for _, id := range k.running {
		r := &w.reqs[id]
		if r.computed < w.length(r) {
			keep = append(keep, id)
			continue
		}
		if r.generated == 0 {
			r.first = k.visibleAt // a row of decode steps may have begun with it
			r.rank.prefillTokens -= r.booked
			r.booked = 0
		}
		if k.prefillOnly {
			done = append(done, id)
			continue
		}
		r.generated += k.steps
		k.extend(w, r, k.steps-1)
		if r.generated >= max(1, w.load.turns[r.turn].output) {
			done = append(done, id)
			continue
		}
		keep = append(keep, id)
	}
	k.running = keep
	for _, id := range done {
		if err := k.complete(w, id); err != nil {
			return err
		}
	}
	return k.startStep(w)
}

// extend adds the tokens of all steps of a row but the first, which was
// scheduled. Blocks that they fill are kept.
func (k *rank) extend(w *world, r *request, tokens int) {
	size := w.cfg.BlockSize
	for i := r.computed / size; i < (r.computed+tokens)/size; i++ {
		k.pool.Keep(r.ids[i])
	}
	r.computed += tokens
}

// complete ends a request, or hands it on to a decode worker, which generates
// its first token too.
func (k *rank) complete(w *world, id int32) error {
	r := &w.reqs[id]
	if k.prefillOnly {
		return w.handOff(id)
	}
	k.pool.Release(r.ids)
	r.ids = nil
	k.unbook(w.load.turns[r.turn].full)
	r.end = w.now
	w.next(r)
	return nil
}

// wake starts a step, or lets the current row of steps end early.
func (k *rank) wake(w *world) error {
	if !k.busy {
		return k.startStep(w)
	}
	k.interrupt(w)
	return nil
}
