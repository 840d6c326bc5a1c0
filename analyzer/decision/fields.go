package decision

import "strings"

// field is one member of the record. The table of them is the reference of the
// wire form: docs/decision-record.md, docs/decision-record.schema.json and the
// "want ..." of every error come from it.
type field struct {
	// path names the member; objects in arrays are marked as in
	// "candidates[].worker_id".
	path     string
	kind     kind
	required bool
	unit     string
	// def is what absence means; empty for members that are simply unknown.
	def     string
	meaning string
	// dynamo is where NVIDIA Dynamo writes it, or how it follows from that.
	dynamo string
}

// kind is the JSON type of a member with its range.
type kind uint8

const (
	kindSchema kind = iota
	kindText
	kindName
	kindTime
	kindWorkerType
	kindBool
	kindU64
	kindU32
	kindFloat
	kindSignedFloat
	kindRanges
	kindTaintWeights
	kindWeights
	kindNames
	kindIDs
	kindUnknown
	kindObject
	kindObjects
)

const (
	u32 = `"type":"integer","minimum":0,"maximum":4294967295`
	u64 = `"type":"integer","minimum":0,"maximum":18446744073709551615`
)

// kinds holds the type and range in words, and the JSON Schema of the type.
var kinds = [...]struct{ typ, allowed, schema string }{
	kindSchema:       {"string", `"` + SchemaV1 + `"`, `"const":"` + SchemaV1 + `"`},
	kindText:         {"string", "any text", `"type":"string"`},
	kindName:         {"string", "not empty", `"type":"string","minLength":1`},
	kindTime:         {"string", "RFC 3339 time, years 1 to 9999, up to nanoseconds", `"type":"string","format":"date-time"`},
	kindWorkerType:   {"string", `"prefill" or "decode"`, `"enum":["prefill","decode"]`},
	kindBool:         {"boolean", "true or false", `"type":"boolean"`},
	kindU64:          {"integer", "0 to 18446744073709551615", u64},
	kindU32:          {"integer", "0 to 4294967295", u32},
	kindFloat:        {"number", ">= 0", `"type":"number","minimum":0`},
	kindSignedFloat:  {"number", "any finite", `"type":"number"`},
	kindRanges:       {"array", "of [start, end] pairs, sorted and disjoint, integers 0 to 4294967295, start <= end", `"type":"array","items":{"type":"array","items":{` + u32 + `},"minItems":2,"maxItems":2}`},
	kindTaintWeights: {"object", "of finite numbers within float32", `"type":"object","additionalProperties":{"type":"number"}`},
	kindWeights:      {"object", "of finite numbers", `"type":"object","additionalProperties":{"type":"number"}`},
	kindNames:        {"array", "of strings", `"type":"array","items":{"type":"string"}`},
	kindIDs:          {"array", "of integers 0 to 18446744073709551615", `"type":"array","items":{` + u64 + `}`},
	kindUnknown:      {"array", `of "tiers", "active_requests", "request_blocks", "taints", "capacity", each once`, `"type":"array","items":{"enum":["tiers","active_requests","request_blocks","taints","capacity"]},"uniqueItems":true`},
	kindObject:       {"object", "as below", `"type":"object"`},
	kindObjects:      {"array", "of one or more objects as below, each worker_id and dp_rank once", `"type":"array","minItems":1`},
}

// fields lists every member in the order in which they are written.
var fields = [...]field{
	{path: "schema", kind: kindSchema, required: true,
		meaning: "Version of the record. Another version is refused, never guessed at.",
		dynamo:  "none"},
	{path: "request_id", kind: kindName, required: true,
		meaning: "The request.",
		dynamo:  "`request_id` of log rows and request traces"},
	{path: "session_id", kind: kindText,
		meaning: "The conversation that the request continues.",
		dynamo:  "`agent_context.session_id` of request traces"},
	{path: "model", kind: kindText,
		meaning: "The model that was asked for.",
		dynamo:  "`request.model` of request traces"},
	{path: "time", kind: kindTime,
		meaning: "When the choice was made. Go's zero time counts as absent. Kept in UTC.",
		dynamo:  "`time` of log rows; `request_received_ms` of request traces"},
	{path: "worker_type", kind: kindWorkerType, required: true,
		meaning: "The role under which the choice is counted. Aggregated and replay workers count as decode.",
		dynamo:  "`worker_type` of log rows"},
	{path: "pool", kind: kindText,
		meaning: "The fleet as the source names it, such as aggregated.",
		dynamo:  "`worker_type` of log rows before it is mapped"},

	{path: "input_tokens", kind: kindU64, unit: "tokens", def: "0 = unknown",
		meaning: "Length of the prompt.",
		dynamo:  "`isl_tokens` of `[ROUTING_INPUT]`; `request.input_tokens`"},
	{path: "block_size_tokens", kind: kindU32, unit: "tokens per block", def: "0 = unknown",
		meaning: "Size of a KV-cache block.",
		dynamo:  "`block_size` of `[ROUTING_INPUT]`; `replay.trace_block_size`"},
	{path: "request_blocks", kind: kindU64, unit: "blocks", def: "ceil(input_tokens / block_size_tokens); 0 = unknown",
		meaning: "Length of the prompt. If all three are given they must agree.",
		dynamo:  "`total_blocks` of `[ROUTING] Best`; `request_blocks` of decision traces"},
	{path: "track_prefill_tokens", kind: kindBool, def: "true",
		meaning: "The router books prefill tokens for this request. If false, no prefill load is charged.",
		dynamo:  "`track_prefill_tokens` of decision traces"},
	{path: "load_only", kind: kindBool, def: "false",
		meaning: "The router set its device overlap credit to 0 for this choice.",
		dynamo:  "plain decode workers of disaggregated deployments"},
	{path: "rebuilt", kind: kindBool, def: "false",
		meaning: "The inputs were rebuilt from other records, not read where the router computed them.",
		dynamo:  "request traces"},
	{path: "pinned", kind: kindBool, def: "false",
		meaning: "The worker was given, not chosen. Excluded from every counter.",
		dynamo:  "`Selected pinned worker` rows"},
	{path: "query_only", kind: kindBool, def: "false",
		meaning: "The choice was asked for and not booked. Excluded from every counter.",
		dynamo:  "query-only calls"},

	{path: "tier_maps", kind: kindBool, def: "true if a candidate has device_blocks, or host_blocks or disk_blocks > 0",
		meaning: "The request had a device, host or disk match map. Then a candidate without device_blocks has none; otherwise its effective overlap stands in for them.",
		dynamo:  "any tier map of the request is non-empty"},
	{path: "shared_hits", kind: kindRanges, unit: "block positions", def: "none",
		meaning: "Half-open ranges of the prompt found in a shared cache.",
		dynamo:  "shared-cache hits of the request"},
	{path: "preferred_taints", kind: kindTaintWeights, def: "no preference",
		meaning: "Weight of each taint that the request prefers (or, below zero, avoids). Present and empty is not the same as absent.",
		dynamo:  "preferred taints of the request (f32)"},
	{path: "required_taints", kind: kindNames, def: "none",
		meaning: "Taints that a worker must have.",
		dynamo:  "required taints of the request"},
	{path: "allowed_worker_ids", kind: kindIDs, def: "every worker",
		meaning: "The only workers that may be chosen.",
		dynamo:  "allow list of the request"},

	{path: "selected", kind: kindObject, required: true,
		meaning: "The candidate that was chosen. It is one of candidates, and eligible unless pinned.",
		dynamo:  "`Selected worker` rows"},
	{path: "selected.worker_id", kind: kindU64, required: true,
		meaning: "Id of the worker.",
		dynamo:  "`worker_id`; `selected_worker_id`"},
	{path: "selected.dp_rank", kind: kindU32, def: "0",
		meaning: "Data-parallel rank.",
		dynamo:  "`dp_rank`; `selected_dp_rank`"},
	{path: "selected_cost_blocks", kind: kindSignedFloat, unit: "blocks",
		meaning: "The router's own cost of the selected worker, after taints.",
		dynamo:  "`logit` of `Selected worker`; `total_cost_blocks`"},
	{path: "cost_tolerance_blocks", kind: kindFloat, unit: "blocks", def: "0 = exact",
		meaning: "Half a unit in the last place of the recorded numbers: 0.0005 for three decimals.",
		dynamo:  "0.0005 for `Formula` rows"},
	{path: "recorded_lost_blocks", kind: kindFloat, unit: "blocks", def: "no such observation",
		meaning: "The router's own observation that another eligible worker had that many more effective overlap blocks.",
		dynamo:  "`overlap_blocks_lost` of the non-max-overlap row"},
	{path: "recorded_overlap_blocks", kind: kindFloat, unit: "blocks", def: "not recorded",
		meaning: "The router's own effective overlap of the selected worker.",
		dynamo:  "`kv_hit_rate` of request traces x request blocks"},
	{path: "recorded_weights", kind: kindWeights,
		meaning: "Weights that the source printed, by parameter name. Order is kept.",
		dynamo:  "`prefill_load_scale` of `Formula` rows; the weights of decision traces"},
	{path: "unknown", kind: kindUnknown, def: "none; request_blocks is added if it can't be known",
		meaning: "Inputs that the source left out although the cost may depend on them.",
		dynamo:  "what a row set lacks"},

	{path: "candidates", kind: kindObjects, required: true,
		meaning: "The ranks that could have been selected.",
		dynamo:  "one `Formula` row each; `candidates[]`"},
	{path: "candidates[].worker_id", kind: kindU64, required: true,
		meaning: "Id of the worker.",
		dynamo:  "`worker_id`"},
	{path: "candidates[].dp_rank", kind: kindU32, def: "0",
		meaning: "Data-parallel rank.",
		dynamo:  "`dp_rank`"},
	{path: "candidates[].ineligible", kind: kindBool, def: "false",
		meaning: "Listed for completeness and never scored: overloaded, not allowed, or tainted away.",
		dynamo:  "`eligible`, negated"},
	{path: "candidates[].effective_overlap_blocks", kind: kindFloat, unit: "blocks", def: "device_blocks, or 0",
		meaning: "Cached prefix, host and disk weighted with the live router's weights. Give it wherever host or disk blocks count.",
		dynamo:  "`effective cached blocks` of `Formula` rows; `effective_overlap_blocks`"},
	{path: "candidates[].device_blocks", kind: kindFloat, unit: "blocks", def: "no entry in the device map",
		meaning: "Cached prefix in device memory.",
		dynamo:  "`device_overlap_blocks`"},
	{path: "candidates[].host_blocks", kind: kindFloat, unit: "blocks", def: "0",
		meaning: "Blocks in host memory past the device prefix, unweighted.",
		dynamo:  "`host_overlap_blocks`; `host_pinned_blocks` of the winner"},
	{path: "candidates[].disk_blocks", kind: kindFloat, unit: "blocks", def: "0",
		meaning: "Blocks on disk or external stores past those, unweighted.",
		dynamo:  "`disk_overlap_blocks`; `disk_blocks` of the winner"},
	{path: "candidates[].shared_beyond_blocks", kind: kindFloat, unit: "blocks", def: "computed from shared_hits",
		meaning: "Shared-cache hits past the device prefix.",
		dynamo:  "`shared_beyond_device_blocks`"},
	{path: "candidates[].cached_tokens", kind: kindU64, unit: "tokens", def: "0",
		meaning: "Prompt tokens that the router takes as cached there.",
		dynamo:  "round(effective overlap * block size)"},
	{path: "candidates[].no_load_entry", kind: kindBool, def: "false",
		meaning: "The router had no load record of this rank.",
		dynamo:  "no entry in the router's load map"},
	{path: "candidates[].active_prefill_tokens", kind: kindU64, unit: "tokens", def: "0",
		meaning: "Prefill tokens booked there before this request.",
		dynamo:  "`active_prefill_tokens`"},
	{path: "candidates[].raw_prefill_blocks", kind: kindFloat, unit: "blocks", def: "computed from the token counts",
		meaning: "Active prefill and this prompt as one sum, in place of the token counts where a source has only the sum.",
		dynamo:  "`raw_prefill_blocks`"},
	{path: "candidates[].decode_cost_blocks", kind: kindFloat, unit: "blocks", def: "0",
		meaning: "Active decode blocks and the blocks that this request would add.",
		dynamo:  "`decode_blocks` of `Formula` rows; `decode_cost_blocks`"},
	{path: "candidates[].active_requests", kind: kindU64, unit: "requests", def: "0",
		meaning: "Requests that are active there.",
		dynamo:  "`active_requests`"},
	{path: "candidates[].taints", kind: kindNames, def: "none",
		meaning: "Taints of the worker.",
		dynamo:  "taints of the worker"},
	{path: "candidates[].recorded", kind: kindObject,
		meaning: "What the router printed, to check a re-score against.",
		dynamo:  "`Formula` rows; decision traces"},
	{path: "candidates[].recorded.cost_blocks", kind: kindSignedFloat, unit: "blocks",
		meaning: "Cost before taints.",
		dynamo:  "the result in `Formula` rows; `base_score_blocks`"},
	{path: "candidates[].recorded.overlap_credit_blocks", kind: kindFloat, unit: "blocks",
		meaning: "Credit for overlap.",
		dynamo:  "`overlap_credit_blocks`"},
	{path: "candidates[].recorded.overlap_credit_decay", kind: kindFloat, unit: "ratio",
		meaning: "Factor on the device credit.",
		dynamo:  "`overlap_credit_decay`"},
	{path: "candidates[].recorded.active_request_cost_blocks", kind: kindFloat, unit: "blocks",
		meaning: "Weight times active requests.",
		dynamo:  "`active_request_cost_blocks`"},
}

// want says what is allowed at a JSON pointer.
func want(pointer string) string {
	path := pathOf(pointer)
	if names := memberNames(pointer); names != "" && path != "" {
		return "object with members of " + names
	}
	for path != "" {
		for i := range fields {
			if fields[i].path == path {
				k := kinds[fields[i].kind]
				return k.typ + " " + k.allowed
			}
		}
		// A name inside a free-form object, or an element: the member has it.
		path, _ = cutLast(path)
	}
	return "one JSON object with the members of " + SchemaV1
}

// memberNames lists the members of the object at a JSON pointer.
func memberNames(pointer string) string {
	var names []string
	for i := range fields {
		if parent, name := cutLast(fields[i].path); parent == pathOf(pointer) {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ")
}

// pathOf turns /candidates/2/recorded into candidates[].recorded.
func pathOf(pointer string) string {
	path := ""
	for token := range strings.SplitSeq(strings.TrimPrefix(pointer, "/"), "/") {
		switch {
		case path == "":
			path = token
		case path == "candidates":
			path += "[]"
		default:
			path += "." + token
		}
	}
	return path
}

// cutLast splits a path into its object and the name within it.
func cutLast(path string) (parent, name string) {
	if i := strings.LastIndexByte(path, '.'); i >= 0 {
		return path[:i], path[i+1:]
	}
	return "", path
}
