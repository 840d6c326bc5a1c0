// Package page reads metrics pages: what a process exposes under /metrics, or
// a copy of it in a file. It keeps names, types and labels, and no values.
package page

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"

	"github.com/kvshadow/kvshadow/catalog"
)

// Untyped is the type of a family whose type the page doesn't tell.
const Untyped catalog.Type = "untyped"

// Page is what a page tells about the metrics that it has series of. It may be read from several
// goroutines at once.
type Page struct {
	// Sources are the addresses or file names of what is in it.
	Sources  []string
	families map[string]*Family
}

// Family is one metric of a page.
type Family struct {
	Name   string
	Type   catalog.Type
	Help   string
	Unit   string // only OpenMetrics pages tell it
	Series int
	// Labels are the labels that some series has, and their values. Those that
	// belong to the type (le, quantile) aren't among them.
	Labels map[string]map[string]bool
}

// New returns a page without metrics, to [Page.Merge] others into.
func New() *Page { return &Page{families: map[string]*Family{}} }

// Parse reads a page in one of the text formats. contentType is the header with
// which the page came; without one, a page that ends like OpenMetrics is taken
// as that.
func Parse(source, contentType string, text []byte) (*Page, error) {
	format, err := formatOf(contentType, text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", source, err)
	}
	p := New()
	p.Sources = []string{source}
	d := expfmt.NewDecoder(bytes.NewReader(text), format)
	for {
		f := new(dto.MetricFamily)
		switch err := d.Decode(f); {
		case errors.Is(err, io.EOF) && len(p.families) == 0:
			return nil, fmt.Errorf("%s: no metrics", source)
		case errors.Is(err, io.EOF):
			return p, nil
		case err != nil:
			return nil, fmt.Errorf("%s: not a metrics page: %w", source, err)
		}
		p.add(f)
	}
}

func formatOf(contentType string, text []byte) (expfmt.Format, error) {
	switch {
	case strings.HasPrefix(contentType, "text/html"), bytes.HasPrefix(bytes.TrimSpace(text), []byte("<")):
		return "", errors.New("is an HTML page, not a metrics page; its path is usually /metrics")
	case strings.HasPrefix(contentType, string(expfmt.OpenMetricsType)):
		return expfmt.Format(contentType), nil
	case bytes.HasSuffix(bytes.TrimSpace(text), []byte("\n# EOF")):
		return expfmt.NewFormat(expfmt.TypeOpenMetrics), nil
	}
	return expfmt.NewFormat(expfmt.TypeTextPlain), nil
}

func (p *Page) add(f *dto.MetricFamily) {
	out := &Family{
		Name: f.GetName(), Type: catalog.Type(strings.ToLower(f.GetType().String())),
		Help: f.GetHelp(), Unit: f.GetUnit(), Series: len(f.Metric), Labels: map[string]map[string]bool{},
	}
	for _, m := range f.Metric {
		for _, l := range m.Label {
			if out.Labels[l.GetName()] == nil {
				out.Labels[l.GetName()] = map[string]bool{}
			}
			out.Labels[l.GetName()][l.GetValue()] = true
		}
	}
	p.families[out.Name] = out
}

// Merge adds the metrics of another page, which must not be used afterwards. A
// metric that both have keeps the type of p, and gets the labels of both.
func (p *Page) Merge(o *Page) {
	p.Sources = append(p.Sources, o.Sources...)
	for name, f := range o.families {
		mine := p.families[name]
		if mine == nil {
			p.families[name] = f
			continue
		}
		mine.Series += f.Series
		for label, values := range f.Labels {
			if mine.Labels[label] == nil {
				mine.Labels[label] = map[string]bool{}
			}
			for v := range values {
				mine.Labels[label][v] = true
			}
		}
	}
}

// Find returns a metric, or nil. A histogram of a page without types is found
// by its parts.
func (p *Page) Find(name string) *Family {
	if f := p.families[name]; f != nil {
		return f
	}
	bucket := p.families[name+"_bucket"]
	if bucket == nil || bucket.Type != Untyped {
		return nil
	}
	f := *bucket
	f.Name, f.Labels = name, map[string]map[string]bool{}
	for label, values := range bucket.Labels {
		if label != "le" {
			f.Labels[label] = values
		}
	}
	return &f
}

// Shows says whether the page has metrics of a system.
func (p *Page) Shows(s catalog.System) bool {
	for name := range p.families {
		if catalog.SystemOf(name) == s {
			return true
		}
	}
	return false
}

// Families returns every metric, by name.
func (p *Page) Families() []*Family {
	all := make([]*Family, 0, len(p.families))
	for _, f := range p.families {
		all = append(all, f)
	}
	slices.SortFunc(all, func(a, b *Family) int { return strings.Compare(a.Name, b.Name) })
	return all
}
