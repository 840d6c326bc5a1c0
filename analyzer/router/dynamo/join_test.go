package dynamo

import (
	"slices"
	"strings"
	"testing"

	"github.com/kvshadow/kvshadow/analyzer/decision"
)

// decodeOne decodes lines that make one decision.
func decodeOne(t *testing.T, lines ...string) *decision.Decision {
	t.Helper()
	decisions, counts := decodeLines(toLines(lines...))
	if len(decisions) != 1 || len(counts) > 0 {
		t.Fatalf("%d decisions, undecodable %v", len(decisions), counts)
	}
	return decisions[0]
}

func TestJoin_RoutingInput(t *testing.T) {
	// The row says 10 raw blocks of 64, of which the prompt is 600 tokens.
	d := decodeOne(t, slices.Concat([]string{inputLine("a", 600, 64)}, choice("a", "decode"))...)
	if d.InputTokens != 600 || d.BlockSizeTokens != 64 || d.RequestBlocks != 10 || d.Unknown.Has(decision.UnknownRequestBlocks) {
		t.Errorf("decision %+v", d)
	}
	if x := d.Candidates[0]; x.RawPrefillBlocks.Set || x.ActivePrefillTokens != 40 || x.EffectiveOverlapBlocks != 6 || x.DecodeCostBlocks != 1 {
		t.Errorf("candidate %+v", x)
	}
	if !d.TracksPrefill || d.LoadOnly || d.Pool != "aggregated" || d.Time.IsZero() || d.CostToleranceBlocks != 0.0005 {
		t.Errorf("decision %+v", d)
	}
	f := func(tokens, block int, wantBlocks uint64) {
		t.Helper()
		d := decodeOne(t, slices.Concat([]string{inputLine("a", tokens, block)}, choice("a", "prefill"))...)
		if x := d.Candidates[0]; d.RequestBlocks != wantBlocks || x.RawPrefillBlocks != decision.Some(10) || x.ActivePrefillTokens != 0 {
			t.Errorf("%d blocks of candidate %+v", d.RequestBlocks, x)
		}
	}
	f(10000, 1000, 10)                         // three decimals don't tell tokens apart in blocks of 1,000
	f(641, 64, 11)                             // the row has fewer tokens than the prompt: not this prompt's
	d = decodeOne(t, choice("a", "decode")...) // no input
	if d.RequestBlocks != 0 || d.InputTokens != 0 || !d.Unknown.Has(decision.UnknownRequestBlocks) || d.Candidates[1].RawPrefillBlocks != decision.Some(10) {
		t.Errorf("decision %+v", d)
	}
	d = decodeOne(t, slices.Concat([]string{inputLine("b", 600, 64)}, choice("a", "decode"))...) // another's
	if d.InputTokens != 0 {
		t.Errorf("decision %+v", d)
	}
	// The latest one counts, for both choices of a disaggregated request.
	both, _ := decodeLines(toLines(slices.Concat([]string{inputLine("a", 1, 64), inputLine("a", 600, 64)}, choice("a", "prefill"), choice("a", "decode"))...))
	if len(both) != 2 || both[0].InputTokens != 600 || both[1].InputTokens != 600 {
		t.Errorf("decisions %+v", both)
	}
}

func TestJoin_Best(t *testing.T) {
	// Without an input, Best tells the prompt's length in blocks.
	d := decodeOne(t, append(choice("a", "decode"), bestLine("a", 1, 6, 12))...)
	if d.RequestBlocks != 12 || d.Unknown.Has(decision.UnknownRequestBlocks) || d.QueryOnly {
		t.Errorf("decision %+v", d)
	}
	d = decodeOne(t, slices.Concat([]string{inputLine("a", 600, 64)}, choice("a", "decode"), []string{bestLine("a", 1, 6, 12)})...)
	if d.RequestBlocks != 10 {
		t.Errorf("%d blocks", d.RequestBlocks)
	}
	f := func(want []bool, lines ...string) {
		t.Helper()
		decisions, _ := decodeLines(toLines(lines...))
		var got []bool
		for _, d := range decisions {
			got = append(got, d.QueryOnly)
		}
		if !slices.Equal(got, want) {
			t.Errorf("query only: %v, want %v", got, want)
		}
	}
	a, b, c := choice("a", "decode"), choice("b", "decode"), choice("c", "decode")
	best := func(id string) []string { return []string{bestLine(id, 1, 6, 10)} }
	f([]bool{false, false, false}, slices.Concat(a, b, c)...) // the messages are turned off
	f([]bool{true, false}, slices.Concat(a, b, best("b"))...)
	f([]bool{false, false}, slices.Concat(a, best("a"), b)...) // the tail: Best may still come
	f([]bool{false, true, false}, slices.Concat(a, best("a"), b, c, best("c"))...)
	f([]bool{false, false}, slices.Concat(a, b, best("a"), best("b"))...)
	f([]bool{false, false}, slices.Concat(a, b, best("b"), best("a"))...)
	pinned := logLine("Pinned f"+rowMessage(1, 6, 1)[1:], ids("p", "decode")...)
	sel := logLine("Selected pinned worker: worker_type=decode, worker_id=1 dp_rank=0, logit: 5.000, effective cached blocks: 6.00", member("request_id", "p"))
	f([]bool{false, false}, slices.Concat([]string{pinned, sel}, a, best("a"))...) // pins are never announced
	// Rows of 1.3 have no id that a Best could name.
	f([]bool{false, false}, slices.Concat([]string{logLine(rowMessage(1, 6, 1)), selectedLine("", "decode", 1, 5)}, a, best("a"))...)
	// One id queried first and routed then.
	f([]bool{true, false}, slices.Concat(a, a, best("a"))...)
}

// lowerLine is the router's own observation of a selection below the maximum.
func lowerLine(request, role string, lost float64) string {
	return logLine("Router selected a worker with lower KV cache overlap", append(ids(request, role), member("highest_overlap_blocks", lost+1),
		member("highest_overlap_worker_id", 1), member("overlap_blocks_lost", lost), member("selected_overlap_blocks", 1.0))...)
}

// causeOf re-scores a decision under the default weights.
func causeOf(t *testing.T, d *decision.Decision, change func(*Params)) string {
	t.Helper()
	p := DefaultParams()
	if change != nil {
		change(&p)
	}
	s := mustPrepare(d, p)
	cause, checked := s.Fidelity(costsOf(s, p))
	if !checked {
		t.Error("nothing recorded")
	}
	return cause.String()
}

func TestJoin_NonMax(t *testing.T) {
	// Worker 1 has 6 blocks and worker 2 none; worker 2 is selected.
	lines := []string{inputLine("a", 640, 64), rowLine("a", "prefill", 1, 6, 9), rowLine("a", "prefill", 2, 0, 0), selectedLine("a", "prefill", 2, 10)}
	f := func(want decision.Float, wantCause string, more ...string) {
		t.Helper()
		d := decodeOne(t, slices.Concat(lines, more)...)
		if d.RecordedLostBlocks != want || causeOf(t, d, nil) != wantCause {
			t.Errorf("recorded %+v, cause %q, want %+v and %q", d.RecordedLostBlocks, causeOf(t, d, nil), want, wantCause)
		}
	}
	f(decision.Float{}, "")
	f(decision.Some(6), "", bestLine("a", 2, 0, 10), lowerLine("a", "prefill", 6))
	f(decision.Some(6), "", lowerLine("a", "prefill", 6), bestLine("a", 2, 0, 10))
	f(decision.Some(5.5), "stale_state", lowerLine("a", "prefill", 5.5)) // the rows say 6
	f(decision.Float{}, "", lowerLine("a", "decode", 6))                 // of the other router
	f(decision.Float{}, "", lowerLine("b", "prefill", 6))
	f(decision.Float{}, "", replaceOnce(t, lowerLine("a", "prefill", 6), `"overlap_blocks_lost":6`, `"overlap_blocks_lost":null`))
}

func TestFidelity(t *testing.T) {
	lines := slices.Concat([]string{inputLine("a", 640, 64)}, choice("a", "prefill"))
	f := func(want, old, by string, change func(*Params)) {
		t.Helper()
		text := replaceOnce(t, strings.Join(lines, "\n"), old, by)
		if got := causeOf(t, decodeOne(t, strings.Split(text, "\n")...), change); got != want {
			t.Errorf("%s for %s: cause %q, want %q", by, old, got, want)
		}
	}
	f("", "a", "a", nil)
	// Other weights than the row printed, or than its cost was made with.
	f("weights", "a", "a", func(p *Params) { p.PrefillLoadScale = 2 })
	f("weights", "a", "a", func(p *Params) { p.OverlapScoreCredit = 0.5 })
	f("weights", "a", "a", func(p *Params) { p.PrefixAffinityWeight = 1 })
	f("weights", "blocks: 12.000 =", "blocks: 13.000 =", nil)
	f("rounding", "blocks: 12.000 =", "blocks: 12.001 =", nil) // inputs are whole tokens: 12 is exact
	// A winner's cost of e times its row's is a taint; anything else is not.
	f("taint", `"logit":5`, `"logit":13.59140914229522`, nil)
	f("taint", `"logit":5`, `"logit":1.839397205857212`, nil)
	f("stale_state", `"logit":5`, `"logit":14`, nil)
	f("stale_state", `"logit":5`, `"logit":1.8`, nil)
	// A choice that isn't the least cost.
	lines = slices.Concat([]string{inputLine("a", 640, 64)}, choice("a", "prefill")[:2], []string{selectedLine("a", "prefill", 2, 12)})
	f("softmax", "a", "a", nil)
	f("", "a", "a", func(p *Params) { p.RouterTemperature = 0.5 })
	// Tiers are in use, and which of them each rank's overlap comes from isn't printed.
	lines = slices.Concat([]string{inputLine("a", 640, 64)}, choice("a", "prefill"))
	f("incomplete", "with 6.00 effective", "with 5.75 effective", nil)
}

// TestTiers: the winner's host and disk blocks are known, and then the other
// candidates' overlap may hold some too.
func TestTiers(t *testing.T) {
	lines := choice("a", "prefill")
	d := decodeOne(t, lines[0], lines[1], replaceOnce(t, lines[2], `"host_pinned_blocks":0`, `"host_pinned_blocks":4`))
	if !d.Unknown.Has(decision.UnknownTiers) || d.Candidates[0].HostBlocks != 4 || d.Candidates[1].HostBlocks != 0 {
		t.Errorf("decision %+v", d)
	}
	// 6 blocks of which 4 in host memory count 3/4: 3 in the device. The credit
	// is the same 6, and 10 - 6 + 1 the cost.
	s := mustPrepare(d, DefaultParams())
	if s.cols.device[0] != 3 || costsOf(s, DefaultParams())[0] != 5 || s.Missing()[0] != -3 {
		t.Errorf("device %v, cost %v, missing %v", s.cols.device[0], costsOf(s, DefaultParams())[0], s.Missing()[0])
	}
	if d := decodeOne(t, lines...); d.Unknown.Has(decision.UnknownTiers) {
		t.Errorf("whole blocks of one tier: %+v", d)
	}
}

// TestActiveRequests: rows print the product of weight and count.
func TestActiveRequests(t *testing.T) {
	lines := choice("a", "prefill")
	lines[0] = replaceOnce(t, replaceOnce(t, lines[0], "1.000 + 0.000 (", "1.000 + 4.500 ("), "blocks: 5.000 =", "blocks: 9.500 =")
	lines[2] = replaceOnce(t, lines[2], `"logit":5`, `"logit":9.5`)
	d := decodeOne(t, lines...)
	p := DefaultParams()
	p.DecodeActiveRequestWeight = 1.5
	s := mustPrepare(d, p)
	if s.cols.requests[0] != 3 || s.cols.requests[1] != 0 {
		t.Errorf("active requests %v, want 3 and 0", s.cols.requests)
	}
	if got := causeOf(t, d, func(p *Params) { p.DecodeActiveRequestWeight = 1.5 }); got != "" {
		t.Errorf("cause %q", got)
	}
	// Half the weight charges half.
	p.DecodeActiveRequestWeight = 0.75
	if got := costsOf(s, p)[0]; got != 7.25 {
		t.Errorf("cost %v, want 7.25", got)
	}
}

// TestJoin_Pinned: a pinned row that no message follows has its prompt too.
func TestJoin_Pinned(t *testing.T) {
	pinned := logLine("Pinned f"+rowMessage(1, 6, 1)[1:], ids("p", "decode")...)
	if d := decodeOne(t, pinned); !d.Pinned || !d.Unknown.Has(decision.UnknownRequestBlocks) {
		t.Errorf("decision %+v", d)
	}
	if d := decodeOne(t, inputLine("p", 600, 64), pinned); d.RequestBlocks != 10 || d.InputTokens != 600 || d.Unknown.Has(decision.UnknownRequestBlocks) {
		t.Errorf("decision %+v", d)
	}
}
