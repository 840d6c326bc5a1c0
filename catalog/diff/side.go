package diff

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/kvshadow/kvshadow/catalog"
	"github.com/kvshadow/kvshadow/catalog/page"
)

// Side is one of the two that are compared.
type Side struct {
	metrics map[string]catalog.Entry
	page    bool
}

// Read returns what stands at an address or in a file: a catalog in JSON, or a
// metrics page. The context bounds the wait for an address.
func Read(ctx context.Context, location string) (Side, error) {
	text, contentType, err := page.Fetch(ctx, location)
	if err != nil {
		return Side{}, err
	}
	if bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) {
		d, err := catalog.ParseDocument(text)
		if err != nil {
			return Side{}, fmt.Errorf("%s: %w", location, err)
		}
		return FromDocument(d), nil
	}
	p, err := page.Parse(location, contentType, text)
	if err != nil {
		return Side{}, err
	}
	return FromPage(p), nil
}

// FromDocument returns a catalog as a side.
func FromDocument(d catalog.Document) Side {
	s := Side{metrics: map[string]catalog.Entry{}}
	for _, e := range d.Metrics {
		s.metrics[e.Name] = e
	}
	return s
}

// FromPage returns the page of a process as a side. A page doesn't tell the
// stability of its metrics; catalogued ones have that of catalog.
func FromPage(p *page.Page) Side {
	s := Side{metrics: map[string]catalog.Entry{}, page: true}
	for _, f := range p.Families() {
		e := catalog.Entry{Name: f.Name, System: catalog.SystemOf(f.Name), Type: f.Type, Help: f.Help, Unit: f.Unit}
		for _, l := range slices.Sorted(maps.Keys(f.Labels)) {
			e.Labels = append(e.Labels, catalog.Label{Name: l})
		}
		if m, ok := catalog.Find(f.Name); ok {
			e.Stability, e.Deprecated = m.Stability, m.Deprecated
		}
		s.metrics[f.Name] = e
	}
	return s
}

// names returns the metrics' names in order.
func (s Side) names() []string { return slices.Sorted(maps.Keys(s.metrics)) }

// within narrows a catalog to the systems that a page shows, and a page to the
// metrics that the other side's catalog could list: a catalog has none of the
// process, and of Dynamo only the router's.
func (s Side) within(o Side) Side {
	if s.page == o.page {
		return s
	}
	out := Side{metrics: map[string]catalog.Entry{}, page: s.page}
	for name, m := range s.metrics {
		if m.System == "" || name == buildInfo || !o.shows(m.System) {
			continue
		}
		if _, known := o.metrics[name]; !known && s.page && m.System != catalog.SystemShadow {
			if !o.resembles(m) {
				continue
			}
		}
		out.metrics[name] = m
	}
	return out
}

// buildInfo is on every page of kvshadow and in no catalog.
const buildInfo = "kvshadow_build_info"

func (s Side) shows(system catalog.System) bool {
	for _, m := range s.metrics {
		if m.System == system {
			return true
		}
	}
	return false
}

// resembles says whether a metric of a page may be one of a catalog's under
// another name.
func (s Side) resembles(m catalog.Entry) bool {
	for _, mine := range s.metrics {
		if sameHelp(mine.Help, m.Help) {
			return true
		}
	}
	return false
}
