package dynamo

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand"
	"strconv"
	"strings"
	"testing"

	"github.com/kvshadow/kvshadow/analyzer/decision"
)

// TestDecoder_Bounded: whatever never ends is given up and counted.
func TestDecoder_Bounded(t *testing.T) {
	const n = 20000
	// Each line is written again and again, with 424242 counted up every time.
	f := func(want map[string]uint64, lines ...string) {
		t.Helper()
		emitted := uint64(0)
		d := NewDecoder(func(*decision.Decision) { emitted++ })
		for i := range n {
			d.Line(uint64(i%3), []byte(strings.ReplaceAll(lines[i%len(lines)], "424242", strconv.Itoa(i/len(lines)))))
			if i%5000 == 0 {
				checkBounds(t, d)
			}
		}
		checkBounds(t, d)
		d.Flush()
		if len(d.groups) > 0 || d.oldest.len() > 0 || d.ready.len() > 0 || len(d.byID) > 0 {
			t.Errorf("%d groups and %d choices are left after Flush", len(d.groups), d.ready.len())
		}
		counts := undecodable(d)
		if emitted > 0 {
			counts["emitted"] = emitted
		}
		if !maps.Equal(counts, want) {
			t.Errorf("counted %v, want %v", counts, want)
		}
	}
	type counts = map[string]uint64
	row := rowLine("id-424242", "prefill", 424242, 1, 2)
	f(counts{"rows_without_winner": n}, row)
	f(counts{"rows_without_winner": n}, rowLine("id-424242", "role-424242", 1, 1, 2))
	f(counts{"rows_without_winner": n}, logLine(rowMessage(1, 1, 2))) // three streams
	f(counts{"rows_without_winner": n / 2}, rowLine("same", "prefill", 1, 1, 2), rowLine("same", "prefill", 2, 1, 2))
	f(counts{"unknown_formula": n}, logLine("Formula for worker_id=fork", ids("id-424242", "prefill")...))
	f(counts{"winner_without_rows": n}, selectedLine("id-424242", "prefill", 1, 1))
	f(counts{}, inputLine("id-424242", 640, 64))
	f(counts{}, bestLine("id-424242", 1, 0, 1))
	f(counts{"emitted": n / 2}, row, selectedLine("id-424242", "prefill", 424242, 1))
	f(counts{"winner_not_in_rows": n / 2}, row, selectedLine("id-424242", "prefill", 7777777, 1))
	f(counts{"emitted": n / 4, "rows_without_winner": n / 2}, row, row, rowLine("new-424242", "prefill", 1, 1, 2),
		selectedLine("id-424242", "prefill", 424242, 1))
	// Pinned rows without a message of their own are decisions.
	f(counts{"emitted": n}, logLine("Pinned f"+rowMessage(1, 1, 2)[1:], ids("id-424242", "prefill")...))
}

func checkBounds(t *testing.T, d *Decoder) {
	t.Helper()
	f := func(what string, got, limit int) {
		t.Helper()
		if got > limit {
			t.Errorf("%d %s, want at most %d", got, what, limit)
		}
	}
	f("open choices", len(d.groups), groupWindow+1)
	f("slots for open choices", len(d.oldest.items), 2*groupWindow+4)
	f("finished choices", d.ready.len(), joinWindow+1)
	f("slots for finished choices", len(d.ready.items), 2*joinWindow+4)
	f("finished choices by id", len(d.byID), joinWindow+1)
	f("prompts", len(d.inputs), maxInputs)
	f("slots for prompts", len(d.inputID.items), 2*maxInputs+4)
	f("roles", len(d.roles), maxRoles)
}

// TestDecoder_Window: a choice waits for messages behind it, within bounds.
func TestDecoder_Window(t *testing.T) {
	f := func(between int, wantBlocks uint64) {
		t.Helper()
		lines := choice("a", "prefill")
		for i := range between {
			lines = append(lines, inputLine(fmt.Sprint("other-", i), 64, 64))
		}
		if d := decodeOne(t, append(lines, bestLine("a", 1, 6, 12))...); d.RequestBlocks != wantBlocks {
			t.Errorf("%d blocks with %d messages between, want %d", d.RequestBlocks, between, wantBlocks)
		}
	}
	f(0, 12)
	f(joinWindow-1, 12)
	f(2*joinWindow, 0)
}

// TestDecoder_WindowTime: it doesn't wait longer than a second of the log's
// own time either, however few messages follow.
func TestDecoder_WindowTime(t *testing.T) {
	f := func(later string, wantBlocks uint64) {
		t.Helper()
		lines := choice("a", "prefill")
		for _, l := range choice("b", "prefill") {
			lines = append(lines, replaceOnce(t, l, "23:28:58.671803Z", later))
		}
		decisions, counts := decodeLines(toLines(append(lines, bestLine("a", 1, 6, 12))...))
		if len(decisions) != 2 || len(counts) > 0 || decisions[0].RequestBlocks != wantBlocks {
			t.Errorf("%s: decided %+v, undecodable %v, want %d blocks", later, decisions, counts, wantBlocks)
		}
	}
	f("23:28:58.671803Z", 12)
	f("23:28:59.671803Z", 12)
	f("23:28:59.671804Z", 0)
	f("23:28:58.000000Z", 12) // out of order
	f("never", 12)
}

// TestDecoder_Conservation: however a capture is cut up, every row's choice is
// decided or counted, and every selection and every broken line too, once.
func TestDecoder_Conservation(t *testing.T) {
	capture := readCapture(t, "disagg-1.5.1.jsonl")
	r := rand.New(rand.NewSource(10))
	for range 20 {
		var lines [][]byte
		from := r.Intn(len(capture) - 300)
		for _, line := range capture[from : from+100+r.Intn(200)] {
			switch r.Intn(12) {
			case 0: // lost
			case 1:
				lines = append(lines, line[:r.Intn(len(line))])
			case 2: // late, by a few lines
				if at := len(lines) - r.Intn(6); at > 0 {
					lines = append(lines[:at:at], append([][]byte{line}, lines[at:]...)...)
				}
			default:
				lines = append(lines, line)
			}
		}
		testConservation(t, lines)
	}
}

func testConservation(t *testing.T, lines [][]byte) {
	t.Helper()
	type choiceKey struct{ id, role string }
	var rows, selections, truncated uint64
	groups := map[choiceKey]bool{} // with at least one row
	for _, line := range lines {
		var x struct {
			Message    string `json:"message"`
			RequestID  string `json:"request_id"`
			WorkerType string `json:"worker_type"`
		}
		start := ""
		if i := bytes.Index(line, []byte(`"message":"`)); i >= 0 {
			start = string(line[i+len(`"message":"`):])
		}
		whole := json.Unmarshal(line, &x) == nil
		switch {
		case strings.HasPrefix(start, "Formula for worker_id=") && whole:
			rows++
			groups[choiceKey{x.RequestID, x.WorkerType}] = true
		case strings.HasPrefix(start, "Selected worker\"") && whole:
			selections++
		case !whole && kindOf([]byte(start)) != kindNone:
			truncated++
		}
	}
	decided, candidates := map[choiceKey]bool{}, 0
	d := NewDecoder(func(x *decision.Decision) {
		key := choiceKey{x.RequestID, x.WorkerType.String()}
		if decided[key] || !groups[key] {
			t.Errorf("%+v was decided again, or without rows", key)
		}
		decided[key] = true
		candidates += len(x.Candidates)
	})
	for i, line := range lines {
		d.Line(uint64(i%3), line)
	}
	d.Flush()
	counts := undecodable(d)
	if counts["truncated"] != truncated {
		t.Errorf("%d truncated lines, want %d", counts["truncated"], truncated)
	}
	n := uint64(len(decided))
	if n+counts["winner_without_rows"]+counts["winner_not_in_rows"] != selections {
		t.Errorf("%d decisions of %d selections: %v", n, selections, counts)
	}
	// A row behind its selection opens its choice again.
	if again := n + counts["rows_without_winner"] + counts["winner_not_in_rows"]; again < uint64(len(groups)) || again > rows || uint64(candidates) > rows {
		t.Errorf("%d decisions of %d choices with %d rows, %d of them used: %v", n, len(groups), rows, candidates, counts)
	}
	for reason := range counts {
		if reason == "malformed" || reason == "unknown_formula" || reason == "unknown_worker_type" {
			t.Errorf("%s: %v", reason, counts)
		}
	}
}
