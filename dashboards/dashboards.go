package dashboards

import (
	"fmt"
	"strings"
)

// The uids of the dashboards, without what [Flavor] adds. They never change,
// and neither do the ids of panels: links name both.
const (
	RoutingUID = "kvshadow-routing"
	ShadowUID  = "kvshadow-shadow"
	SelfUID    = "kvshadow-self"
)

// Flavor is the data source plug-in that dashboards are made for.
type Flavor string

// The flavours.
const (
	// Prometheus is for data sources of type Prometheus, whatever answers
	// behind them.
	Prometheus Flavor = "prometheus"
	// VictoriaMetrics is for data sources of VictoriaMetrics' own plug-in. The
	// uids end in -vm, so that both flavours can stand beside each other.
	VictoriaMetrics Flavor = "victoriametrics"
)

// ParseFlavor returns the flavour of a name.
func ParseFlavor(name string) (Flavor, error) {
	switch f := Flavor(name); f {
	case Prometheus, VictoriaMetrics:
		return f, nil
	}
	return "", fmt.Errorf("data source %q: allowed are %s and %s", name, Prometheus, VictoriaMetrics)
}

func (f Flavor) plugin() string {
	if f == VictoriaMetrics {
		return "victoriametrics-metrics-datasource"
	}
	return "prometheus"
}

func (f Flavor) uid(uid string) string {
	if f == VictoriaMetrics {
		return uid + "-vm"
	}
	return uid
}

func (f Flavor) source() sourceRef {
	return sourceRef{f.plugin(), "${" + varDatasource + "}"}
}

// Options are what may differ between installations.
type Options struct {
	Flavor Flavor // Prometheus if empty
	// ExporterURL is where browsers reach kvshadow serve. DefaultExporterURL if
	// empty; readers can change it on the dashboard.
	ExporterURL string
}

// DefaultExporterURL is the exporter on the reader's own machine.
const DefaultExporterURL = "http://localhost:9871"

// All returns the dashboards. Each call makes new ones.
func All(o Options) []Dashboard {
	if o.Flavor == "" {
		o.Flavor = Prometheus
	}
	if o.ExporterURL == "" {
		o.ExporterURL = DefaultExporterURL
	}
	o.ExporterURL = strings.TrimRight(o.ExporterURL, "/")
	all := []Dashboard{routing(o), shadow(o), self(o)}
	for i := range all {
		all[i].stamp()
	}
	return all
}

// alertPrefix starts the names of kvshadow's alerts.
const alertPrefix = "KVShadow"

// tag is on every dashboard; links between them go by it.
const tag = "kvshadow"

// newDashboard returns a dashboard with what all have in common.
func newDashboard(o Options, uid, title, about string) Dashboard {
	return Dashboard{
		UID: o.Flavor.uid(uid), Title: title, Description: about, Tags: []string{tag, o.Flavor.uid(tag)}, Timezone: "browser",
		Editable: true, GraphTooltip: 1, SchemaVersion: schemaVersion, Refresh: "30s",
		Time:        timeRange{"now-6h", "now"},
		Annotations: annotations{[]struct{}{}},
		Links: []Link{
			{Type: "dashboards", Title: "kvshadow", Icon: "external link", Tags: []string{o.Flavor.uid(tag)}, KeepTime: true, IncludeVars: true},
			{Type: "link", Title: "Alerts", Tooltip: "Alert rules and their states", Icon: "bell", URL: "/alerting/list?search=" + alertPrefix, Tags: []string{}},
			{Type: "link", Title: "Exporter", Tooltip: "kvshadow's own page, with the last decisions", Icon: "info", URL: "${" + varExporter + ":raw}/", Tags: []string{}, TargetBlank: true},
		},
	}
}
