package catalog

import (
	"bytes"
	"fmt"
	"strings"
)

const markdownIntro = `# Metrics

Two sets: [kvshadow's own metrics](#kvshadow) and [those of NVIDIA Dynamo's router](#dynamos-router) that kvshadow's
dashboards and alerts read. The exporter makes its instruments from the same definitions, and a test holds the router's
against the pages of real ones (%s).

* **Stable** metrics keep their name, type, unit and labels. **Alpha** ones may change with any release; Dynamo promises
  nothing about its own, so all of those are alpha.
* **Essential** metrics are those to look at first.
* Expressions use Grafana's ` + "`$__rate_interval`" + `; in a rule write a range, such as ` + "`[5m]`" + `.
* ` + "`kvshadow verify`" + ` holds a running process against this page; ` + "`kvshadow catalog diff`" + ` compares two releases.
`

const (
	shadowTitle = "kvshadow"
	routerTitle = "Dynamo's router"
)

// Markdown renders the catalog as a page of the documentation. usage may be
// nil.
func Markdown(usage Usage) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "<!-- %s -->\n\n", generated)
	fmt.Fprintf(&b, markdownIntro, join(RouterReleases()))
	markdownSystem(&b, shadowTitle, ShadowSections(), usage)
	markdownSystem(&b, routerTitle, RouterSections(), usage)
	return b.Bytes()
}

func markdownSystem(b *bytes.Buffer, title string, sections []Section, usage Usage) {
	fmt.Fprintf(b, "\n## %s\n", title)
	for _, s := range sections {
		fmt.Fprintf(b, "\n### %s\n\n%s\n\n| metric | type | unit | labels |\n|---|---|---|---|\n", s.Title, s.Intro)
		for _, m := range s.Metrics {
			fmt.Fprintf(b, "| [`%s`](#%s)%s | %s | %s | %s |\n", m.Name, m.Name, mark(m), m.Type, m.Unit, cell(codes(m.Labels)))
		}
		for _, m := range s.Metrics {
			markdownMetric(b, m, usage)
		}
	}
}

func mark(m Metric) string {
	switch {
	case m.Deprecated != "":
		return " (deprecated)"
	case m.Essential:
		return " **essential**"
	}
	return ""
}

func markdownMetric(b *bytes.Buffer, m Metric, usage Usage) {
	fmt.Fprintf(b, "\n#### %s\n\n%s\n\n| | |\n|---|---|\n", m.Name, m.Help)
	row := func(name, value string) {
		if value != "" {
			fmt.Fprintf(b, "| %s | %s |\n", name, cell(value))
		}
	}
	row("type", string(m.Type))
	row("unit", m.Unit)
	for _, l := range m.Labels {
		row("label `"+l+"`", labelText(m, l))
	}
	row("series", m.Cardinality)
	row("stability", fmt.Sprintf("%s, since %s", m.Stability, m.Since))
	row("deprecated", m.Deprecated)
	row("may be missing", m.Missing())
	row("used by", strings.Join(usage.of(m.Name), "; "))
	fmt.Fprintf(b, "\n%s\n", m.HowToUse)
}

// labelText tells the values of a label.
func labelText(m Metric, label string) string {
	text := "any value"
	if values := m.Values[label]; values != nil {
		text = codes(values)
	}
	if since := m.LabelSince[label]; since != "" {
		text += "; since " + since
	}
	return text
}

func codes(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = "`" + w + "`"
	}
	return strings.Join(quoted, ", ")
}

// cell escapes what would end the cell of a table.
func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }
