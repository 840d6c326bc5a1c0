// Package fleet simulates a fleet of engine workers behind a router, so that a
// policy's choices change the caches and loads that its later choices meet.
//
// A world is one run of a workload under one policy with one seed. Worlds
// are independent: running them on any number of cores gives the same results.
// docs/simulation.md has the model and what it was checked against.
package fleet

import (
	"errors"
	"fmt"
	"math/rand/v2"

	"github.com/kvshadow/kvshadow/analyzer/decision"
)

// Config describes a fleet.
type Config struct {
	// Workers is the number of aggregated workers; or else PrefillWorkers and
	// DecodeWorkers are those of a disaggregated fleet.
	Workers                       int
	PrefillWorkers, DecodeWorkers int
	// Ranks is the number of data-parallel ranks of a worker, at least 1.
	Ranks int
	// GPUBlocks is the KV capacity of a rank in blocks, BlockSize the tokens of
	// a block.
	GPUBlocks, BlockSize int
	// MaxNumSeqs is how many requests a rank runs at once, MaxBatchedTokens how
	// many tokens a step computes.
	MaxNumSeqs, MaxBatchedTokens int
	// Timing says how long a step takes.
	Timing Timing
	// TransferMs is how long the KV cache of a request takes from a prefill to
	// a decode worker.
	TransferMs float64
	// JoinMs is when the i-th worker appears; workers beyond its length are
	// there from the start.
	JoinMs []float64
}

// DefaultMaxBatchedTokens is the token budget of a step where nothing else is
// said, as it is the mock engine's.
const DefaultMaxBatchedTokens = 8192

// Chooser is what a router contributes to a simulation: the cost of each
// candidate and the way from costs to a choice. It is the part of
// shadow.Scorer that a choice needs.
type Chooser interface {
	Prepare(d *decision.Decision) ([]int, error)
	Costs(policy int, dst []float64) error
	Probabilities(policy int, costs, dst []float64) (deterministic bool)
}

// validate checks a configuration against a workload.
func (c *Config) validate(w *Workload) error {
	switch {
	case c.Workers <= 0 && (c.PrefillWorkers <= 0 || c.DecodeWorkers <= 0):
		return errors.New("a fleet needs workers")
	case c.Ranks <= 0 || c.GPUBlocks <= 0 || c.BlockSize <= 0 || c.MaxNumSeqs <= 0 || c.MaxBatchedTokens <= 0:
		return errors.New("ranks, blocks, block size, sequences and batched tokens must be positive")
	}
	for i := range w.turns {
		t := &w.turns[i]
		if blocks := ceilDiv(t.input+t.output, c.BlockSize); blocks > c.GPUBlocks {
			return fmt.Errorf("request %d needs %d blocks, a rank has %d", i+1, blocks, c.GPUBlocks)
		}
	}
	return nil
}

func ceilDiv(a, b int) int { return (a + b - 1) / b }

// world is one run.
type world struct {
	cfg     Config
	load    *Workload
	chooser Chooser
	policy  int
	rng     *rand.Rand

	single  bool    // never take several decode steps at once; tests compare
	now     float64 // ms
	events  eventHeap
	seq     uint64
	reqs    []request
	prefill []*rank // or aggregated
	decode  []*rank
	last    []int32 // per session, the rank of its last turn
	blocks  uint64  // numbers of blocks that are given away

	d              decision.Decision
	costs, chances []float64
	ties           []int
	selections     int
	nonMax         int
	lost           float64
	moved          int
}

// request is one turn in flight.
type request struct {
	turn      int32
	arrival   float64
	first     float64
	end       float64
	reused    int
	rank      *rank
	generated int
	computed  int // tokens computed, prefix included
	booked    int // prefill tokens on the router's books
	ids       []int32
	preempted bool   // ever
	own       uint64 // from there on are numbers of its own blocks, once preempted
}

// Run simulates the workload under one policy. The result depends on the
// arguments alone.
func Run(cfg Config, load *Workload, chooser Chooser, policy int, seed uint64) (*Result, error) {
	w, err := simulate(cfg, load, chooser, policy, seed)
	if err != nil {
		return nil, err
	}
	return w.result()
}

// simulate runs a world to its end.
func simulate(cfg Config, load *Workload, chooser Chooser, policy int, seed uint64) (*world, error) {
	w, err := newWorld(cfg, load, chooser, policy, seed)
	for err == nil && len(w.events) > 0 {
		err = w.advance()
	}
	return w, err
}

// newWorld returns a world before its first arrival.
func newWorld(cfg Config, load *Workload, chooser Chooser, policy int, seed uint64) (*world, error) {
	if err := cfg.validate(load); err != nil {
		return nil, err
	}
	w := &world{cfg: cfg, load: load, chooser: chooser, policy: policy, rng: rand.New(rand.NewPCG(mix(seed), mix(seed+1))), blocks: load.blocks}
	w.build()
	for i := range load.turns {
		if t := &load.turns[i]; t.index == 0 || t.open {
			w.push(event{at: t.at, kind: evArrive, turn: int32(i)})
		}
	}
	return w, nil
}

// advance lets the next event happen.
func (w *world) advance() error {
	e := w.pop()
	w.now = e.at
	switch e.kind {
	case evArrive:
		return w.arrive(e.turn)
	case evStep:
		if e.version == e.rank.version {
			return e.rank.finishStep(w)
		}
	case evTransferred:
		return e.rank.arrived(w, e.req)
	}
	return nil
}

// mix spreads neighbouring seeds, whose first draws would be alike otherwise
// (the finaliser of SplitMix64).
func mix(x uint64) uint64 {
	x += 0x9e3779b97f4a7c15
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

func (w *world) build() {
	n := w.cfg.Workers
	prefillOnly := w.cfg.Workers == 0
	if prefillOnly {
		n = w.cfg.PrefillWorkers
	}
	w.prefill = w.ranks(n, 0, prefillOnly, false)
	if prefillOnly {
		w.decode = w.ranks(w.cfg.DecodeWorkers, n, false, true)
	}
	w.reqs = make([]request, 0, len(w.load.turns))
	w.last = make([]int32, len(w.load.first)) // read from a session's second turn on
	m := max(len(w.prefill), len(w.decode))
	w.d.Candidates = make([]decision.Candidate, 0, m)
	w.costs, w.chances = make([]float64, m), make([]float64, m)
}

func (w *world) ranks(workers, from int, prefillOnly, decodeOnly bool) []*rank {
	var out []*rank
	for i := range workers {
		for r := range w.cfg.Ranks {
			k := newRank(w, decision.Key{WorkerID: uint64(from + i), DPRank: uint32(r)}, prefillOnly, decodeOnly)
			if from+i < len(w.cfg.JoinMs) {
				k.joins = w.cfg.JoinMs[from+i]
			}
			k.number = int32(len(out))
			out = append(out, k)
		}
	}
	return out
}
