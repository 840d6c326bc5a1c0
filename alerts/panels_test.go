package alerts

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/kvshadow/kvshadow/catalog"
	"github.com/kvshadow/kvshadow/dashboards"
)

// TestPanels_Exist holds that each alert links to a panel that exists and shows a
// metric that the alert reads.
func TestPanels_Exist(t *testing.T) {
	for _, g := range Groups(Default()) {
		for _, r := range g.Rules {
			if r.Alert == "" {
				continue
			}
			p, ok := panels()[r.Alert]
			if !ok {
				t.Errorf("%s: links to no panel", r.Alert)
				continue
			}
			where := place(p)
			if where == "" {
				t.Errorf("%s: dashboard %s has no panel %d", r.Alert, p.uid, p.id)
				continue
			}
			read := r.uses()
			if !slices.ContainsFunc(dashboards.Uses(), func(u catalog.Use) bool {
				return strings.HasPrefix(u.Where, where) && slices.ContainsFunc(read, func(x catalog.Use) bool { return x.Metric.Name == u.Metric.Name })
			}) {
				t.Errorf("%s: %s shows nothing that the alert reads", r.Alert, where)
			}
		}
	}
}

// place returns how [dashboards.Uses] begins to name a panel, or "".
func place(p panel) string {
	for _, d := range dashboards.All(dashboards.Options{}) {
		for _, x := range d.Panels {
			if d.UID == p.uid && x.ID == p.id {
				return fmt.Sprintf("dashboard %q, panel %d ", d.Title, x.ID)
			}
		}
	}
	return ""
}
