package decision

import (
	"bytes"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// schemaPrefix starts the name of every version of the record.
const schemaPrefix = `"kvshadow.decision.`

// Matches says whether line claims to be a neutral record of any version. It
// looks at bytes only, so that a mixed log can be sorted cheaply: what matches
// may still be refused by [Unmarshal], and a version from the future is refused
// loudly instead of being taken for noise.
func Matches(line []byte) bool {
	line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
	if line = bytes.TrimLeft(line, " \t\r\n"); len(line) == 0 || line[0] != '{' {
		return false
	}
	for {
		before, after, found := bytes.Cut(line, []byte(schemaPrefix))
		if !found {
			return false
		}
		before, colon := bytes.CutSuffix(bytes.TrimRight(before, " \t"), []byte(":"))
		if colon && bytes.HasSuffix(bytes.TrimRight(before, " \t"), []byte(`"schema"`)) {
			return true
		}
		line = after
	}
}

// Unmarshal reads one record of the form [SchemaV1] into d, replacing all of it.
// d keeps nothing of line. It is left as it was if an error is returned.
//
// Unmarshal is strict: unknown, duplicate and null members, numbers out of range
// and contradictions are errors, each a [*FieldError] that names the member,
// what was wrong, and what is allowed. It fills in what follows from the rest:
//
//   - RequestBlocks from tokens and block size; if it can't be known,
//     [UnknownRequestBlocks] is set;
//   - a candidate's effective overlap from its device blocks;
//   - TierMaps, from the presence of device, host or disk blocks.
func Unmarshal(line []byte, d *Decision) error {
	var w wireDecision
	if err := json.Unmarshal(line, &w, json.RejectUnknownMembers(true)); err != nil {
		return explain(line, err)
	}
	if w.Schema != SchemaV1 {
		return checkSchema(line)
	}
	if err := refuseNull(line); err != nil {
		return err
	}
	if err := w.checkRequired(); err != nil {
		return err
	}
	out, err := w.decision()
	if err != nil {
		return err
	}
	if err := check(out); err != nil {
		return err
	}
	*d = *out
	return nil
}

// refuseNull looks for null, which the decoder would take for zero: a null id
// must not become worker 0.
func refuseNull(line []byte) error {
	if !bytes.Contains(line, []byte("null")) {
		return nil
	}
	dec := jsontext.NewDecoder(bytes.NewReader(line))
	for {
		tok, err := dec.ReadToken()
		if err != nil {
			return nil // the end: the line decoded before
		}
		if tok.Kind() == jsontext.KindNull {
			p := string(dec.StackPointer())
			return fieldErrorf(p, "is null; leave the member out or give %s", want(p))
		}
	}
}

func (w *wireDecision) checkRequired() error {
	missing := func(pointer string) error {
		return fieldErrorf(pointer, "missing; want %s", want(pointer))
	}
	switch {
	case w.WorkerType == "":
		return fieldErrorf("/worker_type", "missing or empty; want %s", want("/worker_type"))
	case !w.Selected.Set:
		return missing("/selected")
	case !w.Selected.Value.WorkerID.Set:
		return missing("/selected/worker_id")
	case w.Candidates == nil:
		return missing("/candidates")
	}
	for i := range w.Candidates {
		if !w.Candidates[i].WorkerID.Set {
			return missing(candidatePointer(i) + "/worker_id")
		}
	}
	return nil
}

func (w *wireDecision) decision() (*Decision, error) {
	d := &Decision{
		RequestID:             w.RequestID,
		SessionID:             w.SessionID,
		Model:                 w.Model,
		Pool:                  w.Pool,
		InputTokens:           w.InputTokens,
		BlockSizeTokens:       w.BlockSizeTokens,
		RequestBlocks:         w.RequestBlocks,
		TracksPrefill:         w.TrackPrefillTokens.or(true),
		Rebuilt:               w.Rebuilt,
		LoadOnly:              w.LoadOnly,
		Pinned:                w.Pinned,
		QueryOnly:             w.QueryOnly,
		PreferredTaints:       w.PreferredTaints,
		RequiredTaints:        w.RequiredTaints,
		AllowedWorkerIDs:      w.AllowedWorkerIDs,
		Selected:              w.Selected.Value.key(),
		SelectedCostBlocks:    Float(w.SelectedCostBlocks),
		CostToleranceBlocks:   w.CostToleranceBlocks,
		RecordedLostBlocks:    Float(w.RecordedLostBlocks),
		RecordedOverlapBlocks: Float(w.RecordedOverlapBlocks),
		RecordedWeights:       w.RecordedWeights,
		Candidates:            make([]Candidate, len(w.Candidates)),
	}
	if !w.Time.IsZero() {
		d.Time = w.Time.UTC()
	}
	var tiers bool
	for i := range w.Candidates {
		d.Candidates[i] = w.Candidates[i].candidate()
		tiers = tiers || d.Candidates[i].hasTier()
	}
	d.TierMaps = w.TierMaps.or(tiers)
	for _, r := range w.SharedHits {
		d.SharedHits = append(d.SharedHits, BlockRange{Start: r[0], End: r[1]})
	}
	if err := d.setWorkerType(w.WorkerType); err != nil {
		return nil, err
	}
	if err := d.setUnknown(w.Unknown); err != nil {
		return nil, err
	}
	d.fillRequestBlocks()
	return d, nil
}

func (d *Decision) setWorkerType(name string) error {
	for _, t := range WorkerTypes {
		if t.String() == name {
			d.WorkerType = t
			return nil
		}
	}
	return fieldErrorf("/worker_type", "is %s; want %s", quote(name), want("/worker_type"))
}

func (d *Decision) setUnknown(names []string) error {
	for i, name := range names {
		bit := slices.Index(unknownNames[:], name)
		if bit < 0 {
			return fieldErrorf(indexed("/unknown", i), "is %s; want %s", quote(name), want("/unknown"))
		}
		if d.Unknown.Has(1 << bit) {
			return fieldErrorf(indexed("/unknown", i), "is %s again; want each name once", quote(name))
		}
		d.Unknown |= 1 << bit
	}
	return nil
}

func (d *Decision) fillRequestBlocks() {
	if d.RequestBlocks == 0 {
		d.RequestBlocks = Blocks(d.InputTokens, d.BlockSizeTokens)
	}
	if d.RequestBlocks == 0 {
		d.Unknown |= UnknownRequestBlocks
	}
}

func (w *wireCandidate) candidate() Candidate {
	return Candidate{
		Key:                    w.key(),
		Ineligible:             w.Ineligible,
		EffectiveOverlapBlocks: w.EffectiveOverlapBlocks.or(w.DeviceBlocks.Value),
		DeviceBlocks:           Float(w.DeviceBlocks),
		HostBlocks:             w.HostBlocks,
		DiskBlocks:             w.DiskBlocks,
		SharedBeyondBlocks:     Float(w.SharedBeyondBlocks),
		CachedTokens:           w.CachedTokens,
		NoLoadEntry:            w.NoLoadEntry,
		ActivePrefillTokens:    w.ActivePrefillTokens,
		RawPrefillBlocks:       Float(w.RawPrefillBlocks),
		DecodeCostBlocks:       w.DecodeCostBlocks,
		ActiveRequests:         w.ActiveRequests,
		Taints:                 w.Taints,
		Recorded: Recorded{
			CostBlocks:              Float(w.Recorded.CostBlocks),
			OverlapCreditBlocks:     Float(w.Recorded.OverlapCreditBlocks),
			OverlapCreditDecay:      Float(w.Recorded.OverlapCreditDecay),
			ActiveRequestCostBlocks: Float(w.Recorded.ActiveRequestCostBlocks),
		},
	}
}

// hasTier says whether any tier of c is known, which takes a match map.
func (c *Candidate) hasTier() bool {
	return c.DeviceBlocks.Set || c.HostBlocks > 0 || c.DiskBlocks > 0
}
