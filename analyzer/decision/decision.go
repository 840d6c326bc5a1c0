// Package decision defines the neutral form of one routing choice: who asked,
// which workers were candidates with which inputs, and which one was selected.
//
// Every source of decisions (a router's log rows, its request traces through
// the twin, or records written by anyone else) is turned into [Decision], and
// everything downstream reads nothing else. The JSON-lines form of the type is
// the schema [SchemaV1]; docs/decision-record.md describes it field by field.
package decision

import (
	"math"
	"time"
)

// SchemaV1 names the JSON-lines form of [Decision].
const SchemaV1 = "kvshadow.decision.v1"

// WorkerType is the role under which a selection is counted. Aggregated
// workers count as [Decode], as the router labels them.
type WorkerType uint8

// The two roles. Every labelled counter has one series for each.
const (
	Prefill WorkerType = iota
	Decode
)

// WorkerTypes lists the roles in the order in which reports print them.
var WorkerTypes = [...]WorkerType{Prefill, Decode}

// String returns the label value, "prefill" or "decode".
func (t WorkerType) String() string {
	if t == Prefill {
		return "prefill"
	}
	return "decode"
}

// Key identifies a candidate: one data-parallel rank of one worker. Ids are
// u64 and often exceed 2^53, so they never pass through a float.
type Key struct {
	WorkerID uint64 `json:"worker_id"`
	DPRank   uint32 `json:"dp_rank"`
}

// Less orders keys by worker, then rank: the order in which the router breaks
// the tie between workers of equal highest overlap.
func (k Key) Less(o Key) bool {
	if k.WorkerID != o.WorkerID {
		return k.WorkerID < o.WorkerID
	}
	return k.DPRank < o.DPRank
}

// BlockRange is a half-open range [Start, End) of block positions of a prompt.
type BlockRange struct{ Start, End uint32 }

// Decision is one routing choice. A Decision is plain data: it may be read
// from several goroutines at once. Whoever is handed one must not change it, and
// copies it to keep it; see [Decision.CopyTo].
type Decision struct {
	RequestID string
	SessionID string
	Model     string
	// Time is when the choice was made; zero if the source doesn't say.
	Time       time.Time
	WorkerType WorkerType
	// Pool is the fleet as the source names it ("aggregated", "prefill",
	// "decode", "replay"); empty if it doesn't say.
	Pool string

	// InputTokens, BlockSizeTokens and RequestBlocks are 0 if unknown.
	// RequestBlocks = ceil(InputTokens / BlockSizeTokens).
	InputTokens     uint64
	BlockSizeTokens uint32
	RequestBlocks   uint64

	// TracksPrefill says that the router books prefill tokens for this
	// request. Without it no prefill load is charged.
	TracksPrefill bool
	// LoadOnly says that the router forced its device overlap credit to 0 for
	// this choice, as it does for plain decode workers of a disaggregated
	// deployment.
	LoadOnly bool
	// Rebuilt says that the inputs were rebuilt from other records, not read
	// where the router computed them.
	Rebuilt bool
	// Pinned and QueryOnly choices are excluded from every counter.
	Pinned    bool
	QueryOnly bool

	// TierMaps says that the request had a device, host or disk match map,
	// possibly holding zeros only: then candidates without an entry have no
	// device overlap, otherwise effective overlap stands in for device.
	TierMaps bool
	// SharedHits are the blocks found in a shared cache, sorted and disjoint.
	SharedHits []BlockRange
	// PreferredTaints maps a taint to its weight. The weights are float32 in
	// the router; a map that is present but matches nothing is not the same as
	// an absent one.
	PreferredTaints map[string]float32
	RequiredTaints  []string
	// AllowedWorkerIDs restricts the choice; nil allows every worker.
	AllowedWorkerIDs []uint64

	Selected Key
	// SelectedCostBlocks is the router's own cost of the selected worker,
	// after taints, in blocks and at full precision.
	SelectedCostBlocks Float
	// CostToleranceBlocks is half a unit in the last place of the recorded
	// numbers: 0.0005 for rows with three decimals, 0 for exact sources.
	CostToleranceBlocks float64
	// RecordedLostBlocks is the router's own observation that another eligible
	// worker had that many more effective overlap blocks; unset if it made none.
	RecordedLostBlocks Float
	// RecordedOverlapBlocks is the router's own effective overlap of the
	// selected worker.
	RecordedOverlapBlocks Float
	// RecordedWeights are the weights that the source itself printed.
	RecordedWeights []Weight
	// Unknown lists the inputs that the source left out.
	Unknown Unknown

	Candidates []Candidate
}

// Weight is a named parameter of the router's cost function.
type Weight struct {
	Name  string
	Value float64
}

// Candidate is one rank that could have been selected, with the inputs of the
// cost function. Blocks are KV-cache blocks, tokens are prompt tokens.
type Candidate struct {
	Key
	// Ineligible candidates (overloaded, not allowed, tainted away) are listed
	// for completeness and never scored.
	Ineligible bool

	// EffectiveOverlapBlocks is the cached prefix, with host and disk tiers
	// weighted by the live router's weights.
	EffectiveOverlapBlocks float64
	// DeviceBlocks is the cached prefix in device memory. Unset means no entry
	// in the device map; see [Decision.TierMaps].
	DeviceBlocks Float
	// HostBlocks and DiskBlocks extend the device prefix; they are not
	// cumulative.
	HostBlocks, DiskBlocks float64
	// SharedBeyondBlocks counts shared-cache hits past the device prefix.
	// Unset means: compute it from [Decision.SharedHits].
	SharedBeyondBlocks Float
	CachedTokens       uint64

	// NoLoadEntry says that the router had no load record of this rank.
	NoLoadEntry         bool
	ActivePrefillTokens uint64
	// RawPrefillBlocks replaces the token counts where a source printed only
	// the sum of active prefill and this prompt, in blocks.
	RawPrefillBlocks Float
	// DecodeCostBlocks = active decode blocks + the blocks this request would
	// add there.
	DecodeCostBlocks float64
	ActiveRequests   uint64
	Taints           []string

	Recorded Recorded
}

// Recorded holds what the router printed about a candidate, for checking a
// re-score against it.
type Recorded struct {
	// CostBlocks is the cost before taints.
	CostBlocks          Float
	OverlapCreditBlocks Float
	OverlapCreditDecay  Float
	// ActiveRequestCostBlocks = weight x active requests.
	ActiveRequestCostBlocks Float
}

// Float is a float64 that may be absent.
type Float struct {
	Value float64
	Set   bool
}

// Some returns a present value.
func Some(v float64) Float { return Float{Value: v, Set: true} }

// Or returns the value, or v if it is absent.
func (f Float) Or(v float64) float64 {
	if f.Set {
		return f.Value
	}
	return v
}

// IsZero says whether the value is absent.
func (f Float) IsZero() bool { return !f.Set }

// Unknown is a set of inputs that a source left out although the cost function
// may need them.
type Unknown uint8

// The inputs that a source can leave out.
const (
	// UnknownTiers: overlap is known, but not how it splits over device, host
	// and disk.
	UnknownTiers Unknown = 1 << iota
	// UnknownActiveRequests: the count of active requests per rank.
	UnknownActiveRequests
	// UnknownRequestBlocks: the length of the prompt in blocks.
	UnknownRequestBlocks
	// UnknownTaints: a taint multiplier was applied and is known for the
	// selected worker only.
	UnknownTaints
	// UnknownCapacity: the KV capacity of the workers, so that rebuilt caches
	// never evict.
	UnknownCapacity
)

var unknownNames = [...]string{"tiers", "active_requests", "request_blocks", "taints", "capacity"}

// Has says whether any input of o is unknown.
func (u Unknown) Has(o Unknown) bool { return u&o != 0 }

// Names lists the members, in a fixed order.
func (u Unknown) Names() []string {
	var names []string
	for i, n := range unknownNames {
		if u&(1<<i) != 0 {
			names = append(names, n)
		}
	}
	return names
}

// CopyTo makes dst a copy, in the space of dst's candidates if there is enough.
// Both share what neither changes: taints, ranges and weights.
func (d *Decision) CopyTo(dst *Decision) {
	candidates := append(dst.Candidates[:0], d.Candidates...)
	*dst = *d
	dst.Candidates = candidates
}

// Clone returns a copy; see [Decision.CopyTo].
func (d *Decision) Clone() *Decision {
	c := new(Decision)
	d.CopyTo(c)
	return c
}

// Find returns the index of the candidate with that key, or -1.
func (d *Decision) Find(k Key) int {
	for i := range d.Candidates {
		if d.Candidates[i].Key == k {
			return i
		}
	}
	return -1
}

// Blocks returns ceil(tokens / blockSize), 0 for an unknown block size.
func Blocks(tokens uint64, blockSize uint32) uint64 {
	if blockSize == 0 {
		return 0
	}
	b := uint64(blockSize)
	n := tokens / b
	if tokens%b != 0 {
		n++
	}
	return n
}

// finite reports whether v can stand in a record.
func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
