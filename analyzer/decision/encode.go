package decision

import (
	"errors"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Append appends d as one line without its newline. Decoding the line gives d
// again, with whatever [Unmarshal] fills in; times are written in UTC.
//
// A decision that Unmarshal would refuse is not written: the error is the same
// [*FieldError], and dst is returned as it was.
func Append(dst []byte, d *Decision) ([]byte, error) {
	if err := check(d); err != nil {
		return dst, err
	}
	line, err := json.Marshal(wireOf(d), json.Deterministic(true))
	if err != nil {
		return dst, explainEncoding(err)
	}
	return append(slices.Grow(dst, len(line)), line...), nil
}

// explainEncoding covers what check leaves to the encoder: names and texts
// that aren't UTF-8.
func explainEncoding(err error) error {
	if s, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return fieldErrorf(string(s.JSONPointer), "holds %v; want %s", s.Err, want(string(s.JSONPointer)))
	}
	return err
}

// wireOf returns the form to encode. It leaves out what decoding fills in.
func wireOf(d *Decision) *wireDecision {
	w := &wireDecision{
		Schema:                SchemaV1,
		RequestID:             d.RequestID,
		SessionID:             d.SessionID,
		Model:                 d.Model,
		Time:                  d.Time.UTC(),
		WorkerType:            d.WorkerType.String(),
		Pool:                  d.Pool,
		InputTokens:           d.InputTokens,
		BlockSizeTokens:       d.BlockSizeTokens,
		RequestBlocks:         d.RequestBlocks,
		TrackPrefillTokens:    opt[bool]{Set: !d.TracksPrefill},
		Rebuilt:               d.Rebuilt,
		LoadOnly:              d.LoadOnly,
		Pinned:                d.Pinned,
		QueryOnly:             d.QueryOnly,
		TierMaps:              opt[bool]{Value: d.TierMaps, Set: d.TierMaps},
		PreferredTaints:       d.PreferredTaints,
		RequiredTaints:        d.RequiredTaints,
		AllowedWorkerIDs:      d.AllowedWorkerIDs,
		Selected:              some(wireKeyOf(d.Selected)),
		SelectedCostBlocks:    opt[float64](d.SelectedCostBlocks),
		CostToleranceBlocks:   d.CostToleranceBlocks,
		RecordedLostBlocks:    opt[float64](d.RecordedLostBlocks),
		RecordedOverlapBlocks: opt[float64](d.RecordedOverlapBlocks),
		RecordedWeights:       d.RecordedWeights,
		Unknown:               d.Unknown.Names(),
		Candidates:            make([]wireCandidate, len(d.Candidates)),
	}
	for _, r := range d.SharedHits {
		w.SharedHits = append(w.SharedHits, [2]uint32{r.Start, r.End})
	}
	for i := range d.Candidates {
		w.Candidates[i] = wireCandidateOf(&d.Candidates[i])
		// Without the member a tier would be read as a sign of tier maps.
		w.TierMaps.Set = w.TierMaps.Set || d.Candidates[i].hasTier()
	}
	return w
}

func wireKeyOf(k Key) wireKey {
	return wireKey{WorkerID: some(k.WorkerID), DPRank: k.DPRank}
}

func (w wireKey) key() Key { return Key{WorkerID: w.WorkerID.Value, DPRank: w.DPRank} }

func wireCandidateOf(c *Candidate) wireCandidate {
	return wireCandidate{
		wireKey:    wireKeyOf(c.Key),
		Ineligible: c.Ineligible,
		EffectiveOverlapBlocks: opt[float64]{
			Value: c.EffectiveOverlapBlocks,
			Set:   c.EffectiveOverlapBlocks != c.DeviceBlocks.Or(0),
		},
		DeviceBlocks:        opt[float64](c.DeviceBlocks),
		HostBlocks:          c.HostBlocks,
		DiskBlocks:          c.DiskBlocks,
		SharedBeyondBlocks:  opt[float64](c.SharedBeyondBlocks),
		CachedTokens:        c.CachedTokens,
		NoLoadEntry:         c.NoLoadEntry,
		ActivePrefillTokens: c.ActivePrefillTokens,
		RawPrefillBlocks:    opt[float64](c.RawPrefillBlocks),
		DecodeCostBlocks:    c.DecodeCostBlocks,
		ActiveRequests:      c.ActiveRequests,
		Taints:              c.Taints,
		Recorded: wireRecorded{
			CostBlocks:              opt[float64](c.Recorded.CostBlocks),
			OverlapCreditBlocks:     opt[float64](c.Recorded.OverlapCreditBlocks),
			OverlapCreditDecay:      opt[float64](c.Recorded.OverlapCreditDecay),
			ActiveRequestCostBlocks: opt[float64](c.Recorded.ActiveRequestCostBlocks),
		},
	}
}
