package dynamo

import (
	"bytes"
	"encoding/json"
	"maps"
	"math"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/kvshadow/kvshadow/analyzer/decision"
	"github.com/kvshadow/kvshadow/internal/testfile"
)

// readCapture returns the lines of a capture of a real router; see
// testdata/captures/README.md.
func readCapture(tb testing.TB, name string) [][]byte {
	tb.Helper()
	return testfile.Lines(tb, "testdata/captures/"+name+".gz")
}

// decodeLines decodes the lines of one stream.
func decodeLines(lines [][]byte) (out []*decision.Decision, counts map[string]uint64) {
	d := NewDecoder(func(x *decision.Decision) { out = append(out, x) })
	for _, line := range lines {
		d.Line(0, line)
	}
	d.Flush()
	return out, undecodable(d)
}

// undecodable returns the reasons that were counted at least once.
func undecodable(d *Decoder) map[string]uint64 {
	counts := map[string]uint64{}
	d.Undecodable(func(reason string, n uint64) {
		if n > 0 {
			counts[reason] = n
		}
	})
	return counts
}

// truth is what the router's own rows say of a role.
type truth struct {
	selections, nonMax int
	lost               float64
	rows               int
}

var truthRow = regexp.MustCompile(`^Formula for worker_id=(\d+) dp_rank=(\d+) with ([\d.]+) effective cached blocks`)

// truthOf reads the rows of a JSON capture without any of the package's code.
func truthOf(t *testing.T, lines [][]byte) (out map[string]truth, unfinished uint64) {
	t.Helper()
	out = map[string]truth{}
	open := map[string]map[string]float64{}
	for _, line := range lines {
		var x struct {
			Message    string          `json:"message"`
			RequestID  string          `json:"request_id"`
			WorkerType string          `json:"worker_type"`
			WorkerID   json.Number     `json:"worker_id"`
			DPRank     json.RawMessage `json:"dp_rank"`
		}
		if json.Unmarshal(line, &x) != nil {
			continue
		}
		// Rows of 1.3 have neither id nor role.
		key := x.RequestID + "/" + x.WorkerType
		if x.RequestID == "" {
			key = ""
		}
		if m := truthRow.FindStringSubmatch(x.Message); m != nil {
			if open[key] == nil {
				open[key] = map[string]float64{}
			}
			open[key][m[1]+"/"+m[2]], _ = strconv.ParseFloat(m[3], 64)
		}
		if x.Message != "Selected worker" || open[key] == nil {
			continue
		}
		role := strings.Replace(x.WorkerType, "replay", "decode", 1)
		selected, known := open[key][x.WorkerID.String()+"/"+strings.Trim(string(x.DPRank), `"`)]
		if !known {
			t.Fatalf("no row of the selected worker: %s", line)
		}
		most, sum := 0.0, out[role]
		for _, v := range open[key] {
			most = max(most, v)
		}
		sum.selections++
		sum.rows += len(open[key])
		sum.lost += most - selected
		if most > selected {
			sum.nonMax++
		}
		out[role] = sum
		delete(open, key)
	}
	return out, uint64(len(open))
}

// countsOf counts decoded decisions as truthOf does.
func countsOf(decisions []*decision.Decision) map[string]truth {
	out := map[string]truth{}
	for _, d := range decisions {
		most, selected := 0.0, 0.0
		for _, x := range d.Candidates {
			most = max(most, x.EffectiveOverlapBlocks)
			if x.Key == d.Selected {
				selected = x.EffectiveOverlapBlocks
			}
		}
		sum := out[d.WorkerType.String()]
		sum.selections++
		sum.rows += len(d.Candidates)
		sum.lost += most - selected
		if most > selected {
			sum.nonMax++
		}
		out[d.WorkerType.String()] = sum
	}
	return out
}

// TestCaptures decodes captures of real routers and re-scores every decision
// under the weights that the router ran with.
func TestCaptures(t *testing.T) {
	f := func(name string, live map[string]float64, inputs bool) {
		t.Helper()
		lines := readCapture(t, name)
		decisions, counts := decodeLines(lines)
		want, unfinished := truthOf(t, lines) // some captures are cut within a choice
		if counts["rows_without_winner"] != unfinished || len(counts) > int(unfinished) {
			t.Errorf("%s: undecodable %v, want %d rows without winner", name, counts, unfinished)
		}
		if len(want) == 0 || !maps.EqualFunc(countsOf(decisions), want, sameTruth) {
			t.Errorf("%s: decoded %+v, the rows say %+v", name, countsOf(decisions), want)
		}
		for _, d := range decisions {
			if d.Pinned || d.QueryOnly || d.Unknown.Has(decision.UnknownRequestBlocks) == inputs ||
				inputs && (d.BlockSizeTokens != 64 || d.RequestBlocks != (d.InputTokens+63)/64) {
				t.Errorf("%s: not as captured: %+v", name, d)
			}
		}
		testFidelity(t, name, decisions, live)
	}
	f("disagg-1.5.1.jsonl", nil, true)
	f("mixed-weights-1.5.1.jsonl", map[string]float64{"prefill_load_scale": 3, "overlap_score_credit": 1.5, "decode_active_request_weight": 2},
		true)
	f("mixed-dp2-1.5.1.jsonl", nil, true)
	// Offline replays print neither prompt lengths nor [ROUTING] messages.
	f("mixed-3-4w-decay.jsonl", map[string]float64{"overlap_score_credit": 2, "overlap_score_credit_decay": 0.5, "decode_active_request_weight": 1.5},
		false)
	f("mixed-3-4w-temp.jsonl", map[string]float64{"router_temperature": 0.3}, false)
	f("seed-1-credit4.jsonl", map[string]float64{"overlap_score_credit": 4}, false)
	f("dynamo-1.3.1.jsonl", nil, false)
	f("dynamo-1.4.2.jsonl", nil, false)
}

func sameTruth(a, b truth) bool {
	return a.selections == b.selections && a.nonMax == b.nonMax && a.rows == b.rows && math.Abs(a.lost-b.lost) < 1e-9
}

// testFidelity expects that the live weights reproduce every decision, and
// that wrong ones are noticed.
func testFidelity(t *testing.T, name string, decisions []*decision.Decision, live map[string]float64) {
	t.Helper()
	p := DefaultParams()
	for n, v := range live {
		if err := p.Set(n, v); err != nil {
			t.Fatal(err)
		}
	}
	if got := reproduced(t, decisions, p); got != len(decisions) {
		t.Errorf("%s: %d of %d decisions reproduced", name, got, len(decisions))
	}
	p.OverlapScoreCredit = 0.5
	if got := reproduced(t, decisions, p); got >= len(decisions)*9/10 {
		t.Errorf("%s: %d of %d decisions reproduced under a wrong credit", name, got, len(decisions))
	}
}

func reproduced(t *testing.T, decisions []*decision.Decision, p Params) (n int) {
	t.Helper()
	s := NewScorer([]Policy{{Name: "live", Params: p}})
	for _, d := range decisions {
		index, err := s.Prepare(d)
		if err != nil {
			t.Fatal(err)
		}
		costs := make([]float64, len(index))
		if err := s.Costs(0, costs); err != nil {
			t.Fatal(err)
		}
		cause, checked := s.Fidelity(costs)
		if !checked {
			t.Errorf("nothing recorded to compare with: %+v", d)
		}
		if cause == decision.Reproduced {
			n++
		}
	}
	return n
}

// TestCaptures_Counters: the disaggregated router's own counters, scraped from
// its /metrics after the run, read 8 non-max selections and 321 blocks lost.
// It also logged each of them.
func TestCaptures_Counters(t *testing.T) {
	decisions, _ := decodeLines(readCapture(t, "disagg-1.5.1.jsonl"))
	got := countsOf(decisions)
	if p := got["prefill"]; p.nonMax != 8 || p.lost != 321 || p.selections != 240 || got["decode"].selections != 240 {
		t.Errorf("counted %+v", got)
	}
	joined, lost := 0, 0.0
	for _, d := range decisions {
		if d.RecordedLostBlocks.Set {
			joined++
			lost += d.RecordedLostBlocks.Value
		}
		if d.Pool != d.WorkerType.String() || d.WorkerType == decision.Decode != d.LoadOnly || d.TracksPrefill == d.LoadOnly {
			t.Fatalf("decision %+v", d)
		}
	}
	if joined != 8 || lost != 321 {
		t.Errorf("%d of the router's own observations joined, with %v blocks", joined, lost)
	}
}

// TestCaptures_Readable: the human-readable capture with colours has the
// decisions of a replay whose JSON form release 1.4.2 wrote.
func TestCaptures_Readable(t *testing.T) {
	lines := readCapture(t, "dynamo-1.5.1-readable-ansi.log")
	decisions, counts := decodeLines(lines)
	plain := make([][]byte, len(lines))
	escape := regexp.MustCompile("\x1b\\[[0-9;]*m")
	rows, selections := 0, 0
	for i, line := range lines {
		plain[i] = escape.ReplaceAll(line, nil)
		rows += bytes.Count(plain[i], []byte(" Formula for worker_id="))
		selections += bytes.Count(plain[i], []byte(" Selected worker "))
	}
	if got := countsOf(decisions)["decode"]; got.selections != selections || rows-got.rows > 2 || selections < 60 {
		t.Errorf("%+v of %d rows and %d selections; undecodable %v", got, rows, selections, counts)
	}
	testFidelity(t, "readable", decisions, nil)
	again, _ := decodeLines(plain)
	for i, d := range decisions {
		if len(again) != len(decisions) || again[i].RequestID != d.RequestID || again[i].Selected != d.Selected ||
			again[i].SelectedCostBlocks != d.SelectedCostBlocks || !again[i].Time.Equal(d.Time) || d.Time.Year() != 2026 || d.RequestID == "" {
			t.Fatalf("colours change decision %d: %+v", i, d)
		}
	}
}

// TestCaptures_NoRows: 1.6 prints winners only, and all of them are counted.
func TestCaptures_NoRows(t *testing.T) {
	lines := readCapture(t, "agg-1.6.1.jsonl")
	selections := uint64(0)
	for _, line := range lines {
		if bytes.Contains(line, []byte(`"message":"Selected worker"`)) {
			selections++
		}
	}
	decisions, counts := decodeLines(lines)
	if len(decisions) != 0 || selections == 0 || !maps.Equal(counts, map[string]uint64{"winner_without_rows": selections}) {
		t.Errorf("%d decisions, undecodable %v, want %d winners without rows", len(decisions), counts, selections)
	}
}
