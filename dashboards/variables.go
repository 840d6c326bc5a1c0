package dashboards

import (
	"fmt"
	"strings"

	"github.com/kvshadow/kvshadow/catalog"
	"github.com/kvshadow/kvshadow/internal/promql"
)

// Names of the variables.
const (
	varDatasource = "datasource"
	varJob        = "job"
	varNamespace  = "namespace"
	varModel      = "model"
	varWorkerType = "worker_type"
	varPolicy     = "policy"
	varSource     = "source"
	varExporter   = "exporter"
)

// anything matches every value and also series without the label, which came
// to some metrics with a later release.
const anything = ".*"

func allValues() *option { return &option{true, []string{"All"}, []string{"$__all"}} }

// datasourceVariable lists the data sources of one plug-in: more than one
// can't be asked for.
func datasourceVariable(f Flavor) Variable {
	return Variable{
		Name: varDatasource, Label: "Data source", Type: "datasource", Query: f.plugin(), Refresh: 1,
		Description: "The data source that has the metrics.",
	}
}

// labelVariable lists the values of a label.
func labelVariable(source sourceRef, name, title, about string, m catalog.Metric, label string, ms ...promql.Matcher) Variable {
	series := scope(nil).selector(m, "", ms)
	text := fmt.Sprintf("label_values(%s, %s)", strings.TrimSuffix(series.text, "{}"), label)
	return Variable{
		Name: name, Label: title, Description: about, Type: "query", Datasource: &source,
		Query: labelQuery{text, "StandardVariableQuery"}, Refresh: 2, Sort: 1,
		Multi: true, IncludeAll: true, AllValue: anything, Current: allValues(),
		reads: sum(series, label).reads,
	}
}

func jobVariable(source sourceRef, m catalog.Metric) Variable {
	return labelVariable(source, varJob, "Job", "The scrape jobs of the processes shown.", m, labelJob)
}

// ofJob narrows a variable to the chosen jobs.
func ofJob() promql.Matcher { return promql.Like(labelJob, "$"+varJob) }

func workerTypeVariable() Variable {
	types := []string{catalog.WorkerTypePrefill, catalog.WorkerTypeDecode}
	v := Variable{
		Name: varWorkerType, Label: "Worker type", Type: "custom", Query: strings.Join(types, ","),
		Description: "Prefill or decode; aggregated workers count as decode. Panels that name a type in their title don't follow it.",
		Multi:       true, IncludeAll: true, AllValue: anything, Current: allValues(),
	}
	v.Options = append(v.Options, option{true, "All", "$__all"})
	for _, t := range types {
		v.Options = append(v.Options, option{false, t, t})
	}
	return v
}

// policyVariable lists the candidate policies. Panels show live beside them
// whatever is chosen.
func policyVariable(source sourceRef) Variable {
	v := labelVariable(source, varPolicy, "Candidate policies", "The policies to compare live with.", catalog.PolicyInfo, catalog.LabelPolicy, ofJob())
	v.Regex = fmt.Sprintf("/^(?!%s$).*$/", catalog.PolicyLive)
	return v
}

// exporterVariable holds the address that links to decisions lead to, as the
// reader's browser reaches it.
func exporterVariable(url string) Variable {
	o := option{true, url, url}
	return Variable{
		Name: varExporter, Label: "Exporter URL", Type: "textbox", Query: url, Current: &o, Options: []option{o},
		Description: "Where your browser reaches kvshadow serve; the links to decisions lead there. Set the default with --exporter-url.",
	}
}
