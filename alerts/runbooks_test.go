package alerts

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const runbooks = "../docs/runbooks"

func headings() []string {
	return []string{"What it means", "Impact", "Tell causes apart", "What to do", "False alarms"}
}

var (
	metricWord = regexp.MustCompile(`\b(kvshadow|dynamo)_[a-z0-9_]+`)
	recordWord = regexp.MustCompile(`\bkvshadow:[a-z0-9_:]+`)
	query      = regexp.MustCompile("(?s)```promql\n(.*?)```")
	heading    = regexp.MustCompile(`(?m)^## (.*)$`)
)

// TestRunbooks holds that every alert has a page, and the pages are as the
// definitions say.
func TestRunbooks(t *testing.T) {
	thresholds := make(map[string]string) // alert to the section of the file
	var all Thresholds
	for i, name := range []string{
		OverlapLost, SessionsMoving, CandidateBetter, FidelityLow, InputBehind, InputSilent,
		RecordsDropped, RecordsUndecodable, NotRebuilt, ReloadFailed, LoadImbalance, QueueBackpressure, ObserverSilent,
	} {
		thresholds[name] = all.sections()[i].name
	}
	for _, name := range alertNames() {
		t.Run(name, func(t *testing.T) {
			page := readPage(t, name)
			for _, p := range checkPage(name, thresholds[name], page) {
				t.Error(p)
			}
		})
	}
	pages, err := filepath.Glob(filepath.Join(runbooks, "KV*.md"))
	if err != nil || len(pages) != len(alertNames()) {
		t.Errorf("%d pages for %d alerts (%v)", len(pages), len(alertNames()), err)
	}
}

func readPage(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(runbooks, name+".md"))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// checkPage returns what is wrong with a page.
func checkPage(name, thresholds, page string) []string {
	var problems []string
	if !strings.HasPrefix(page, "# "+name+"\n") {
		problems = append(problems, "the title isn't the alert's name")
	}
	var got []string
	for _, m := range heading.FindAllStringSubmatch(page, -1) {
		got = append(got, m[1])
	}
	if !slices.Equal(got, headings()) {
		problems = append(problems, "headings are "+strings.Join(got, ", "))
	}
	for _, want := range []string{"`" + thresholds + "`", "kvshadow explain", "port 9871", "```promql"} {
		if !strings.Contains(page, want) {
			problems = append(problems, "doesn't mention "+want)
		}
	}
	return append(problems, checkNames(name, page)...)
}

// checkNames holds the metrics and queries of a page against the catalog and
// the rules.
func checkNames(name, page string) []string {
	l := newLinter(known())
	l.recorded = make(map[string][]string)
	for _, g := range Groups(Default()) {
		for _, r := range g.Rules {
			if r.Record != "" {
				for _, u := range r.uses() {
					l.recorded[r.Record] = append(l.recorded[r.Record], u.Metric.Name)
				}
			}
		}
	}
	for _, word := range metricWord.FindAllString(page, -1) {
		if _, found := l.metrics[family(word)]; !found {
			l.report(name, "%s isn't in the catalog", word)
		}
	}
	for _, word := range recordWord.FindAllString(page, -1) {
		if _, found := l.recorded[word]; !found {
			l.report(name, "no rule records %s", word)
		}
	}
	for _, m := range query.FindAllStringSubmatch(page, -1) {
		if !strings.Contains(m[1], "process_cpu") { // of every process, not in the catalog
			l.expr(name, m[1])
		}
	}
	return l.problems
}

// family strips what a histogram's series add to its name.
func family(name string) string {
	for _, suffix := range []string{"_bucket", "_sum", "_count"} {
		if base, found := strings.CutSuffix(name, suffix); found {
			return base
		}
	}
	return name
}

// TestRunbookIndex holds that the index lists every alert with its severity.
func TestRunbookIndex(t *testing.T) {
	index := readPage(t, "README")
	for _, g := range Groups(Default()) {
		for _, r := range g.Rules {
			if r.Alert == "" {
				continue
			}
			line := regexp.MustCompile(`(?m)^\| \[` + r.Alert + `\]\(` + r.Alert + `\.md\) \| .+ \| ` + r.Labels["severity"] + ` \|$`)
			if !line.MatchString(index) {
				t.Errorf("the index lacks %s with severity %s", r.Alert, r.Labels["severity"])
			}
		}
	}
}

// TestPageMutations holds that every kind of drift in a page is found.
func TestPageMutations(t *testing.T) {
	page := readPage(t, InputBehind)
	for name, m := range map[string]struct{ before, after, want string }{
		"title":     {"# " + InputBehind, "# Behind", "title"},
		"heading":   {"## Impact", "## Effect", "headings are"},
		"metric":    {"kvshadow_source_lag_seconds", "kvshadow_lag_seconds", "isn't in the catalog"},
		"query":     {"rate(kvshadow_source_bytes_total[5m])", "rate(kvshadow_source_bytes_total)", "no PromQL"},
		"not rated": {"rate(kvshadow_source_bytes_total[5m])", "kvshadow_source_bytes_total", "is a counter under"},
		"section":   {"`input_behind`", "`input_late`", "doesn't mention `input_behind`"},
		"record":    {"kvshadow_source_lag_seconds", "kvshadow:lag:max", "no rule records"},
	} {
		wantProblem(t, name, checkPage(InputBehind, "input_behind", strings.Replace(page, m.before, m.after, 1)), m.want)
	}
}
