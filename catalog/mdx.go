package catalog

import (
	"bytes"
	"fmt"
	"strings"
)

const mdxHead = `---
title: Metrics catalog
subtitle: The metrics of kvshadow, and those of the router that it reads
---

{/* %s */}
`

// MDX renders the catalog in the form of Dynamo's own metrics catalog: one
// ParamField element a metric. usage may be nil.
func MDX(usage Usage) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, mdxHead, generated)
	mdxSystem(&b, shadowTitle, ShadowSections(), usage)
	mdxSystem(&b, routerTitle, RouterSections(), usage)
	return b.Bytes()
}

func mdxSystem(b *bytes.Buffer, title string, sections []Section, usage Usage) {
	fmt.Fprintf(b, "\n## %s\n", mdxText(title))
	for _, s := range sections {
		fmt.Fprintf(b, "\n### %s\n\n%s\n", mdxText(s.Title), mdxText(s.Intro))
		for _, m := range s.Metrics {
			fmt.Fprintf(b, "\n<ParamField path=\"%s\" type=\"%s\"%s>\n%s\n</ParamField>\n", m.Name, m.Type, mdxDeprecated(m), mdxText(mdxSentence(m, usage)))
		}
	}
}

func mdxDeprecated(m Metric) string {
	if m.Deprecated == "" {
		return ""
	}
	return " deprecated={true}"
}

// mdxSentence is the help text with what a reader of one paragraph needs.
func mdxSentence(m Metric, usage Usage) string {
	parts := []string{m.Help}
	add := func(name, value string) {
		if value != "" {
			parts = append(parts, name+value+".")
		}
	}
	add("Labels: ", codes(m.Labels))
	add("Unit: ", m.Unit)
	add("Stability: ", fmt.Sprintf("%s, since %s", m.Stability, m.Since))
	add("Deprecated: ", strings.TrimSuffix(m.Deprecated, "."))
	add("May be missing: ", m.Missing())
	parts = append(parts, m.HowToUse)
	add("Used by: ", strings.Join(usage.of(m.Name), "; "))
	return strings.Join(parts, " ")
}

// mdxText escapes what MDX would take for an expression or an element. Text
// between backticks is code and stays.
func mdxText(text string) string {
	parts := strings.Split(text, "`")
	for i := 0; i < len(parts); i += 2 {
		parts[i] = strings.NewReplacer("{", `\{`, "}", `\}`, "<", `\<`).Replace(parts[i])
	}
	return strings.Join(parts, "`")
}
