package decision

import (
	"errors"
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"
)

func ExampleUnmarshal() {
	line := []byte(`{"schema":"kvshadow.decision.v1","request_id":"r1","worker_type":"prefill","input_tokens":3000,` +
		`"block_size_tokens":64,"selected":{"worker_id":2},"candidates":[` +
		`{"worker_id":1,"device_blocks":46,"decode_cost_blocks":143},{"worker_id":2,"decode_cost_blocks":95}]}`)
	var d Decision
	if err := Unmarshal(line, &d); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(d.WorkerType, d.RequestBlocks, d.TierMaps, d.Candidates[0].EffectiveOverlapBlocks)

	err := Unmarshal([]byte(`{"schema":"kvshadow.decision.v1","request_id":"r1","worker_type":"router"}`), &d)
	fmt.Println(err)
	// Output:
	// prefill 47 true 46
	// /selected: missing; want object with members of worker_id, dp_rank
}

func TestUnmarshal_Success(t *testing.T) {
	f := func(line string, edit func(*Decision)) {
		t.Helper()
		want := Decision{
			RequestID: "r1", WorkerType: Decode, InputTokens: 100, BlockSizeTokens: 16, RequestBlocks: 7,
			TracksPrefill: true, TierMaps: true, Selected: Key{WorkerID: 7},
			Candidates: []Candidate{
				{Key: Key{WorkerID: 7}, DeviceBlocks: Some(3), EffectiveOverlapBlocks: 3},
				{Key: Key{WorkerID: 8, DPRank: 1}},
			},
		}
		edit(&want)
		var got Decision
		if err := Unmarshal([]byte(line), &got); err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("unexpected decision\ngot:  %+v\nwant: %+v", got, want)
		}
	}
	f(minimal, func(*Decision) {})
	f("\t"+minimal+" \r\n", func(*Decision) {})
	f(with(`"decode"`, `"prefill","track_prefill_tokens":false`), func(d *Decision) {
		d.WorkerType, d.TracksPrefill = Prefill, false
	})

	// ids beyond 2^53
	f(strings.ReplaceAll(minimal, `"worker_id":7`, `"worker_id":18446744073709551615`), func(d *Decision) {
		d.Selected.WorkerID, d.Candidates[0].WorkerID = math.MaxUint64, math.MaxUint64
	})

	// what is filled in
	f(with(`"input_tokens":100`, `"input_tokens":0`), func(d *Decision) {
		d.InputTokens, d.RequestBlocks, d.Unknown = 0, 0, UnknownRequestBlocks
	})
	f(with(`"input_tokens":100,`, `"unknown":["request_blocks"],`), func(d *Decision) {
		d.InputTokens, d.RequestBlocks, d.Unknown = 0, 0, UnknownRequestBlocks
	})
	f(with(`"input_tokens":100`, `"request_blocks":9`), func(d *Decision) { d.InputTokens, d.RequestBlocks = 0, 9 })
	f(with(`"input_tokens":100`, `"input_tokens":100,"request_blocks":7`), func(*Decision) {})
	f(with(`"device_blocks":3`, `"device_blocks":3,"effective_overlap_blocks":0`), func(d *Decision) {
		d.Candidates[0].EffectiveOverlapBlocks = 0
	})
	f(with(`"device_blocks":3`, `"effective_overlap_blocks":3`), func(d *Decision) {
		d.TierMaps, d.Candidates[0].DeviceBlocks = false, Float{}
	})
	f(with(`"device_blocks":3`, `"effective_overlap_blocks":3,"disk_blocks":0.5`), func(d *Decision) {
		d.Candidates[0].DeviceBlocks, d.Candidates[0].DiskBlocks = Float{}, 0.5
	})
	f(with(`"device_blocks":3`, `"device_blocks":0`), func(d *Decision) {
		d.Candidates[0].DeviceBlocks, d.Candidates[0].EffectiveOverlapBlocks = Some(0), 0
	})
	f(with(`"decode"`, `"decode","tier_maps":false`), func(d *Decision) { d.TierMaps = false })

	// empty is not absent
	f(with(`"decode"`, `"decode","preferred_taints":{},"allowed_worker_ids":[]`), func(d *Decision) {
		d.PreferredTaints, d.AllowedWorkerIDs = map[string]float32{}, []uint64{}
	})
	f(with(`"decode"`, `"decode","recorded_weights":{"z":1,"a":-2.5}`), func(d *Decision) {
		d.RecordedWeights = []Weight{{"z", 1}, {"a", -2.5}}
	})
	f(with(`"decode"`, `"decode","shared_hits":[[0,2],[2,2],[5,4294967295]]`), func(d *Decision) {
		d.SharedHits = []BlockRange{{0, 2}, {2, 2}, {5, math.MaxUint32}}
	})
	f(with(`"decode"`, `"decode","time":"2026-09-01T14:30:00.123456789+02:00"`), func(d *Decision) {
		d.Time = time.Date(2026, 9, 1, 12, 30, 0, 123456789, time.UTC)
	})
	f(with(`"decode"`, `"decode","time":"0001-01-01T00:00:00Z"`), func(*Decision) {})
	f(with(`"decode"`, `"decode","session_id":"null"`), func(d *Decision) { d.SessionID = "null" })
	f(with(`{"worker_id":7,"device_blocks":3}`, `{"worker_id":7,"device_blocks":3,"ineligible":true}`)[:1]+
		`"pinned":true,`+with(`{"worker_id":7,"device_blocks":3}`, `{"worker_id":7,"device_blocks":3,"ineligible":true}`)[1:],
		func(d *Decision) { d.Pinned, d.Candidates[0].Ineligible = true, true })
}

func TestUnmarshal_Failure(t *testing.T) {
	f := func(line, pointer, problem string) {
		t.Helper()
		d := fullDecision()
		err := Unmarshal([]byte(line), &d)
		var fe *FieldError
		if !errors.As(err, &fe) {
			t.Fatalf("want a FieldError, got %T: %v", err, err)
		}
		if fe.Pointer != pointer || !strings.Contains(fe.Problem, problem) {
			t.Fatalf("unexpected error\ngot:  %s\nwant: %s: %s", err, pointer, problem)
		}
		if !reflect.DeepEqual(d, fullDecision()) {
			t.Fatalf("the decision was changed: %+v", d)
		}
	}
	member := func(text string) string { return with(`"decode"`, `"decode",`+text) }
	candidate := func(text string) string { return with(`"device_blocks":3`, text) }
	const u64 = "want integer 0 to 18446744073709551615"

	// not a record
	f("", "", "unexpected EOF; want one JSON object")
	f("[1]", "", "is an array; want one JSON object with the members of kvshadow.decision.v1")
	f("null", "/schema", "missing")
	f(minimal+"{}", "", "after top-level value")
	f(minimal[:len(minimal)-1], "", "unexpected EOF")
	f(member(`"pool":"`+"\xff"+`"`), "/pool", "invalid UTF-8")
	f(member(`"pool":tru`), "/pool", "invalid JSON at byte")

	// versions
	f("{}", "/schema", `missing; want string "kvshadow.decision.v1"`)
	f(with(`"schema":"kvshadow.decision.v1",`, ``), "/schema", "missing")
	f(with(`decision.v1`, `decision.v2`), "/schema", `is "kvshadow.decision.v2"; want string "kvshadow.decision.v1"`)
	f(with(`"schema":"kvshadow.decision.v1"`, `"new":[{}],"schema":"kvshadow.decision.v9"`), "/schema", "decision.v9")
	f(with(`"kvshadow.decision.v1"`, `1`), "/schema", "is 1; want string")
	f(`{"a":1}`, "/schema", "missing")

	// required
	f(with(`"request_id":"r1",`, ``), "/request_id", "missing or empty; want string not empty")
	f(with(`"request_id":"r1"`, `"request_id":""`), "/request_id", "missing or empty")
	f(with(`"worker_type":"decode",`, ``), "/worker_type", `missing or empty; want string "prefill" or "decode"`)
	f(with(`"decode"`, `"replay"`), "/worker_type", `is "replay"; want string "prefill" or "decode"`)
	f(with(`"selected":{"worker_id":7},`, ``), "/selected", "missing; want object with members of worker_id, dp_rank")
	f(with(`"selected":{"worker_id":7}`, `"selected":{}`), "/selected/worker_id", "missing; "+u64)
	f(with(`{"worker_id":8,"dp_rank":1}`, `{"dp_rank":1}`), "/candidates/1/worker_id", "missing; "+u64)
	f(with(`"candidates":[{"worker_id":7,"device_blocks":3},{"worker_id":8,"dp_rank":1}]`, `"pool":"a"`), "/candidates", "missing; want array")
	f(with(`{"worker_id":7,"device_blocks":3},{"worker_id":8,"dp_rank":1}`, ``), "/candidates", "is empty; want array of one or more objects")

	// names
	f(member(`"inputTokens":1`), "/inputTokens", "unknown member; want one of schema, request_id,")
	f(member(`"Pool":"x"`), "/Pool", "unknown member")
	f(candidate(`"cost":1`), "/candidates/0/cost", "unknown member; want one of worker_id, dp_rank, ineligible,")
	f(candidate(`"recorded":{"cost":1}`), "/candidates/0/recorded/cost", "unknown member; want one of cost_blocks,")
	f(with(`"selected":{"worker_id":7}`, `"selected":{"worker_id":7,"rank":1}`), "/selected/rank", "unknown member; want one of worker_id, dp_rank")
	f(member(`"pool":"a","pool":"a"`), "/pool", "given twice")
	f(member(`"recorded_weights":{"a":1,"a":2}`), "/recorded_weights/a", "given twice")
	f(candidate(`"worker_id":7`), "/candidates/0/worker_id", "given twice")

	// null is neither zero nor absent
	f(member(`"pool":null`), "/pool", "is null; leave the member out or give string any text")
	f(member(`"allowed_worker_ids":[7,null]`), "/allowed_worker_ids/1", "is null")
	f(member(`"recorded_weights":null`), "/recorded_weights", "is null")
	f(candidate(`"device_blocks":null`), "/candidates/0/device_blocks", "is null; leave the member out or give number >= 0")

	// integers
	for _, v := range []string{"1.0", "1e3", "-1", "-0", `"1"`, "18446744073709551616", "true"} {
		f(with(`"worker_id":8`, `"worker_id":`+v), "/candidates/1/worker_id", "is "+v+"; "+u64)
		f(member(`"allowed_worker_ids":[`+v+`]`), "/allowed_worker_ids/0", "is "+v+"; want array of integers")
	}
	f(with(`"dp_rank":1`, `"dp_rank":4294967296`), "/candidates/1/dp_rank", "want integer 0 to 4294967295")
	f(candidate(`"cached_tokens":{}`), "/candidates/0/cached_tokens", "is an object; want integer")

	// numbers
	f(candidate(`"device_blocks":-0.5`), "/candidates/0/device_blocks", "is -0.5; want number >= 0")
	f(candidate(`"host_blocks":-1`), "/candidates/0/host_blocks", "is -1; want number >= 0")
	f(candidate(`"device_blocks":"3"`), "/candidates/0/device_blocks", `is "3"; want number >= 0`)
	f(candidate(`"decode_cost_blocks":1e400`), "/candidates/0/decode_cost_blocks", "is 1e400; want number >= 0")
	f(candidate(`"decode_cost_blocks":NaN`), "/candidates/0/decode_cost_blocks", "invalid JSON")
	f(candidate(`"recorded":{"overlap_credit_decay":-1}`), "/candidates/0/recorded/overlap_credit_decay", "is -1; want number >= 0")
	f(member(`"recorded_lost_blocks":-1`), "/recorded_lost_blocks", "is -1; want number >= 0")
	f(member(`"cost_tolerance_blocks":-1`), "/cost_tolerance_blocks", "is -1; want number >= 0")
	f(member(`"preferred_taints":{"a":1e39}`), "/preferred_taints/a", "is 1e39; want object of finite numbers within float32")
	f(member(`"recorded_weights":{"a":"1"}`), "/recorded_weights/a", `is "1"; want object of finite numbers`)
	f(member(`"recorded_weights":[1]`), "/recorded_weights", "is an array; want object of finite numbers")

	// other types
	f(member(`"pinned":"yes"`), "/pinned", `is "yes"; want boolean true or false`)
	f(member(`"time":"2026-09-01 12:00"`), "/time", `is "2026-09-01 12:00"; want string RFC 3339 time`)
	f(member(`"time":"9999-12-31T23:59:59-01:00"`), "/time", "is in the year 10000 UTC")
	f(member(`"unknown":["tiers","weights"]`), "/unknown/1", `is "weights"; want array of "tiers"`)
	f(member(`"unknown":["tiers","tiers"]`), "/unknown/1", `is "tiers" again`)
	f(with(`"candidates":[`, `"candidates":[3,`), "/candidates/0", "is 3; want object with members of worker_id, dp_rank,")

	// shared hits
	f(member(`"shared_hits":[[1]]`), "/shared_hits/0", "is an array with too few array elements; want array of [start, end] pairs")
	f(member(`"shared_hits":[[1,2,3]]`), "/shared_hits/0", "is an array with too many array elements")
	f(member(`"shared_hits":[[1,2.5]]`), "/shared_hits/0/1", "is 2.5; want array of [start, end] pairs")
	f(member(`"shared_hits":[[0,1],[3,2]]`), "/shared_hits/1", "is [3,2]; want start <= end")
	f(member(`"shared_hits":[[0,3],[2,4]]`), "/shared_hits/1", "starts at 2; want a start >= 3")
	f(member(`"shared_hits":[[5,6],[0,1]]`), "/shared_hits/1", "starts at 0; want a start >= 6")

	// contradictions
	f(member(`"request_blocks":6`), "/request_blocks", "is 6; want 7, as 100 input_tokens in blocks of 16")
	f(member(`"unknown":["request_blocks"]`), "/unknown", "names request_blocks, which are known to be 7")
	f(with(`"worker_id":8,"dp_rank":1`, `"worker_id":7,"dp_rank":0`), "/candidates/1", "has the worker_id 7 and dp_rank 0 of /candidates/0")
	f(with(`"selected":{"worker_id":7}`, `"selected":{"worker_id":7,"dp_rank":1}`), "/selected", "is worker_id 7, dp_rank 1; want one of the 2 candidates")
	f(candidate(`"ineligible":true`), "/selected", "is /candidates/0, which is ineligible")
}

func TestFieldError_IsOnePrintableLine(t *testing.T) {
	f := func(line, want string) {
		t.Helper()
		var d Decision
		err := Unmarshal([]byte(line), &d)
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Fatalf("unexpected error\ngot:  %v\nwant: %s...", err, want)
		}
	}
	f(with(`"decode"`, `"decode","a\n\u001b[31m":1`), `/a\n\x1b[31m: unknown member`)
	f(with(`"decode"`, `"`+strings.Repeat("x", 1000)+`"`), `/worker_type: is "`+strings.Repeat("x", maxShown)+`..."; want`)
	f(with(`"decode"`, `"decode","`+strings.Repeat("x", 1000)+`":1`), "/"+strings.Repeat("x", maxShown-1)+"...: unknown member")
	f("", "record: invalid JSON at byte 0")
}

func TestAppend_Failure(t *testing.T) {
	f := func(edit func(*Decision), want string) {
		t.Helper()
		d := fullDecision()
		edit(&d)
		got, err := Append([]byte("kept"), &d)
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Fatalf("unexpected error\ngot:  %v\nwant: %s...", err, want)
		}
		if string(got) != "kept" {
			t.Fatalf("dst was changed to %q", got)
		}
	}
	f(func(d *Decision) { d.RequestID = "" }, "/request_id: missing")
	f(func(d *Decision) { d.WorkerType = 2 }, "/worker_type: is 2; want")
	f(func(d *Decision) { d.Unknown = 1 << 7 }, "/unknown: is 0x80; want")
	f(func(d *Decision) { d.RequestBlocks, d.Unknown = 0, UnknownRequestBlocks }, "/unknown: names request_blocks")
	f(func(d *Decision) { d.Time = time.Unix(1<<40, 0) }, "/time: is in the year")
	f(func(d *Decision) { d.Candidates = nil }, "/candidates: is empty")
	f(func(d *Decision) { d.Selected.DPRank++ }, "/selected: is worker_id")
	f(func(d *Decision) { d.SelectedCostBlocks = Some(math.NaN()) }, "/selected_cost_blocks: is NaN; want number any finite")
	f(func(d *Decision) { d.PreferredTaints["a/b"] = float32(math.Inf(1)) }, "/preferred_taints/a~1b: is +Inf; want object")
	f(func(d *Decision) { d.RecordedWeights[0].Value = math.Inf(-1) }, "/recorded_weights/b: is -Inf; want object")
	f(func(d *Decision) { d.RecordedWeights[1].Name = "b" }, "/recorded_weights/b: given twice")
	f(func(d *Decision) { d.Candidates[0].Recorded.CostBlocks = Some(math.NaN()) }, "/candidates/0/recorded/cost_blocks: is NaN")
	f(func(d *Decision) { d.Pool = "\xff" }, "/pool: holds invalid UTF-8; want string any text")
}

func TestAppend_LeavesOutDefaults(t *testing.T) {
	var d Decision
	if err := Unmarshal([]byte(minimal), &d); err != nil {
		t.Fatal(err)
	}
	got, err := Append([]byte("x "), &d)
	if err != nil {
		t.Fatal(err)
	}
	want := "x " + with(`"block_size_tokens":16`, `"block_size_tokens":16,"request_blocks":7,"tier_maps":true`)
	if string(got) != want {
		t.Fatalf("unexpected line\ngot:  %s\nwant: %s", got, want)
	}
}

func TestMatches(t *testing.T) {
	f := func(line string, want bool) {
		t.Helper()
		if got := Matches([]byte(line)); got != want {
			t.Fatalf("unexpected answer %v for %s", got, line)
		}
	}
	f(minimal, true)
	f("\ufeff  "+minimal, true)
	f(`{ "schema" : "kvshadow.decision.v99", "a": 1}`, true)
	f(`{"pool":"kvshadow.decision.v1","schema":"kvshadow.decision.v1"}`, true)
	f(`{"candidates":[`+strings.Repeat(`{"worker_id":1},`, 1000)+`{}],"schema":"kvshadow.decision.v1"}`, true)
	f(``, false)
	f(`   `, false)
	f(`2026 INFO "schema":"kvshadow.decision.v1"`, false)
	f(`{"schema":"kvshadow.report.v1"}`, false)
	f(`{"schema":"dynamo.request.trace.v1"}`, false)
	f(`{"pool":"kvshadow.decision.v1"}`, false)
	f(`{"message":"{\"schema\":\"kvshadow.decision.v1\"}"}`, false)
}
