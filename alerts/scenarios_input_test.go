package alerts

import (
	"time"

	"github.com/kvshadow/kvshadow/catalog"
)

const logs = "file:/var/log/router.log"

// sourced are the labels of an alert about a source.
func sourced() map[string]string {
	return labelSet("job", "kvshadow", "instance", "a:9871", "source", logs, "severity", "warning")
}

// from makes a series of a source.
func from(m catalog.Metric, values string, pairs ...string) series {
	return of(m, values, append([]string{catalog.LabelSource, logs}, pairs...)...)
}

func inputBehindScenarios() []scenario {
	lag := func(values string) []series { return []series{from(catalog.SourceLag, values)} }
	want := []firing{{sourced(), "has not reached the end of its input for 15m 0s"}}
	const at = 15 * time.Minute
	return []scenario{
		{alert: InputBehind, kind: fires, story: "the lag grows", series: lag(grows(60, 15)), at: at, firing: want},
		{alert: InputBehind, kind: staysSilent, story: "it catches up within minutes", series: lag("0 60 120 180 0 60 120 180 0 60 120 180 0 60 120 180"), at: at},
		{alert: InputBehind, kind: noTraffic, story: "nothing to catch up with", series: lag(stands(0, 15)), at: at},
		{alert: InputBehind, kind: counterReset, story: "a restart catches up at once", series: lag(then("0+60x10", stands(0, 5))), at: at},
	}
}

func inputSilentScenarios() []scenario {
	const at = 2 * time.Hour
	stalled := from(catalog.SourceLines, then(grows(100, 59), stands(5900, 60)))
	requests := func(values string) series { return of(catalog.RouterRequestsStarted, values) }
	want := []firing{{sourced(), "brought 0 lines in 30m"}}
	return []scenario{
		{alert: InputSilent, kind: fires, story: "the router serves traffic", series: []series{stalled, requests(grows(50, 120))}, at: at, firing: want},
		{alert: InputSilent, kind: fires, story: "the router isn't scraped", series: []series{stalled}, at: at, firing: want},
		{alert: InputSilent, kind: staysSilent, story: "lines come", series: []series{from(catalog.SourceLines, grows(1, 120)), requests(grows(50, 120))}, at: at},
		{alert: InputSilent, kind: noTraffic, story: "the router says so", series: []series{stalled, requests(then(grows(50, 59), stands(2950, 60)))}, at: at},
		{alert: InputSilent, kind: noTraffic, story: "the source was never in use", series: []series{from(catalog.SourceLines, stands(0, 120)), requests(grows(50, 120))}, at: at},
		{alert: InputSilent, kind: counterReset, story: "the exporter restarts and reads on", series: []series{from(catalog.SourceLines, then(grows(100, 59), grows(100, 60)))}, at: at},
		{alert: InputSilent, kind: counterReset, story: "the exporter restarts and reads nothing", series: []series{from(catalog.SourceLines, then(grows(100, 59), stands(0, 60)))}, at: at, firing: want},
	}
}

func recordsDroppedScenarios() []scenario {
	const at = 30 * time.Minute
	source := func(lines, dropped string) []series {
		return []series{from(catalog.SourceLines, lines), from(catalog.SourceDroppedLines, dropped)}
	}
	want := []firing{{sourced(), "1% of the lines of source " + logs}}
	return []scenario{
		{alert: RecordsDropped, kind: fires, story: "one line in a hundred is lost", series: source(grows(1000, 30), grows(10, 30)), at: at, firing: want},
		{alert: RecordsDropped, kind: staysSilent, story: "some were lost long ago", series: source(grows(1000, 30), stands(500, 30)), at: at},
		{alert: RecordsDropped, kind: noTraffic, story: "no lines", series: source(stands(1000, 30), stands(10, 30)), at: at},
		{alert: RecordsDropped, kind: counterReset, story: "a restart sets old losses to 0", series: source(then(grows(1000, 14), grows(1000, 15)), then(stands(500, 14), stands(0, 15))), at: at},
	}
}

func recordsUndecodableScenarios() []scenario {
	const at = time.Hour
	source := func(decisions, lost string) []series {
		return []series{
			from(catalog.SourceDecisions, decisions),
			from(catalog.SourceUndecodable, lost, catalog.LabelReason, "unknown_formula"),
			from(catalog.SourceUndecodable, stands(0, 60), catalog.LabelReason, "truncated"),
		}
	}
	want := []firing{{sourced(), "25% of what should have been decisions"}}
	return []scenario{
		{alert: RecordsUndecodable, kind: fires, story: "a new formula", series: source(grows(30, 60), grows(10, 60)), at: at, firing: want},
		{alert: RecordsUndecodable, kind: staysSilent, story: "one in a thousand", series: source(grows(3000, 60), grows(3, 60)), at: at},
		{alert: RecordsUndecodable, kind: noTraffic, story: "nothing is read", series: source(stands(300, 60), stands(100, 60)), at: at},
		{alert: RecordsUndecodable, kind: counterReset, story: "it goes on after a restart", series: source(then(grows(30, 29), grows(30, 30)), then(grows(10, 29), grows(10, 30))), at: at, firing: want},
	}
}

// Of 40 requests a minute one in four is late; 10 more selections a minute
// belong to requests that no trace tells of.
func notRebuiltScenarios() []scenario {
	const at = time.Hour
	source := func(lifecycles, late, untold string) []series {
		return []series{
			of(catalog.Lifecycles, lifecycles),
			of(catalog.LifecyclesLost, late, catalog.LabelReason, "lifecycle_late"),
			of(catalog.LifecyclesLost, untold, catalog.LabelReason, catalog.ReasonWinnerWithoutRows),
		}
	}
	firing := func(text string) []firing {
		return []firing{{labelSet("job", "kvshadow", "instance", "a:9871", "severity", "warning"), text}}
	}
	none := stands(0, 60)
	return []scenario{
		{alert: NotRebuilt, kind: fires, story: "one in four is late", series: source(grows(40, 60), grows(10, 60), none), at: at, firing: firing("25% of the requests that a:9871")},
		{alert: NotRebuilt, kind: fires, story: "some aren't traced either", series: source(grows(40, 60), grows(10, 60), grows(10, 60)), at: at, firing: firing("40% of the requests")},
		{alert: NotRebuilt, kind: fires, story: "a log without its traces", series: source(none, none, grows(10, 60)), at: at, firing: firing("100% of the requests")},
		{alert: NotRebuilt, kind: staysSilent, story: "one in a thousand", series: source(grows(4000, 60), grows(4, 60), none), at: at},
		{alert: NotRebuilt, kind: noTraffic, story: "no requests", series: source(stands(400, 60), stands(100, 60), none), at: at},
		{alert: NotRebuilt, kind: counterReset, story: "it goes on after a restart", series: source(then(grows(40, 29), grows(40, 30)), then(grows(10, 29), grows(10, 30)), none), at: at, firing: firing("25% of the requests")},
	}
}

func reloadFailedScenarios() []scenario {
	gauge := func(values string) []series { return []series{of(catalog.ReloadSuccess, values)} }
	want := []firing{{labelSet("job", "kvshadow", "instance", "a:9871", "severity", "warning"), "the gauge of the last reload reads 0"}}
	const at = 20 * time.Minute
	return []scenario{
		{alert: ReloadFailed, kind: fires, story: "a file is refused", series: gauge(then(stands(1, 9), stands(0, 10))), at: at, firing: want},
		{alert: ReloadFailed, kind: staysSilent, story: "it is corrected at once", series: gauge(then(stands(1, 9), stands(0, 2), stands(1, 7))), at: at},
		{alert: ReloadFailed, kind: noTraffic, story: "no reload", series: gauge(stands(1, 20)), at: at},
		{alert: ReloadFailed, kind: counterReset, story: "a restart has read the file", series: gauge(then(stands(0, 9), stands(1, 10))), at: at},
	}
}
