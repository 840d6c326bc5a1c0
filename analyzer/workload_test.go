package analyzer

import (
	"strings"
	"testing"

	"github.com/kvshadow/kvshadow/analyzer/input"
)

const (
	mooncakeRow = `{"session_id":"a","timestamp":5,"input_length":130,"output_length":2,"hash_ids":[1,2,3]}` + "\n"
	traceRecord = `{"timestamp":24540,"event":{"schema":"dynamo.request.trace.v1","event_type":"request_end","agent_context":{"session_id":"a"},` +
		`"request":{"request_id":"r1","model":"m","input_tokens":130,"output_tokens":4,"cached_tokens":64,"request_received_ms":1795994938674,` +
		`"prefill_wait_time_ms":0.5,"ttft_ms":20.5,"total_time_ms":50.5,"worker":{"prefill_worker_id":7,"prefill_dp_rank":0,"decode_worker_id":7,"decode_dp_rank":0}` +
		traceReplay + `}}}` + "\n"
	traceReplay = `,"replay":{"trace_block_size":64,"input_length":130,"input_sequence_hashes":[12,13,14]}`
	toolEvent   = `{"timestamp":7,"event":{"schema":"dynamo.request.trace.v1","event_type":"tool_start","tool":{"status":"running"}}}` + "\n"
)

func stdin(t *testing.T, text string) *input.Set {
	t.Helper()
	files, err := input.Open([]string{"-"}, strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return files
}

func TestReadWorkload(t *testing.T) {
	for _, tt := range []struct {
		name, text      string
		requests, notes int
		recorded        float64 // the median time to the first token
		wrong           string
	}{
		{name: "rows", text: mooncakeRow + "\n" + mooncakeRow, requests: 2},
		{name: "a request trace", text: traceRecord, requests: 1, recorded: 20.5},
		{name: "one without hashes", text: traceRecord + strings.Replace(traceRecord, traceReplay, "", 1), requests: 1, notes: 1, recorded: 20.5},
		{name: "both", text: mooncakeRow + traceRecord, wrong: "mixes request traces and Mooncake rows"},
		{name: "neither", text: mooncakeRow + "hello\n" + mooncakeRow, wrong: ":2: neither a Mooncake row nor a request trace"},
		{name: "nothing", wrong: "the input has no request"},
		{name: "no hashes at all", text: strings.Replace(traceRecord, traceReplay, "", 1), wrong: "the input has no request"},
		{name: "tool events", text: toolEvent + traceRecord + toolEvent, requests: 1, recorded: 20.5},
	} {
		load, recorded, notes, err := ReadWorkload(t.Context(), stdin(t, tt.text), WorkloadOptions{BlockSize: 64})
		switch {
		case tt.wrong != "":
			if err == nil || !strings.Contains(err.Error(), tt.wrong) {
				t.Errorf("%s: error %v; want %q", tt.name, err, tt.wrong)
			}
		case err != nil:
			t.Errorf("%s: %v", tt.name, err)
		case load.Len() != tt.requests || len(notes) != tt.notes || recorded["ttft_p50_ms"] != tt.recorded:
			t.Errorf("%s: %d requests, notes %q, recorded %v", tt.name, load.Len(), notes, recorded)
		}
	}
}

func TestReadLifecycles(t *testing.T) {
	ls, notes, err := ReadLifecycles(t.Context(), stdin(t, traceRecord+traceRecord))
	if err != nil || len(ls) != 2 || len(notes) != 0 || ls[0].CachedTokens != 64 {
		t.Errorf("%d requests, notes %q, %v", len(ls), notes, err)
	}
	if _, _, err := ReadLifecycles(t.Context(), stdin(t, traceRecord+mooncakeRow)); err == nil || !strings.Contains(err.Error(), ":2: not a record of a request trace") {
		t.Errorf("error %v", err)
	}
	if _, _, err := ReadLifecycles(t.Context(), stdin(t, "")); err == nil {
		t.Error("an empty input is no error")
	}
}
