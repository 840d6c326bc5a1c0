package dashboards

import (
	"fmt"

	"github.com/kvshadow/kvshadow/catalog"
)

// Uses lists what each panel and variable reads, in the order of the
// dashboards. Flavours don't differ in it. The metrics of the process
// ([ProcessMetrics]) are in the list, though not in the catalog.
func Uses() []catalog.Use {
	var all []catalog.Use
	for _, d := range All(Options{}) {
		for _, v := range d.Templating.List {
			all = append(all, usesAt(fmt.Sprintf("dashboard %q, variable %s", d.Title, v.Name), v.reads)...)
		}
		for _, p := range d.Panels {
			for _, t := range p.Targets {
				all = append(all, usesAt(fmt.Sprintf("dashboard %q, panel %d %q", d.Title, p.ID, p.Title), t.reads)...)
			}
		}
	}
	return all
}

func usesAt(where string, reads []catalog.Use) []catalog.Use {
	var all []catalog.Use
	for _, r := range reads {
		r.Where = where
		all = append(all, r)
	}
	return all
}
