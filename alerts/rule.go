package alerts

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kvshadow/kvshadow/catalog"
)

// Options say what the rules are made for. The zero value of Runbooks and
// Panels leaves the links out.
type Options struct {
	Thresholds Thresholds
	// Runbooks is the address of the folder that holds a page NAME.md for each
	// alert.
	Runbooks string
	// Panels links alerts to dashboards.
	Panels Panels
}

// Panels links alerts to dashboards.
type Panels interface {
	// PanelURL returns the address of the panel that shows what the alert of
	// that name is about, or "" if there is none.
	PanelURL(alert string) string
}

// DefaultRunbooks is where the pages of docs/runbooks are published.
const DefaultRunbooks = "https://github.com/kvshadow/kvshadow/blob/main/docs/runbooks"

// Default returns the options of the committed rules.
func Default() Options {
	return Options{Thresholds: DefaultThresholds(), Runbooks: DefaultRunbooks, Panels: Dashboards("")}
}

// Group is a group of rules, which are evaluated in order.
type Group struct {
	Name  string `yaml:"name"`
	Rules []Rule `yaml:"rules"`
}

// Rule is a recording rule or an alert.
type Rule struct {
	Record      string            `yaml:"record,omitempty"`
	Alert       string            `yaml:"alert,omitempty"`
	Expr        string            `yaml:"expr"`
	For         string            `yaml:"for,omitempty"`
	Labels      map[string]string `yaml:"labels,omitempty"`
	Annotations *Annotations      `yaml:"annotations,omitempty"`

	reads []catalog.Use // without Where
}

// Annotations are the texts of an alert.
type Annotations struct {
	Summary     string `yaml:"summary"`
	Description string `yaml:"description"`
	RunbookURL  string `yaml:"runbook_url,omitempty"`
	Dashboard   string `yaml:"dashboard,omitempty"`
}

// Name returns the rule's own name.
func (r Rule) Name() string { return r.Record + r.Alert }

// Where says which rule it is, in words.
func (r Rule) Where() string {
	if r.Alert != "" {
		return "alert " + r.Alert
	}
	return "recording rule " + r.Record
}

// alert is an alert before the links are added.
type alert struct {
	name        string
	common      Common
	expr        expr
	summary     string
	description string
}

// Groups returns the rules, in the order of evaluation. Alerts that aren't
// enabled are left out; the recording rules are always there, for dashboards.
func Groups(o Options) []Group {
	return []Group{
		o.group("kvshadow.routing", routingRecordings(), routingAlerts(o.Thresholds)),
		o.group("kvshadow.input", inputRecordings(), inputAlerts(o.Thresholds)),
		o.group("kvshadow.router", routerRecordings(), routerAlerts(o.Thresholds)),
	}
}

func (o Options) group(name string, records []recording, alerts []alert) Group {
	g := Group{Name: name}
	for _, r := range records {
		g.Rules = append(g.Rules, Rule{Record: r.name, Expr: r.expr.text, reads: r.expr.reads})
	}
	for _, a := range alerts {
		if a.common.Enabled {
			g.Rules = append(g.Rules, o.rule(a))
		}
	}
	return g
}

func (o Options) rule(a alert) Rule {
	r := Rule{
		Alert: a.name, Expr: a.expr.text, For: a.common.For.String(),
		Labels:      map[string]string{"severity": a.common.Severity},
		Annotations: &Annotations{Summary: a.summary, Description: a.description},
		reads:       a.expr.reads,
	}
	if o.Runbooks != "" {
		r.Annotations.RunbookURL = fmt.Sprintf("%s/%s.md", strings.TrimSuffix(o.Runbooks, "/"), a.name)
	}
	if o.Panels != nil {
		r.Annotations.Dashboard = o.Panels.PanelURL(a.name)
	}
	return r
}

// Uses lists what the rules read under the default thresholds, one entry for
// each rule and metric. Labels that the scrape adds aren't listed.
func Uses() []catalog.Use {
	var uses []catalog.Use
	for _, g := range Groups(Default()) {
		for _, r := range g.Rules {
			uses = append(uses, r.uses()...)
		}
	}
	return uses
}

// uses merges the reads of a rule: one entry for each metric.
func (r Rule) uses() []catalog.Use {
	var uses []catalog.Use
	at := make(map[string]int)
	for _, u := range r.reads {
		i, known := at[u.Metric.Name]
		if !known {
			i = len(uses)
			at[u.Metric.Name] = i
			uses = append(uses, catalog.Use{Where: r.Where(), Metric: u.Metric})
		}
		for _, l := range u.Metric.Labels { // in the metric's order, each once
			if !slices.Contains(uses[i].Labels, l) && slices.Contains(u.Labels, l) {
				uses[i].Labels = append(uses[i].Labels, l)
			}
		}
	}
	return uses
}
