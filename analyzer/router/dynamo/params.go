// Package dynamo holds everything that is particular to NVIDIA Dynamo's KV
// router: the cost function of its default worker-selection policy, the
// policies file, and the decoders of its log rows.
//
// The cost function follows the default cost function of releases 1.3 to 1.6
// (policy type "dynamo-default-cost-fn") plus the proposed
// prefix_affinity_weight, operation by operation, so that costs agree to the
// last bit where the inputs are exact.
package dynamo

import (
	"fmt"
	"math"
)

// PolicyType is the type name of the cost function this package implements.
const PolicyType = "dynamo-default-cost-fn"

// Params are the weights of the cost function. Every value is finite and not
// negative; the unit is blocks per unit of what it weighs.
type Params struct {
	// OverlapScoreCredit is the credit for a block cached in device memory.
	OverlapScoreCredit float64
	// OverlapScoreCreditDecay softens that credit on ranks whose prefill
	// backlog exceeds the least one, relative to the prompt's length.
	OverlapScoreCreditDecay float64
	// PrefillLoadScale multiplies the prefill blocks left after credits.
	PrefillLoadScale float64
	// DecodeActiveRequestWeight charges each active request of a rank.
	DecodeActiveRequestWeight float64
	// HostCacheHitWeight and DiskCacheHitWeight credit blocks that extend the
	// device prefix in host memory and on disk.
	HostCacheHitWeight float64
	DiskCacheHitWeight float64
	// SharedCacheMultiplier credits shared-cache hits past the device prefix.
	SharedCacheMultiplier float64
	// PrefixAffinityWeight charges each block of the prompt that is missing in
	// the rank's device memory (an upstream proposal; 0 leaves it out).
	PrefixAffinityWeight float64
	// RouterTemperature above 0 samples by softmax instead of taking the least
	// cost.
	RouterTemperature float64
}

// DefaultParams returns the weights of a router that sets none.
func DefaultParams() Params {
	return Params{
		OverlapScoreCredit: 1,
		PrefillLoadScale:   1,
		HostCacheHitWeight: 0.75,
		DiskCacheHitWeight: 0.25,
	}
}

// parameter gives a weight its name in policy files and reports.
type parameter struct {
	name string
	at   func(*Params) *float64
}

// parameters lists the weights in the order in which they are documented.
var parameters = [...]parameter{
	{"overlap_score_credit", func(p *Params) *float64 { return &p.OverlapScoreCredit }},
	{"overlap_score_credit_decay", func(p *Params) *float64 { return &p.OverlapScoreCreditDecay }},
	{"prefill_load_scale", func(p *Params) *float64 { return &p.PrefillLoadScale }},
	{"decode_active_request_weight", func(p *Params) *float64 { return &p.DecodeActiveRequestWeight }},
	{"host_cache_hit_weight", func(p *Params) *float64 { return &p.HostCacheHitWeight }},
	{"disk_cache_hit_weight", func(p *Params) *float64 { return &p.DiskCacheHitWeight }},
	{"shared_cache_multiplier", func(p *Params) *float64 { return &p.SharedCacheMultiplier }},
	{"prefix_affinity_weight", func(p *Params) *float64 { return &p.PrefixAffinityWeight }},
	{"router_temperature", func(p *Params) *float64 { return &p.RouterTemperature }},
}

// ParameterNames lists the names that [Params.Set] takes.
func ParameterNames() []string {
	names := make([]string, len(parameters))
	for i, p := range parameters {
		names[i] = p.name
	}
	return names
}

// Set changes the weight of that name. It refuses unknown names and values
// that are negative or not finite.
func (p *Params) Set(name string, v float64) error {
	for _, q := range parameters {
		if q.name != name {
			continue
		}
		if math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
			return fmt.Errorf("%s is %v: it must be finite and not negative", name, v)
		}
		*q.at(p) = v
		return nil
	}
	return fmt.Errorf("unknown parameter %q: allowed are %v", name, ParameterNames())
}

// Get returns the weight of that name, or false for an unknown name.
func (p Params) Get(name string) (float64, bool) {
	for _, q := range parameters {
		if q.name == name {
			return *q.at(&p), true
		}
	}
	return 0, false
}

// Policy is a named set of weights.
type Policy struct {
	Name   string
	Params Params
}

// Changed lists, as name=value, the weights that differ from the defaults, in
// documented order; it is empty for the defaults.
func (p Policy) Changed() []string {
	var out []string
	def := DefaultParams()
	for _, q := range parameters {
		if v := *q.at(&p.Params); v != *q.at(&def) {
			out = append(out, fmt.Sprintf("%s=%v", q.name, v))
		}
	}
	return out
}
