package catalog

import "strings"

// Label names of kvshadow's metrics. Dynamo's share some of them.
const (
	LabelPolicy     = "policy"
	LabelWorkerType = "worker_type"
	LabelReason     = "reason"
	LabelCause      = "cause"
	LabelSource     = "source"
	LabelQuantity   = "quantity"
	LabelType       = "type"
	LabelParameters = "parameters"
)

// Values of [LabelWorkerType]. Aggregated workers count as decode.
const (
	WorkerTypePrefill = "prefill"
	WorkerTypeDecode  = "decode"
)

// PolicyLive is the value of [LabelPolicy] for the policy that really chose.
const PolicyLive = "live"

// ReasonWinnerWithoutRows is the reason of a selection of which a log told no
// more, and a trace neither.
const ReasonWinnerWithoutRows = "winner_without_rows"

// Label names of Dynamo's metrics.
const (
	// LabelNamespace and LabelComponent say where in the runtime the metric
	// was made: for the router's, the component of its workers.
	LabelNamespace = "dynamo_namespace"
	LabelComponent = "dynamo_component"
	// LabelWorkerID is the exposing process's connection, in hex, on
	// dynamo_component_* metrics, and the target worker, in decimal, on
	// dynamo_frontend_worker_* ones.
	LabelWorkerID = "worker_id"
	// LabelRouterID is the router's instance, in decimal.
	LabelRouterID = "router_id"
	// LabelRouterWorkerID is the target worker, in decimal, where worker_id is
	// taken.
	LabelRouterWorkerID  = "router_worker_id"
	LabelDPRank          = "dp_rank"
	LabelModel           = "model"
	LabelPhase           = "phase"
	LabelPolicyClass     = "policy_class"
	LabelRoutingGroup    = "routing_group"
	LabelStatus          = "status"
	LabelEventType       = "event_type"
	LabelWarningKind     = "warning_kind"
	LabelAction          = "action"
	LabelState           = "state"
	LabelTargetNamespace = "target_namespace"
	LabelTargetComponent = "target_component"
	LabelTargetEndpoint  = "target_endpoint"
	LabelEndpoint        = "endpoint"
	LabelRequestType     = "request_type"
	LabelErrorType       = "error_type"
)

// workerTypes is the closed set of values of worker_type alone.
func workerTypes() map[string][]string { return withWorkerTypes("", nil) }

// withWorkerTypes is the closed sets of values of worker_type and one other
// label.
func withWorkerTypes(label string, values []string) map[string][]string {
	sets := map[string][]string{LabelWorkerType: {WorkerTypeDecode, WorkerTypePrefill}}
	if label != "" {
		sets[label] = values
	}
	return sets
}

// join writes a list as words: "a, b and c".
func join(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " and " + words[last]
}
