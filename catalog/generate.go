package catalog

// File is a generated file.
type File struct {
	Name string
	Text []byte
}

// Generate renders the reference pages, with the places that use each metric.
// usage may be nil. The same definitions and usage give the same bytes.
func Generate(usage Usage) ([]File, error) {
	doc, err := JSON(usage)
	if err != nil {
		return nil, err
	}
	return []File{{"metrics.md", Markdown(usage)}, {"metrics.mdx", MDX(usage)}, {"metrics.json", doc}}, nil
}
