package decision

import (
	"strings"
	"time"
)

// minimal is a record that tests make better or worse.
const minimal = `{"schema":"kvshadow.decision.v1","request_id":"r1","worker_type":"decode","input_tokens":100,` +
	`"block_size_tokens":16,"selected":{"worker_id":7},"candidates":[{"worker_id":7,"device_blocks":3},{"worker_id":8,"dp_rank":1}]}`

// with returns the minimal record with one part of its text replaced.
func with(old, text string) string {
	if strings.Count(minimal, old) != 1 {
		panic("BUG: the minimal record must hold once: " + old)
	}
	return strings.Replace(minimal, old, text, 1)
}

// fullDecision returns a valid decision in which no field is zero.
func fullDecision() Decision {
	key := Key{WorkerID: 1<<64 - 1, DPRank: 3}
	return Decision{
		RequestID:             "req-1",
		SessionID:             "session-1",
		Model:                 "Qwen/Qwen3-0.6B",
		Time:                  time.Date(2026, 9, 1, 12, 30, 0, 123456789, time.UTC),
		WorkerType:            Decode,
		Pool:                  "aggregated",
		InputTokens:           3000,
		BlockSizeTokens:       64,
		RequestBlocks:         47,
		TracksPrefill:         true,
		LoadOnly:              true,
		Pinned:                true,
		QueryOnly:             true,
		TierMaps:              true,
		SharedHits:            []BlockRange{{Start: 1, End: 3}, {Start: 4, End: 9}},
		PreferredTaints:       map[string]float32{"gpu/type": 0.1, "zone~b": -2},
		RequiredTaints:        []string{"hbm"},
		AllowedWorkerIDs:      []uint64{key.WorkerID, 1 << 53},
		Selected:              key,
		SelectedCostBlocks:    Some(-1.25),
		CostToleranceBlocks:   0.0005,
		RecordedLostBlocks:    Some(0.25),
		RecordedOverlapBlocks: Some(1.75),
		Rebuilt:               true,
		RecordedWeights:       []Weight{{"b", 0.1}, {"a", -4}},
		Unknown:               UnknownTiers | UnknownActiveRequests | UnknownTaints,
		Candidates: []Candidate{{
			Key:                    key,
			Ineligible:             true,
			EffectiveOverlapBlocks: 40.75,
			DeviceBlocks:           Some(38),
			HostBlocks:             3,
			DiskBlocks:             1,
			SharedBeyondBlocks:     Some(2),
			CachedTokens:           2608,
			NoLoadEntry:            true,
			ActivePrefillTokens:    512,
			RawPrefillBlocks:       Some(54.875),
			DecodeCostBlocks:       143,
			ActiveRequests:         4,
			Taints:                 []string{"hbm"},
			Recorded: Recorded{
				CostBlocks:              Some(-20.5),
				OverlapCreditBlocks:     Some(40.75),
				OverlapCreditDecay:      Some(0.5),
				ActiveRequestCostBlocks: Some(8),
			},
		}},
	}
}
