package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	vm "github.com/VictoriaMetrics/metrics"
	"github.com/prometheus/common/expfmt"
	"github.com/spf13/cobra"

	"github.com/kvshadow/kvshadow/exporter"
)

// pushFlags are the flags for networks where nothing can scrape.
type pushFlags struct {
	url      string
	interval time.Duration
	labels   string
}

func (f *pushFlags) add(c *cobra.Command) {
	c.Flags().StringVar(&f.url, "push.url", "", "`URL` that takes Prometheus text, such as VictoriaMetrics' /api/v1/import/prometheus, to push the metrics to")
	c.Flags().DurationVar(&f.interval, "push.interval", 15*time.Second, "`TIME` between pushes")
	c.Flags().StringVar(&f.labels, "push.labels", "", "`LABELS` to add to every pushed series, such as instance=\"a\",job=\"b\"")
}

// start pushes the page of /metrics in the background until ctx ends.
func (f *pushFlags) start(ctx context.Context, s *exporter.Service) error {
	if f.url == "" {
		return nil
	}
	if f.interval <= 0 {
		return fmt.Errorf("--push.interval %s: must be longer than 0", f.interval)
	}
	gatherer := s.Gatherer()
	write := func(w io.Writer) {
		families, err := gatherer.Gather()
		if err != nil {
			return // the same error is logged and answered at /metrics
		}
		for _, family := range families {
			_, _ = expfmt.MetricFamilyToText(w, family) // w is a buffer
		}
	}
	err := vm.InitPushExtWithOptions(ctx, f.url, f.interval, write, &vm.PushOptions{ExtraLabels: f.labels})
	if err != nil {
		return errors.New("--push: " + err.Error())
	}
	return nil
}
