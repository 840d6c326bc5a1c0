package dynamo

import (
	"fmt"
	"strings"
	"testing"
)

func replaceOnce(t *testing.T, text, old, by string) string {
	t.Helper()
	if !strings.Contains(text, old) {
		t.Fatalf("BUG: %q is not in %q", old, text)
	}
	return strings.Replace(text, old, by, 1)
}

func repeat(s string, n int) string { return strings.Repeat(s, n) }

// logLine is one line of the router's JSON log, with the given members.
func logLine(message string, members ...string) string {
	return fmt.Sprintf(`{"time":"2026-11-29T23:28:58.671803Z","level":"DEBUG","target":"dynamo_kv_router::scheduling::selector","message":%q%s}`,
		message, strings.Join(append([]string{""}, members...), ","))
}

// member formats one JSON member; strings are quoted.
func member(name string, value any) string {
	if s, ok := value.(string); ok {
		return fmt.Sprintf("%q:%q", name, s)
	}
	return fmt.Sprintf("%q:%v", name, value)
}

// ids are the members that join a row to its choice.
func ids(request, role string) []string {
	return []string{member("request_id", request), member("worker_type", role)}
}

// rowMessage is the row of a rank with 10 raw prefill blocks, at weights 1.
func rowMessage(worker uint64, overlap, decode float64) string {
	return fmt.Sprintf("Formula for worker_id=%d dp_rank=0 with %.2f effective cached blocks: %.3f = prefill_load_scale * "+
		"adjusted_prefill_blocks + decode_blocks + active_request_cost_blocks = 1.000 * %.3f + %.3f + 0.000 "+
		"(raw_prefill_blocks: 10.000, overlap_credit_blocks: %.3f, overlap_credit_decay: 1.000)",
		worker, overlap, 10-overlap+decode, 10-overlap, decode, overlap)
}

func rowLine(request, role string, worker uint64, overlap, decode float64) string {
	return logLine(rowMessage(worker, overlap, decode), ids(request, role)...)
}

func selectedLine(request, role string, worker uint64, logit float64) string {
	m := []string{member("disk_blocks", 0), member("dp_rank", "0"), member("effective_cached_blocks", 0.0), member("host_pinned_blocks", 0),
		member("logit", logit), member("router_mode", "kv"), member("worker_id", worker), member("worker_type", role)}
	if request != "" {
		m = append(m, member("request_id", request))
	}
	return logLine("Selected worker", m...)
}

func bestLine(request string, worker uint64, overlap, total int) string {
	return logLine(fmt.Sprintf("[ROUTING] Best: worker_%d dp_rank=0 with %d/%d blocks overlap", worker, overlap, total),
		member("dp_rank", 0), member("overlap_blocks", overlap), member("request_id", request), member("total_blocks", total), member("worker_id", worker))
}

func inputLine(request string, tokens, block int) string {
	return logLine("[ROUTING_INPUT] request local hashes", member("block_size", block), member("isl_tokens", tokens),
		member("local_hashes", "[1, 2]"), member("num_blocks", tokens/block), member("request_id", request))
}

// choice is a whole choice between workers 1 and 2 of which 1 wins: costs 5 and 12.
func choice(request, role string) []string {
	return []string{rowLine(request, role, 1, 6, 1), rowLine(request, role, 2, 0, 2), selectedLine(request, role, 1, 5)}
}

func toLines(lines ...string) [][]byte {
	out := make([][]byte, len(lines))
	for i, l := range lines {
		out[i] = []byte(l)
	}
	return out
}
