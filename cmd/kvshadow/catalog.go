package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/kvshadow/kvshadow/alerts"
	"github.com/kvshadow/kvshadow/catalog"
	"github.com/kvshadow/kvshadow/catalog/diff"
	"github.com/kvshadow/kvshadow/dashboards"
	"github.com/kvshadow/kvshadow/internal/artifact"
)

func newCatalog() *cobra.Command {
	c := &cobra.Command{
		Use:   "catalog",
		Short: "Write the reference of all metrics, or compare two of them",
		Args:  noArgs,
		RunE:  func(c *cobra.Command, _ []string) error { return c.Help() },
	}
	c.AddCommand(newCatalogGenerate(), newCatalogDiff())
	return c
}

func newCatalogGenerate() *cobra.Command {
	var dir string
	var check bool
	c := &cobra.Command{
		Use:   "generate --dir DIR",
		Short: "Write metrics.md, metrics.mdx and metrics.json",
		Example: `  kvshadow catalog generate --dir docs
  kvshadow catalog generate --dir docs --check`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			files, err := catalog.Generate(catalog.UsageOf(generatedUses()))
			if err != nil {
				return err
			}
			if check {
				return checkFiles(c, dir, files)
			}
			_, err = artifact.Write(dir, files)
			return err
		},
	}
	c.Flags().StringVar(&dir, "dir", "", "`DIR` to write to; it is made if there is none")
	c.Flags().BoolVar(&check, "check", false, "write nothing; fail if a file in the folder differs")
	_ = c.MarkFlagRequired("dir") // fails only for a flag that doesn't exist
	return c
}

// generatedUses are the places of the dashboards and rules that read metrics.
func generatedUses() []catalog.Use { return append(dashboards.Uses(), alerts.Uses()...) }

func checkFiles(c *cobra.Command, dir string, files []artifact.File) error {
	failed := false
	for _, f := range files {
		name := filepath.Join(dir, f.Name)
		text, err := os.ReadFile(name)
		switch {
		case errors.Is(err, os.ErrNotExist):
			fmt.Fprintf(c.OutOrStdout(), "%s is missing\n", name)
		case err != nil:
			return err
		case bytes.Equal(text, f.Data):
			continue
		default:
			fmt.Fprintf(c.OutOrStdout(), "%s differs from the definitions\n", name)
		}
		failed = true
	}
	if failed {
		return &failure{fmt.Errorf("run kvshadow catalog generate --dir %s", dir)}
	}
	return nil
}

func newCatalogDiff() *cobra.Command {
	var timeout time.Duration
	c := &cobra.Command{
		Use:   "diff OLD NEW",
		Short: "Tell what changed between two catalogs or metrics pages",
		Long: `Tell what changed between OLD and NEW, each a metrics.json, a file with a
metrics page, or the address of one. Fails if a stable metric was removed,
renamed or changed.`,
		Example: `  kvshadow catalog diff docs/metrics.json http://localhost:9871/metrics
  kvshadow catalog diff dynamo-1.5.1.metrics.txt http://frontend:8000/metrics`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) != 2 {
				return errors.New("catalog diff takes two arguments: OLD and NEW")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return runCatalogDiff(c, args[0], args[1], timeout) },
	}
	c.Flags().DurationVar(&timeout, "timeout", defaultFetchTimeout, "give up on an address after this time")
	return c
}

func runCatalogDiff(c *cobra.Command, from, to string, timeout time.Duration) error {
	sides := make([]diff.Side, 2)
	for i, location := range []string{from, to} {
		ctx, cancel := context.WithTimeout(c.Context(), timeout)
		side, err := diff.Read(ctx, location)
		cancel()
		if err != nil {
			return err
		}
		sides[i] = side
	}
	changes, err := diff.Compare(sides[0], sides[1])
	if err != nil {
		return err
	}
	for _, change := range changes {
		fmt.Fprintln(c.OutOrStdout(), change)
	}
	switch n := diff.Breaks(changes); {
	case n == 1:
		return &failure{errors.New("1 change to a stable metric")}
	case n > 1:
		return &failure{fmt.Errorf("%d changes to stable metrics", n)}
	}
	return nil
}
