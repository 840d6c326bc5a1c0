package exporter

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/kvshadow/kvshadow/analyzer/decision"
	"github.com/kvshadow/kvshadow/analyzer/router/dynamo"
	"github.com/kvshadow/kvshadow/exporter/source"
)

// record is a decision of two aggregated workers: 1 holds 46 of the prompt's
// 49 blocks and is loaded, 2 is cold and was selected.
const record = `{"schema":"kvshadow.decision.v1","request_id":"r<1>","worker_type":"decode","input_tokens":3096,"block_size_tokens":64,` +
	`"selected":{"worker_id":2,"dp_rank":0},"candidates":[` +
	`{"worker_id":1,"effective_overlap_blocks":46,"device_blocks":46,"decode_cost_blocks":143},` +
	`{"worker_id":2,"decode_cost_blocks":95}]}`

func post(t *testing.T, h http.Handler, path, body string, header ...string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(body))
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// drain evaluates what is queued.
func drain(s *Service) {
	s.queue.Close()
	s.consume()
}

// TestHTTPSource posts batches: a refused one counts nothing, and a retry with
// the same key counts once.
func TestHTTPSource(t *testing.T) {
	s := newService(t, "http:", nil)
	h := s.Handler()
	f := func(body, key string, status int, part string) {
		t.Helper()
		w := post(t, h, source.DecisionsPath, body, "Idempotency-Key", key)
		if w.Code != status || !strings.Contains(w.Body.String(), part) {
			t.Errorf("got %d %s, want %d with %q", w.Code, w.Body, status, part)
		}
	}
	f(record+"\n{\"schema\":\"kvshadow.decision.v1\"}\n", "a", http.StatusBadRequest, `"line":2`)
	f(record+"\n"+record+"\n", "a", http.StatusAccepted, `"accepted":2`)
	f(record+"\n"+record+"\n", "a", http.StatusOK, `"duplicate":true`)
	drain(s)
	pool := &s.state.snapshot().totals.Pools[decision.Decode]
	if pool.Evaluated != 2 || pool.Policies[0].Lost.Float64() != 2*46 {
		t.Errorf("got %d decisions and %v blocks lost, want 2 and 92", pool.Evaluated, pool.Policies[0].Lost)
	}
	if !strings.Contains(string(textPage(t, s)), `kvshadow_source_decisions_total{source="http:"} 2`) {
		t.Error("the decisions are not counted at their source")
	}
}

func TestHTTPSourceOff(t *testing.T) {
	s := newService(t, testSource, nil)
	if w := post(t, s.Handler(), source.DecisionsPath, record); w.Code != http.StatusNotFound {
		t.Errorf("without an http source: %d, want 404", w.Code)
	}
}

func TestPages(t *testing.T) {
	f := func(h http.Handler, path string, status int, parts ...string) {
		t.Helper()
		w := get(t, h, path)
		if w.Code != status {
			t.Errorf("%s: %d, want %d", path, w.Code, status)
		}
		for _, part := range parts {
			if !strings.Contains(w.Body.String(), part) {
				t.Errorf("%s lacks %q", path, part)
			}
		}
	}
	s := newService(t, testSource, nil)
	play(t, s, capture(t))
	h := s.Handler()
	// What the router's own counters of prefill read.
	f(h, "/", http.StatusOK, "8 (3.3 %)", "321 (2.3 %)", `<a href="decisions/480">480</a>`, "affinity-4")
	f(h, "/decisions/480", http.StatusOK)
	f(h, "/decisions/1", http.StatusNotFound, "not among the last 200")
	f(h, "/decisions/999", http.StatusNotFound)
	f(h, "/decisions/x", http.StatusNotFound)
	f(h, "/nothing", http.StatusNotFound)
	f(h, "/-/healthy", http.StatusOK)
	f(h, "/-/ready", http.StatusServiceUnavailable) // it doesn't run any more

	s = newService(t, testSource, nil)
	play(t, s, []byte(record+"\n"))
	h = s.Handler()
	f(h, "/", http.StatusOK, "r&lt;1&gt;") // an id is text, whatever it holds
	// The holder's cost is 48.375-46+143 = 145.375, the cold worker's 48.375+95
	// = 143.375: affinity 4 charges them 3 and 49 missing blocks.
	f(h, "/decisions/1", http.StatusOK, "145.375", "143.375", "157.375", "339.375", "prefix_affinity_weight is 0; above 0.0435 it picks 1/0")
}

// TestReload changes one policy, keeps another and adds one: sums follow the
// weights, not the name, and those of live go on.
func TestReload(t *testing.T) {
	affinity := dynamo.DefaultParams()
	affinity.PrefixAffinityWeight = 4
	scale := dynamo.DefaultParams()
	scale.PrefillLoadScale = 4
	live := dynamo.Policy{Name: "live", Params: dynamo.DefaultParams()}
	policies := []dynamo.Policy{live, {Name: "a", Params: affinity}, {Name: "b", Params: scale}}
	var refuse error
	s := newService(t, testSource, func() ([]dynamo.Policy, error) { return policies, refuse })
	play(t, s, capture(t))
	h := s.Handler()

	refuse = errors.New("policies.yaml:3:7: not a number")
	if w := post(t, h, "/-/reload", ""); w.Code != http.StatusInternalServerError || !strings.Contains(w.Body.String(), "policies.yaml:3:7") {
		t.Errorf("a bad file: %d %s", w.Code, w.Body)
	}
	page := string(textPage(t, s))
	for _, want := range []string{"kvshadow_config_last_reload_successful 0\n",
		`kvshadow_policy_info{parameters="prefix_affinity_weight=4",policy="a",type="dynamo-default-cost-fn"} 1`} {
		if !strings.Contains(page, want) {
			t.Errorf("after a bad file the page lacks %s", want)
		}
	}
	if w := get(t, h, "/"); !strings.Contains(w.Body.String(), "policies.yaml:3:7: not a number") {
		t.Error("the page doesn't say that the reload was refused")
	}

	refuse = nil
	policies = []dynamo.Policy{live, {Name: "b", Params: affinity}, {Name: "c", Params: scale}, {Name: "a", Params: affinity}}
	if w := post(t, h, "/-/reload", ""); w.Code != http.StatusOK {
		t.Errorf("a good file: %d %s", w.Code, w.Body)
	}
	page = string(textPage(t, s))
	for _, want := range []string{
		"kvshadow_config_last_reload_successful 1\n",
		`kvshadow_overlap_lost_blocks_total{policy="live",worker_type="prefill"} 321`,
		`kvshadow_overlap_lost_blocks_total{policy="a",worker_type="prefill"} 17`,
		`kvshadow_overlap_blocks_lost_sum{policy="a",worker_type="prefill"} 17`,
		`kvshadow_overlap_lost_blocks_total{policy="b",worker_type="prefill"} 0`,
		`kvshadow_overlap_blocks_lost_sum{policy="b",worker_type="prefill"} 0`,
		`kvshadow_overlap_lost_blocks_total{policy="c",worker_type="prefill"} 0`,
	} {
		if !strings.Contains(page, want+"\n") && !strings.Contains(page, want) {
			t.Errorf("after a good file the page lacks %s", want)
		}
	}
}

// TestUndecodable counts what can't be used, by source and reason.
func TestUndecodable(t *testing.T) {
	s := newService(t, testSource, nil)
	play(t, s, []byte(strings.Join([]string{
		`{"time":"2026-11-29T23:29:05Z","message":"Formula for worker_id=1 dp_rank=0 with 0.00 effective cached blocks: 1.000 = magic"}`,
		`{"time":"2026-11-29T23:29:05Z","message":"Selected worker","worker_id":1,"dp_rank":"0","logit":1.5,"request_id":"x","worker_type":"decode"}`,
		`{"time":"2026-11-29T23:29:05Z","message":"Selected worker","worker_id":`,
		`{"schema":"kvshadow.decision.v2"}`,
		"anything else", ""}, "\n")))
	page := string(textPage(t, s))
	for _, want := range []string{
		`kvshadow_source_undecodable_total{reason="unknown_formula",source="stdin:"} 2`,
		`kvshadow_source_undecodable_total{reason="truncated",source="stdin:"} 1`,
		`kvshadow_source_undecodable_total{reason="invalid_record",source="stdin:"} 1`,
		`kvshadow_source_ignored_lines_total{source="stdin:"} 1`,
	} {
		if !strings.Contains(page, want+"\n") {
			t.Errorf("the page lacks %s", want)
		}
	}
}
