package alerts

import (
	"fmt"

	"github.com/kvshadow/kvshadow/dashboards"
)

// Dashboards returns the links to the dashboards that kvshadow generates.
// Grafana is the address of the server; without it the links are relative to
// any.
func Dashboards(grafana string) Panels { return links{grafana} }

type links struct{ grafana string }

// panel is a panel of a dashboard.
type panel struct {
	uid string
	id  int
}

func (l links) PanelURL(alert string) string {
	p, ok := panels()[alert]
	if !ok {
		return ""
	}
	return fmt.Sprintf("%s/d/%s?viewPanel=%d", l.grafana, p.uid, p.id)
}

// panels tells which panel shows what an alert is about.
func panels() map[string]panel {
	return map[string]panel{
		OverlapLost:        {dashboards.ShadowUID, 23},
		SessionsMoving:     {dashboards.ShadowUID, 24},
		CandidateBetter:    {dashboards.ShadowUID, 31},
		FidelityLow:        {dashboards.ShadowUID, 41},
		InputBehind:        {dashboards.SelfUID, 24},
		InputSilent:        {dashboards.SelfUID, 21},
		RecordsDropped:     {dashboards.SelfUID, 25},
		RecordsUndecodable: {dashboards.SelfUID, 26},
		NotRebuilt:         {dashboards.SelfUID, 29},
		ReloadFailed:       {dashboards.SelfUID, 11},
		LoadImbalance:      {dashboards.RoutingUID, 42},
		QueueBackpressure:  {dashboards.RoutingUID, 53},
		ObserverSilent:     {dashboards.RoutingUID, 81},
	}
}
