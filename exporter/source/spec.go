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
	// KindNATS reads the messages of a NATS subject: see [NATS].
	KindNATS
)

// Spec is a parsed --source flag.
type Spec struct {
	// Text is the flag as it was given, but without credentials: it names the
	// source in logs and metrics.
	Text string
	Kind Kind
	// Glob is the pattern of a [KindFile] source, in [filepath.Match] syntax.
	Glob string
	// Servers and Subject say what a [KindNATS] source reads.
	Servers Servers
	Subject string
}

const allowedForms = "file:GLOB, stdin:, http: or nats://HOST:PORT/SUBJECT"

// Parse parses the value of a --source flag. The error names the value, less
// any credentials, and the allowed forms. A glob needn't match anything yet,
// and a server needn't be there.
func Parse(text string) (Spec, error) {
	kind, rest, ok := strings.Cut(text, ":")
	switch kind {
	case "nats", "nats+tls":
		return parseNATS(text)
	}
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
