package promql_test

import (
	"fmt"

	"github.com/kvshadow/kvshadow/internal/promql"
)

func Example() {
	series := promql.Select("kvshadow_decisions_total", promql.Is("worker_type", "prefill"), promql.Like("job", `kv\d`))
	fmt.Println(promql.By("sum", "rate("+series+"[5m])", "job", "worker_type"))
	fmt.Println(promql.By("max", promql.Select("up")))
	// Output:
	// sum by (job, worker_type) (rate(kvshadow_decisions_total{worker_type="prefill", job=~"kv\\d"}[5m]))
	// max(up)
}
