package exporter

import (
	"fmt"
	"net/http"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors/version"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	_ "github.com/prometheus/client_golang/prometheus/promhttp/zstd" // a zstd page for those who ask

	"github.com/kvshadow/kvshadow/exporter/source"
)

// Registry returns a registry with the service's own metrics, without those of
// the process.
func (s *Service) Registry() *prometheus.Registry {
	r := prometheus.NewPedanticRegistry()
	r.MustRegister(newCollector(s.state), s.losses.vec, newSourceCollector(s.inputs, s.opts.Now), newRebuiltCollector(&s.rebuilt))
	return r
}

// Gatherer returns everything that /metrics shows.
func (s *Service) Gatherer() prometheus.Gatherer {
	r := s.Registry()
	r.MustRegister(version.NewCollector("kvshadow"))
	return prometheus.Gatherers{r, newProcessGatherer()}
}

// Handler serves the metrics, the pages and the API.
func (s *Service) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(s.Gatherer(), promhttp.HandlerOpts{
		EnableOpenMetrics: true,
		ErrorLog:          errorLog{s},
	}))
	mux.HandleFunc("GET /-/healthy", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprintln(w, "kvshadow is healthy.") })
	mux.HandleFunc("GET /-/ready", s.serveReady)
	mux.HandleFunc("POST /-/reload", s.serveReload)
	mux.HandleFunc("PUT /-/reload", s.serveReload)
	mux.HandleFunc("GET /{$}", s.servePage)
	mux.HandleFunc("GET /decisions/{number}", s.serveDecision)
	if s.http != nil {
		mux.Handle(source.DecisionsPath, s.http)
	}
	return mux
}

// errorLog lets promhttp log through the service's logger.
type errorLog struct{ s *Service }

func (l errorLog) Println(v ...any) { l.s.log.Error("metrics page", "err", fmt.Sprint(v...)) }

func (s *Service) serveReady(w http.ResponseWriter, _ *http.Request) {
	if !s.ready.Load() {
		http.Error(w, "kvshadow is not ready.", http.StatusServiceUnavailable)
		return
	}
	fmt.Fprintln(w, "kvshadow is ready.")
}

func (s *Service) serveReload(w http.ResponseWriter, _ *http.Request) {
	if err := s.Reload(); err != nil {
		http.Error(w, "the policies were not reloaded, the old ones stay in use:\n"+err.Error(), http.StatusInternalServerError)
		return
	}
	fmt.Fprintln(w, "reloaded")
}

func (s *Service) servePage(w http.ResponseWriter, _ *http.Request) {
	s.render(w, http.StatusOK, "page.html", s.page())
}

func (s *Service) serveDecision(w http.ResponseWriter, r *http.Request) {
	number, err := strconv.ParseUint(r.PathValue("number"), 10, 64)
	if err != nil {
		s.render(w, http.StatusNotFound, "missing.html", "A decision's page is named by its number.")
		return
	}
	e, recent, err, found := s.state.explain(number)
	switch {
	case !found:
		s.render(w, http.StatusNotFound, "missing.html",
			fmt.Sprintf("Decision %d is not among the last %d. kvshadow explain --request finds it in the log.", number, keptDecisions))
	case err != nil:
		s.render(w, http.StatusOK, "missing.html", fmt.Sprintf("Decision %d can't be explained: %s.", number, err))
	default:
		s.render(w, http.StatusOK, "decision.html", decisionPage{recent, e})
	}
}
