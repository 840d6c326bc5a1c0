package catalog

import "github.com/kvshadow/kvshadow/internal/artifact"

// File is a generated file.
type File = artifact.File

// Generate renders the reference pages, with the places that use each metric.
// usage may be nil. The same definitions and usage give the same bytes.
func Generate(usage Usage) ([]File, error) {
	doc, err := JSON(usage)
	if err != nil {
		return nil, err
	}
	return []File{
		{Name: "metrics.md", Data: Markdown(usage)},
		{Name: "metrics.mdx", Data: MDX(usage)},
		{Name: "metrics.json", Data: doc},
	}, nil
}
