package main

import (
	"errors"

	"github.com/spf13/cobra"
)

const longHelp = `kvshadow answers one question about KV-cache-aware LLM routers: what would
another set of routing weights have done with the traffic just served?

It reads what the router already writes (log rows, or neutral decision
records), re-scores every decision under any number of candidate weight sets,
and reports what each would have kept, lost and moved: once, over files
(analyze, explain), or all the time, as Prometheus counters (serve).

Exit codes: 0 fine, 1 a check or verdict failed, 2 usage or unreadable input.`

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:           "kvshadow",
		Short:         "Re-score the decisions of KV-cache-aware LLM routers under other weights",
		Long:          longHelp,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          cobra.NoArgs,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	root.AddCommand(newAnalyze(), newExplain(), newPolicies(), newServe(), newVersion())
	return root
}

// errFailed ends a run whose output already says what failed.
var errFailed = &failure{}

// failure is an error of exit code 1: a check or a verdict, not the usage.
type failure struct{ error }

func (f *failure) Error() string {
	if f.error == nil {
		return ""
	}
	return f.error.Error()
}

func exitCode(err error) int {
	var f *failure
	if errors.As(err, &f) {
		return 1
	}
	return 2
}
