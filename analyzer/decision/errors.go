package decision

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// FieldError says what is wrong with one member of a record.
type FieldError struct {
	// Pointer is the member as a JSON pointer (RFC 6901) into the record, such
	// as /candidates/2/worker_id; empty for the record as a whole.
	Pointer string
	// Problem says what was wrong and what is allowed.
	Problem string
}

// Error returns one printable line, whatever names the record used.
func (e *FieldError) Error() string {
	if e.Pointer == "" {
		return "record: " + e.Problem
	}
	return printable(e.Pointer) + ": " + e.Problem
}

func fieldErrorf(pointer, format string, args ...any) error {
	return &FieldError{Pointer: pointer, Problem: fmt.Sprintf(format, args...)}
}

// explain turns an error of the JSON package into a [*FieldError].
func explain(line []byte, err error) error {
	if s, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		return explainSyntax(s)
	}
	s, ok := errors.AsType[*json.SemanticError](err)
	if !ok {
		return err
	}
	pointer := string(s.JSONPointer)
	if pointer == "" {
		return fieldErrorf("", "is %s; want %s", valueAt(line, s), want(""))
	}
	// Another version may well have other members: the version is the news.
	if err := checkSchema(line); err != nil {
		return err
	}
	if s.Err == json.ErrUnknownName {
		return fieldErrorf(pointer, "unknown member; want one of %s", memberNames(string(s.JSONPointer.Parent())))
	}
	return fieldErrorf(pointer, "is %s; want %s", valueAt(line, s), want(pointer))
}

func explainSyntax(s *jsontext.SyntacticError) error {
	pointer := string(s.JSONPointer)
	if s.Err == jsontext.ErrDuplicateName {
		return fieldErrorf(pointer, "given twice; want each member once")
	}
	return fieldErrorf(pointer, "invalid JSON at byte %d: %v; want one JSON object in UTF-8", s.ByteOffset, s.Err)
}

// checkSchema reads the version by itself, as other members may not decode. It
// returns nil for a line of this version, or one that ends before its version.
func checkSchema(line []byte) error {
	dec := jsontext.NewDecoder(bytes.NewReader(line))
	if _, err := dec.ReadToken(); err != nil {
		return nil // not for want of a version
	}
	for dec.PeekKind() == jsontext.KindString {
		name, err := dec.ReadToken()
		if err != nil {
			return nil
		}
		if name.String() != "schema" {
			if err := dec.SkipValue(); err != nil {
				return nil
			}
			continue
		}
		v, err := dec.ReadToken()
		if err != nil || v.Kind() == jsontext.KindString && v.String() == SchemaV1 {
			return nil
		}
		return fieldErrorf("/schema", "is %s; want %s", describe(v), want("/schema"))
	}
	return fieldErrorf("/schema", "missing; want %s", want("/schema"))
}

// valueAt describes the value that didn't fit.
func valueAt(line []byte, s *json.SemanticError) string {
	if s.JSONKind == jsontext.KindEndArray { // an array of the wrong length
		return "an array with " + s.Err.Error()
	}
	rest := line[min(int(s.ByteOffset), len(line)):]
	tok, err := jsontext.NewDecoder(bytes.NewReader(rest)).ReadToken()
	if err != nil {
		return "a " + s.JSONKind.String()
	}
	return describe(tok)
}

func describe(tok jsontext.Token) string {
	switch tok.Kind() {
	case jsontext.KindString:
		return quote(tok.String())
	case jsontext.KindBeginObject:
		return "an object"
	case jsontext.KindBeginArray:
		return "an array"
	default:
		return clip(tok.String())
	}
}

// maxShown bounds what an error repeats of a record.
const maxShown = 60

func quote(s string) string { return strconv.Quote(clip(s)) }

func clip(s string) string {
	if len(s) <= maxShown {
		return s
	}
	return strings.ToValidUTF8(s[:maxShown], "") + "..."
}

// printable keeps control characters in names out of terminals and logs.
func printable(s string) string {
	if !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return clip(s)
	}
	q := quote(s)
	return q[1 : len(q)-1]
}

func indexed(pointer string, i int) string { return pointer + "/" + strconv.Itoa(i) }

func candidatePointer(i int) string { return indexed("/candidates", i) }
