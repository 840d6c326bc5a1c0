package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/kvshadow/kvshadow/alerts"
	"github.com/kvshadow/kvshadow/internal/artifact"
)

func newAlerts() *cobra.Command {
	c := &cobra.Command{
		Use:     "alerts",
		Short:   "Generate recording rules and alerts",
		Example: "  kvshadow alerts generate --dir rules",
		Args:    noArgs,

		SuggestionsMinimumDistance: 2,
		RunE:                       func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newAlertsGenerate())
	return c
}

// alertsFlags are the flags of the alerts generate verb.
type alertsFlags struct {
	dir, format, thresholds, runbooks, grafana string
}

func newAlertsGenerate() *cobra.Command {
	var f alertsFlags
	c := &cobra.Command{
		Use:   "generate --dir DIR",
		Short: "Write recording rules and alerts for Prometheus and VictoriaMetrics",
		Long: `generate writes the recording rules and alerts for routing quality, for
kvshadow's own input, and for Dynamo's router metrics: as a rule file for
Prometheus or vmalert, as a PrometheusRule, and as a VMRule.

A thresholds file holds any part of the defaults; docs/runbooks/README.md lists
the alerts, and alerts/thresholds.yaml every value.`,
		Example: `  kvshadow alerts generate --dir rules
  kvshadow alerts generate --dir deploy --format vmrule --thresholds thresholds.yaml
  kvshadow alerts generate --dir rules --grafana https://grafana.example.com`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return f.generate(c) },
	}
	c.Flags().StringVar(&f.dir, "dir", "", "`DIR` to write into; it is made")
	c.Flags().StringVar(&f.format, "format", "all", "`FORMAT`: rules, prometheusrule, vmrule or all")
	c.Flags().StringVar(&f.thresholds, "thresholds", "", "`FILE` with thresholds that differ from the defaults")
	c.Flags().StringVar(&f.runbooks, "runbooks", alerts.DefaultRunbooks, "`URL` of the folder with the runbook pages; empty leaves the links out")
	c.Flags().StringVar(&f.grafana, "grafana", "", "`URL` of the Grafana server that has kvshadow's dashboards; links are relative without it")
	return c
}

func (f *alertsFlags) generate(c *cobra.Command) error {
	if f.dir == "" {
		return errors.New("--dir is missing: name the folder to write into")
	}
	formats, err := alerts.ParseFormats(f.format)
	if err != nil {
		return fmt.Errorf("--format: %w", err)
	}
	o := alerts.Default()
	o.Runbooks, o.Panels = f.runbooks, alerts.Dashboards(f.grafana)
	if f.thresholds != "" {
		data, err := os.ReadFile(f.thresholds)
		if err != nil {
			return fmt.Errorf("--thresholds: %w", err)
		}
		if o.Thresholds, err = alerts.ParseThresholds(f.thresholds, data); err != nil {
			return err
		}
	}
	files, err := alerts.Generate(o, formats)
	if err != nil {
		return err
	}
	written, err := artifact.Write(f.dir, files)
	if err != nil {
		return err
	}
	for _, name := range written {
		fmt.Fprintln(c.ErrOrStderr(), "wrote "+name)
	}
	return nil
}
