package decision

import (
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// check refuses what the cost function could not take or a reader would
// misread. It is the common part of [Unmarshal] and [Append].
func check(d *Decision) error {
	for _, part := range [...]func(*Decision) error{
		checkHead, checkLength, checkSharedHits, checkNumbers, checkCandidates, checkSelected,
	} {
		if err := part(d); err != nil {
			return err
		}
	}
	return nil
}

func checkHead(d *Decision) error {
	switch {
	case d.RequestID == "":
		return fieldErrorf("/request_id", "missing or empty; want %s", want("/request_id"))
	case int(d.WorkerType) >= len(WorkerTypes):
		return fieldErrorf("/worker_type", "is %d; want %s", d.WorkerType, want("/worker_type"))
	case d.Unknown>>len(unknownNames) != 0:
		return fieldErrorf("/unknown", "is %#x; want %s", uint8(d.Unknown), want("/unknown"))
	}
	// A zone can move a time out of the years that RFC 3339 has.
	if y := d.Time.UTC().Year(); !d.Time.IsZero() && (y < 1 || y > 9999) {
		return fieldErrorf("/time", "is in the year %d UTC; want %s", y, want("/time"))
	}
	return nil
}

// checkLength compares the length of the prompt in tokens and in blocks.
func checkLength(d *Decision) error {
	computed := Blocks(d.InputTokens, d.BlockSizeTokens)
	switch known := max(d.RequestBlocks, computed); {
	case known == 0:
		return nil
	case d.Unknown.Has(UnknownRequestBlocks):
		return fieldErrorf("/unknown", "names request_blocks, which are known to be %d; want one or the other", known)
	case d.RequestBlocks != 0 && computed != 0 && d.RequestBlocks != computed:
		return fieldErrorf("/request_blocks", "is %d; want %d, as %d input_tokens in blocks of %d, rounded up",
			d.RequestBlocks, computed, d.InputTokens, d.BlockSizeTokens)
	}
	return nil
}

func checkSharedHits(d *Decision) error {
	var end uint32
	for i, r := range d.SharedHits {
		if r.End < r.Start {
			return fieldErrorf(indexed("/shared_hits", i), "is [%d,%d]; want start <= end", r.Start, r.End)
		}
		if r.Start < end {
			return fieldErrorf(indexed("/shared_hits", i), "starts at %d; want a start >= %d, where the range before it ends", r.Start, end)
		}
		end = r.End
	}
	return nil
}

func checkNumbers(d *Decision) error {
	bad := outOfRange([]namedFloat{
		{"selected_cost_blocks", d.SelectedCostBlocks.Value, true},
		{"cost_tolerance_blocks", d.CostToleranceBlocks, false},
		{"recorded_lost_blocks", d.RecordedLostBlocks.Value, false},
		{"recorded_overlap_blocks", d.RecordedOverlapBlocks.Value, false},
	})
	if bad.name != "" {
		return notAllowed("/"+bad.name, bad.value)
	}
	for name, v := range d.PreferredTaints {
		if !finite(float64(v)) {
			return notAllowed(below("/preferred_taints", name), float64(v))
		}
	}
	return checkWeights(d)
}

func checkWeights(d *Decision) error {
	seen := make(map[string]bool, len(d.RecordedWeights))
	for _, w := range d.RecordedWeights {
		if !finite(w.Value) {
			return notAllowed(below("/recorded_weights", w.Name), w.Value)
		}
		if seen[w.Name] {
			return fieldErrorf(below("/recorded_weights", w.Name), "given twice; want each member once")
		}
		seen[w.Name] = true
	}
	return nil
}

func checkCandidates(d *Decision) error {
	if len(d.Candidates) == 0 {
		return fieldErrorf("/candidates", "is empty; want %s", want("/candidates"))
	}
	seen := make(map[Key]int, len(d.Candidates))
	for i := range d.Candidates {
		c := &d.Candidates[i]
		if first, dup := seen[c.Key]; dup {
			return fieldErrorf(candidatePointer(i), "has the worker_id %d and dp_rank %d of %s; want each pair once",
				c.WorkerID, c.DPRank, candidatePointer(first))
		}
		seen[c.Key] = i
		if err := checkCandidate(i, c); err != nil {
			return err
		}
	}
	return nil
}

func checkCandidate(i int, c *Candidate) error {
	bad := outOfRange([]namedFloat{
		// Before effective_overlap_blocks, which may be a copy of it.
		{"device_blocks", c.DeviceBlocks.Value, false},
		{"effective_overlap_blocks", c.EffectiveOverlapBlocks, false},
		{"host_blocks", c.HostBlocks, false},
		{"disk_blocks", c.DiskBlocks, false},
		{"shared_beyond_blocks", c.SharedBeyondBlocks.Value, false},
		{"raw_prefill_blocks", c.RawPrefillBlocks.Value, false},
		{"decode_cost_blocks", c.DecodeCostBlocks, false},
		// Releases without a clamp print costs below zero.
		{"recorded/cost_blocks", c.Recorded.CostBlocks.Value, true},
		{"recorded/overlap_credit_blocks", c.Recorded.OverlapCreditBlocks.Value, false},
		{"recorded/overlap_credit_decay", c.Recorded.OverlapCreditDecay.Value, false},
		{"recorded/active_request_cost_blocks", c.Recorded.ActiveRequestCostBlocks.Value, false},
	})
	if bad.name != "" {
		return notAllowed(candidatePointer(i)+"/"+bad.name, bad.value)
	}
	return nil
}

func checkSelected(d *Decision) error {
	i := d.Find(d.Selected)
	if i < 0 {
		return fieldErrorf("/selected", "is worker_id %d, dp_rank %d; want one of the %d candidates",
			d.Selected.WorkerID, d.Selected.DPRank, len(d.Candidates))
	}
	// A pinned request goes to its worker without being scored.
	if d.Candidates[i].Ineligible && !d.Pinned {
		return fieldErrorf("/selected", "is %s, which is ineligible; want an eligible candidate, or pinned", candidatePointer(i))
	}
	return nil
}

// namedFloat is a number with its place below some pointer. The pointer itself
// is built for the error only, as the checks run on every record.
type namedFloat struct {
	name   string
	value  float64
	signed bool
}

// outOfRange returns the first value that can't be, or one without a name.
func outOfRange(values []namedFloat) namedFloat {
	for _, v := range values {
		if !finite(v.value) || v.value < 0 && !v.signed {
			return v
		}
	}
	return namedFloat{}
}

func notAllowed(pointer string, v float64) error {
	return fieldErrorf(pointer, "is %s; want %s", strconv.FormatFloat(v, 'g', -1, 64), want(pointer))
}

// below is the pointer to a member whose name may need escaping.
func below(parent, name string) string {
	return string(jsontext.Pointer(parent).AppendToken(name))
}
