package alerts

import (
	"fmt"
	"strings"
	"time"

	"github.com/kvshadow/kvshadow/catalog"
)

// kind is what a scenario shows about a rule. Every rule has one of each.
type kind string

const (
	fires        kind = "fires"         // a recording rule: has values
	staysSilent  kind = "does not fire" // a recording rule: is 0, not absent
	noTraffic    kind = "no traffic"
	counterReset kind = "counter reset"
)

func kinds() []kind { return []kind{fires, staysSilent, noTraffic, counterReset} }

// scenario is what the scrapes of some time bring, and what the rules make of
// it. The series have a value a minute, from 0 on.
type scenario struct {
	alert  string // the alert that is looked at; empty if only records are
	kind   kind
	story  string
	series []series
	at     time.Duration
	// firing are the alerts that fire, with all labels but alertname. The text
	// must stand in the description.
	firing []firing
	// records are the recorded values, rounded to four decimals; a record
	// without samples must be absent.
	records []record
}

type firing struct {
	labels map[string]string
	text   string
}

type record struct {
	rule    recording
	samples []sample
}

type sample struct {
	labels map[string]string
	value  float64
}

// series is a series in the notation of promtool's unit tests.
type series struct {
	name   string
	labels map[string]string
	values string
}

func (s series) selector() string { return s.name + labelText(s.labels) }

// labelText writes labels in order: {a="b", c="d"}.
func labelText(set map[string]string) string {
	var texts []string
	for _, k := range sortedKeys(set) {
		texts = append(texts, fmt.Sprintf("%s=%q", k, set[k]))
	}
	return "{" + strings.Join(texts, ", ") + "}"
}

// labels makes a set of pairs.
func labelSet(pairs ...string) map[string]string {
	set := make(map[string]string)
	for i := 0; i < len(pairs); i += 2 {
		set[pairs[i]] = pairs[i+1]
	}
	return set
}

// grows is a counter that gains so much a minute, for some minutes.
func grows(perMinute float64, minutes int) string { return fmt.Sprintf("0+%gx%d", perMinute, minutes) }

// stands is a value that doesn't change.
func stands(v float64, minutes int) string { return fmt.Sprintf("%gx%d", v, minutes) }

// then joins parts of a series' time.
func then(parts ...string) string { return strings.Join(parts, " ") }

// of makes a series of a metric, as the exporter a:9871 or the frontend f:8000
// has it.
func of(m catalog.Metric, values string, pairs ...string) series {
	target := labelSet("job", "kvshadow", "instance", "a:9871")
	if strings.HasPrefix(m.Name, "dynamo_") {
		target = labelSet("job", "frontend", "instance", "f:8000")
	}
	for k, v := range labelSet(pairs...) {
		target[k] = v
	}
	return series{m.Name, target, values}
}

// on moves series to another replica.
func on(instance string, all []series) []series {
	var moved []series
	for _, s := range all {
		set := labelSet("instance", instance)
		for k, v := range s.labels {
			if k != "instance" {
				set[k] = v
			}
		}
		moved = append(moved, series{s.name, set, s.values})
	}
	return moved
}

// pool is the traffic of one pool of workers, as counts a minute.
type pool struct {
	decisions, blocks float64
	policies          map[string]sums
	checked, missed   float64
}

type sums struct{ lost, missing, nonMax, diverging, excess, unsupported float64 }

// series returns the pool's counters; shape makes values of a count a minute.
func (p pool) series(shape func(float64) string) []series {
	const wt = catalog.LabelWorkerType
	prefill := catalog.WorkerTypePrefill
	out := []series{
		of(catalog.Decisions, shape(p.decisions), wt, prefill),
		of(catalog.RequestBlocks, shape(p.blocks), wt, prefill),
		of(catalog.FidelityChecked, shape(p.checked), wt, prefill),
		of(catalog.FidelityMismatches, shape(p.missed), wt, prefill, catalog.LabelCause, "stale_state"),
		of(catalog.FidelityMismatches, shape(0), wt, prefill, catalog.LabelCause, "rounding"),
	}
	for _, name := range sortedKeys(p.policies) {
		s := p.policies[name]
		for _, c := range []struct {
			m catalog.Metric
			v float64
		}{
			{catalog.OverlapLostBlocks, s.lost}, {catalog.MissingPrefixBlocks, s.missing}, {catalog.NonMaxOverlapSelections, s.nonMax},
			{catalog.DivergingSelections, s.diverging}, {catalog.LoadExcessBlocks, s.excess}, {catalog.UnsupportedDecisions, s.unsupported},
		} {
			out = append(out, of(c.m, shape(c.v), wt, prefill, catalog.LabelPolicy, name))
		}
	}
	return out
}

// growing, standing and restarting are shapes of counters over some minutes;
// restarting ones begin at 0 again in the middle.
func growing(minutes int) func(float64) string {
	return func(v float64) string { return grows(v, minutes) }
}

func standing(minutes int) func(float64) string {
	return func(v float64) string { return stands(100*v, minutes) }
}

func restarting(minutes int) func(float64) string {
	return func(v float64) string { return then(grows(v, minutes/2), grows(v, minutes/2)) }
}

// scenarios returns all scenarios.
func scenarios() []scenario {
	var all []scenario
	for _, some := range [][]scenario{
		recordingScenarios(), overlapLostScenarios(), sessionsMovingScenarios(), candidateBetterScenarios(), fidelityLowScenarios(),
		inputBehindScenarios(), inputSilentScenarios(), recordsDroppedScenarios(), recordsUndecodableScenarios(), notRebuiltScenarios(), reloadFailedScenarios(),
		loadImbalanceScenarios(), queueBackpressureScenarios(), observerSilentScenarios(),
	} {
		all = append(all, some...)
	}
	return all
}
