package main

import (
	"fmt"
	"runtime/debug"

	"github.com/prometheus/common/version"
	"github.com/spf13/cobra"
)

func newVersion() *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Example: "  kvshadow version",
		Args:    noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			_, err := fmt.Fprintf(c.OutOrStdout(), "kvshadow %s (revision %s, %s, %s/%s)\n",
				release(), version.GetRevision(), version.GoVersion, version.GoOS, version.GoArch)
			return err
		},
	}
}

// release is the version that the build set, or else the module's.
func release() string {
	if version.Version != "" {
		return version.Version
	}
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		return info.Main.Version
	}
	return "(devel)"
}
