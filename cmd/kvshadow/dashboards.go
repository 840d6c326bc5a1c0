package main

import (
	"errors"
	"fmt"
	"net/url"
	"os"

	"github.com/spf13/cobra"

	"github.com/kvshadow/kvshadow/dashboards"
	"github.com/kvshadow/kvshadow/internal/artifact"
)

// tokenVariable is the environment variable with Grafana's token: a flag would
// show in the list of processes and in shell histories.
const tokenVariable = "GRAFANA_TOKEN"

// dashboardFlags are the flags that say which dashboards to make.
type dashboardFlags struct {
	datasource string
	exporter   string
}

func newDashboards() *cobra.Command {
	c := &cobra.Command{
		Use:   "dashboards",
		Short: "Generate the Grafana dashboards, or push them to a Grafana server",
		Long: `The dashboards are "KV routing quality" (the router's own metrics), "Shadow
evaluation" (live against each candidate policy) and "kvshadow itself". They
name nothing but metrics of the catalog, and ask for data source, job,
namespace, model, worker type and policy by variables.`,
		Args: noArgs,

		SuggestionsMinimumDistance: 2,
		RunE:                       func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newDashboardsGenerate(), newDashboardsPush())
	return c
}

func (f *dashboardFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&f.datasource, "datasource", string(dashboards.Prometheus), "`PLUGIN` of the data source: prometheus (also for VictoriaMetrics added as such) or victoriametrics, its own plug-in")
	c.Flags().StringVar(&f.exporter, "exporter-url", dashboards.DefaultExporterURL, "`URL` where browsers reach kvshadow serve, for links to decisions")
}

func (f *dashboardFlags) options() (dashboards.Options, error) {
	flavor, err := dashboards.ParseFlavor(f.datasource)
	if err != nil {
		return dashboards.Options{}, fmt.Errorf("--datasource: %w", err)
	}
	if u, err := url.Parse(f.exporter); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return dashboards.Options{}, fmt.Errorf("--exporter-url %q: want http://HOST or https://HOST, and the path if there is one", f.exporter)
	}
	return dashboards.Options{Flavor: flavor, ExporterURL: f.exporter}, nil
}

func newDashboardsGenerate() *cobra.Command {
	var f dashboardFlags
	var dir, format string
	c := &cobra.Command{
		Use:   "generate --dir DIR",
		Short: "Write the dashboards as files",
		Long: `generate writes the dashboards below DIR, each format in a folder of its own:
  json               a file each, to import by hand
  provisioning       for Grafana's provisioning/dashboards
  configmap          Kubernetes objects with the label that Grafana's sidecar looks for
  grafana-dashboard  resources of grafana-operator`,
		Example: `  kvshadow dashboards generate --dir out
  kvshadow dashboards generate --dir out --format configmap --exporter-url https://kvshadow.example.com`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if dir == "" {
				return errors.New("name the folder to write to: --dir DIR")
			}
			formats, err := dashboards.ParseFormats(format)
			if err != nil {
				return fmt.Errorf("--format: %w", err)
			}
			o, err := f.options()
			if err != nil {
				return err
			}
			files, err := dashboards.Generate(o, formats...)
			if err != nil {
				return err
			}
			written, err := artifact.Write(dir, files)
			for _, name := range written {
				fmt.Fprintln(c.OutOrStdout(), name)
			}
			return err
		},
	}
	f.add(c)
	c.Flags().StringVar(&dir, "dir", "", "`DIR` to write to; it is made if there is none")
	c.Flags().StringVar(&format, "format", "all", "`FORMAT`: json, provisioning, configmap, grafana-dashboard or all")
	return c
}

func newDashboardsPush() *cobra.Command {
	var f dashboardFlags
	o := dashboards.PushOptions{}
	c := &cobra.Command{
		Use:   "push --grafana URL",
		Short: "Create or update the dashboards on a Grafana server",
		Long: `push sends the dashboards to a Grafana server, into a folder that is made if
there is none. A dashboard that is there already is replaced only if kvshadow
generated it, in this revision or an earlier one, and nobody edited it since;
--overwrite replaces it anyhow. All are checked before the first is written.

The token of a service account with the role Editor is read from the
environment variable ` + tokenVariable + `.`,
		Example: `  GRAFANA_TOKEN=... kvshadow dashboards push --grafana https://grafana.example.com --dry-run`,
		Args:    noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if o.URL == "" {
				return errors.New("name the server: --grafana URL")
			}
			options, err := f.options()
			if err != nil {
				return err
			}
			o.Token = os.Getenv(tokenVariable)
			done, err := dashboards.Push(c.Context(), o, dashboards.All(options))
			printPushed(c, done, o.DryRun)
			if errors.Is(err, dashboards.ErrRefused) {
				return &failure{err}
			}
			return err
		},
	}
	f.add(c)
	c.Flags().StringVar(&o.URL, "grafana", "", "`URL` of the Grafana server")
	c.Flags().StringVar(&o.Folder, "folder", "kvshadow", "`TITLE` of the folder to put them into; empty for none")
	c.Flags().BoolVar(&o.DryRun, "dry-run", false, "check, and tell what would be done; write nothing")
	c.Flags().BoolVar(&o.Overwrite, "overwrite", false, "replace dashboards that others made or edited")
	return c
}

func printPushed(c *cobra.Command, done []dashboards.Pushed, dry bool) {
	for _, x := range done {
		line := x.Action + "d " + x.What
		if dry {
			line = "would " + x.Action + " " + x.What
		}
		if x.URL != "" {
			line += ": " + x.URL
		}
		fmt.Fprintln(c.OutOrStdout(), line)
	}
}
