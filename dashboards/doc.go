// Package dashboards generates the Grafana dashboards for routing quality:
//
//   - KV routing quality, over the router's own metrics;
//   - Shadow evaluation, live against each candidate policy;
//   - kvshadow itself, its input and its process.
//
// Data flows one way: metrics of package catalog become expressions
// (expr.go), expressions become panels (panel.go), and panels become
// dashboards, one file each. What comes out are plain structs with Grafana's
// JSON names (grafana.go), written in several formats (output.go) or sent to a
// Grafana server (push.go).
//
// No metric and no label is named by a string here: all come from the catalog,
// so a dashboard can't ask for what nothing emits. [Uses] lists what each panel
// and variable reads, to hold it against a live page.
//
// A data source variable of Grafana lists one plug-in's sources only. The
// dashboards come therefore in two flavours, which differ in nothing else: for
// data sources of type Prometheus, which VictoriaMetrics may be added as too,
// and for those of VictoriaMetrics' own plug-in.
package dashboards
