// Package promql writes the parts of PromQL that dashboards and rules have in
// common. MetricsQL reads them alike.
package promql

import (
	"fmt"
	"strconv"
	"strings"
)

// Matcher is a label matcher.
type Matcher struct{ Label, Op, Value string }

// Is matches one value, IsNot all others, and Like what a regular expression
// matches as a whole.
func Is(label, value string) Matcher    { return Matcher{label, "=", value} }
func IsNot(label, value string) Matcher { return Matcher{label, "!=", value} }
func Like(label, regex string) Matcher  { return Matcher{label, "=~", regex} }

// Select writes a selector of series: name{label="value", ...}.
func Select(name string, ms ...Matcher) string {
	if len(ms) == 0 {
		return name
	}
	texts := make([]string, len(ms))
	for i, m := range ms {
		texts[i] = m.Label + m.Op + strconv.Quote(m.Value)
	}
	return fmt.Sprintf("%s{%s}", name, strings.Join(texts, ", "))
}

// By aggregates an expression to the labels that are named; to none, it gives
// one series.
func By(op, text string, labels ...string) string {
	if len(labels) == 0 {
		return fmt.Sprintf("%s(%s)", op, text)
	}
	return fmt.Sprintf("%s by (%s) (%s)", op, strings.Join(labels, ", "), text)
}
