package alerts

import (
	"github.com/kvshadow/kvshadow/catalog"
	"github.com/kvshadow/kvshadow/internal/promql"
)

// droppedShare records the share of lines that were read and lost. Input is a
// matter of one process, so replicas aren't summed here.
func droppedShare() recording {
	return recording{"kvshadow:source_dropped_lines:share" + short, ratio(rate(catalog.SourceDroppedLines, short), rate(catalog.SourceLines, short))}
}

// inputWindow bridges the pauses of a router with little traffic.
const inputWindow = "15m"

// undecodableShare records the share of what should have been a decision and
// couldn't be used. Ignored lines are no part of it: most of a log is noise.
func undecodableShare() recording {
	lost := anyReason(rate(catalog.SourceUndecodable, inputWindow))
	decoded := rate(catalog.SourceDecisions, inputWindow)
	return recording{"kvshadow:source_undecodable:share" + inputWindow, ratio(lost, compose("(%s + %s)", lost, decoded))}
}

// notRebuiltShare records the share of requests that no decision could be
// rebuilt of. A selection whose request no trace told of is one more request.
func notRebuiltShare() recording {
	lost := anyReason(rate(catalog.LifecyclesLost, inputWindow))
	untold := anyReason(rate(catalog.LifecyclesLost, inputWindow, promql.Is(catalog.LabelReason, catalog.ReasonWinnerWithoutRows)))
	return recording{"kvshadow:requests_not_rebuilt:share" + inputWindow, ratio(lost, compose("(%s + %s)", rate(catalog.Lifecycles, inputWindow), untold))}
}

func anyReason(e expr) expr { return e.without("sum", catalog.LabelReason) }

// losing says that the share of what is lost is too high, and that it is no
// matter of a few.
func losing(share recording, maxShare float64, lost catalog.Metric, least float64) expr {
	return compose("%s > %s\nand\n%s >= %s", share.series(), maxShare, anyReason(increase(lost, inputWindow)), least)
}

func inputRecordings() []recording {
	return []recording{droppedShare(), undecodableShare(), notRebuiltShare()}
}

func inputAlerts(t Thresholds) []alert {
	return []alert{inputBehind(t), inputSilent(t), recordsDropped(t), recordsUndecodable(t), notRebuilt(t), reloadFailed(t)}
}

func inputBehind(t Thresholds) alert {
	x := t.InputBehind
	return alert{
		InputBehind, x.Common,
		compose("%s > %s", gauge(catalog.SourceLag), float64(x.MaxLag)/1e9),
		"kvshadow is behind its input.",
		"Source {{ $labels.source }} of {{ $labels.instance }} has not reached the end of its input for {{ $value | humanizeDuration }}; the counters describe traffic of that age.",
	}
}

// inputSilent tells a stalled source from a quiet router: it says nothing if
// the router is scraped and has no traffic.
func inputSilent(t Thresholds) alert {
	x := t.InputSilent
	return alert{
		InputSilent, x.Common,
		compose("%s == 0\nand\n%s >= %s\nunless on (%s)\n%s == 0",
			increase(catalog.SourceLines, mid), increase(catalog.SourceLines, "6h"), x.MinLines,
			t.scope(), increase(catalog.RouterRequestsStarted, mid).by("sum", t.ScopeLabels...)),
		"A source of kvshadow went silent.",
		"Source {{ $labels.source }} of {{ $labels.instance }} brought {{ $value }} lines in 30m although it had lines in the 6h before, and no scraped router says that there is no traffic.",
	}
}

func recordsDropped(t Thresholds) alert {
	x := t.RecordsDropped
	return alert{
		RecordsDropped, x.Common,
		compose("%s > %s", droppedShare().series(), x.MaxShare),
		"kvshadow loses lines that it has read.",
		"{{ $value | humanizePercentage }} of the lines of source {{ $labels.source }} of {{ $labels.instance }} were dropped in 5m; every sum is too low by about that share.",
	}
}

func recordsUndecodable(t Thresholds) alert {
	x := t.RecordsUndecodable
	return alert{
		RecordsUndecodable, x.Common,
		losing(undecodableShare(), x.MaxShare, catalog.SourceUndecodable, x.MinUndecodable),
		"kvshadow can't use part of its input.",
		"{{ $value | humanizePercentage }} of what should have been decisions in source {{ $labels.source }} of {{ $labels.instance }} could not be used in 15m. The usual cause is a new release of the router.",
	}
}

func notRebuilt(t Thresholds) alert {
	x := t.NotRebuilt
	return alert{
		NotRebuilt, x.Common,
		losing(notRebuiltShare(), x.MaxShare, catalog.LifecyclesLost, x.MinLost),
		"kvshadow can't rebuild part of the decisions.",
		"{{ $value | humanizePercentage }} of the requests that {{ $labels.instance }} heard of in 15m gave no decision. They are missing in every sum, and their load in the decisions of others.",
	}
}

func reloadFailed(t Thresholds) alert {
	return alert{
		ReloadFailed, t.ReloadFailed.Common,
		compose("%s == 0", gauge(catalog.ReloadSuccess)),
		"kvshadow refused its policies file.",
		"{{ $labels.instance }} runs on the policies of its last successful load: the gauge of the last reload reads {{ $value }}. The log names the file, the line and the cause.",
	}
}
