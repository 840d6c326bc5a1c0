// Package alerts generates the recording rules and alerts for routing quality,
// for kvshadow's input, and for Dynamo's own router metrics, each for Prometheus
// and for VictoriaMetrics.
//
// Data flows one way: metrics of package catalog become expressions (expr.go),
// expressions and [Thresholds] become rules (routing.go, input.go, router.go),
// and rules become files (output.go). No metric and no label is named by a
// string here. [Uses] lists what each rule reads, to hold it against a live page.
//
// What all rules have in common:
//
//   - Counters are rated before they are aggregated, and ratios are ratios of
//     sums.
//   - Every denominator is filtered by "> 0": a quiet service has no value
//     instead of NaN, so a recording rule without data is no fault. The same
//     holds for the rules on Dynamo's metrics where those aren't scraped.
//   - Aggregations drop instance and pod and keep every other label that the
//     scrape adds (job, namespace, cluster), so replicas are summed and
//     deployments are not.
//   - Only fields are written that both Prometheus and vmalert take, Debian's
//     old releases included; hence no keep_firing_for.
//   - A group holds the recording rules that its alerts read, before them:
//     groups are evaluated independently of each other.
package alerts
