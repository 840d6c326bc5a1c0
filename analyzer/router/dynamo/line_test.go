package dynamo

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/kvshadow/kvshadow/analyzer/decision"
)

// readable turns a JSON line into the human-readable form, with colours as
// the router's terminal writer has them.
func readable(message string, colours bool, members ...string) string {
	name := func(s string) string {
		if colours {
			return "\x1b[3m" + s + "\x1b[0m\x1b[2m=\x1b[0m"
		}
		return s + "="
	}
	head := "2026-11-29T23:25:19.767435Z DEBUG dynamo_kv_router::scheduling::selector: "
	if colours {
		head = "\x1b[2m2026-11-29T23:25:19.767435Z\x1b[0m \x1b[34mDEBUG\x1b[0m \x1b[2mdynamo_kv_router::scheduling::selector\x1b[0m\x1b[2m:\x1b[0m "
	}
	for _, m := range members {
		k, v, _ := strings.Cut(m, ":")
		message += " " + name(strings.Trim(k, `"`)) + v
	}
	return head + message
}

// TestLine_Formats: one choice in every form in which a log can hold it.
func TestLine_Formats(t *testing.T) {
	selected := []string{`"router_mode":"kv"`, `"request_id":"a b"`, `"worker_id":18446744073709551615`, `"worker_type":prefill`, `"dp_rank":0`,
		`"logit":5.25`, `"effective_cached_blocks":6.0`, `"host_pinned_blocks":0`, `"disk_blocks":0`, `"total_kv_blocks":Some(512)`}
	row := replaceOnce(t, rowMessage(1<<64-1, 6, 1), "blocks: 5.000 =", "blocks: 5.250 =")
	best := "[ROUTING] Best: worker_18446744073709551615 dp_rank=0 with 6/10 blocks overlap"
	bestFields := []string{`"request_id":"a b"`, `"worker_id":18446744073709551615`, `"dp_rank":0`, `"overlap_blocks":6`, `"total_blocks":10`}
	input := []string{`"request_id":"a b"`, `"isl_tokens":600`, `"block_size":64`, `"num_blocks":9`, `"local_hashes":"[1, 2]"`}
	lower := []string{`"request_id":"a b"`, `"worker_type":"prefill"`, `"overlap_blocks_lost":2.5`}
	rowFields := []string{`"request_id":"a b"`, `"worker_type":"prefill"`}
	f := func(format func(message string, members ...string) string, wantTime time.Time) {
		t.Helper()
		d := decodeOne(t, format("[ROUTING_INPUT] request local hashes", input...), format(row, rowFields...), format("Selected worker", selected...),
			format(best, bestFields...), format("Router selected a worker with lower KV cache overlap", lower...))
		if d.RequestID != "a b" || d.Selected != key(1<<64-1, 0) || d.WorkerType != decision.Prefill || d.SelectedCostBlocks != decision.Some(5.25) ||
			d.InputTokens != 600 || d.RequestBlocks != 10 || d.RecordedLostBlocks != decision.Some(2.5) || d.QueryOnly || !d.Time.Equal(wantTime) ||
			len(d.Candidates) != 1 || d.Candidates[0].Recorded.CostBlocks != decision.Some(5.25) {
			t.Errorf("decoded %+v", d)
		}
	}
	quoted := func(members []string) []string { // a bare word isn't JSON
		out := make([]string, len(members))
		for i, m := range members {
			out[i] = strings.ReplaceAll(strings.ReplaceAll(m, ":prefill", `:"prefill"`), "Some(512)", `"Some(512)"`)
		}
		return out
	}
	jsonTime := time.Date(2026, 11, 29, 23, 28, 58, 671803000, time.UTC)
	textTime := time.Date(2026, 11, 29, 23, 25, 19, 767435000, time.UTC)
	asJSON := func(message string, members ...string) string { return logLine(message, quoted(members)...) }
	f(asJSON, jsonTime)
	f(func(m string, members ...string) string { return readable(m, false, members...) }, textTime)
	f(func(m string, members ...string) string { return readable(m, true, members...) }, textTime)
	// Behind a container runtime's prefix.
	f(func(m string, members ...string) string {
		return "2026-11-30T00:00:00.123456789Z stdout F " + asJSON(m, members...)
	}, jsonTime)
	f(func(m string, members ...string) string { return "frontend-0 | " + asJSON(m, members...) }, jsonTime)
	f(func(m string, members ...string) string {
		return "2026-11-29T23:25:19.767435Z stderr F " + readable(m, true, members...)
	}, textTime)
	// JSON with other white space, order and escapes.
	f(func(m string, members ...string) string {
		return "{ \"message\": \"" + m + "\" ,\t" + strings.Join(quoted(members), " , ") + " , \"time\" : \"2026-11-29T23:28:58.671803Z\" } "
	}, jsonTime)
	f(func(m string, members ...string) string {
		return strings.ReplaceAll(strings.ReplaceAll(asJSON(m, members...), "a b", `a\u0020b`), "_id\"", `_\u0069d"`)
	}, jsonTime)
	f(func(m string, members ...string) string {
		return asJSON(m, append(members, `"span":{"message":"x","request_id":"no"}`, `"spans":[{"request_id":"no"},"]"]`, `"worker_idx":null`)...)
	}, jsonTime)
}

// TestLine_None: lines that are not the router's messages are turned away, and
// such that only quote one do no harm.
func TestLine_None(t *testing.T) {
	f := func(line string) {
		t.Helper()
		d := NewDecoder(func(x *decision.Decision) { t.Errorf("decided %+v", x) })
		if d.Line(0, []byte(line)) {
			t.Errorf("taken for one of the router's messages: %s", line)
		}
		d.Flush()
		if counts := undecodable(d); len(counts) > 0 {
			t.Errorf("counted %v: %s", counts, line)
		}
	}
	f("")
	f("{")
	f("{}")
	f("null")
	f(`{"time":"2026-11-29T23:28:58.671803Z"}`)
	f(logLine(""))
	f(logLine("F"))
	f(logLine("Selected model parser route"))
	f(logLine("Selected workers: none"))
	f(logLine("processed active load update"))
	f(logLine("request: Formula for worker_id=1"))
	f(logLine("user wrote \"Selected worker\""))
	f(logLine("ok", `"prompt":"{\"message\":\"Selected worker\"}"`))
	f(`{"message":17,"time":"Selected worker"}`)
	f(`{"message":`)
	f(`{"message":null}`)
	f("2026-11-29T23:25:19.767435Z  INFO dynamo: Selected model parser route model=x")
	f("2026-11-29T23:25:19.767435Z  INFO dynamo: nothing")
}

func TestParseObject_Success(t *testing.T) {
	f := func(line string, want fields) {
		t.Helper()
		var got fields
		if err := got.parseObject([]byte(line)); err != nil {
			t.Fatalf("%s: %s", line, err)
		}
		if string(got.message) != string(want.message) || string(got.requestID) != string(want.requestID) ||
			string(got.workerID) != string(want.workerID) || string(got.logit) != string(want.logit) {
			t.Errorf("%s: read %q %q %q %q", line, got.message, got.requestID, got.workerID, got.logit)
		}
	}
	b := func(s string) []byte { return []byte(s) }
	f(`{}`, fields{})
	f(` { } `, fields{})
	f(`{"worker_id":18446744073709551615,"logit":-1.5e3}`, fields{workerID: b("18446744073709551615"), logit: b("-1.5e3")})
	f("{\t\"worker_id\"\t:\t1\t,\r\"logit\" : 2\r}\r", fields{workerID: b("1"), logit: b("2")})
	f(`{"message":"a\"b\\","request_id":"\u00e9\n"}`, fields{message: b(`a"b\`), requestID: b("é\n")})
	f(`{"message":"\\\"","request_id":"}"}`, fields{message: b(`\"`), requestID: b("}")})
	f(`{"request_id":null,"logit":2}`, fields{logit: b("2")}) // as if it were absent
	f(`{"request_id":"null"}`, fields{requestID: b("null")})
	f(`{"message":"a","message":"b"}`, fields{message: b("b")})
	f(`{"x":{"message":"a"},"y":[1,{"z":"]}"}],"message":"b"}`, fields{message: b("b")})
}

func TestParseObject_Failure(t *testing.T) {
	f := func(line string, want error) {
		t.Helper()
		var got fields
		if err := got.parseObject([]byte(line)); !errors.Is(err, want) {
			t.Errorf("%s: error %v, want %v", line, err, want)
		}
	}
	whole := `{"message":"a\"b","worker_id":17,"x":[1,{"y":"z"}],"ok":true}`
	for n := range len(whole) {
		f(whole[:n], errTruncated)
	}
	f(whole+"x", errMalformed)
	f(whole+whole, errMalformed)
	f(`[]`, errMalformed)
	f(`{"a" 1}`, errMalformed)
	f(`{a:1}`, errMalformed)
	f(`{"a":1 "b":2}`, errMalformed)
	f(`{"a":1,}`, errMalformed)
	f(`{,"a":1}`, errMalformed)
	f(`{"a":}`, errMalformed)
	f(`{"a":"\x"}`, errMalformed)
}

func TestFieldsFollow(t *testing.T) {
	f := func(text string, want bool) {
		t.Helper()
		if got := fieldsFollow([]byte(text)); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
	f("", true)
	f("  ", true)
	f(` request_id="a"`, true)
	f(" otel.kind2=x y z", true)
	f("request_id=", true)
	f(" + 2.000 request_id=a", false)
	f(" 2=a", false)
	f(" =a", false)
	f(" waiting requests=2", false)
	f(" (waiting_requests: 2)", false)
	f(" request_id", false)
}

func TestStripANSI(t *testing.T) {
	f := func(in, want string) {
		t.Helper()
		if got := string(stripANSI(nil, []byte(in))); got != want {
			t.Errorf("%q became %q, want %q", in, got, want)
		}
	}
	f("", "")
	f("plain", "plain")
	f("\x1b[2ma\x1b[0m b\x1b[38;5;12mc", "a bc")
	f("\x1b[0m", "")
	f("\x1b[", "")
	f("a\x1b[38;5", "a")
	f("a\x1bb", "a\x1bb")
}
