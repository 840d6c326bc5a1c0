package fleet

// handOff lets the router choose a decode worker, where the prompt's cache
// arrives after the transfer. Until then its blocks are held here.
func (w *world) handOff(id int32) error {
	r := &w.reqs[id]
	t := &w.load.turns[r.turn]
	k, _, err := w.choose(w.decode, t, false)
	if err != nil {
		return err
	}
	k.book(t.full)
	w.push(event{at: w.now + w.cfg.TransferMs, kind: evTransferred, req: id, rank: k})
	return nil
}

// arrived queues a prompt whose cache has come. Only other such prompts, and the
// number of sequences, can keep it out.
func (k *rank) arrived(w *world, id int32) error {
	if len(k.pending) == 0 && len(k.running) < w.cfg.MaxNumSeqs {
		k.closed = false
	}
	k.pending = append(k.pending, id)
	return k.wake(w)
}

// receive takes prompts over from prefill workers while there is room for the
// blocks that aren't here yet.
func (k *rank) receive(w *world) error {
	for len(k.pending) > 0 {
		r := &w.reqs[k.pending[0]]
		full, length := w.load.turns[r.turn].full, w.length(r)
		matched := k.pool.Match(full)
		fresh := ceilDiv(length, w.cfg.BlockSize) - matched
		if len(k.running) >= w.cfg.MaxNumSeqs || !k.pool.Fits(full[:matched], fresh) {
			k.closed = true
			return nil
		}
		source := r.ids
		r.ids, _ = k.pool.Allocate(fresh, k.pool.Hold(full[:matched], nil))
		for i := matched; i < len(full); i++ {
			k.pool.Cache(r.ids[i], full[i])
		}
		r.computed = length
		k.waiting = append(k.waiting, k.pending[0])
		k.pending = k.pending[1:]
		if err := r.rank.part(w, source); err != nil {
			return err
		}
	}
	return nil
}

// part gives up the blocks of a prompt whose cache has left for a decode worker.
func (k *rank) part(w *world, ids []int32) error {
	if k.busy {
		k.parting = append(k.parting, ids...)
		return nil
	}
	k.pool.Release(ids)
	if len(k.waiting) > 0 {
		return k.startStep(w)
	}
	return nil
}
