package main

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kvshadow/kvshadow/analyzer"
	"github.com/kvshadow/kvshadow/analyzer/fleet"
	"github.com/kvshadow/kvshadow/analyzer/input"
	"github.com/kvshadow/kvshadow/analyzer/report"
	"github.com/kvshadow/kvshadow/analyzer/router/dynamo"
)

// simulateFlags are the flags of the simulate verb.
type simulateFlags struct {
	policies policyFlags
	workers  string
	workload analyzer.WorkloadOptions
	config   fleet.Config
	seeds    int
	timing   string
	format   string
}

func newSimulate() *cobra.Command {
	f := simulateFlags{config: fleet.Config{Timing: fleet.MockTiming()}}
	c := &cobra.Command{
		Use:   "simulate TRACE... --workers N|P+D --gpu-blocks N --block-size N --max-num-seqs N [--policies FILE]",
		Short: "Simulate the fleet under each policy, closed loop",
		Long: `simulate runs the requests of a trace through a model of the whole fleet, once
for each policy and seed: choices change the caches and loads that later choices
meet, and the engine's queue, steps and evictions follow from both. It answers
what re-scoring can't: how many sessions stop moving, how many tokens are no
longer computed again, what happens to the time to first token.

TRACE is a Mooncake-format trace (rows with session_id and delay are closed
loops) or a Dynamo request trace. For the latter the recorded figures stand
beside the simulated ones: their distance is how far to trust the model.

Engine steps take what Dynamo's mock engine takes, or what --timing says; kvshadow
calibrate fits that to a recorded trace.`,
		Example: `  kvshadow simulate trace.jsonl --workers 2 --gpu-blocks 512 --block-size 64 --max-num-seqs 8 --policies policies.yaml --seeds 10
  kvshadow simulate trace.jsonl.gz --workers 2+2 --gpu-blocks 16384 --block-size 512 --max-num-seqs 256 -o json`,
		Args: inputArgs,
		RunE: func(c *cobra.Command, args []string) error { return f.simulate(c, args) },
	}
	f.policies.add(c)
	c.Flags().StringVar(&f.workers, "workers", "", "`N` aggregated workers, or P+D prefill and decode workers")
	c.Flags().IntVar(&f.config.GPUBlocks, "gpu-blocks", 0, "KV capacity of a worker rank in `BLOCKS`")
	c.Flags().IntVar(&f.config.BlockSize, "block-size", 0, "`TOKENS` of a KV block")
	c.Flags().IntVar(&f.config.MaxNumSeqs, "max-num-seqs", 0, "`REQUESTS` that a rank runs at once")
	c.Flags().IntVar(&f.config.MaxBatchedTokens, "max-num-batched-tokens", fleet.DefaultMaxBatchedTokens, "`TOKENS` that a step computes at most")
	c.Flags().IntVar(&f.config.Ranks, "dp", 1, "data-parallel `RANKS` of a worker")
	c.Flags().Float64SliceVar(&f.config.JoinMs, "join-ms", nil, "`TIMES` in ms at which the first, second, ... worker appears")
	c.Flags().Float64Var(&f.config.TransferMs, "transfer-ms", 0, "`TIME` in ms for a prompt's KV cache from a prefill to a decode worker")
	c.Flags().IntVar(&f.workload.HashTokens, "trace-block-size", 0, "`TOKENS` that a hash of a Mooncake trace stands for (default: the block size)")
	c.Flags().BoolVar(&f.workload.Closed, "closed-sessions", false, "let turns of a recorded session wait for the turn before, with the recorded pause")
	c.Flags().IntVar(&f.seeds, "seeds", 1, "`N` independent worlds of each policy (ties and softmax are drawn)")
	c.Flags().StringVar(&f.timing, "timing", "", "`FILE` with step times, as kvshadow calibrate writes it")
	c.Flags().StringVarP(&f.format, "output", "o", "text", "`FORMAT` of the report: "+strings.Join(report.Formats, ", "))
	for _, name := range []string{"workers", "gpu-blocks", "block-size", "max-num-seqs"} {
		if err := c.MarkFlagRequired(name); err != nil {
			panic(err) // the flag was defined above
		}
	}
	return c
}

func (f *simulateFlags) simulate(c *cobra.Command, args []string) (err error) {
	if err := f.check(); err != nil {
		return err
	}
	policies, err := f.policies.load(c.ErrOrStderr())
	if err != nil {
		return err
	}
	if f.timing != "" {
		if f.config.Timing, err = fleet.LoadTiming(f.timing); err != nil {
			return err
		}
	}
	files, err := input.Open(args, &interruptible{ctx: c.Context(), r: c.InOrStdin()})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, files.Close()) }()
	f.workload.BlockSize = f.config.BlockSize
	load, recorded, notes, err := analyzer.ReadWorkload(c.Context(), files, f.workload)
	if err != nil {
		return err
	}
	worlds, done := steps(c.ErrOrStderr(), len(policies)*f.seeds, "simulating")
	x := fleet.Experiment{Config: f.config, Workload: load, Policies: len(policies), Seeds: f.seeds, Done: worlds,
		Chooser: func() fleet.Chooser { return dynamo.NewScorer(policies) }}
	results, err := x.Run(c.Context())
	done()
	if err != nil {
		return err
	}
	names := make([]string, len(policies))
	for i, p := range policies {
		names[i] = p.Name
	}
	s := report.NewSimulation(names, results)
	s.Recorded, s.Notes = recorded, notes
	return s.Write(c.OutOrStdout(), f.format)
}

// check refuses flags that make no sense together and splits --workers.
func (f *simulateFlags) check() error {
	prefill, decode, disaggregated := strings.Cut(f.workers, "+")
	counts := []*int{&f.config.Workers}
	texts := []string{prefill}
	if disaggregated {
		counts, texts = []*int{&f.config.PrefillWorkers, &f.config.DecodeWorkers}, []string{prefill, decode}
	}
	for i, text := range texts {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return fmt.Errorf("--workers %q: want a number of workers, or prefill and decode workers as in 2+3", f.workers)
		}
		*counts[i] = n
	}
	for _, x := range []struct {
		flag string
		n    int
	}{{"gpu-blocks", f.config.GPUBlocks}, {"block-size", f.config.BlockSize}, {"max-num-seqs", f.config.MaxNumSeqs},
		{"max-num-batched-tokens", f.config.MaxBatchedTokens}, {"dp", f.config.Ranks}, {"seeds", f.seeds}} {
		if x.n < 1 {
			return fmt.Errorf("--%s %d: must be at least 1", x.flag, x.n)
		}
	}
	if !(f.config.TransferMs >= 0) { // nor NaN
		return fmt.Errorf("--transfer-ms %v: must not be negative", f.config.TransferMs)
	}
	for _, ms := range f.config.JoinMs {
		if !(ms >= 0) {
			return fmt.Errorf("--join-ms %v: must not be negative", ms)
		}
	}
	if f.workload.HashTokens < 0 {
		return fmt.Errorf("--trace-block-size %d: must not be negative", f.workload.HashTokens)
	}
	if !slices.Contains(report.Formats, f.format) {
		return fmt.Errorf("--output %q: allowed are %s", f.format, strings.Join(report.Formats, ", "))
	}
	return nil
}
