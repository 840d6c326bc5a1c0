package report

import (
	_ "embed" // the page's frame
	"html/template"
	"io"
)

//go:embed page.html
var pageFrame string

var page = template.Must(template.New("page").Parse(pageFrame))

// document is a stand-alone page of tables.
type document struct {
	Title    string
	Lead     string
	Sections []section
	Notes    []string
	Closing  string
}

type section struct {
	Title, Lead string
	Table       [][]string
	Lines       []string
}

func (s *Simulation) writeHTML(w io.Writer) error {
	return page.Execute(w, document{
		Title: "Fleet simulation", Lead: s.legend(), Sections: []section{{Table: s.Table()}}, Notes: s.notes(), Closing: s.closing(),
	})
}

func (r *Report) writeHTML(w io.Writer) error {
	d := document{Title: "Shadow evaluation", Lead: r.Inputs.text() + ".", Notes: r.Notes, Closing: r.closing()}
	for i := range r.Pools {
		if p := &r.Pools[i]; p.shown() {
			d.Sections = append(d.Sections, section{Title: p.WorkerType, Lead: p.Heading() + ".", Table: p.Table(), Lines: p.Verdicts()})
		}
	}
	return page.Execute(w, d)
}
