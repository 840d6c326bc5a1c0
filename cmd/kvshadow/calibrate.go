package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"github.com/kvshadow/kvshadow/analyzer"
	"github.com/kvshadow/kvshadow/analyzer/fleet"
	"github.com/kvshadow/kvshadow/analyzer/input"
)

// calibrateFlags are the flags of the calibrate verb.
type calibrateFlags struct {
	gpuBlocks, blockSize int
	output               string
}

func newCalibrate() *cobra.Command {
	var f calibrateFlags
	c := &cobra.Command{
		Use:   "calibrate TRACE... --gpu-blocks N --block-size N",
		Short: "Fit engine step times to recorded requests, for simulate",
		Long: `calibrate fits how long an engine's steps take to the request traces that its
router recorded: prefill by the uncached tokens of a prompt, decode by the share
of the KV capacity that all decoding sequences of a worker take. It says how well
each fits and writes the timing file that simulate --timing reads.

Requests that queued or shared their steps took longer than their own work; those
are corrected for or left out, and counted. Simulate the same trace afterwards:
the distance of the simulated figures from the recorded ones is how far to trust
the timing.`,
		Example: `  kvshadow calibrate trace.jsonl --gpu-blocks 512 --block-size 64 -o timing.yaml
  kvshadow simulate trace.jsonl --timing timing.yaml --workers 2 --gpu-blocks 512 --block-size 64 --max-num-seqs 8`,
		Args: inputArgs,
		RunE: func(c *cobra.Command, args []string) error { return f.calibrate(c, args) },
	}
	c.Flags().IntVar(&f.gpuBlocks, "gpu-blocks", 0, "KV capacity of a worker rank in `BLOCKS`")
	c.Flags().IntVar(&f.blockSize, "block-size", 0, "`TOKENS` of a KV block")
	c.Flags().StringVarP(&f.output, "output", "o", "-", "`FILE` to write; - for standard output")
	for _, name := range []string{"gpu-blocks", "block-size"} {
		if err := c.MarkFlagRequired(name); err != nil {
			panic(err) // the flag was defined above
		}
	}
	return c
}

func (f *calibrateFlags) calibrate(c *cobra.Command, args []string) (err error) {
	for _, x := range []struct {
		flag string
		n    int
	}{{"gpu-blocks", f.gpuBlocks}, {"block-size", f.blockSize}} {
		if x.n < 1 {
			return fmt.Errorf("--%s %d: must be at least 1", x.flag, x.n)
		}
	}
	files, err := input.Open(args, &interruptible{ctx: c.Context(), r: c.InOrStdin()})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, files.Close()) }()
	requests, notes, err := analyzer.ReadLifecycles(c.Context(), files)
	for _, n := range notes {
		fmt.Fprintln(c.ErrOrStderr(), n)
	}
	if err != nil {
		return err
	}
	fitted, err := fleet.Calibrate(requests, f.gpuBlocks*f.blockSize)
	if err != nil {
		return err
	}
	if f.output == "-" {
		return fitted.WriteYAML(c.OutOrStdout())
	}
	file, err := os.Create(f.output)
	if err != nil {
		return err
	}
	if err := errors.Join(fitted.WriteYAML(file), file.Close()); err != nil {
		return err
	}
	fmt.Fprintf(c.OutOrStdout(), "%s\n%s\n", fitted.Prefill.Text("prefill", "tokens"), fitted.Decode.Text("decode", "of the KV capacity"))
	return nil
}
