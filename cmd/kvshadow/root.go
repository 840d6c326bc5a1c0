package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

const longHelp = `kvshadow answers one question about KV-cache-aware LLM routers: what would
another set of routing weights have done with the traffic just served?

It reads what the router already writes (log rows, request traces, or neutral
decision records), re-scores every decision under any number of candidate weight
sets, and reports what each would have kept, lost and moved: once, over files
(analyze, explain), or all the time, as Prometheus counters (serve). What would
become of the fleet then, simulate says.

Exit codes: 0 fine, 1 a check or verdict failed, 2 usage or unreadable input.`

func newRoot() *cobra.Command {
	root := &cobra.Command{
		Use:           "kvshadow",
		Short:         "Re-score the decisions of KV-cache-aware LLM routers under other weights",
		Long:          longHelp,
		SilenceUsage:  true,
		SilenceErrors: true,
		Args:          noArgs,
		RunE:          func(c *cobra.Command, _ []string) error { return c.Help() },

		SuggestionsMinimumDistance: 2,
	}
	root.AddCommand(newAlerts(), newAnalyze(), newCalibrate(), newCatalog(), newDashboards(), newExplain(), newPolicies(), newServe(), newSimulate(), newVerify(), newVersion())
	return root
}

// noArgs refuses arguments: for a verb with sub-commands they are unknown ones.
func noArgs(c *cobra.Command, args []string) error {
	switch {
	case len(args) == 0:
		return nil
	case !c.HasAvailableSubCommands():
		return fmt.Errorf("%s takes no arguments, is given %q", c.CommandPath(), args[0])
	}
	hint := fmt.Sprintf("see %s --help", c.CommandPath())
	if names := c.SuggestionsFor(args[0]); len(names) > 0 {
		hint = fmt.Sprintf("did you mean %s?", strings.Join(names, " or "))
	}
	return fmt.Errorf("unknown command %q for %q: %s", args[0], c.CommandPath(), hint)
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
