package dynamo

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/kvshadow/kvshadow/analyzer/decision"
)

// traceRequest is a bare record of a finished request with a session.
const traceRequest = `{"schema":"dynamo.request.trace.v1","event_type":"request_end","event_time_unix_ms":1002,` +
	`"agent_context":{"session_id":"s","input_trigger":"other"},"request":{"request_id":"r","model":"m","input_tokens":5,` +
	`"output_tokens":3,"cached_tokens":4,"request_received_ms":1000,"prefill_wait_time_ms":0.5,"prefill_time_ms":0.5,` +
	`"ttft_ms":1,"total_time_ms":2.25,"kv_hit_rate":1.5,"worker":{"prefill_worker_id":7,"prefill_dp_rank":1,` +
	`"decode_worker_id":8,"decode_dp_rank":2},"replay":{"trace_block_size":4,"input_length":5,` +
	`"input_sequence_hashes":[18446744073709551615,9007199254740993]}}}`

// traceBare is one without a session.
const traceBare = `{"schema":"dynamo.request.trace.v1","event_type":"request_end","event_time_unix_ms":1002,` +
	`"request":{"request_id":"r","output_tokens":3,"request_received_ms":1000,` +
	`"replay":{"trace_block_size":4,"input_length":5,"input_sequence_hashes":[1,2]}}}`

func envelope(record string) string { return `{"timestamp":5,"event":` + record + `}` }

func traceLifecycle() *decision.Lifecycle {
	return &decision.Lifecycle{
		RequestID: "r", SessionID: "s", Model: "m",
		Received: time.UnixMilli(1000).UTC(), Wait: 500 * time.Microsecond, FirstToken: time.Millisecond, Total: 2250 * time.Microsecond,
		InputTokens: 5, OutputTokens: 3, CachedTokens: 4, HitRate: decision.Some(1.5),
		BlockSizeTokens: 4, Hashes: []uint64{math.MaxUint64, 1<<53 + 1},
		Prefill: decision.Key{WorkerID: 7, DPRank: 1}, Decode: decision.Key{WorkerID: 8, DPRank: 2}, HasWorkers: true,
	}
}

func TestIsTrace_Success(t *testing.T) {
	f := func(line string, want bool) {
		t.Helper()
		if got := isTrace([]byte(line)); got != want {
			t.Errorf("isTrace(%.120s) = %v", line, got)
		}
	}

	f(traceRequest, true)
	f(traceBare, true)
	f(envelope(traceRequest), true)
	f(envelope(traceRequest)+"\r", true)
	f(`{"schema":"dynamo.request.trace.v2"}`, true)
	f(`{"timestamp":1,"event":{"schema":"dynamo.request.trace.v1beta"}}`, true)
	f(`{"timestamp":1,"event":{"agent_context":{"a":[1,{}]},"schema":"dynamo.request.trace.v1"}}`, true)
	f(` { "schema" : "dynamo.request.trace.v1" }`, true)
	f(`{"schema":"dynamo.request.trace.v1","event_ty`, true)
	f("2026-11-30T00:00:00.1Z stderr F "+traceBare, true)
	f("2026-11-30T00:00:00.1Z stderr P "+traceBare[:200], true)
	f("frontend-1  | "+traceBare, true)
	f("[pod/frontend-0/main] "+traceBare, true)

	f("", false)
	f("{", false)
	f(`{"schema":"dynamo.request.tra`, false)
	f(`{"schema":"other","note":"dynamo.request.trace.v1"}`, false)
	f(`{"schema":7,"note":"dynamo.request.trace.v1"}`, false)
	f(`{"event":"dynamo.request.trace.v1"}`, false)
	f(`{"event":{"x":{"schema":"dynamo.request.trace.v1"}}}`, false)
	f(`{"event":{"event":{"schema":"dynamo.request.trace.v1"}}}`, false)
	f(`{"other":{"schema":"dynamo.request.trace.v1"}}`, false)
	f(`[{"schema":"dynamo.request.trace.v1"}]`, false)
	f(`dynamo.request.trace.v1`, false)
	f(logLine("Request trace sinks ready", member("record", traceRequest)), false)
	f(logLine(traceRequest), false)
	f(`{"level":"DEBUG","message":"schema is \"dynamo.request.trace.v1\""}`, false)
	f("2026-11-30T00:00:00Z stderr F "+logLine(traceRequest), false)
	f("2026-11-30T00:00:00Z DEBUG dynamo_llm::request_trace: emitting "+traceRequest, false)
	f("[ROUTING] "+traceRequest, false)
}

func TestTraceDecode_Success(t *testing.T) {
	f := func(line string, change func(l *decision.Lifecycle)) {
		t.Helper()
		var dec traceDecoder
		want := traceLifecycle()
		change(want)
		got, skip, err := dec.decode([]byte(line))
		if err != nil || skip != "" || !reflect.DeepEqual(got, want) {
			t.Errorf("%s:\ngot  %+v, %q, %v\nwant %+v", line, got, skip, err, want)
		}
	}
	with := func(old, by string) string { t.Helper(); return replaceOnce(t, traceRequest, old, by) }
	same := func(*decision.Lifecycle) {}

	f(traceRequest, same)
	f(envelope(traceRequest), same)
	f("2026-11-30T00:00:00.1Z stderr F "+traceRequest+" \r", same)
	f(strings.NewReplacer(",", " ,\t", ":", " : ", "[", "[ ", "}", " }").Replace(traceRequest), same)

	// Members that aren't read, whatever they hold and wherever they are.
	for _, unknown := range []string{`{"a":[{}, [], "\u00e9\"", -1.5e+3, true, false, null]}`, `null`, `[]`, `0`, `""`, repeat("[", 100) + repeat("]", 100)} {
		for _, after := range []string{`{"schema"`, `{"session_id"`, `{"request_id"`, `{"prefill_worker_id"`, `{"trace_block_size"`} {
			f(with(after, `{"x":`+unknown+`,"x":1,`+after[1:]), same)
		}
		f(replaceOnce(t, envelope(traceRequest), `"event":{`, `"x":`+unknown+`,"event":{`), same)
		f(with(`"request":{`, `"event":`+unknown+`,"request":{`), same)
	}
	f(strings.TrimSuffix(envelope(traceRequest), "}")+`,"schema":1,"request":2}`, same)
	f(with(`"event_time_unix_ms":1002`, `"routing_decision":{"schema":"x","request":{}}`), same)

	f(with(`"request_id":"r"`, `"\u0072equest_id":"a\"\\\/\n\u00e9\ud83d\ude00"`), func(l *decision.Lifecycle) { l.RequestID = "a\"\\/\né😀" })
	f(with(`"agent_context":{"session_id":"s","input_trigger":"other"},`, ``), func(l *decision.Lifecycle) { l.SessionID = "" })
	f(with(`"agent_context":{"session_id":"s","input_trigger":"other"}`, `"agent_context":null`), func(l *decision.Lifecycle) { l.SessionID = "" })
	f(with(`"model":"m"`, `"model":null`), func(l *decision.Lifecycle) { l.Model = "" })
	f(with(`"input_tokens":5,`, ``), same)
	f(with(`"output_tokens":3,`, ``), func(l *decision.Lifecycle) { l.OutputTokens = 0 })
	f(with(`"output_tokens":3`, `"output_tokens":18446744073709551615`), func(l *decision.Lifecycle) { l.OutputTokens = math.MaxUint64 })
	f(with(`"cached_tokens":4,`, ``), func(l *decision.Lifecycle) { l.CachedTokens = -1 })
	f(with(`"cached_tokens":4`, `"cached_tokens":0`), func(l *decision.Lifecycle) { l.CachedTokens = 0 })
	f(with(`"kv_hit_rate":1.5,`, ``), func(l *decision.Lifecycle) { l.HitRate = decision.Float{} })
	f(with(`"kv_hit_rate":1.5`, `"kv_hit_rate":0.0`), func(l *decision.Lifecycle) { l.HitRate = decision.Some(0) })
	f(with(`"request_received_ms":1000`, `"request_received_ms":253402300799999`), func(l *decision.Lifecycle) {
		l.Received = time.Date(9999, 12, 31, 23, 59, 59, 999e6, time.UTC)
	})

	// A request that was cancelled before its first token.
	f(with(`"ttft_ms":1,"total_time_ms":2.25,`, `"total_time_ms":2.25,`), func(l *decision.Lifecycle) { l.FirstToken = -1 })
	f(with(`"prefill_wait_time_ms":0.5,`, `"prefill_wait_time_ms":null,`), func(l *decision.Lifecycle) { l.Wait = -1 })
	f(with(`"total_time_ms":2.25`, `"total_time_ms":2592000000`), func(l *decision.Lifecycle) { l.Total = maxTraceTime })
	f(with(`"total_time_ms":2.25`, `"total_time_ms":0.0000005`), func(l *decision.Lifecycle) { l.Total = 1 })
	f(with(`"total_time_ms":2.25`, `"total_time_ms":1E-400`), func(l *decision.Lifecycle) { l.Total = 0 })
	f(with(`"total_time_ms":2.25`, `"total_time_ms":0e9`), func(l *decision.Lifecycle) { l.Total = 0 })

	// One worker stands for both roles.
	f(with(`"prefill_worker_id":7,"prefill_dp_rank":1,`, ``), func(l *decision.Lifecycle) { l.Prefill = l.Decode })
	f(with(`"prefill_worker_id":7`, `"prefill_worker_id":null`), func(l *decision.Lifecycle) { l.Prefill = l.Decode })
	f(with(`,"decode_worker_id":8,"decode_dp_rank":2`, ``), func(l *decision.Lifecycle) { l.Decode = l.Prefill })
	f(with(`"prefill_dp_rank":1,`, ``), func(l *decision.Lifecycle) { l.Prefill.DPRank = 0 })
	f(with(`"decode_dp_rank":2`, `"decode_dp_rank":4294967295`), func(l *decision.Lifecycle) { l.Decode.DPRank = math.MaxUint32 })
	f(with(`"decode_worker_id":8`, `"decode_worker_id":18446744073709551615`), func(l *decision.Lifecycle) { l.Decode.WorkerID = math.MaxUint64 })
	unknown := func(l *decision.Lifecycle) {
		l.Prefill, l.Decode, l.HasWorkers = decision.Key{}, decision.Key{}, false
	}
	f(with(`"prefill_worker_id":7,"prefill_dp_rank":1,"decode_worker_id":8,`, `"prefill_dp_rank":1,`), unknown)
	f(with(`"worker":{"prefill_worker_id":7,"prefill_dp_rank":1,"decode_worker_id":8,"decode_dp_rank":2},`, ``), unknown)

	// One hash per started block, or only per full block.
	f(with(`,9007199254740993]`, `]`), func(l *decision.Lifecycle) { l.Hashes = l.Hashes[:1] })
	f(strings.NewReplacer(`"input_tokens":5`, `"input_tokens":8`, `"input_length":5`, `"input_length":8`).Replace(traceRequest), func(l *decision.Lifecycle) { l.InputTokens = 8 })
	f(strings.NewReplacer(`"input_tokens":5`, `"input_tokens":0`, `"input_length":5`, `"input_length":0`, `[18446744073709551615,9007199254740993]`, `[ ]`).Replace(traceRequest), func(l *decision.Lifecycle) {
		l.InputTokens, l.Hashes = 0, []uint64{}
	})

	f(traceBare, func(l *decision.Lifecycle) {
		*l = decision.Lifecycle{RequestID: "r", Received: time.UnixMilli(1000).UTC(), Wait: -1, FirstToken: -1, Total: -1,
			InputTokens: 5, OutputTokens: 3, CachedTokens: -1, BlockSizeTokens: 4, Hashes: []uint64{1, 2}}
	})
}

func TestTraceDecodeSkip_Success(t *testing.T) {
	f := func(line, want string) {
		t.Helper()
		var dec traceDecoder
		l, skip, err := dec.decode([]byte(line))
		if l != nil || skip != want || err != nil {
			t.Errorf("%s: got %v, %q, %v, want skip %q", line, l, skip, err, want)
		}
	}

	const begin = `{"schema":"dynamo.request.trace.v1","event_type":`
	f(begin+`"tool_start","tool":{"tool_call_id":"c"}}`, "tool_start")
	f(envelope(begin+`"tool_end"}`), "tool_end")
	f(begin+`"tool_error"}`, "tool_error")
	f(begin+`"request_payload","payload":{"request":{"messages":[]}}}`, "request_payload")
	f(begin+`"router_selection","request":[{"worker":"of another type"}],"request":1,"agent_context":1}`, skipUnknownEvent)
	f(begin+`"request_end","request":{"request_id":"r"}}`, skipWithoutReplay)
	f(begin+`"request_end","request":{"request_id":"r","replay":null}}`, skipWithoutReplay)
}

func TestTraceDecode_Failure(t *testing.T) {
	f := func(line, want string) {
		t.Helper()
		for _, line := range []string{line, envelope(line)} {
			var dec traceDecoder
			l, skip, err := dec.decode([]byte(line))
			if err == nil || l != nil || skip != "" || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: got %v, %q, error %v, want %q", line, l, skip, err, want)
			}
			// The next line isn't harmed.
			if l, _, err := dec.decode([]byte(traceRequest)); err != nil || !reflect.DeepEqual(l, traceLifecycle()) {
				t.Errorf("after %s: got %+v, %v", line, l, err)
			}
		}
	}
	with := func(old, by string) string { t.Helper(); return replaceOnce(t, traceRequest, old, by) }

	// Wrong types, by field.
	integers := map[string]string{"input_tokens": "5", "output_tokens": "3", "cached_tokens": "4", "request_received_ms": "1000",
		"prefill_worker_id": "7", "prefill_dp_rank": "1", "decode_worker_id": "8", "decode_dp_rank": "2", "trace_block_size": "4", "input_length": "5"}
	for name, value := range integers {
		for _, bad := range []string{`"` + value + `"`, value + ".0", value + "e0", value + "E3", "-" + value, "-0", "18446744073709551616", "100000000000000000000", "true", "{}", "[1]"} {
			f(with(`"`+name+`":`+value, `"`+name+`":`+bad), name+": not an integer")
		}
		f(with(`"`+name+`":`+value, `"`+name+`":0`+value), name+": malformed")
		f(with(`"`+name+`":`+value, `"`+name+`":nil`), name+": malformed")
		f(with(`"`+name+`":`+value, fmt.Sprintf(`"%s":%s,"%s":%s`, name, value, name, value)), name+": comes twice")
	}
	for _, name := range []string{"prefill_wait_time_ms", "ttft_ms", "total_time_ms", "kv_hit_rate"} {
		old := map[string]string{"prefill_wait_time_ms": "0.5", "ttft_ms": "1", "total_time_ms": "2.25", "kv_hit_rate": "1.5"}[name]
		for bad, want := range map[string]string{`"1"`: "not a number", "true": "not a number", "[]": "not a number", "NaN": "not a number", "-1": "negative", "-1e999": "negative", "1e999": "too large", "1.": "malformed", "1e": "malformed", ".5": "not a number", "+1": "not a number", "-": "not a number"} {
			f(with(`"`+name+`":`+old, `"`+name+`":`+bad), "request."+name+": "+want)
		}
		if name != "kv_hit_rate" {
			f(with(`"`+name+`":`+old, `"`+name+`":2592000000.1`), "request."+name+": longer than 30 days")
		}
	}
	for name, value := range map[string]string{"schema": traceSchema, "event_type": "request_end", "session_id": "s", "request_id": "r", "model": "m"} {
		for bad, want := range map[string]string{"1": "not a string", "{}": "not a string", "\"\xff\"": "not UTF-8", `"\ud800"`: "malformed", `"\x"`: "malformed", `"\u12g4"`: "malformed", "\"\x01\"": "malformed"} {
			f(with(`"`+name+`":"`+value+`"`, `"`+name+`":`+bad), name+": "+want)
		}
	}
	for _, name := range []string{"agent_context", "request", "worker", "replay"} {
		for _, bad := range []string{"1", `"x"`, "[]", "false"} {
			f(with(`"`+name+`":{`, `"`+name+`":`+bad+`,"x":{`), name+": not an object")
		}
		f(with(`"`+name+`":{`, `"`+name+`":null,"`+name+`":{`), name+": comes twice")
	}

	// Hashes.
	const hashes = `[18446744073709551615,9007199254740993]`
	for bad, want := range map[string]string{`{}`: "not an array", `"[]"`: "not an array", `[1,2,]`: "not an integer", `[,1]`: "not an integer", `[1 2]`: "malformed", `[1,"2"]`: "not an integer",
		`[1,null]`: "not an integer", `[1,-2]`: "not an integer", `[1,2.0]`: "not an integer", `[1,1e3]`: "not an integer", `[1,18446744073709551616]`: "not an integer", `[1,99999999999999999999]`: "not an integer",
		`[1,123456789012345678901]`: "not an integer", `[01,2]`: "malformed", `[1,00000000000000000002]`: "malformed", `[1,2x]`: "malformed",
		`[]`: "0 hashes for 5 tokens in blocks of 4", `[1,2,3]`: "3 hashes for 5 tokens in blocks of 4"} {
		f(with(hashes, bad), "request.replay.input_sequence_hashes: "+want)
	}

	// Bounds, and what is missing or contradicts itself.
	f(with(`"decode_dp_rank":2`, `"decode_dp_rank":4294967296`), "request.worker.decode_dp_rank: larger than 4294967295")
	f(with(`"trace_block_size":4`, `"trace_block_size":4294967296`), "request.replay.trace_block_size: larger than")
	f(with(`"trace_block_size":4`, `"trace_block_size":0`), "request.replay.trace_block_size: 0")
	f(with(`"cached_tokens":4`, `"cached_tokens":9223372036854775808`), "request.cached_tokens: larger than")
	f(with(`"request_received_ms":1000`, `"request_received_ms":253402300800000`), "request.request_received_ms: larger than")
	f(with(`"input_tokens":5`, `"input_tokens":6`), "request.input_tokens: 6, but request.replay.input_length is 5")
	f(strings.ReplaceAll(strings.ReplaceAll(traceRequest, `"input_tokens":5`, `"input_tokens":4`), `"input_length":5`, `"input_length":4`), "2 hashes for 4 tokens")
	f(with(`"request_id":"r",`, ``), "request.request_id: missing")
	f(with(`"request_id":"r"`, `"request_id":""`), "request.request_id: missing")
	f(with(`"request_received_ms":1000,`, ``), "request.request_received_ms: missing")
	f(with(`"trace_block_size":4,`, ``), "request.replay.trace_block_size: missing")
	f(with(`"input_length":5,`, ``), "request.replay.input_length: missing")
	f(with(`"input_sequence_hashes":`+hashes, `"input_sequence_hashes":null`), "request.replay.input_sequence_hashes: missing")
	f(with(`"event_type":"request_end",`, ``), "event_type: missing")
	f(with(`"schema":"dynamo.request.trace.v1",`, ``), "schema: missing")
	f(`{"schema":"dynamo.request.trace.v1","event_type":"request_end"}`, "request: missing")

	f(with(`trace.v1"`, `trace.v2"`), "supported is dynamo.request.trace.v1")
	f(`{"schema":"dynamo.request.trace.v2","request":7}`, "supported is dynamo.request.trace.v1")
	f(`{"schema":"dynamo.request.trace.v1","event_type":"tool_end","tool":`+repeat("[", 200)+repeat("]", 200)+`}`, "nested too deeply")
	f(with(`"input_trigger":"other"`, `"input_trigger":tru`), "malformed")
	f(with(`"input_trigger":"other"`, `"input_trigger"`), "malformed")
	f(with(`"input_trigger":"other"`, `"input_trigger":{"a":1,}`), "malformed")
	f(with(`"input_trigger":"other"`, `"input_trigger":[1}`), "malformed")
	f(with(`"input_trigger":"other"`, `input_trigger:1`), "not a string")
	f(traceRequest+"x", "malformed")
}

func TestTraceEnvelope_Failure(t *testing.T) {
	f := func(line, want string) {
		t.Helper()
		var dec traceDecoder
		if l, skip, err := dec.decode([]byte(line)); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, %q, %v, want %q", line, l, skip, err, want)
		}
	}

	f(`{"timestamp":1,"event":`+traceRequest+`,"event":`+traceRequest+`}`, "event: comes twice")
	f(`{"timestamp":1,"event":`+traceRequest+`,"event":null}`, "event: comes twice")
	f(envelope(envelope(traceRequest)), "schema: missing")
	f(`{"timestamp":1,"event":7}`, "schema: missing")
	f("message "+traceRequest, "malformed")
	f("", "malformed")
	f(`[]`, "malformed")
	f(`{}`, "schema: missing")
}

func TestTraceErrors_Success(t *testing.T) {
	var dec traceDecoder
	_, _, err := dec.decode([]byte(`{"schema":"dynamo.request.trace.v3"}`))
	if !errors.Is(err, errTraceSchema) || errors.Is(err, errTruncated) {
		t.Errorf("got %v", err)
	}
}
