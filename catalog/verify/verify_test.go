package verify

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/kvshadow/kvshadow/catalog"
	"github.com/kvshadow/kvshadow/catalog/page"
)

const (
	page151 = "../testdata/dynamo-1.5.1-disagg.metrics.txt"
	page161 = "../testdata/dynamo-1.6.1-agg.metrics.txt"
	shadow  = "../testdata/kvshadow.metrics.txt"
)

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func parse(t *testing.T, text string) *page.Page {
	t.Helper()
	p, err := page.Parse("page", "", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func uses(name string) []catalog.Use {
	if name == shadow {
		return catalog.DocumentedUses(catalog.Shadow())
	}
	return catalog.DocumentedUses(catalog.Router())
}

func lines(findings []Finding) []string {
	var out []string
	for _, f := range findings {
		out = append(out, f.String())
	}
	return out
}

func TestCheckReal(t *testing.T) {
	f := func(name string, notes int) {
		t.Helper()
		r := Check(parse(t, read(t, name)), uses(name))
		if len(r.Problems) > 0 || len(r.Notes) != notes || r.Checked != len(uses(name)) {
			t.Errorf("%s: %d checked, problems %q, notes %q", name, r.Checked, lines(r.Problems), lines(r.Notes))
		}
	}
	f(shadow, 0)
	f(page151, 9) // what came with 1.6.1
	f(page161, 0)
}

// mutate changes every line of a family that a pattern matches.
func mutate(text, name, pattern, to string) string {
	re := regexp.MustCompile(pattern)
	family := regexp.MustCompile(`^(# (HELP|TYPE) )?` + name + `(_bucket|_sum|_count)?[ {]`)
	all := strings.SplitAfter(text, "\n")
	for i, l := range all {
		if family.MatchString(l) {
			all[i] = re.ReplaceAllString(l, to)
		}
	}
	return strings.Join(all, "")
}

// TestCheckMutations makes, of every metric of every page, one whose name,
// type, or one of whose labels differs, and expects the check to name it.
func TestCheckMutations(t *testing.T) {
	for _, name := range []string{shadow, page151, page161} {
		text := read(t, name)
		original := parse(t, text)
		for _, u := range uses(name) {
			if original.Find(u.Metric.Name) == nil {
				continue
			}
			m := u.Metric
			f := func(pattern, to, want string) {
				t.Helper()
				mutated := mutate(text, m.Name, pattern, to)
				if mutated == text {
					t.Fatalf("%s: %q changes nothing", m.Name, pattern)
				}
				r := Check(parse(t, mutated), uses(name))
				if len(r.Problems) != 1 || r.Problems[0].Use.Metric.Name != m.Name || !strings.Contains(r.Problems[0].Reason, want) {
					t.Errorf("%s in %s: problems %q; want %q", m.Name, name, lines(r.Problems), want)
				}
			}
			f(`\b`+m.Name, "other_name", "is not on the page; did you mean other_name?")
			for _, l := range m.Labels {
				if m.LabelSince[l] == "" {
					f(`\b`+l+`="[^"]*",?`, "", "no series has the label "+l)
				}
			}
			if m.Type != catalog.Histogram {
				f(`(# TYPE \S+) \w+`, "$1 "+map[catalog.Type]string{catalog.Counter: "gauge", catalog.Gauge: "counter"}[m.Type], "on the page, not a "+string(m.Type))
			}
		}
	}
}

func TestCheck(t *testing.T) {
	router := catalog.FrontendRouterQueueBackpressure
	f := func(text string, use catalog.Use, problems, notes string) {
		t.Helper()
		use.Where = "panel 'P'"
		r := Check(parse(t, text), []catalog.Use{use})
		if got := strings.Join(lines(r.Problems), "\n"); got != problems {
			t.Errorf("problems %q; want %q", got, problems)
		}
		if got := strings.Join(lines(r.Notes), "\n"); got != notes {
			t.Errorf("notes %q; want %q", got, notes)
		}
	}
	backpressure := func(labels string) string {
		return "# TYPE " + router.Name + " counter\n" + router.Name + labels + " 1\n"
	}
	const at = "panel 'P': dynamo_frontend_router_queue_backpressure_total: "
	f(backpressure(`{reason="request_limit"}`), catalog.Use{Metric: router, Labels: []string{"reason"}}, "", "")
	f(backpressure(""), catalog.Use{Metric: router, Labels: []string{"reason"}}, at+"no series has the label reason; it has no labels", "")
	f(backpressure(`{a="1",b="2"}`), catalog.Use{Metric: router, Labels: []string{"reason"}}, at+"no series has the label reason; it has a, b", "")
	f(backpressure(`{reason="request_limit"}`), catalog.Use{Metric: router, Values: map[string]string{"reason": "request_limit"}}, "", "")
	f(backpressure(`{reason="request_limit"}`), catalog.Use{Metric: router, Values: map[string]string{"reason": "cached_token_limit"}},
		"", at+`no series has reason="cached_token_limit" here`)
	f(backpressure(`{reason="request_limit"}`), catalog.Use{Metric: router, Values: map[string]string{"reason": "none"}},
		at+`reason can't be "none"; it is one of cached_token_limit, raw_isl_token_limit, request_limit`, "")
	f(backpressure(`{reason="request_limit"}`), catalog.Use{Metric: router, Labels: []string{"model"}, Values: map[string]string{"model": "m"}},
		at+"no series has the label model; it has reason", "")
	f(backpressure(`{reason="request_limit"}`), catalog.Use{Metric: router, Values: map[string]string{"model": "m"}},
		at+"no series has the label model; it has reason", "")
	f(router.Name+" 1\n", catalog.Use{Metric: router}, "", at+"the page doesn't tell its type, a counter is expected")
	f("a 1\n", catalog.Use{Metric: router}, at+"is not on the page", "")
	f(strings.ReplaceAll(backpressure(""), "_queue_", "_queues_"), catalog.Use{Metric: router},
		at+"is not on the page; did you mean dynamo_frontend_router_queues_backpressure_total?", "")
	f("dynamo_frontend_router_queue_pending_requests 1\n", catalog.Use{Metric: catalog.FrontendRouterQueuePendingISLTokens},
		"panel 'P': dynamo_frontend_router_queue_pending_isl_tokens: is not on the page", "")
	f("a 1\n", catalog.Use{Metric: catalog.RouterKVIngressBatches},
		"", "panel 'P': dynamo_component_router_kv_zmq_ingress_batches_total: is not on the page, and may be missing: "+catalog.RouterKVIngressBatches.Missing())
}

func TestOnly(t *testing.T) {
	both := slices.Concat(uses(shadow), uses(page151))
	f := func(s catalog.System, want int) {
		t.Helper()
		if got := len(Only(both, s)); got != want {
			t.Errorf("%d uses of %q; want %d", got, s, want)
		}
	}
	f("", len(both))
	f(catalog.SystemShadow, len(catalog.Shadow()))
	f(catalog.SystemRouter, len(catalog.Router()))
	if catalog.SystemOf("go_goroutines") != "" {
		t.Error("go_goroutines belongs to a system")
	}
}

func TestAdvice(t *testing.T) {
	both := slices.Concat(uses(shadow), uses(page151))
	p := parse(t, read(t, shadow))
	r := Check(p, both)
	if got := Advice(p, r); !strings.HasSuffix(got, "; the page has no metrics of the router at all, --only shadow leaves those out") {
		t.Errorf("advice %q", got)
	}
	p = parse(t, read(t, page161))
	if got := Advice(p, Check(p, both)); !strings.HasSuffix(got, "; the page has no metrics of the shadow at all, --only router leaves those out") {
		t.Errorf("advice %q", got)
	}
	p = parse(t, mutate(read(t, page161), catalog.RouterRequests.Name, "(router|worker)_id=", "x_$1="))
	if got, want := Advice(p, Check(p, uses(page161))), "1 of 53 uses of metrics find nothing, or not what they expect"; got != want {
		t.Errorf("advice %q; want %q", got, want)
	}
}
