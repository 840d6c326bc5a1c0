package source

import (
	"fmt"
	"path/filepath"
	"strings"
)

// Kind is the kind of a source.
type Kind uint8

// The kinds of sources.
const (
	// KindFile follows the files that match a glob: see [Tailer].
	KindFile Kind = iota
	// KindStdin reads standard input: see [Stdin].
	KindStdin
	// KindHTTP takes batches over HTTP: see [HTTPHandler].
	KindHTTP
)

// Spec is a parsed --source flag.
type Spec struct {
	// Text is the flag as it was given.
	Text string
	Kind Kind
	// Glob is the pattern of a [KindFile] source, in [filepath.Match] syntax.
	Glob string
}

const allowedForms = "file:GLOB, stdin: or http:"

// Parse parses the value of a --source flag. The error names the value and
// the allowed forms. A glob needn't match anything yet.
func Parse(text string) (Spec, error) {
	kind, rest, ok := strings.Cut(text, ":")
	if !ok {
		return Spec{}, fmt.Errorf("source %q: want %s", text, allowedForms)
	}
	switch kind {
	case "file":
		return parseFile(text, rest)
	case "stdin":
		return parseBare(text, rest, KindStdin)
	case "http":
		return parseBare(text, rest, KindHTTP)
	case "nats":
		return Spec{}, fmt.Errorf("source %q: nats:// is not built in yet; want %s", text, allowedForms)
	}
	return Spec{}, fmt.Errorf("source %q: unknown kind %q; want %s", text, kind, allowedForms)
}

func parseFile(text, glob string) (Spec, error) {
	if glob == "" {
		return Spec{}, fmt.Errorf("source %q: the glob is empty; want %s", text, allowedForms)
	}
	if _, err := filepath.Match(glob, ""); err != nil {
		return Spec{}, fmt.Errorf("source %q: bad glob: %w; want %s", text, err, allowedForms)
	}
	return Spec{Text: text, Kind: KindFile, Glob: glob}, nil
}

func parseBare(text, rest string, kind Kind) (Spec, error) {
	if rest != "" {
		return Spec{}, fmt.Errorf("source %q: nothing may follow the colon; want %s", text, allowedForms)
	}
	return Spec{Text: text, Kind: kind}, nil
}
