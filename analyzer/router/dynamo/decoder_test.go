package dynamo

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/kvshadow/kvshadow/analyzer/decision"
)

// summary says of a decision who asked for what and got what.
func summary(d *decision.Decision) string {
	s := fmt.Sprintf("%s %s %d/%d of %d", d.RequestID, d.WorkerType, d.Selected.WorkerID, d.Selected.DPRank, len(d.Candidates))
	if d.Pinned {
		s += " pinned"
	}
	if d.QueryOnly {
		s += " query"
	}
	return s
}

func expectDecoded(t *testing.T, lines [][]byte, want []string, wantCounts map[string]uint64) {
	t.Helper()
	decisions, counts := decodeLines(lines)
	got := make([]string, len(decisions))
	for i, d := range decisions {
		got[i] = summary(d)
		record := *d
		record.RequestID = "x" + d.RequestID // the record wants one, old releases have none
		if _, err := decision.Append(nil, &record); err != nil {
			t.Errorf("decision %d is not valid: %s", i, err)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("decided %q, want %q", got, want)
	}
	if !maps.Equal(counts, wantCounts) && len(counts)+len(wantCounts) > 0 {
		t.Errorf("undecodable %v, want %v", counts, wantCounts)
	}
}

func TestDecoder_Success(t *testing.T) {
	f := func(want string, lines ...string) {
		t.Helper()
		var all []string
		if want != "" {
			all = strings.Split(want, ", ")
		}
		expectDecoded(t, toLines(lines...), all, nil)
	}
	a, b := choice("a", "prefill"), choice("b", "prefill")
	f("a prefill 1/0 of 2", a...)
	f("a prefill 1/0 of 2, b prefill 1/0 of 2", append(a, b...)...)
	// Interleaved requests are decided in the order of their selections.
	f("b prefill 1/0 of 2, a prefill 1/0 of 2", a[0], b[0], a[1], b[1], b[2], a[2])
	// A disaggregated request is routed twice under one id.
	d := choice("a", "decode")
	f("a prefill 1/0 of 2, a decode 1/0 of 2", a[0], d[0], a[1], d[1], a[2], d[2])
	f("a decode 1/0 of 2, a prefill 1/0 of 2", a[0], d[0], d[1], a[1], d[2], a[2])
	// A retried request is routed again under its id.
	f("a prefill 1/0 of 2, a prefill 1/0 of 2", append(a, a...)...)
	// The roles of aggregated pools and of offline replays count as decode.
	f("r decode 1/0 of 2, s decode 1/0 of 2", append(choice("r", "replay"), choice("s", "aggregated")...)...)
	// Rows and selection may reach us in any stream, noise stands between them.
	f("a prefill 1/0 of 2", a[0], logLine("Selected model parser route"), logLine("processed active load update"), a[1], "", "{}", "plain text", a[2])
	// Ids beyond 2^53 that a float64 could not tell apart.
	f("a decode 18446744073709551615/0 of 2", rowLine("a", "decode", 1<<64-1, 6, 1), rowLine("a", "decode", 1<<64-2, 0, 2),
		selectedLine("a", "decode", 1<<64-1, 5))
	// Release 1.3 has no ids: rows are consecutive.
	row13 := func(worker uint64, overlap float64) string { return logLine(rowMessage(worker, overlap, 1)) }
	f(" decode 1/0 of 2,  decode 2/0 of 2", row13(1, 6), row13(2, 0), selectedLine("", "decode", 1, 5),
		row13(1, 0), row13(2, 3), selectedLine("", "decode", 2, 8))
	// So have decode-form rows, although their selection has an id.
	f("a decode 7/1 of 1", logLine(formulaDecode), replaceOnce(t, selectedLine("a", "decode", 7, 3.5), `"dp_rank":"0"`, `"dp_rank":"1"`))
	f("a decode 7/1 of 1", logLine(formulaDecode, ids("a", "decode")...), replaceOnce(t, selectedLine("a", "decode", 7, 3.5), `"dp_rank":"0"`, `"dp_rank":1`))
	// The legacy row, which needs no DEBUG level, with its selection as text.
	f(" decode 7/0 of 1", logLine(formulaLegacy), logLine("Selected worker: worker_id=7 dp_rank=0, logit: 17.375, cached blocks: 17"))
	f(" decode 7/0 of 1", logLine(formulaLegacy), logLine("Selected worker: worker_id=7, logit: 17.375, cached blocks: 17"))
	// Pins: the one row is the selection, whether or not a message follows.
	pinned := logLine("Pinned f"+rowMessage(1, 6, 1)[1:], ids("p", "prefill")...)
	f("p prefill 1/0 of 1 pinned", pinned)
	f("p prefill 1/0 of 1 pinned", pinned, logLine("Selected pinned worker: worker_type=prefill, worker_id=1 dp_rank=0, logit: 5.000, "+
		"effective cached blocks: 6.00", member("request_id", "p")))
	f("p prefill 1/0 of 1 pinned", logLine("Session affinity f"+rowMessage(1, 6, 1)[1:], ids("p", "prefill")...))
	// A query for the same prompt, then the request itself.
	f("a prefill 1/0 of 2 query, b prefill 1/0 of 2", append(append(a, b...), bestLine("b", 1, 6, 10))...)
}

func TestDecoder_Failure(t *testing.T) {
	f := func(want map[string]uint64, lines ...string) {
		t.Helper()
		expectDecoded(t, toLines(lines...), nil, want)
	}
	type counts = map[string]uint64
	a := choice("a", "prefill")
	f(counts{"rows_without_winner": 1}, a[0], a[1])
	f(counts{"rows_without_winner": 2}, a[0], a[1], a[0]) // the same rank again starts another choice
	f(counts{"rows_without_winner": 1, "winner_without_rows": 1}, a[0], selectedLine("b", "prefill", 1, 5))
	f(counts{"rows_without_winner": 1, "winner_without_rows": 1}, a[0], selectedLine("a", "decode", 1, 5))
	f(counts{"winner_without_rows": 1}, a[2])
	f(counts{"winner_not_in_rows": 1}, a[1], a[2])
	f(counts{"winner_not_in_rows": 1}, a[0], a[1], replaceOnce(t, a[2], `"dp_rank":"0"`, `"dp_rank":"1"`))
	f(counts{"unknown_worker_type": 1}, choice("a", "encode")...)
	// A row that can't be read spoils its choice, wherever it stands.
	fork := replaceOnce(t, a[0], "active_request_cost_blocks =", "active_request_cost_blocks + waiting_requests =")
	f(counts{"unknown_formula": 2}, fork, a[1], a[2])
	f(counts{"unknown_formula": 2}, a[1], fork, a[2])
	f(counts{"unknown_formula": 3}, fork, fork, a[2])
	f(counts{"unknown_formula": 1}, fork)
	f(counts{"unknown_formula": 2}, replaceOnce(t, a[0], `1.000)"`, `1.000) + 2"`), a[1], a[2])
	f(counts{"unknown_formula": 2}, replaceOnce(t, a[0], `1.000)"`, `1.000), waiting_requests: 2"`), a[1], a[2])
	for _, text := range []string{formulaDecode + " + 2.000", rowMessage(1, 6, 1) + " + 2.000 (waiting_requests: 2)", formulaLegacy + " + 1.0 * waiting"} {
		f(counts{"unknown_formula": 2}, readable(text, false, ids("a", "prefill")...), a[1], a[2])
		f(counts{"unknown_formula": 2}, readable(text, true, ids("a", "prefill")...), a[1], a[2])
		f(counts{"unknown_formula": 2}, logLine(text, ids("a", "prefill")...), a[1], a[2])
	}
	f(counts{"unknown_formula": 1}, readable(formulaLegacy+" + waiting_requests = 3", false))
	f(counts{"unknown_formula": 2}, logLine("Formula for worker_id=1 costs 5"), selectedLine("", "decode", 1, 5))
	// Values of a selection that can't be read.
	for old, by := range map[string]string{
		`"worker_id":1`: `"worker_id":1.5`, `"dp_rank":"0"`: `"dp_rank":"x"`, `"logit":5`: `"logit":"NaN"`, `"host_pinned_blocks":0,"logit"`: `"logitt"`,
		`"worker_id":`: `"workerid":`,
	} {
		f(counts{"malformed": 1}, a[0], a[1], replaceOnce(t, a[2], old, by))
	}
	for _, logit := range []string{"null", "true", "1e999", `"-inf"`, `""`, "[5]", "{}"} {
		f(counts{"malformed": 1}, a[0], a[1], replaceOnce(t, a[2], `"logit":5`, `"logit":`+logit))
	}
	f(counts{"malformed": 1}, a[0], a[1], replaceOnce(t, a[2], `"worker_id":1`, `"worker_id":18446744073709551616`))
	f(counts{"malformed": 1}, logLine(rowMessage(1, 0, 0), ids("a", "prefill")...), logLine("Selected worker: worker_id=1 dp_rank=0, logit: ?",
		member("request_id", "a"), member("worker_type", "prefill")))
	f(counts{"malformed": 1}, replaceOnce(t, a[0], `,"level"`, `"level"`))
	f(counts{"malformed": 1}, a[0]+"x")
	f(counts{"malformed": 1}, replaceOnce(t, inputLine("a", 640, 64), `"block_size":64`, `"block_size":0`))
	f(counts{"malformed": 1}, replaceOnce(t, inputLine("a", 640, 64), `"isl_tokens":640`, `"isl_tokens":-1`))
	// A tail that ends within its line.
	f(counts{"truncated": 1}, a[0][:len(a[0])-1])
	f(counts{"truncated": 1}, a[0][:strings.Index(a[0], "cached")])
	f(counts{"truncated": 1, "rows_without_winner": 1}, a[0], a[1], a[2][:len(a[2])-30])
}

// TestDecoder_Roles: two routers of one process print rows without ids at the
// same moment. Once the workers' roles are known, each gets its own.
func TestDecoder_Roles(t *testing.T) {
	row := func(worker uint64) string { return logLine(rowMessage(worker, 0, 1)) }
	prefill := []string{row(1), row(2), selectedLine("", "prefill", 1, 11)}
	decode := []string{row(3), row(4), selectedLine("", "decode", 4, 11)}
	interleaved := []string{prefill[0], decode[0], prefill[1], decode[1], prefill[2], decode[2]}
	learned := slices.Concat(prefill, decode)
	expectDecoded(t, toLines(slices.Concat(learned, interleaved)...), []string{" prefill 1/0 of 2", " decode 4/0 of 2", " prefill 1/0 of 2", " decode 4/0 of 2"}, nil)

	// If they interleave before that, one choice is lost or wrong, but what
	// was learned from it must not spoil the choices that follow.
	decisions, counts := decodeLines(toLines(slices.Concat(interleaved, learned, interleaved)...))
	lost := uint64(0)
	for _, n := range counts {
		lost += n
	}
	if uint64(len(decisions))+lost != 6 || len(decisions) < 4 {
		t.Fatalf("%d decisions, undecodable %v", len(decisions), counts)
	}
	for _, d := range decisions[len(decisions)-4:] {
		if len(d.Candidates) != 2 {
			t.Errorf("decision of %d candidates: %s", len(d.Candidates), summary(d))
		}
	}
}

// TestDecoder_Streams: rows without ids belong together within their stream.
func TestDecoder_Streams(t *testing.T) {
	var got []string
	d := NewDecoder(func(x *decision.Decision) { got = append(got, summary(x)) })
	row := func(worker uint64) []byte { return []byte(logLine(rowMessage(worker, 0, 1))) }
	d.Line(1, row(1))
	d.Line(2, row(1))
	d.Line(2, row(2))
	d.Line(1, row(2))
	d.Line(1, row(3))
	d.Line(2, []byte(selectedLine("", "decode", 2, 11)))
	d.Line(1, []byte(selectedLine("", "decode", 3, 11)))
	d.Flush()
	if want := []string{" decode 2/0 of 2", " decode 3/0 of 3"}; !slices.Equal(got, want) || len(undecodable(d)) > 0 {
		t.Errorf("decided %q, want %q; undecodable %v", got, want, undecodable(d))
	}
}

// TestDecoder_Flush: FlushReady hands on finished choices and keeps open ones;
// after Flush the decoder starts again.
func TestDecoder_Flush(t *testing.T) {
	var got []string
	d := NewDecoder(func(x *decision.Decision) { got = append(got, summary(x)) })
	f := func(want ...string) {
		t.Helper()
		if !slices.Equal(got, want) {
			t.Errorf("decided %q, want %q", got, want)
		}
		got = nil
	}
	a, b := choice("a", "prefill"), choice("b", "prefill")
	for _, l := range slices.Concat(a, b[:2]) {
		if !d.Line(0, []byte(l)) {
			t.Errorf("not recognised: %s", l)
		}
	}
	f()
	d.FlushReady()
	f("a prefill 1/0 of 2")
	d.Line(0, []byte(b[2]))
	d.FlushReady()
	f("b prefill 1/0 of 2")
	d.Line(0, []byte(a[0]))
	d.Flush()
	f()
	if want := map[string]uint64{"rows_without_winner": 1}; !maps.Equal(undecodable(d), want) {
		t.Errorf("undecodable %v, want %v", undecodable(d), want)
	}
	for _, l := range a {
		d.Line(0, []byte(l))
	}
	d.Flush()
	f("a prefill 1/0 of 2")
}
