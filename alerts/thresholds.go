package alerts

import (
	_ "embed" // the default thresholds

	"github.com/prometheus/common/model"
)

// Thresholds is what the alerts call too much. The file format is that of
// thresholds.yaml, which describes each value and holds the defaults.
type Thresholds struct {
	// ScopeLabels tell deployments apart, on kvshadow's series and on the
	// router's alike.
	ScopeLabels []string

	OverlapLost struct {
		Common
		MinLostShare, MinLoadExcess, MinDecisions float64
	}
	SessionsMoving struct {
		Common
		MinNonMaxShare, MaxLoadExcess, MinDecisions float64
	}
	CandidateBetter struct {
		Common
		MinMargin, MaxExtraLoad, MaxDiverging, MaxUnsupported, MinFidelity, MinDecisions float64
	}
	FidelityLow struct {
		Common
		MinFidelity, MinChecked float64
	}
	InputBehind struct {
		Common
		MaxLag model.Duration
	}
	InputSilent struct {
		Common
		MinLines float64
	}
	RecordsDropped struct {
		Common
		MaxShare float64
	}
	RecordsUndecodable struct {
		Common
		MaxShare, MinUndecodable float64
	}
	NotRebuilt struct {
		Common
		MaxShare, MinLost float64
	}
	ReloadFailed  struct{ Common }
	LoadImbalance struct {
		Common
		MaxOverMean, MinMeanBlocks float64
	}
	QueueBackpressure struct {
		Common
		MaxRejections float64
	}
	ObserverSilent struct {
		Common
		MinSelections float64
	}
}

// Common is what every alert has.
type Common struct {
	Enabled  bool
	Severity string
	For      model.Duration
}

// Severities returns the allowed severities: wake someone, look at it today,
// good to know.
func Severities() []string { return []string{"critical", "warning", "info"} }

//go:embed thresholds.yaml
var defaults []byte

// DefaultThresholds returns the thresholds that come with kvshadow.
func DefaultThresholds() Thresholds {
	t, err := ParseThresholds("thresholds.yaml", nil)
	if err != nil {
		panic("BUG: " + err.Error()) // the embedded file; a test reads it
	}
	return t
}

// ParseThresholds validates a file of thresholds, which may leave out what it
// doesn't change. The name stands for the file in messages. The error joins
// everything that is wrong, each with its line.
func ParseThresholds(name string, data []byte) (Thresholds, error) {
	var t Thresholds
	for _, s := range t.sections() {
		s.common.Enabled = true
	}
	for _, file := range []struct {
		name string
		data []byte
	}{{"thresholds.yaml", defaults}, {name, data}} {
		r := thresholdReader{file: file.name}
		r.read(&t, file.data)
		if err := r.err(); err != nil {
			return Thresholds{}, err
		}
	}
	return t, nil
}

// section is the part of a file that belongs to one alert.
type section struct {
	name   string
	common *Common
	fields []field
}

// sections returns the parts of a file, in order.
func (t *Thresholds) sections() []section {
	lost, moving, better := &t.OverlapLost, &t.SessionsMoving, &t.CandidateBetter
	return []section{
		{"overlap_lost_without_load_reason", &lost.Common, []field{
			share("min_lost_share", &lost.MinLostShare), amount("min_load_excess_blocks", &lost.MinLoadExcess), amount("min_decisions", &lost.MinDecisions),
		}},
		{"sessions_keep_moving", &moving.Common, []field{
			share("min_non_max_share", &moving.MinNonMaxShare), amount("max_load_excess_blocks", &moving.MaxLoadExcess), amount("min_decisions", &moving.MinDecisions),
		}},
		{"candidate_policy_better", &better.Common, []field{
			share("min_margin_share", &better.MinMargin), amount("max_extra_load_blocks", &better.MaxExtraLoad),
			share("max_diverging_share", &better.MaxDiverging), share("max_unsupported_share", &better.MaxUnsupported),
			share("min_fidelity", &better.MinFidelity), amount("min_decisions", &better.MinDecisions),
		}},
		{"fidelity_low", &t.FidelityLow.Common, []field{share("min_fidelity", &t.FidelityLow.MinFidelity), amount("min_checked", &t.FidelityLow.MinChecked)}},
		{"input_behind", &t.InputBehind.Common, []field{duration("max_lag", &t.InputBehind.MaxLag)}},
		{"input_silent", &t.InputSilent.Common, []field{amount("min_lines", &t.InputSilent.MinLines)}},
		{"records_dropped", &t.RecordsDropped.Common, []field{share("max_share", &t.RecordsDropped.MaxShare)}},
		{"records_undecodable", &t.RecordsUndecodable.Common, []field{
			share("max_share", &t.RecordsUndecodable.MaxShare), amount("min_undecodable", &t.RecordsUndecodable.MinUndecodable),
		}},
		{"requests_not_rebuilt", &t.NotRebuilt.Common, []field{share("max_share", &t.NotRebuilt.MaxShare), amount("min_lost", &t.NotRebuilt.MinLost)}},
		{"policies_reload_failed", &t.ReloadFailed.Common, nil},
		{"worker_load_imbalance", &t.LoadImbalance.Common, []field{
			atLeast(1, "max_over_mean", &t.LoadImbalance.MaxOverMean), amount("min_mean_blocks", &t.LoadImbalance.MinMeanBlocks),
		}},
		{"router_queue_backpressure", &t.QueueBackpressure.Common, []field{amount("max_rejections_per_second", &t.QueueBackpressure.MaxRejections)}},
		{"overlap_observer_silent", &t.ObserverSilent.Common, []field{amount("min_selections", &t.ObserverSilent.MinSelections)}},
	}
}
