package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kvshadow/kvshadow/analyzer/router/dynamo"
)

func newPolicies() *cobra.Command {
	c := &cobra.Command{
		Use:   "policies",
		Short: "Check policies files",
		Long: `A policies file names the live weights and the candidates to compare with. It
is either the file that Dynamo deploys (worker_selection.instances[]: each
instance is a policy), or the short form:

    live: {parameters: {}}            # what production runs; defaults if left out
    policies:
      - {name: affinity-4, parameters: {prefix_affinity_weight: 4}}
      - {name: scale-4,    parameters: {prefill_load_scale: 4}}

Parameters:
    ` + strings.Join(dynamo.ParameterNames(), "\n    ") + `
docs/policies.md describes each with its unit, range and default.`,
		Example: "  kvshadow policies validate policies.yaml",
		Args:    noArgs,

		SuggestionsMinimumDistance: 2,
		RunE:                       func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(&cobra.Command{
		Use:     "validate FILE",
		Short:   "Check a policies file and list its policies",
		Example: "  kvshadow policies validate policies.yaml",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 1 {
				return fmt.Errorf("name one policies file; %d are given", len(args))
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			p, err := dynamo.LoadPolicies(args[0])
			if err != nil {
				return err
			}
			for _, w := range p.Notices() {
				fmt.Fprintf(c.ErrOrStderr(), "%s: %s\n", args[0], w)
			}
			for _, x := range p.Policies() {
				changed := "defaults"
				if weights := x.Changed(); len(weights) > 0 {
					changed = strings.Join(weights, " ")
				}
				fmt.Fprintf(c.OutOrStdout(), "%s: %s\n", x.Name, changed)
			}
			return nil
		},
	})
	return c
}
