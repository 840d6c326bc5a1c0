package dynamo

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/kvshadow/kvshadow/analyzer/decision"
)

// seedLines are real lines of every release and shape, and a few made ones.
func seedLines(f *testing.F) [][]byte {
	var seeds [][]byte
	for _, name := range []string{"disagg-1.5.1.jsonl", "agg-1.6.1.jsonl", "dynamo-1.3.1.jsonl", "dynamo-1.4.2.jsonl", "dynamo-1.5.1-readable-ansi.log"} {
		seeds = append(seeds, readCapture(f, name)[:12]...)
	}
	for _, text := range []string{formulaText, formulaText13, formulaDecode, formulaLegacy} {
		seeds = append(seeds, []byte(logLine(text)), []byte(readable(text, true, ids("a", "decode")...)), []byte("2026-11-30T00:00:00Z stdout F "+logLine(text)))
	}
	seeds = append(seeds, toLines(choice("a", "prefill")...)...)
	seeds = append(seeds, toLines(bestLine("a", 1, 6, 10), inputLine("a", 600, 64), lowerLine("a", "prefill", 6),
		logLine("Pinned f"+rowMessage(1, 6, 1)[1:], ids("p", "prefill")...),
		logLine("Selected pinned worker: worker_type=prefill, worker_id=1 dp_rank=0, logit: 1.500, effective cached blocks: 2.00", member("request_id", "p")),
		logLine("Selected worker: worker_id=7 dp_rank=0, logit: 17.375, cached blocks: 17"))...)
	return seeds
}

// FuzzLine feeds any lines to a decoder: it doesn't fail, hands on sound
// decisions only, keeps no reference to the lines, and ends empty.
func FuzzLine(f *testing.F) {
	seeds := seedLines(f)
	f.Add(bytes.Join(seeds, []byte("\n")))
	for i := 0; i+6 <= len(seeds); i += 6 {
		f.Add(bytes.Join(seeds[i:i+6], []byte("\n")))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		decode := func(reuse bool) string {
			var out strings.Builder
			d := NewDecoder(func(x *decision.Decision) {
				checkDecision(t, x)
				fmt.Fprintf(&out, "%+v\n", x)
			})
			buffer := make([]byte, 0, len(data))
			for i, line := range bytes.Split(data, []byte("\n")) {
				buffer = append(buffer[:0], line...)
				d.Line(uint64(i%2), buffer)
				for j := range buffer {
					if reuse {
						buffer[j] = 'x'
					}
				}
			}
			d.Flush()
			if len(d.groups)+d.oldest.len()+d.ready.len()+len(d.byID) > 0 {
				t.Error("something is left after Flush")
			}
			fmt.Fprint(&out, d.counts)
			return out.String()
		}
		if a, b := decode(false), decode(true); a != b {
			t.Errorf("the decoder keeps references to its lines:\n%s\n%s", a, b)
		}
	})
}

func checkDecision(t *testing.T, d *decision.Decision) {
	t.Helper()
	if d.Find(d.Selected) < 0 {
		t.Errorf("the selected worker is no candidate: %+v", d)
	}
	if d.InputTokens > 0 && d.RequestBlocks != decision.Blocks(d.InputTokens, d.BlockSizeTokens) ||
		(d.RequestBlocks == 0) != d.Unknown.Has(decision.UnknownRequestBlocks) {
		t.Errorf("the prompt's length is inconsistent: %+v", d)
	}
	for i, x := range d.Candidates {
		if d.Find(x.Key) != i {
			t.Errorf("candidate %d is listed twice: %+v", i, d)
		}
		for _, v := range []float64{x.EffectiveOverlapBlocks, x.DecodeCostBlocks, x.RawPrefillBlocks.Value, x.Recorded.CostBlocks.Value,
			x.SharedBeyondBlocks.Value, x.Recorded.OverlapCreditBlocks.Value, d.SelectedCostBlocks.Value, d.RecordedLostBlocks.Value} {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				t.Errorf("a number is not finite: %+v", d)
			}
		}
	}
}

// FuzzParseRow: a row that is accepted consists of finite numbers and is the
// same without what follows it.
func FuzzParseRow(f *testing.F) {
	for _, text := range []string{formulaText, formulaText13, formulaDecode, formulaLegacy, "Pinned f" + formulaText[1:], formulaText + " rest",
		formulaText[len("Formula"):]} {
		f.Add([]byte(text))
	}
	for _, line := range readCapture(f, "disagg-1.5.1.jsonl")[:40] {
		var x fields
		if x.parseObject(line) == nil && kindOf(x.message) == kindFormula {
			f.Add(x.message)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		r, rest, ok := parseRow(data)
		if !bytes.HasSuffix(data, rest) {
			t.Errorf("rest %q is no end of %q", rest, data)
		}
		if !ok {
			return
		}
		if k := kindOf(data); k != kindFormula {
			t.Errorf("%q is a row of kind %v", data, k)
		}
		for _, v := range []float64{r.effective, r.cost, r.scale, r.adjusted, r.decode, r.activeCost.Value, r.raw, r.credit.Value, r.decay.Value,
			r.shared, r.sharedMultiplier.Value} {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				t.Errorf("%q has a number that is not finite: %+v", data, r)
			}
		}
		if again, rest, ok := parseRow(data[:len(data)-len(rest)]); !ok || len(rest) > 0 || again != r {
			t.Errorf("%q was read as %+v, and without its rest as %+v, %v", data, r, again, ok)
		}
	})
}

var slotNames = []string{"message", "request_id", "worker_type", "time", "worker_id", "dp_rank", "logit", "host_pinned_blocks", "disk_blocks",
	"isl_tokens", "block_size", "total_blocks", "overlap_blocks_lost"}

// FuzzParseObject compares with encoding/json: of what that accepts, every
// member is read alike; what it refuses is accepted for a documented reason.
func FuzzParseObject(f *testing.F) {
	for _, line := range seedLines(f) {
		f.Add(line)
	}
	f.Add([]byte("{\"message\" : \"a\\u00e9\\\"\" ,\t\"logit\":-1.5e3\n,\"request_id\":null,\"dp_rank\":true}"))
	f.Add([]byte(`{"x":{"y":["]"]},"worker_id":18446744073709551615}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var got fields
		err := got.parseObject(data)
		var want map[string]any
		d := json.NewDecoder(bytes.NewReader(data))
		d.UseNumber()
		if !json.Valid(data) || d.Decode(&want) != nil || want == nil {
			if err == nil && !lenient(data) {
				t.Errorf("%q was accepted", data)
			}
			return
		}
		if err != nil {
			t.Fatalf("%q: %s", data, err)
		}
		for _, name := range slotNames {
			text := ""
			switch v := want[name].(type) {
			case nil, map[string]any, []any: // read as absent
			default:
				text = fmt.Sprint(v)
			}
			if read := strings.ToValidUTF8(string(*got.slot([]byte(name))), "\ufffd"); read != text && !strings.Contains(text, "\ufffd") {
				t.Errorf("%q: %s is %q, want %q", data, name, read, text)
			}
		}
	})
}

// lenient says whether a text has one of the faults that the parser lets pass.
func lenient(b []byte) bool {
	inString, start := false, bytes.IndexByte(b, '{')
	for i := 0; i < len(b); i++ {
		switch c := b[i]; {
		case inString && c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString && c < ' ', !inString && i != start && (c == '{' || c == '['):
			return true
		case !inString && c == ':':
			value := bytes.TrimLeft(b[i+1:], " \t\r\n")
			if n := bytes.IndexAny(value, " \t\r\n,}"); len(value) > 0 && !bytes.ContainsAny(value[:1], "\"{[") && (n < 0 || !json.Valid(value[:n])) {
				return true
			}
		}
	}
	return false
}
