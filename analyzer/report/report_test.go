package report

import (
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kvshadow/kvshadow/analyzer/decision"
	"github.com/kvshadow/kvshadow/analyzer/shadow"
)

var update = flag.Bool("update", false, "rewrite the golden files in testdata")

// golden compares with testdata/name.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Fatalf("%s:\ngot\n%s\nwant\n%s", path, got, want)
	}
}

// fixed returns a number of blocks or selections; Fixed has 20 binary places.
func fixed(v float64) shadow.Fixed { return shadow.Fixed(v * (1 << 20)) }

func sums(nonMax, lost, diverging, missing, excess float64) shadow.Sums {
	return shadow.Sums{NonMax: fixed(nonMax), Lost: fixed(lost), Diverging: fixed(diverging), Missing: fixed(missing), LoadExcess: fixed(excess)}
}

// full has everything that a report can say: 1,000 prefill selections of which
// 20 were not reproduced, and 4 decode selections that refuse a verdict.
func full() *shadow.Totals {
	t := shadow.NewTotals([]string{"live", "affinity-4", "same", "tiers-2"})
	p := &t.Pools[decision.Prefill]
	p.Evaluated, p.Checked = 1000, 1000
	p.Bases[decision.BasisRows] = 1000
	p.Excluded[shadow.Pinned], p.Excluded[shadow.QueryOnly] = 3, 1200
	p.Mismatches[decision.Reproduced], p.Mismatches[decision.StaleState], p.Mismatches[decision.Rounding] = 980, 15, 5
	p.RequestBlocks, p.UnknownRequestBlocks = 50_000, 10
	p.Policies = []shadow.Sums{
		sums(80, 3210.5, 0, 20_000, 307.625), sums(20.5, 170, 61.25, 19_000, 1307.625), sums(80, 3210.5, 0, 20_000, 307.625), sums(90, 4000, 12, 21_000, 0)}
	p.Policies[3].Unsupported, p.Policies[3].Unknown = 900, decision.UnknownTiers|decision.UnknownActiveRequests
	p.Unreproduced = []shadow.Sums{sums(5, 100, 0, 900, 10), sums(1, 40, 7, 800, 20), sums(5, 100, 0, 900, 10), sums(6, 120, 1, 950, 0)}
	d := &t.Pools[decision.Decode]
	d.Evaluated, d.Checked = 4, 4
	d.Bases[decision.BasisRows] = 4
	d.Mismatches[decision.Weights], d.Mismatches[decision.Reproduced] = 3, 1
	d.UnknownRequestBlocks = 4
	return t
}

var fullInputs = Inputs{Files: 2, Lines: 12_345, Bytes: 987_654, Decisions: 2207, IgnoredLines: 8000, Lifecycles: 40, LearnedOverlaps: 9, OverCapacityBlocks: 17,
	Undecodable: map[string]uint64{"truncated": 1, "malformed": 0, "winner_without_rows": 2, "unknown_formula": 1234},
}

func testAdvice(reason string) string {
	if reason == "winner_without_rows" {
		return "selections have no candidate rows."
	}
	return ""
}

func write(t *testing.T, r *Report, format string) string {
	t.Helper()
	var b strings.Builder
	if err := r.Write(&b, format); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestReportWrite(t *testing.T) {
	r := New(full(), fullInputs, DefaultMinFidelity, testAdvice)
	golden(t, "full.txt", write(t, r, "text"))
	golden(t, "full.md", write(t, r, "markdown"))
	golden(t, "full.json", write(t, r, "json"))
	golden(t, "full.html", write(t, r, "html"))

	none := New(shadow.NewTotals([]string{"live"}), Inputs{Files: 1, Undecodable: map[string]uint64{}}, DefaultMinFidelity, testAdvice)
	golden(t, "none.txt", write(t, none, "text"))
	golden(t, "none.md", write(t, none, "markdown"))
	golden(t, "none.json", write(t, none, "json"))

	var b strings.Builder
	if err := r.Write(&b, "xml"); err == nil || b.Len() > 0 || err.Error() != `unknown output format "xml": allowed are text, json, markdown, html` {
		t.Fatalf("format xml: %v, %q", err, &b)
	}
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestReportWrite_BrokenWriter(t *testing.T) {
	r := New(full(), fullInputs, DefaultMinFidelity, testAdvice)
	for _, format := range Formats {
		if err := r.Write(brokenWriter{}, format); err == nil || err.Error() != "disk full" {
			t.Fatalf("%s: %v", format, err)
		}
	}
}

// contract is what DESIGN promises of analyze -o json. Members may be added.
type contract struct {
	Schema string `json:"schema"`
	Inputs struct {
		Files        *int              `json:"files"`
		Lines        *uint64           `json:"lines"`
		Bytes        *uint64           `json:"bytes"`
		Decisions    *uint64           `json:"decisions"`
		IgnoredLines *uint64           `json:"ignored_lines"`
		Undecodable  map[string]uint64 `json:"undecodable"`
	} `json:"inputs"`
	Pools []struct {
		WorkerType string            `json:"worker_type"`
		Evaluated  *uint64           `json:"evaluated"`
		Excluded   map[string]uint64 `json:"excluded"`
		Fidelity   struct {
			Basis      string            `json:"basis"`
			Checked    *uint64           `json:"checked"`
			Reproduced *uint64           `json:"reproduced"`
			Causes     map[string]uint64 `json:"causes"`
		} `json:"fidelity"`
		Policies []struct {
			Name       string   `json:"name"`
			NonMax     *float64 `json:"non_max_overlap_selections"`
			Lost       *float64 `json:"overlap_blocks_lost"`
			Diverging  *float64 `json:"diverging_selections"`
			Missing    *float64 `json:"missing_prefix_blocks"`
			LoadExcess *float64 `json:"load_excess_blocks"`
		} `json:"policies"`
	} `json:"pools"`
}

func TestReportContract(t *testing.T) {
	f := func(totals *shadow.Totals, in Inputs, policies []string) contract {
		t.Helper()
		text := write(t, New(totals, in, DefaultMinFidelity, testAdvice), "json")
		if strings.Count(text, "\n") != 1 || !strings.HasSuffix(text, "\n") {
			t.Fatalf("not one line: %q", text)
		}
		var c contract
		if err := json.Unmarshal([]byte(text), &c); err != nil {
			t.Fatal(err)
		}
		// Nothing may be absent or null, whatever the values.
		missing(t, "", reflect.ValueOf(c))
		if c.Schema != "kvshadow.report.v1" {
			t.Fatalf("schema %q", c.Schema)
		}
		if len(c.Pools) != 2 || c.Pools[0].WorkerType != "prefill" || c.Pools[1].WorkerType != "decode" {
			t.Fatalf("pools: %+v", c.Pools)
		}
		for _, p := range c.Pools {
			var names []string
			for _, x := range p.Policies {
				names = append(names, x.Name)
			}
			if !slices.Equal(names, policies) {
				t.Fatalf("policies %q; want %q", names, policies)
			}
			for _, e := range shadow.Exclusions() {
				if _, ok := p.Excluded[e.String()]; !ok {
					t.Fatalf("%s lacks the exclusion %s", p.WorkerType, e)
				}
			}
		}
		return c
	}
	f(shadow.NewTotals([]string{"live"}), Inputs{Undecodable: map[string]uint64{}}, []string{"live"})
	c := f(full(), fullInputs, []string{"live", "affinity-4", "same", "tiers-2"})

	in, p := c.Inputs, c.Pools[0]
	if *in.Files != 2 || *in.Lines != 12_345 || *in.Bytes != 987_654 || *in.Decisions != 2207 || *in.IgnoredLines != 8000 || in.Undecodable["unknown_formula"] != 1234 {
		t.Fatalf("inputs: %+v", in)
	}
	if *p.Evaluated != 1000 || p.Excluded["query_only"] != 1200 || p.Fidelity.Basis != "rows" || *p.Fidelity.Checked != 1000 || *p.Fidelity.Reproduced != 980 {
		t.Fatalf("prefill: %+v", p)
	}
	if !reflect.DeepEqual(p.Fidelity.Causes, map[string]uint64{"rounding": 5, "stale_state": 15}) {
		t.Fatalf("causes: %v", p.Fidelity.Causes)
	}
	x := p.Policies[1]
	if got := []float64{*x.NonMax, *x.Lost, *x.Diverging, *x.Missing, *x.LoadExcess}; !slices.Equal(got, []float64{20.5, 170, 61.25, 19_000, 1307.625}) {
		t.Fatalf("affinity-4: %v", got)
	}
}

// missing fails on a nil pointer, map or slice, or an empty string.
func missing(t *testing.T, path string, v reflect.Value) {
	t.Helper()
	switch v.Kind() {
	case reflect.Pointer, reflect.Map:
		if v.IsNil() {
			t.Fatalf("%s is missing", path)
		}
	case reflect.String:
		if v.Len() == 0 {
			t.Fatalf("%s is missing or empty", path)
		}
	case reflect.Slice:
		if v.Len() == 0 {
			t.Fatalf("%s is missing or empty", path)
		}
		for i := range v.Len() {
			missing(t, path, v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			missing(t, path+"/"+v.Type().Field(i).Tag.Get("json"), v.Field(i))
		}
	}
}

func TestReportVerdict(t *testing.T) {
	type pool struct{ evaluated, checked, reproduced uint64 }
	f := func(prefill, decode pool, minFidelity float64, want bool, refused ...string) {
		t.Helper()
		totals := shadow.NewTotals([]string{"live"})
		for i, x := range []pool{prefill, decode} {
			p := &totals.Pools[i]
			p.Evaluated, p.Checked = x.evaluated, x.checked
			p.Mismatches[decision.Reproduced], p.Mismatches[decision.Taint] = x.reproduced, x.checked-x.reproduced
		}
		r := New(totals, Inputs{}, minFidelity, testAdvice)
		if got := r.Verdict(); got != want {
			t.Fatalf("Verdict %v; want %v", got, want)
		}
		for i, text := range refused {
			if got := r.Pools[i].Refused; got != text {
				t.Fatalf("%s refused: %q; want %q", r.Pools[i].WorkerType, got, text)
			}
		}
	}
	const (
		none      = "no decision was evaluated"
		unchecked = "nothing was recorded that the live policy could be checked against"
	)
	f(pool{}, pool{}, 0.95, false, none, none)
	f(pool{}, pool{}, 0, false, none, none)
	f(pool{100, 100, 100}, pool{}, 0.95, true, "", none) // the empty pool has no say
	f(pool{}, pool{100, 100, 100}, 0.95, true, none, "")
	f(pool{100, 100, 95}, pool{100, 100, 100}, 0.95, true, "", "") // at the floor
	f(pool{100, 100, 94}, pool{100, 100, 100}, 0.95, false,
		"the live policy reproduces 94 of 100 recorded decisions (94.0 %), less than 95.0 %; taint multipliers of the candidates aren't recorded", "")
	f(pool{100, 100, 100}, pool{100, 100, 0}, 0.95, false, "")
	f(pool{100, 0, 0}, pool{}, 0.95, false, unchecked, none)
	f(pool{100, 10, 10}, pool{}, 0.95, true, "") // what was checked stands for the rest
	f(pool{100, 100, 7}, pool{}, 0.07, true)     // though 0.07 * 100 > 7 in float64
	f(pool{100, 100, 6}, pool{}, 0.07, false)
	f(pool{100, 100, 99}, pool{}, 1, false)
	f(pool{100, 100, 100}, pool{}, 1, true)
	f(pool{100, 100, 0}, pool{}, 0, true)
}

// TestRefusal_Causes names what to do about the most frequent cause.
func TestRefusal_Causes(t *testing.T) {
	f := func(cause decision.Cause, want string) {
		t.Helper()
		totals := shadow.NewTotals([]string{"live"})
		p := &totals.Pools[decision.Decode]
		p.Evaluated, p.Checked = 9, 9
		p.Mismatches[cause] += 5
		p.Mismatches[decision.Rounding] += 4
		got := New(totals, Inputs{}, 0.95, testAdvice).Pools[decision.Decode].Refused
		if text := "the live policy reproduces 0 of 9 recorded decisions (0.0 %), less than 95.0 %"; got != text+want {
			t.Fatalf("%q; want %q", got, text+want)
		}
	}
	f(decision.Weights, "; its weights aren't the router's: set live in the policies file to what production runs")
	f(decision.Softmax, "; the router doesn't take the least cost: set router_temperature of live to what production runs")
	f(decision.Taint, "; taint multipliers of the candidates aren't recorded")
	f(decision.StaleState, "")
}

func TestCount(t *testing.T) {
	f := func(v float64, want string) {
		t.Helper()
		if got := count(v); got != want {
			t.Fatalf("count(%v) = %q; want %q", v, got, want)
		}
	}
	f(0, "0")
	f(1, "1")
	f(0.5, "0.5")
	f(0.25, "0.25")
	f(12.999, "13")
	f(999, "999")
	f(1000, "1,000")
	f(1234567.891, "1,234,567.89")
	f(999_999.999, "1,000,000")
	f(100_000, "100,000")
	f(-5, "-5")
	f(-1000.5, "-1,000.5")
	f(-123, "-123")
	f(-100_000, "-100,000")
	f(0.001, "0")
	f(-0.001, "0") // no minus before nothing
	f(8.7e12, "8,700,000,000,000")
}

func TestPercent(t *testing.T) {
	f := func(part, whole float64, want string) {
		t.Helper()
		if got := percent(part, whole); got != want {
			t.Fatalf("percent(%v, %v) = %q; want %q", part, whole, got, want)
		}
	}
	f(0, 0, "-")
	f(5, 0, "-")
	f(0, 5, "0.0 %")
	f(8, 240, "3.3 %")
	f(240, 240, "100.0 %")
	f(940, 321, "292.8 %")
	f(1, 3000, "0.0 %")
}

func TestSigned(t *testing.T) {
	f := func(v float64, want string) {
		t.Helper()
		if got := signed(v); got != want {
			t.Fatalf("signed(%v) = %q; want %q", v, got, want)
		}
	}
	f(0, "0")
	f(304, "+304")
	f(-304, "-304")
	f(1000.5, "+1,000.5")
	f(0.001, "0")
	f(-0.001, "0")
}

func TestNumber(t *testing.T) {
	f := func(v float64, want string) {
		t.Helper()
		if got := number(v); got != want {
			t.Fatalf("number(%v) = %q; want %q", v, got, want)
		}
	}
	f(0, "0")
	f(10, "10")
	f(100, "100")
	f(52.375, "52.375")
	f(1.00754, "1.0075")
	f(-3.5, "-3.5")
	f(0.00001, "1e-05")
	f(-0.00002, "-2e-05")
	f(1e9, "1000000000")
}

// explained is a decision of three workers under a policy with a tie, one with
// a temperature, and one that disagrees.
func explained() *decision.Explanation {
	key := func(id uint64, rank uint32) decision.Key { return decision.Key{WorkerID: id, DPRank: rank} }
	cost := func(load, total float64) decision.Cost {
		return decision.Cost{Terms: []decision.Term{{Name: "prefill_load", Blocks: load}, {Name: "decode", Blocks: total - load}}, Multiplier: 1, Total: total}
	}
	return &decision.Explanation{
		Decision: &decision.Decision{
			RequestID: "req-1", Time: time.Date(2026, 9, 1, 12, 30, 0, 123456000, time.UTC), WorkerType: decision.Decode, Pool: "aggregated",
			InputTokens: 3000, BlockSizeTokens: 64, RequestBlocks: 47, Selected: key(1<<64-1, 1), Unknown: decision.UnknownTiers | decision.UnknownTaints,
			Candidates: []decision.Candidate{
				{Key: key(7, 0), EffectiveOverlapBlocks: 46}, {Key: key(8, 0), Ineligible: true}, {Key: key(1<<64-1, 1)}, {Key: key(9, 0), EffectiveOverlapBlocks: 0.75}},
		},
		Eligible: []int{0, 2, 3}, Checked: true,
		Picks: []decision.Pick{
			{Policy: "live", Costs: []decision.Cost{cost(1, 144), cost(47, 141.875), cost(46, 141.875)}, Chances: []float64{0, 0.5, 0.5}, Agrees: true, MarginBlocks: 2.125,
				Flips: []decision.Flip{{Parameter: "prefix_affinity_weight", From: 0, At: 0.0000462, Increase: true, Winner: key(7, 0)}, {Parameter: "overlap_score_credit", From: 1, At: 0.5, Winner: key(9, 0)}}},
			{Policy: "affinity-4", Costs: []decision.Cost{cost(1, 148), cost(47, 329.875), cost(46, 326.875)}, Chances: []float64{1, 0, 0}, MarginBlocks: 178.875, RegretBlocks: 181.875},
			{Policy: "warm", Costs: []decision.Cost{cost(1, 144), cost(47, 141.875), cost(46, 141.875)}, Chances: []float64{0.2, 0.4, 0.4}, Agrees: true, MarginBlocks: 2.125},
		},
	}
}

func TestWriteExplanation(t *testing.T) {
	f := func(name string, change func(*decision.Explanation)) {
		t.Helper()
		e := explained()
		change(e)
		var b strings.Builder
		if err := WriteExplanation(&b, e); err != nil {
			t.Fatal(err)
		}
		golden(t, name, b.String())
	}
	f("explain.txt", func(*decision.Explanation) {})
	// As little as a source can say, and a pinned worker that isn't eligible.
	f("explain-bare.txt", func(e *decision.Explanation) {
		d := e.Decision
		d.RequestID, d.Time, d.Pool, d.RequestBlocks, d.Unknown = "", time.Time{}, "", 0, decision.UnknownRequestBlocks
		d.Pinned, d.Selected, e.Checked = true, d.Candidates[1].Key, false
		for i := range e.Picks {
			e.Picks[i].Agrees = false
		}
	})
	f("explain-mismatch.txt", func(e *decision.Explanation) {
		e.Cause, e.Decision.QueryOnly, e.Decision.InputTokens, e.Picks = decision.StaleState, true, 0, e.Picks[:1]
	})
	if err := WriteExplanation(brokenWriter{}, explained()); err == nil {
		t.Fatal("no error from a writer that fails")
	}
}

func TestPickText_ManyWinners(t *testing.T) {
	e, p := &decision.Explanation{Decision: &decision.Decision{}}, &decision.Pick{Agrees: true}
	f := func(n int, want string) {
		t.Helper()
		for len(e.Eligible) < n {
			i := len(e.Eligible)
			e.Eligible = append(e.Eligible, i)
			e.Decision.Candidates = append(e.Decision.Candidates, decision.Candidate{Key: decision.Key{WorkerID: uint64(i)}})
			p.Chances = append(p.Chances, 0.25)
		}
		if got := PickText(e, p); got != want {
			t.Fatalf("%q; want %q", got, want)
		}
	}
	f(1, "picks 0/0")
	f(2, "picks 0/0 or 1/0")
	f(4, "picks 0/0 or 1/0 or 2/0 or 3/0")
	f(100, "picks 0/0 or 1/0 or 2/0 or 3/0 or 96 others")
	p.Chances[70] = 0.5
	f(100, "draws 70/0 (50.0 %) or 0/0 (25.0 %) or 1/0 (25.0 %) or 2/0 (25.0 %) or 96 others")
}
