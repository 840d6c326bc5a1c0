package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/kvshadow/kvshadow/analyzer"
	"github.com/kvshadow/kvshadow/analyzer/decision"
	"github.com/kvshadow/kvshadow/analyzer/report"
)

func newExplain() *cobra.Command {
	var policies policyFlags
	var fleet twinFlags
	var id string
	c := &cobra.Command{
		Use:   "explain INPUT... --request ID [--policies FILE]",
		Short: "Show how each policy judges the decisions of one request",
		Long: `explain prints, for each decision of a request and each policy: every
candidate's terms in blocks, whom the policy picks and by how much, and, weight
by weight, the smallest change that alone would flip the pick. A disaggregated
request has two decisions, prefill and decode.

` + inputHelp,
		Example: `  kvshadow explain router.log --request 0bb50fb6-5cdb-4580-a30a-06ce732f554e
  kvshadow explain router.log --request $ID --policies policies.yaml`,
		Args: inputArgs,
		RunE: func(c *cobra.Command, args []string) error {
			if id == "" {
				return errors.New("--request: is empty, and decisions without an id can't be told apart")
			}
			opts, err := fleet.options(c.Context())
			if err != nil {
				return err
			}
			list, err := policies.load(c.ErrOrStderr())
			if err != nil {
				return err
			}
			var found []*decision.Decision
			in, err := readInputs(c, args, opts, func(d *decision.Decision) {
				if d.RequestID == id {
					found = append(found, d.Clone())
				}
			})
			if err != nil {
				return err
			}
			if len(found) == 0 {
				return fmt.Errorf("no decision of request %q among the %d decisions of the input", id, in.Decisions)
			}
			return explainAll(c, analyzer.NewEngine(list), found)
		},
	}
	policies.add(c)
	fleet.add(c)
	c.Flags().StringVar(&id, "request", "", "`ID` of the request")
	if err := c.MarkFlagRequired("request"); err != nil {
		panic(err) // the flag was defined above
	}
	return c
}

func explainAll(c *cobra.Command, engine *analyzer.Engine, found []*decision.Decision) error {
	for i, d := range found {
		if i > 0 {
			fmt.Fprintln(c.OutOrStdout())
		}
		e, err := engine.Explain(d)
		if err != nil {
			return fmt.Errorf("%s decision of request %s: %w", d.WorkerType, d.RequestID, err)
		}
		if err := report.WriteExplanation(c.OutOrStdout(), e); err != nil {
			return err
		}
	}
	return nil
}
