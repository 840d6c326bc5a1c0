package exporter

import (
	"bytes"
	"embed"
	"html/template"
	"maps"
	"net/http"
	"time"

	"github.com/kvshadow/kvshadow/analyzer/decision"
	"github.com/kvshadow/kvshadow/analyzer/report"
	"github.com/kvshadow/kvshadow/analyzer/router/dynamo"
	"github.com/kvshadow/kvshadow/exporter/source"
)

//go:embed pages
var pageFiles embed.FS

// templates are the pages. The functions render what the command line prints
// too, so that both say the same.
var templates = template.Must(template.New("").Funcs(template.FuncMap{
	"key":    report.KeyText,
	"table":  report.CostTable,
	"pick":   report.PickText,
	"flip":   report.FlipText,
	"fidel":  report.FidelityText,
	"prompt": report.PromptText,
	"clock":  func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05.000000 UTC") },
}).ParseFS(pageFiles, "pages/*.html"))

// landing is what the landing page shows.
type landing struct {
	Demo    bool
	Refused error
	Loaded  time.Time
	Pools   []report.Pool
	Notes   []string
	Sources []sourceRow
	// Lifecycles counts the requests that traces told of; Lost those that could
	// not be used, by reason.
	Lifecycles uint64
	Lost       map[string]uint64
	Recent     []Recent
}

type sourceRow struct {
	source.Snapshot
	Lag       time.Duration
	Decisions uint64
	Lost      map[string]uint64
}

// shownDecisions is how many of the last decisions the landing page lists.
const shownDecisions = 50

func (s *Service) page() landing {
	snap := s.state.snapshot()
	p := landing{Demo: s.opts.Demo, Refused: snap.refused, Loaded: snap.loaded, Recent: s.state.latest(shownDecisions)}
	in := s.rebuilt.inputs()
	p.Lifecycles, p.Lost = in.Lifecycles, maps.Clone(in.Undecodable)
	for _, f := range s.inputs {
		row := f.row(s.opts.Now())
		for reason, n := range row.Lost {
			in.Undecodable[reason] += n
		}
		p.Sources = append(p.Sources, row)
	}
	r := report.New(snap.totals, in, report.DefaultMinFidelity, dynamo.Advice)
	p.Pools, p.Notes = r.Pools, r.Notes
	return p
}

func (f *feed) row(now time.Time) sourceRow {
	row := sourceRow{Snapshot: f.stats.Snapshot(), Lost: map[string]uint64{}}
	row.Lag = time.Duration(row.LagSeconds(now) * float64(time.Second)).Round(time.Millisecond)
	f.mu.Lock()
	defer f.mu.Unlock()
	row.Decisions = f.decisions
	for reason, n := range f.lost {
		if n > 0 {
			row.Lost[reason] = n
		}
	}
	return row
}

// decisionPage is what the page of one decision shows.
type decisionPage struct {
	Recent
	Explanation *decision.Explanation
}

// render writes a page, or an error if the template fails halfway.
func (s *Service) render(w http.ResponseWriter, status int, name string, data any) {
	var b bytes.Buffer
	if err := templates.ExecuteTemplate(&b, name, data); err != nil {
		s.log.Error("page", "name", name, "err", err)
		http.Error(w, "the page can't be shown; see the log", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'")
	w.WriteHeader(status)
	_, _ = b.WriteTo(w) // fails only when the client has gone
}
