package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/kvshadow/kvshadow/analyzer/twin"
)

// twinFlags say what request traces leave out about the fleet.
type twinFlags struct {
	gpuBlocks int
	ttl       time.Duration
	handoff   time.Duration
}

func (f *twinFlags) add(c *cobra.Command) {
	c.Flags().IntVar(&f.gpuBlocks, "gpu-blocks", 0, "KV capacity of a worker rank in `BLOCKS`, where the input doesn't tell it")
	c.Flags().DurationVar(&f.ttl, "approximate-ttl", 0, "the router runs without KV events and believes a prompt cached for this `TIME` (its default is 120s)")
	c.Flags().DurationVar(&f.handoff, "handoff", twin.DefaultHandoff, "`TIME` for which a prefill worker keeps a prompt's blocks after the first token")
}

func (f *twinFlags) options() (twin.Options, error) {
	switch {
	case f.gpuBlocks < 0:
		return twin.Options{}, fmt.Errorf("--gpu-blocks %d: must not be negative", f.gpuBlocks)
	case f.ttl < 0:
		return twin.Options{}, fmt.Errorf("--approximate-ttl %s: must not be negative", f.ttl)
	case f.handoff <= 0:
		return twin.Options{}, fmt.Errorf("--handoff %s: must be longer than 0", f.handoff)
	}
	return twin.Options{GPUBlocks: f.gpuBlocks, ApproximateTTL: f.ttl, Handoff: f.handoff}, nil
}
