package dashboards

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestLintFinds breaks a dashboard in every way the lint is there for; TestLint
// finds nothing in it before.
func TestLintFinds(t *testing.T) {
	f := func(rule, name string, spoil func(d *Dashboard)) {
		t.Helper()
		d := routing(Options{Flavor: Prometheus})
		spoil(&d)
		if rules()[rule](d) == nil {
			t.Errorf("%s: %s finds nothing", name, rule)
		}
	}
	// replace changes the first expression that has old.
	replace := func(old, new string) func(d *Dashboard) {
		return func(d *Dashboard) {
			for i := range d.Panels {
				for j := range d.Panels[i].Targets {
					if e := &d.Panels[i].Targets[j].Expr; strings.Contains(*e, old) {
						*e = strings.ReplaceAll(*e, old, new)
						return
					}
				}
			}
			t.Fatalf("no expression has %q", old)
		}
	}
	panel := func(change func(p *Panel)) func(d *Dashboard) { return func(d *Dashboard) { change(&d.Panels[1]) } }

	f("head", "another schema", func(d *Dashboard) { d.SchemaVersion = 41 })
	f("head", "no link to alerts", func(d *Dashboard) { d.Links = d.Links[:1] })
	f("grid", "overlap", panel(func(p *Panel) { p.GridPos.W++ }))
	f("grid", "overflow", func(d *Dashboard) { d.Panels[len(d.Panels)-1].GridPos.W++ })
	f("ids", "the same panel id", func(d *Dashboard) { d.Panels[2].ID = d.Panels[1].ID })
	f("ids", "panel id 0", panel(func(p *Panel) { p.ID = 0 }))
	f("ids", "the same refId", func(d *Dashboard) {
		p := slices.IndexFunc(d.Panels, func(p Panel) bool { return len(p.Targets) > 1 })
		d.Panels[p].Targets[1].RefID = "A"
	})
	f("panel", "no title", panel(func(p *Panel) { p.Title = "" }))
	f("panel", "no description", panel(func(p *Panel) { p.Description = "" }))
	f("panel", "no unit", panel(func(p *Panel) { p.FieldConfig.Defaults.Unit = "" }))
	f("panel", "no query", panel(func(p *Panel) { p.Targets = nil }))
	f("panel", "falling thresholds", panel(func(p *Panel) { slices.Reverse(p.FieldConfig.Defaults.Thresholds.Steps[1:]) }))
	f("panel", "no link to decisions", func(d *Dashboard) { d.Panels[2].FieldConfig.Defaults.Links = nil })
	f("datasource", "hard-coded", panel(func(p *Panel) { p.Datasource = &sourceRef{"prometheus", "prom-1"} }))
	f("datasource", "hard-coded in a query", panel(func(p *Panel) { p.Targets[0].Datasource.UID = "prom-1" }))
	f("datasource", "another plug-in", func(d *Dashboard) { d.Templating.List[0].Query = "loki" })
	f("variables", "a variable that there is not", replace("$job", "$jobs"))
	f("variables", "a variable that is used nowhere", func(d *Dashboard) { d.Templating.List[1].Name = "unused" })
	f("parse", "not PromQL", replace("sum(", "sum(("))
	f("parse", "MetricsQL only", replace("sum(rate(", "sum(range_avg("))
	f("counters", "a renamed metric", replace("_selections_total", "_selected_total"))
	f("counters", "a metric of nobody", replace("dynamo_component_router_kv_hit_rate_sum", "kvstats_gpu_prefix_cache_hit_rate"))
	f("counters", "a counter that isn't rated", panel(rewrite(`rate\((.*?)\[.*?\]\)`, "$1")))
	f("counters", "a rate of a sum", panel(rewrite(`sum\(rate\((.*?)\[.*?\]\)\)`, "rate(sum($1)[5m:])")))
	f("counters", "a rated gauge", replace(`max by (worker_id, dp_rank) (dynamo_frontend_worker_active_prefill_tokens{worker_type="prefill", job=~"$job"})`, `max by (worker_id, dp_rank) (rate(dynamo_frontend_worker_active_prefill_tokens{worker_type="prefill", job=~"$job"}[$__rate_interval]))`))
	f("counters", "a fixed interval", replace("$__rate_interval", "5m"))
	f("counters", "the whole range at each point", replace("$__rate_interval", "$__range"))
	f("labels", "a matcher on a label that isn't there", replace("dynamo_namespace", "namespace"))
	f("labels", "a grouping by a label that isn't there", replace("by (phase)", "by (worker_type)"))
	f("labels", "a value that never occurs", replace(`worker_type="prefill"`, `worker_type="backend"`))
	f("labels", "all jobs", replace(`job=~"$job", `, ""))
	f("quiet", "a quotient without traffic", replace(" > 0)", ")"))
	f("quiet", "a quantile without traffic", replace(" >= 0", ""))
	f("legend", "a label that the series lack", panel(func(p *Panel) { p.Targets[0].LegendFormat = "{{model}}" }))
	f("legend", "no legend", panel(func(p *Panel) { p.Targets[0].LegendFormat = "" }))
	f("reads", "another metric than said", replace("non_max_overlap_selections_total", "requests_total"))
	f("reads", "another label than said", replace("dynamo_namespace", "dynamo_component"))
}

// rewrite changes every match in the first query.
func rewrite(pattern, to string) func(p *Panel) {
	return func(p *Panel) {
		p.Targets[0].Expr = regexp.MustCompile(pattern).ReplaceAllString(p.Targets[0].Expr, to)
	}
}

// TestStamp wants a fingerprint that an edit changes, and what Grafana adds
// does not.
func TestStamp(t *testing.T) {
	d := All(Options{})[0]
	revision, sum, ok := readStamp(d.Description)
	if !ok || revision != Revision {
		t.Fatalf("%q isn't stamped", d.Description)
	}
	raw, err := d.Encode()
	if err != nil {
		t.Fatal(err)
	}
	f := func(old, new string, want bool) {
		t.Helper()
		if !strings.Contains(string(raw), old) {
			t.Fatalf("no %s", old)
		}
		got, err := fingerprint([]byte(strings.Replace(string(raw), old, new, 1)))
		if err != nil {
			t.Fatal(err)
		}
		if (got != sum) != want {
			t.Errorf("%s for %s: changed %t; want %t", new, old, got != sum, want)
		}
	}
	f(`{`, `{"id": 7, "version": 3,`, false)
	f(`"schemaVersion": 42`, `"schemaVersion": 43`, false)
	f(`"title": "Overlap blocks lost"`, `"title": "Lost"`, true)
	f(`sum(rate(`, `avg(rate(`, true)
	f(`"h": 4`, `"h": 5`, true)
	f(`"value": 0.1`, `"value": 0.2`, true)
	f(`"query": "label_values(`, `"query": "query_result(`, true)
}
