package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/prometheus/common/promslog"
	"github.com/prometheus/exporter-toolkit/web"
	"github.com/spf13/cobra"

	"github.com/kvshadow/kvshadow/analyzer/router/dynamo"
	"github.com/kvshadow/kvshadow/exporter"
	"github.com/kvshadow/kvshadow/exporter/demo"
	"github.com/kvshadow/kvshadow/exporter/source"
)

// drainTime bounds how long open requests may take at shutdown.
const drainTime = 10 * time.Second

// serveFlags are the flags of the serve verb.
type serveFlags struct {
	policies  policyFlags
	fleet     twinFlags
	wait      time.Duration
	sources   []string
	demo      bool
	consumer  string
	startAt   string
	listen    []string
	socket    bool
	config    string
	logLevel  string
	logFormat string
	push      pushFlags
}

func newServe() *cobra.Command {
	var f serveFlags
	c := &cobra.Command{
		Use:   "serve --source SOURCE... [--policies FILE]",
		Short: "Evaluate decisions as they come and export the sums to Prometheus",
		Long: `serve follows its sources, re-scores every decision under each policy, and
serves the sums: /metrics (Prometheus text, OpenMetrics with exemplars,
protobuf), / (a page with the last decisions, each with its explanation),
/-/healthy, /-/ready and /-/reload (POST; SIGHUP does the same). A policies file
that can't be loaded leaves the old policies in use.

A SOURCE is one of
  file:GLOB  files that match, now or later; rotation by rename or truncation is
             followed, compressed ones are read once
  stdin:     standard input
  http:      batches of kvshadow.decision.v1 records, POSTed to
             /api/v1/decisions as NDJSON (gzip and zstd bodies are taken)
  nats://HOST:PORT/SUBJECT
             request traces, from a JetStream stream if one holds the subject

On SIGTERM or Ctrl-C the sources stop, what is queued is evaluated, and open
requests finish.`,
		Example: `  kvshadow serve --demo
  kvshadow serve --source 'file:/var/log/dynamo/frontend*.log' --policies policies.yaml
  kubectl logs -f deploy/frontend | kvshadow serve --source stdin: --web.listen-address :9871`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return f.serve(c) },
	}
	f.policies.add(c)
	f.fleet.add(c)
	c.Flags().DurationVar(&f.wait, "trace-wait", 30*time.Second, "`TIME` for which a decision waits for the traces of requests that began before it; at least as long as most requests take")
	c.Flags().StringArrayVar(&f.sources, "source", nil, "`SOURCE` of decisions, file:GLOB, stdin:, http: or nats://HOST:PORT/SUBJECT (repeatable)")
	c.Flags().BoolVar(&f.demo, "demo", false, "play embedded captures of real routers, over and over")
	c.Flags().StringVar(&f.consumer, "nats-consumer", "", "`NAME` of the JetStream consumer, which remembers what was read; processes that read a subject each for themselves need different ones (default made of the subject)")
	c.Flags().StringVar(&f.startAt, "start-at", "beginning", "`PLACE` where to start in files that exist at start-up: beginning or end")
	c.Flags().StringArrayVar(&f.listen, "web.listen-address", []string{":9871"}, "`ADDRESS` to listen on (repeatable)")
	c.Flags().BoolVar(&f.socket, "web.systemd-socket", false, "listen on the sockets that systemd passes instead")
	c.Flags().StringVar(&f.config, "web.config.file", "", "`FILE` with TLS and authentication settings, in the format of exporter-toolkit")
	c.Flags().StringVar(&f.logLevel, "log.level", "info", "least `LEVEL` that is logged: debug, info, warn or error")
	c.Flags().StringVar(&f.logFormat, "log.format", "logfmt", "`FORMAT` of the log: logfmt or json")
	f.push.add(c)
	return c
}

func (f *serveFlags) serve(c *cobra.Command) error {
	log, err := f.logger(c)
	if err != nil {
		return err
	}
	opts, err := f.options(c, log)
	if err != nil {
		return err
	}
	if err := web.Validate(f.config); err != nil {
		return fmt.Errorf("--web.config.file: %w", err)
	}
	service, err := exporter.New(opts)
	if err != nil {
		return err
	}
	if f.demo {
		log.Info("demo: playing recorded logs of real Dynamo 1.5.1 routers with mock workers, over and over")
	}
	ctx, cancel := context.WithCancel(c.Context())
	defer cancel()
	stopReload := reloadOnSignal(service)
	defer stopReload()
	if err := f.push.start(ctx, service); err != nil {
		return err
	}
	server := &http.Server{Handler: service.Handler(), ReadHeaderTimeout: 10 * time.Second}
	failed := make(chan error, 1)
	go func() {
		failed <- web.ListenAndServe(server, &web.FlagConfig{
			WebListenAddresses: &f.listen, WebSystemdSocket: &f.socket, WebConfigFile: &f.config,
		}, log)
		cancel() // without a listener there is nothing to serve
	}()
	err = service.Run(ctx) // until the context ends and everything queued is evaluated
	drain, stop := context.WithTimeout(context.Background(), drainTime)
	defer stop()
	err = errors.Join(err, server.Shutdown(drain))
	if e := <-failed; !errors.Is(e, http.ErrServerClosed) {
		err = errors.Join(err, e)
	}
	return err
}

func (f *serveFlags) logger(c *cobra.Command) (*slog.Logger, error) {
	level, format := promslog.NewLevel(), promslog.NewFormat()
	if err := level.Set(f.logLevel); err != nil {
		return nil, fmt.Errorf("--log.level: %w", err)
	}
	if err := format.Set(f.logFormat); err != nil {
		return nil, fmt.Errorf("--log.format: %w", err)
	}
	return promslog.New(&promslog.Config{Level: level, Format: format, Writer: c.ErrOrStderr()}), nil
}

func (f *serveFlags) options(c *cobra.Command, log *slog.Logger) (exporter.Options, error) {
	opts := exporter.Options{Demo: f.demo, Stdin: c.InOrStdin(), NATSConsumer: f.consumer, Logger: log}
	if err := source.CheckDurable(f.consumer); err != nil {
		return opts, fmt.Errorf("--nats-consumer %q: %w", f.consumer, err)
	}
	switch f.startAt {
	case "beginning":
	case "end":
		opts.FromEnd = true
	default:
		return opts, fmt.Errorf("--start-at %q: allowed are beginning and end", f.startAt)
	}
	if len(f.sources) == 0 && !f.demo {
		return opts, errors.New("no source: give at least one --source (file:GLOB, stdin:, http: or nats://HOST:PORT/SUBJECT), or --demo")
	}
	for _, text := range f.sources {
		spec, err := source.Parse(text)
		if err != nil {
			return opts, fmt.Errorf("--source: %w", err)
		}
		opts.Sources = append(opts.Sources, spec)
	}
	t, err := f.fleet.static()
	if err != nil {
		return opts, err
	}
	if url := f.fleet.routerMetrics; url != "" {
		opts.Capacities = func(ctx context.Context) (map[string]int, error) { return fetchCapacities(ctx, url) }
	}
	if f.wait <= 0 {
		return opts, fmt.Errorf("--trace-wait %s: must be longer than 0", f.wait)
	}
	opts.Twin, opts.Twin.Wait = t, f.wait
	opts.Policies = func() ([]dynamo.Policy, error) { return f.policies.load(c.ErrOrStderr()) }
	if f.demo && f.policies.file == "" {
		opts.Policies = func() ([]dynamo.Policy, error) { return demoPolicies(f.policies.live) }
	}
	return opts, nil
}

// demoPolicies returns the policies that come with the demo; live is the name of
// the one to take for the router's, if not empty.
func demoPolicies(live string) ([]dynamo.Policy, error) {
	p, err := dynamo.ParsePolicies("demo/policies.yaml", demo.Policies)
	if err != nil {
		return nil, err
	}
	if live != "" {
		if err := p.SetLive(live); err != nil {
			return nil, fmt.Errorf("--live: %w", err)
		}
	}
	return p.Policies(), nil
}

// reloadOnSignal reloads the policies at each SIGHUP.
func reloadOnSignal(s *exporter.Service) (stop func()) {
	hup := make(chan os.Signal, 1)
	signal.Notify(hup, syscall.SIGHUP)
	go func() {
		for range hup {
			_ = s.Reload() // logged and shown as a metric
		}
	}()
	return func() {
		signal.Stop(hup)
		close(hup)
	}
}
