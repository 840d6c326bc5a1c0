package report

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/kvshadow/kvshadow/analyzer/fleet"
)

// worlds returns results of the given moved sessions, everything else following.
func worlds(moved ...int) []*fleet.Result {
	var out []*fleet.Result
	for _, m := range moved {
		v := float64(m)
		out = append(out, &fleet.Result{Requests: 1192, MovedSessions: m, NonMaxOverlapSelections: m - 1, OverlapBlocksLost: 40 * v,
			RecomputedPrefillTokens: 3000 * m, PrefixCacheReusedRatio: 1 - v/100, TTFTP50: 50 + v/8, TTFTP95: 100 + v, ResumedTTFTP95: 90 + v,
			ITLMean: 24.5, Duration: 28_000 + 10*v})
	}
	return out
}

// simulation has live, and a policy whose name could break a table.
func simulation(seeds int) *Simulation {
	live, other := []int{46, 41, 52}[:seeds], []int{4, 2, 7}[:seeds]
	return NewSimulation([]string{"live", "a|b <4>"}, [][]*fleet.Result{worlds(live...), worlds(other...)})
}

func TestSimulationFormats(t *testing.T) {
	recorded := simulation(3)
	recorded.Recorded = map[string]float64{"requests": 1192, "moved_sessions": 44, "ttft_p50_ms": 55, "duration_ms": 28_463.3, "itl_mean_ms": 0}
	recorded.Notes = []string{"3 of 1195 requests of the trace have no usable block hashes and were left out."}
	for _, format := range Formats {
		for name, s := range map[string]*Simulation{"seeds": simulation(3), "one": simulation(1), "recorded": recorded} {
			var b strings.Builder
			if err := s.Write(&b, format); err != nil {
				t.Fatal(err)
			}
			golden(t, "simulation-"+name+"."+format, b.String())
		}
	}
	if err := recorded.Write(&strings.Builder{}, "yaml"); err == nil || !strings.Contains(err.Error(), "allowed are text, json, markdown, html") {
		t.Errorf("error %v", err)
	}
}

// TestSimulationContract checks the keys that others rely on.
func TestSimulationContract(t *testing.T) {
	keys := strings.Fields(`requests moved_sessions non_max_overlap_selections overlap_blocks_lost recomputed_prefill_tokens
		prefix_cache_reused_ratio ttft_p50_ms ttft_p95_ms resumed_ttft_p95_ms itl_mean_ms duration_ms`)
	for _, seeds := range []int{1, 3} {
		var b strings.Builder
		if err := simulation(seeds).Write(&b, "json"); err != nil {
			t.Fatal(err)
		}
		var doc struct {
			Schema   string
			Seeds    int
			Policies []map[string]any
		}
		if err := json.Unmarshal([]byte(b.String()), &doc); err != nil {
			t.Fatal(err)
		}
		if doc.Schema != "kvshadow.simulation.v1" || doc.Seeds != seeds || len(doc.Policies) != 2 || doc.Policies[1]["name"] != "a|b <4>" {
			t.Errorf("%d seeds: %+v", seeds, doc)
		}
		for i, p := range doc.Policies {
			for _, key := range keys {
				has := func(suffix string) bool { _, ok := p[key+suffix]; return ok }
				if !has("") || has("_min") != (seeds > 1) || has("_max") != (seeds > 1) || has("_difference") != (seeds > 1 && i > 0) || has("_difference_ci95") != (seeds > 1 && i > 0) {
					t.Errorf("%d seeds, policy %d: %s and its companions in %v", seeds, i, key, p)
				}
			}
		}
		if seeds == 3 {
			p := doc.Policies[1]
			for key, want := range map[string]float64{"moved_sessions": 13.0 / 3, "moved_sessions_min": 2, "moved_sessions_max": 7, "moved_sessions_difference": -42} {
				if got, _ := p[key].(float64); got < want-1e-9 || got > want+1e-9 {
					t.Errorf("%s is %v; want %v", key, got, want)
				}
			}
		}
	}
}

func TestDecimal(t *testing.T) {
	for _, tt := range []struct {
		v        float64
		decimals int
		want     string
	}{{0, 0, "0"}, {0, 2, "0.00"}, {-0.3, 0, "0"}, {999, 0, "999"}, {1000, 0, "1,000"}, {-1234567.891, 2, "-1,234,567.89"}, {-999.95, 1, "-1,000.0"}} {
		if got := decimal(tt.v, tt.decimals); got != tt.want {
			t.Errorf("decimal(%v, %d) = %q; want %q", tt.v, tt.decimals, got, tt.want)
		}
	}
}
