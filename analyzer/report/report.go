// Package report renders evaluation results for people and machines.
package report

import (
	"fmt"
	"strings"

	"github.com/kvshadow/kvshadow/analyzer/decision"
	"github.com/kvshadow/kvshadow/analyzer/shadow"
)

// Schema names the JSON form of [Report]. Its keys are a contract: some may be
// added, none renamed.
const Schema = "kvshadow.report.v1"

// Report is the outcome of an analysis.
type Report struct {
	Schema string `json:"schema"`
	Inputs Inputs `json:"inputs"`
	Pools  []Pool `json:"pools"`
	// Notes are findings that a reader should know before the numbers.
	Notes []string `json:"notes,omitempty"`
}

// Inputs says what was read and what became of it.
type Inputs struct {
	Files     int    `json:"files"`
	Lines     uint64 `json:"lines"`
	Bytes     uint64 `json:"bytes"`
	Decisions uint64 `json:"decisions"`
	// Lifecycles counts the requests that traces told of.
	Lifecycles   uint64            `json:"lifecycles,omitempty"`
	IgnoredLines uint64            `json:"ignored_lines"`
	Undecodable  map[string]uint64 `json:"undecodable"`
	// LearnedOverlaps counts rebuilt choices whose overlap with generated text
	// is known only from what the engine reported to have reused.
	LearnedOverlaps uint64 `json:"learned_overlaps,omitempty"`
	// OverCapacityBlocks counts what rebuilt caches held beyond the capacity
	// that was told.
	OverCapacityBlocks uint64 `json:"over_capacity_blocks,omitempty"`
	// Compared is shown with the pools.
	Compared [len(decision.WorkerTypes)]Comparison `json:"-"`
}

// Comparison says how decisions that were rebuilt from traces compare with the
// same ones as the router's rows have them.
type Comparison struct {
	Selections uint64 `json:"selections"`
	// Candidates counts the candidates of the rows; the others count those of
	// them whose figure came out exactly.
	Candidates        uint64 `json:"candidates"`
	OverlapExact      uint64 `json:"overlap_exact"`
	DecodeBlocksExact uint64 `json:"decode_blocks_exact"`
	RawPrefillExact   uint64 `json:"raw_prefill_exact"`
	// MissingCandidates counts rows of workers that the traces didn't show.
	MissingCandidates uint64 `json:"missing_candidates"`
}

// Pool holds the results of one worker type.
type Pool struct {
	WorkerType string            `json:"worker_type"`
	Evaluated  uint64            `json:"evaluated"`
	Excluded   map[string]uint64 `json:"excluded"`
	Fidelity   Fidelity          `json:"fidelity"`
	// RequestBlocks sums the prompts whose length is known;
	// UnknownRequestBlocks counts the other prompts, which add nothing to it
	// nor to missing_prefix_blocks.
	RequestBlocks        uint64   `json:"request_blocks"`
	UnknownRequestBlocks uint64   `json:"unknown_request_blocks"`
	Policies             []Policy `json:"policies"`
	// Rebuilt compares the twin with the rows, where both were given.
	Rebuilt *Comparison `json:"rebuilt,omitempty"`
	// Refused says why there is no verdict, empty if there is one.
	Refused string `json:"verdict_refused,omitempty"`

	minFidelity float64
}

// Fidelity says how many recorded decisions the live policy reproduced.
type Fidelity struct {
	// Basis is what was compared: "rows" for every candidate's recorded cost,
	// "logit" for the winner's, "kv_hit_rate" for the winner's overlap, "none"
	// if nothing was recorded. Where they differ between decisions, it is what
	// most have.
	Basis      string            `json:"basis"`
	Checked    uint64            `json:"checked"`
	Reproduced uint64            `json:"reproduced"`
	Causes     map[string]uint64 `json:"causes"`
}

// Policy holds the sums of a policy.
type Policy struct {
	Name string `json:"name"`
	Sums
	// Unreproduced is the part of the sums that rests on decisions which the
	// live policy did not reproduce.
	Unreproduced *Sums `json:"unreproduced,omitempty"`
	// Unsupported counts decisions that lack an input this policy needs, and
	// Unknown names those inputs.
	Unsupported uint64   `json:"unsupported,omitempty"`
	Unknown     []string `json:"unknown,omitempty"`
}

// Sums are the counters of a policy, in selections and blocks.
type Sums struct {
	NonMaxOverlapSelections float64 `json:"non_max_overlap_selections"`
	OverlapBlocksLost       float64 `json:"overlap_blocks_lost"`
	DivergingSelections     float64 `json:"diverging_selections"`
	MissingPrefixBlocks     float64 `json:"missing_prefix_blocks"`
	LoadExcessBlocks        float64 `json:"load_excess_blocks"`
}

// DefaultMinFidelity is the share of reproduced decisions below which a report
// refuses a verdict.
const DefaultMinFidelity = 0.95

// New builds a report of totals. minFidelity is the share of reproduced
// decisions below which a pool's verdict is refused. advice says what a reason
// of in.Undecodable means and what to do about it, as a sentence that follows a
// number, or "" where the reason says it all.
func New(t *shadow.Totals, in Inputs, minFidelity float64, advice func(reason string) string) *Report {
	r := &Report{Schema: Schema, Inputs: in}
	for _, wt := range decision.WorkerTypes {
		p := newPool(wt, t.Policies, &t.Pools[wt], minFidelity)
		if c := in.Compared[wt]; c.Selections > 0 {
			p.Rebuilt = &c
		}
		r.Pools = append(r.Pools, p)
	}
	r.Notes = notes(r, advice)
	return r
}

func newPool(wt decision.WorkerType, names []string, p *shadow.Pool, minFidelity float64) Pool {
	out := Pool{
		WorkerType: wt.String(), Evaluated: p.Evaluated, Excluded: map[string]uint64{},
		Fidelity:      Fidelity{Basis: basis(p), Checked: p.Checked, Reproduced: p.Reproduced(), Causes: map[string]uint64{}},
		RequestBlocks: p.RequestBlocks, UnknownRequestBlocks: p.UnknownRequestBlocks,
		minFidelity: minFidelity,
	}
	for _, e := range shadow.Exclusions() {
		out.Excluded[e.String()] = p.Excluded[e]
	}
	for _, c := range decision.Causes() {
		if n := p.Mismatches[c]; n > 0 {
			out.Fidelity.Causes[c.String()] = n
		}
	}
	for i, name := range names {
		x := Policy{Name: name, Sums: newSums(&p.Policies[i]), Unsupported: p.Policies[i].Unsupported, Unknown: p.Policies[i].Unknown.Names()}
		if p.Reproduced() < p.Checked {
			u := newSums(&p.Unreproduced[i])
			x.Unreproduced = &u
		}
		out.Policies = append(out.Policies, x)
	}
	out.Refused = refusal(&out)
	return out
}

func basis(p *shadow.Pool) string {
	most := decision.BasisNone
	for b := range decision.Basis(decision.BasisCount) {
		if p.Bases[b] > p.Bases[most] {
			most = b
		}
	}
	return most.String()
}

func newSums(s *shadow.Sums) Sums {
	return Sums{s.NonMax.Float64(), s.Lost.Float64(), s.Diverging.Float64(), s.Missing.Float64(), s.LoadExcess.Float64()}
}

// refusal says why a pool's numbers don't support a verdict.
func refusal(p *Pool) string {
	f := &p.Fidelity
	switch {
	case p.Evaluated == 0:
		return "no decision was evaluated"
	case f.Checked == 0 && p.minFidelity > 0:
		return "nothing was recorded that the live policy could be checked against"
	case float64(f.Reproduced)/float64(f.Checked) < p.minFidelity:
		return fmt.Sprintf("the live policy reproduces %s of %s recorded decisions (%s), less than %s%s",
			whole(f.Reproduced), whole(f.Checked), percent(float64(f.Reproduced), float64(f.Checked)), percent(p.minFidelity, 1), remedy(f.Causes))
	}
	return ""
}

// remedy names what to look at for the most frequent cause.
func remedy(causes map[string]uint64) string {
	top := decision.Reproduced
	for _, c := range decision.Causes() {
		if causes[c.String()] > causes[top.String()] {
			top = c
		}
	}
	switch top {
	case decision.Weights:
		return "; its weights aren't the router's: set live in the policies file to what production runs"
	case decision.Softmax:
		return "; the router doesn't take the least cost: set router_temperature of live to what production runs"
	case decision.Taint:
		return "; taint multipliers of the candidates aren't recorded"
	case decision.CapacityUnknown:
		return "; the KV capacity of the workers isn't known: give --gpu-blocks or --router-metrics"
	}
	return ""
}

// notes explains what stands out in the inputs.
func notes(r *Report, advice func(reason string) string) []string {
	var out []string
	for _, reason := range sortedKeys(r.Inputs.Undecodable) {
		if n := r.Inputs.Undecodable[reason]; n > 0 {
			if text := advice(reason); text != "" {
				out = append(out, whole(n)+" "+text)
			}
		}
	}
	if n := r.Inputs.LearnedOverlaps; n > 0 {
		out = append(out, fmt.Sprintf("%s of %s requests continue text that the engine generated, which traces have no hashes for: their overlap is what the engine reported to have reused, so that its fidelity says only that router and engine agreed, and other workers may hold more of it.",
			whole(n), whole(r.Inputs.Lifecycles)))
	}
	if n := r.Inputs.OverCapacityBlocks; n > 0 {
		out = append(out, whole(n)+" blocks were allocated beyond the KV capacity that was given: it is too small, or requests waited in the engine where the traces don't show it.")
	}
	for i := range r.Pools {
		p := &r.Pools[i]
		if p.UnknownRequestBlocks > 0 {
			out = append(out, fmt.Sprintf("%s: %s of %s prompts have no recorded length; they add nothing to missing prefix blocks.",
				p.WorkerType, whole(p.UnknownRequestBlocks), whole(p.Evaluated)))
		}
		for _, x := range p.Policies {
			if x.Unsupported > 0 {
				out = append(out, fmt.Sprintf("%s: the costs of policy %s need inputs (%s) that %s of %s decisions don't record; its numbers there are approximations.",
					p.WorkerType, x.Name, strings.Join(x.Unknown, ", "), whole(x.Unsupported), whole(p.Evaluated)))
			}
		}
	}
	return out
}

// Verdict says whether every pool with decisions supports a verdict.
func (r *Report) Verdict() bool {
	any := false
	for i := range r.Pools {
		if p := &r.Pools[i]; p.Evaluated > 0 {
			any = true
			if p.Refused != "" {
				return false
			}
		}
	}
	return any
}
