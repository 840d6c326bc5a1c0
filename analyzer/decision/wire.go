package decision

import (
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// The wire types spell out the JSON form. They stand apart from [Decision]
// because decoding must tell an absent member from a zero one.

type wireDecision struct {
	Schema     string    `json:"schema"`
	RequestID  string    `json:"request_id"`
	SessionID  string    `json:"session_id,omitzero"`
	Model      string    `json:"model,omitzero"`
	Time       time.Time `json:"time,omitzero"`
	WorkerType string    `json:"worker_type"`
	Pool       string    `json:"pool,omitzero"`

	InputTokens        uint64    `json:"input_tokens,omitzero"`
	BlockSizeTokens    uint32    `json:"block_size_tokens,omitzero"`
	RequestBlocks      uint64    `json:"request_blocks,omitzero"`
	TrackPrefillTokens opt[bool] `json:"track_prefill_tokens,omitzero"`
	LoadOnly           bool      `json:"load_only,omitzero"`
	Rebuilt            bool      `json:"rebuilt,omitzero"`
	Pinned             bool      `json:"pinned,omitzero"`
	QueryOnly          bool      `json:"query_only,omitzero"`

	TierMaps         opt[bool]          `json:"tier_maps,omitzero"`
	SharedHits       [][2]uint32        `json:"shared_hits,omitzero"`
	PreferredTaints  map[string]float32 `json:"preferred_taints,omitzero"`
	RequiredTaints   []string           `json:"required_taints,omitzero"`
	AllowedWorkerIDs []uint64           `json:"allowed_worker_ids,omitzero"`

	Selected              opt[wireKey] `json:"selected"`
	SelectedCostBlocks    opt[float64] `json:"selected_cost_blocks,omitzero"`
	CostToleranceBlocks   float64      `json:"cost_tolerance_blocks,omitzero"`
	RecordedLostBlocks    opt[float64] `json:"recorded_lost_blocks,omitzero"`
	RecordedOverlapBlocks opt[float64] `json:"recorded_overlap_blocks,omitzero"`
	RecordedWeights       wireWeights  `json:"recorded_weights,omitzero"`
	Unknown               []string     `json:"unknown,omitzero"`

	Candidates []wireCandidate `json:"candidates"`
}

type wireKey struct {
	WorkerID opt[uint64] `json:"worker_id"`
	DPRank   uint32      `json:"dp_rank,omitzero"`
}

type wireCandidate struct {
	wireKey
	Ineligible bool `json:"ineligible,omitzero"`

	EffectiveOverlapBlocks opt[float64] `json:"effective_overlap_blocks,omitzero"`
	DeviceBlocks           opt[float64] `json:"device_blocks,omitzero"`
	HostBlocks             float64      `json:"host_blocks,omitzero"`
	DiskBlocks             float64      `json:"disk_blocks,omitzero"`
	SharedBeyondBlocks     opt[float64] `json:"shared_beyond_blocks,omitzero"`
	CachedTokens           uint64       `json:"cached_tokens,omitzero"`

	NoLoadEntry         bool         `json:"no_load_entry,omitzero"`
	ActivePrefillTokens uint64       `json:"active_prefill_tokens,omitzero"`
	RawPrefillBlocks    opt[float64] `json:"raw_prefill_blocks,omitzero"`
	DecodeCostBlocks    float64      `json:"decode_cost_blocks,omitzero"`
	ActiveRequests      uint64       `json:"active_requests,omitzero"`
	Taints              []string     `json:"taints,omitzero"`

	Recorded wireRecorded `json:"recorded,omitzero"`
}

type wireRecorded struct {
	CostBlocks              opt[float64] `json:"cost_blocks,omitzero"`
	OverlapCreditBlocks     opt[float64] `json:"overlap_credit_blocks,omitzero"`
	OverlapCreditDecay      opt[float64] `json:"overlap_credit_decay,omitzero"`
	ActiveRequestCostBlocks opt[float64] `json:"active_request_cost_blocks,omitzero"`
}

// opt is a member that may be absent. opt[float64] converts to [Float].
type opt[T any] struct {
	Value T
	Set   bool
}

func some[T any](v T) opt[T] { return opt[T]{Value: v, Set: true} }

func (o opt[T]) or(v T) T {
	if o.Set {
		return o.Value
	}
	return v
}

func (o opt[T]) IsZero() bool { return !o.Set }

func (o opt[T]) MarshalJSONTo(enc *jsontext.Encoder) error {
	return json.MarshalEncode(enc, &o.Value)
}

func (o *opt[T]) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	o.Set = true
	return json.UnmarshalDecode(dec, &o.Value)
}

// wireWeights is a JSON object whose order is kept.
type wireWeights []Weight

func (ws wireWeights) MarshalJSONTo(enc *jsontext.Encoder) error {
	if err := enc.WriteToken(jsontext.BeginObject); err != nil {
		return err
	}
	for _, w := range ws {
		if err := enc.WriteToken(jsontext.String(w.Name)); err != nil {
			return err
		}
		if err := enc.WriteToken(jsontext.Float(w.Value)); err != nil {
			return err
		}
	}
	return enc.WriteToken(jsontext.EndObject)
}

func (ws *wireWeights) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	if k := dec.PeekKind(); k != jsontext.KindBeginObject {
		// Any map type gives the error with the pointer and the kind.
		return json.UnmarshalDecode(dec, new(map[string]float64))
	}
	if _, err := dec.ReadToken(); err != nil {
		return err
	}
	*ws = wireWeights{}
	for dec.PeekKind() != jsontext.KindEndObject {
		var w Weight
		if err := json.UnmarshalDecode(dec, &w.Name); err != nil {
			return err
		}
		if err := json.UnmarshalDecode(dec, &w.Value); err != nil {
			return err
		}
		*ws = append(*ws, w)
	}
	_, err := dec.ReadToken()
	return err
}
