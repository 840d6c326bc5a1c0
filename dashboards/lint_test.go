package dashboards

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// rules are the lint of dashboards. Each returns what is wrong.
func rules() map[string]func(Dashboard) []string {
	return map[string]func(Dashboard) []string{
		"head": lintHead, "grid": lintGrid, "ids": lintIDs, "panel": lintPanels, "datasource": lintDatasource,
		"variables": lintVariables, "parse": lintParse, "counters": lintCounters, "labels": lintLabels,
		"quiet": lintQuiet, "legend": lintLegends, "reads": lintReads,
	}
}

func TestLint(t *testing.T) {
	for _, flavor := range []Flavor{Prometheus, VictoriaMetrics} {
		for _, d := range All(Options{Flavor: flavor}) {
			for name, rule := range rules() {
				for _, problem := range rule(d) {
					t.Errorf("%s: %s: %s", d.UID, name, problem)
				}
			}
		}
	}
}

func lintHead(d Dashboard) (problems []string) {
	complain := complainTo(&problems)
	if len(d.UID) > 40 || !strings.HasPrefix(d.UID, "kvshadow-") {
		complain("uid %q", d.UID)
	}
	if d.Title == "" || d.SchemaVersion != schemaVersion || !slices.Contains(d.Tags, tag) {
		complain("title %q, schema version %d, tags %q", d.Title, d.SchemaVersion, d.Tags)
	}
	for _, title := range []string{"kvshadow", "Alerts", "Exporter"} {
		if !slices.ContainsFunc(d.Links, func(l Link) bool { return l.Title == title }) {
			complain("no link %s", title)
		}
	}
	return problems
}

func complainTo(problems *[]string) func(string, ...any) {
	return func(format string, args ...any) { *problems = append(*problems, fmt.Sprintf(format, args...)) }
}

func lintGrid(d Dashboard) (problems []string) {
	complain := complainTo(&problems)
	taken := map[[2]int]int{}
	for _, p := range d.Panels {
		g := p.GridPos
		if g.W < 1 || g.H < 1 || g.X < 0 || g.Y < 0 || g.X+g.W > 24 {
			complain("panel %d leaves the grid: %+v", p.ID, g)
		}
		for x := g.X; x < g.X+g.W; x++ {
			for y := g.Y; y < g.Y+g.H; y++ {
				if other, ok := taken[[2]int{x, y}]; ok {
					complain("panels %d and %d overlap at %d, %d", other, p.ID, x, y)
				}
				taken[[2]int{x, y}] = p.ID
			}
		}
	}
	return problems
}

func lintIDs(d Dashboard) (problems []string) {
	complain := complainTo(&problems)
	seen := map[int]bool{}
	for _, p := range d.Panels {
		if p.ID < 1 || seen[p.ID] {
			complain("panel id %d is taken or not positive", p.ID)
		}
		seen[p.ID] = true
		refs := map[string]bool{}
		for _, t := range p.Targets {
			if t.RefID == "" || refs[t.RefID] {
				complain("panel %d: refId %q is taken or empty", p.ID, t.RefID)
			}
			refs[t.RefID] = true
		}
	}
	return problems
}

// units are those in use; Grafana prints an unknown one as text.
var units = []string{
	unitShare, unitNumber, unitBlocks, unitBlocksRate, unitTokens, unitRequests, unitRequestsRate, unitDecisionsRate, unitEventsRate,
	unitLinesRate, unitWorkers, unitCores, unitBytes, unitBytesRate, unitMilliseconds, unitSeconds,
}

func lintPanels(d Dashboard) (problems []string) {
	complain := complainTo(&problems)
	for _, p := range d.Panels {
		if p.Title == "" {
			complain("panel %d has no title", p.ID)
		}
		if p.Type == "row" {
			continue
		}
		if len(p.Targets) == 0 || !strings.HasSuffix(p.Description, ".") {
			complain("panel %d has no query, or no sentence as description", p.ID)
		}
		f := p.FieldConfig.Defaults
		if !slices.Contains(units, f.Unit) {
			complain("panel %d has the unit %q", p.ID, f.Unit)
		}
		for i, s := range f.Thresholds.Steps {
			if (i == 0) != (s.Value == nil) || i > 1 && *s.Value <= *f.Thresholds.Steps[i-1].Value {
				complain("panel %d: thresholds don't rise", p.ID)
			}
		}
		if strings.Contains(p.Title, "locks lost") && f.Links == nil && p.Type != "timeseries" {
			complain("panel %d about lost blocks has no link to the decisions", p.ID)
		}
	}
	return problems
}

func lintDatasource(d Dashboard) (problems []string) {
	complain := complainTo(&problems)
	flavor := Prometheus
	if strings.HasSuffix(d.UID, "-vm") {
		flavor = VictoriaMetrics
	}
	want := sourceRef{flavor.plugin(), "${datasource}"}
	for _, p := range d.Panels {
		if p.Type != "row" && (p.Datasource == nil || *p.Datasource != want) {
			complain("panel %d has the data source %v", p.ID, p.Datasource)
		}
		for _, t := range p.Targets {
			if t.Datasource != want {
				complain("panel %d: query %s has the data source %v", p.ID, t.RefID, t.Datasource)
			}
		}
	}
	for _, v := range d.Templating.List {
		if v.Type == "query" && (v.Datasource == nil || *v.Datasource != want) {
			complain("variable %s has the data source %v", v.Name, v.Datasource)
		}
		if v.Type == "datasource" && v.Query != flavor.plugin() {
			complain("variable %s lists %v", v.Name, v.Query)
		}
	}
	return problems
}

var variablePattern = regexp.MustCompile(`\$(\w+)|\$\{(\w+)(?::\w+)?\}`)

func lintVariables(d Dashboard) (problems []string) {
	complain := complainTo(&problems)
	known := map[string]bool{"__rate_interval": false, "__range": false}
	for _, v := range d.Templating.List {
		known[v.Name] = false
		if v.Description == "" || v.Label == "" {
			complain("variable %s isn't described", v.Name)
		}
	}
	use := func(where, text string) {
		for _, m := range variablePattern.FindAllStringSubmatch(text, -1) {
			name := m[1] + m[2]
			if _, ok := known[name]; !ok {
				complain("%s names the variable %s, which there is not", where, name)
			}
			known[name] = true
		}
	}
	for _, v := range d.Templating.List {
		use("variable "+v.Name, fmt.Sprint(v.Query))
	}
	for _, p := range d.Panels {
		for _, t := range p.Targets {
			use(p.Title, t.Datasource.UID+t.Expr)
		}
		if p.FieldConfig != nil {
			use(p.Title, fmt.Sprint(p.FieldConfig.Defaults.Links))
		}
	}
	for _, l := range d.Links {
		use("link "+l.Title, l.URL)
	}
	for name, used := range known {
		if !used && !strings.HasPrefix(name, "__") {
			complain("variable %s is used nowhere", name)
		}
	}
	return problems
}
