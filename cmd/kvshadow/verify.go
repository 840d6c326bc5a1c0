package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kvshadow/kvshadow/catalog"
	"github.com/kvshadow/kvshadow/catalog/page"
	"github.com/kvshadow/kvshadow/catalog/verify"
)

// defaultFetchTimeout bounds the wait for a metrics page.
const defaultFetchTimeout = 10 * time.Second

type verifyFlags struct {
	against []string
	only    string
	timeout time.Duration
}

func newVerify() *cobra.Command {
	var f verifyFlags
	c := &cobra.Command{
		Use:   "verify --against URL|FILE",
		Short: "Check that a running process exposes every metric and label in use",
		Long: `Check that the metrics page of a running process, or a copy of it, has every
metric that is in use, with its labels and type. It tells which panel, rule or
page would find nothing, and why.

What a deployment or a release of the router legitimately lacks is noted, and
is no failure. With several --against the pages count as one.`,
		Example: `  kvshadow verify --against http://localhost:9871/metrics --only shadow
  kvshadow verify --against http://frontend:8000/metrics --only router`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return runVerify(c, f) },
	}
	c.Flags().StringArrayVar(&f.against, "against", nil, "address or file of a metrics page; may be repeated")
	c.Flags().StringVar(&f.only, "only", "", "check only what names the router's own metrics (router), or kvshadow's (shadow)")
	c.Flags().DurationVar(&f.timeout, "timeout", defaultFetchTimeout, "give up on an address after this time")
	_ = c.MarkFlagRequired("against") // fails only for a flag that doesn't exist
	return c
}

// allUses are the places that read metrics of the catalog: panels, variables,
// rules, and the reference page. What any process exposes (process_*, go_*) is
// left out, since not all of it exists on every system.
func allUses() []catalog.Use {
	all := slices.Concat(generatedUses(), catalog.DocumentedUses(catalog.Shadow()), catalog.DocumentedUses(catalog.Router()))
	return slices.DeleteFunc(all, func(u catalog.Use) bool { return catalog.SystemOf(u.Metric.Name) == "" })
}

func runVerify(c *cobra.Command, f verifyFlags) error {
	system := catalog.System(f.only)
	if system != "" && system != catalog.SystemShadow && system != catalog.SystemRouter {
		return fmt.Errorf("--only %s: it is router or shadow", f.only)
	}
	all := page.New()
	for _, location := range f.against {
		ctx, cancel := context.WithTimeout(c.Context(), f.timeout)
		p, err := page.Read(ctx, location)
		cancel()
		if err != nil {
			return err
		}
		all.Merge(p)
	}
	return printVerified(c, all, verify.Check(all, verify.Only(allUses(), system)))
}

func printVerified(c *cobra.Command, p *page.Page, r verify.Result) error {
	out := c.OutOrStdout()
	last := ""
	for _, n := range r.Notes { // a panel may read a metric in several places
		if line := fmt.Sprintf("note: %s", n); line != last {
			fmt.Fprintln(out, line)
			last = line
		}
	}
	for _, x := range r.Problems {
		fmt.Fprintf(out, "FAIL: %s\n", x)
	}
	if n := len(r.Problems); n > 0 {
		return &failure{errors.New(verify.Advice(p, r))}
	}
	fmt.Fprintf(out, "%d uses of metrics checked against %s: fine\n", r.Checked, strings.Join(p.Sources, ", "))
	return nil
}
