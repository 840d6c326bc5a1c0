package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kvshadow/kvshadow/analyzer"
	"github.com/kvshadow/kvshadow/analyzer/decision"
	"github.com/kvshadow/kvshadow/analyzer/report"
	"github.com/kvshadow/kvshadow/analyzer/router/dynamo"
)

func newAnalyze() *cobra.Command {
	var policies policyFlags
	var fleet twinFlags
	var format string
	var minFidelity float64
	c := &cobra.Command{
		Use:   "analyze INPUT... [--policies FILE] [-o text|json|markdown|html]",
		Short: "Re-score recorded decisions and report what each policy would have done",
		Long: `analyze re-scores every decision of its inputs under the live policy and each
candidate, and reports per worker type: selections with less than the highest
overlap, overlap blocks lost, selections that would have gone elsewhere, missing
prefix blocks and load excess. First it checks that the live policy reproduces
what was recorded; below --min-fidelity it gives no verdict and exits with 1.

` + inputHelp,
		Example: `  kvshadow analyze router.log --policies policies.yaml
  kvshadow analyze trace.jsonl router.log --gpu-blocks 16384 --policies policies.yaml
  kvshadow analyze 'router.log*' -o json | jq '.pools[].policies'
  kubectl logs deploy/frontend | kvshadow analyze - --policies policies.yaml -o markdown`,
		Args: inputArgs,
		RunE: func(c *cobra.Command, args []string) error {
			if !slices.Contains(report.Formats, format) {
				return fmt.Errorf("--output %q: allowed are %s", format, strings.Join(report.Formats, ", "))
			}
			if !(minFidelity >= 0 && minFidelity <= 1) {
				return fmt.Errorf("--min-fidelity %v: must be between 0 and 1", minFidelity)
			}
			opts, err := fleet.options(c.Context())
			if err != nil {
				return err
			}
			list, err := policies.load(c.ErrOrStderr())
			if err != nil {
				return err
			}
			engine := analyzer.NewEngine(list)
			in, err := readInputs(c, args, opts, func(d *decision.Decision) { engine.Evaluate(d) })
			if err != nil {
				return err
			}
			r := report.New(engine.Totals(), in, minFidelity, dynamo.Advice)
			if err := r.Write(c.OutOrStdout(), format); err != nil {
				return err
			}
			if !r.Verdict() {
				return errFailed
			}
			return nil
		},
	}
	policies.add(c)
	fleet.add(c)
	c.Flags().StringVarP(&format, "output", "o", "text", "`FORMAT` of the report: "+strings.Join(report.Formats, ", "))
	c.Flags().Float64Var(&minFidelity, "min-fidelity", report.DefaultMinFidelity, "`SHARE` of reproduced decisions below which no verdict is given, 0 to 1")
	return c
}

// inputArgs asks for at least one input.
func inputArgs(c *cobra.Command, args []string) error {
	if len(args) == 0 {
		return fmt.Errorf("no input: name at least one file, or - for standard input (see kvshadow %s --help)", c.Name())
	}
	return nil
}
