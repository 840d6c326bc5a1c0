package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/spf13/cobra"

	"github.com/kvshadow/kvshadow/analyzer/router/dynamo"
	"github.com/kvshadow/kvshadow/analyzer/twin"
)

// twinFlags say what request traces leave out about the fleet.
type twinFlags struct {
	gpuBlocks     int
	routerMetrics string
	ttl           time.Duration
	handoff       time.Duration
}

func (f *twinFlags) add(c *cobra.Command) {
	c.Flags().IntVar(&f.gpuBlocks, "gpu-blocks", 0, "KV capacity of a worker rank in `BLOCKS`, where the input doesn't tell it")
	c.Flags().StringVar(&f.routerMetrics, "router-metrics", "", "`URL` of the frontend's metrics, which tell the KV capacity of each model's ranks")
	c.Flags().DurationVar(&f.ttl, "approximate-ttl", 0, "the router runs without KV events and believes a prompt cached for this `TIME` (its default is 120s)")
	c.Flags().DurationVar(&f.handoff, "handoff", twin.DefaultHandoff, "`TIME` for which a prefill worker keeps a prompt's blocks after the first token")
}

// options returns the flags' meaning; it asks the router for capacities.
func (f *twinFlags) options(ctx context.Context) (twin.Options, error) {
	o, err := f.static()
	if err == nil && f.routerMetrics != "" {
		if o.Capacities, err = fetchCapacities(ctx, f.routerMetrics); err != nil {
			err = fmt.Errorf("--router-metrics: %w", err)
		}
	}
	return o, err
}

// static returns the flags' meaning without asking anyone.
func (f *twinFlags) static() (twin.Options, error) {
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

// maxPage bounds a metrics page that is fetched.
const maxPage = 64 << 20

func fetchCapacities(ctx context.Context, url string) (map[string]int, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return nil, err
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answers %s", url, answer.Status)
	}
	capacities, err := dynamo.ParseCapacities(io.LimitReader(answer.Body, maxPage))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", url, err)
	}
	return capacities, nil
}
