package dynamo

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
	"go.yaml.in/yaml/v4/plugin/loaderlimits"
)

const (
	// maxPolicyDepth is the deepest nesting; Dynamo's own sections need about ten.
	maxPolicyDepth = 64
	// maxPolicyFields bounds the work for a map that many aliases point to.
	maxPolicyFields = 256
)

// policyReader reads the YAML of a policies file and notes what is wrong.
//
// It walks nodes rather than decoding into structs: only nodes know their
// position, and a walk along the known fields never expands an alias that
// nobody asked for, so that alias bombs are harmless.
type policyReader struct {
	file     string
	problems ProblemList
}

// yamlField is one entry of a map; value is never an alias.
type yamlField struct {
	name       string
	key, value *yaml.Node
}

func (r *policyReader) report(at *yaml.Node, path, format string, args ...any) {
	r.reportAt(at.Line, at.Column, path, format, args...)
}

func (r *policyReader) reportAt(line, column int, path, format string, args ...any) {
	r.problems = append(r.problems, Problem{
		File: r.file, Line: line, Column: column, Field: path, Message: fmt.Sprintf(format, args...),
	})
}

// document returns the root of the only YAML document, or nil after noting why
// there is none.
func (r *policyReader) document(data []byte) *yaml.Node {
	if len(data) > maxPolicyBytes {
		r.reportAt(0, 0, "", "the file is larger than %d bytes", maxPolicyBytes)
		return nil
	}
	if at := notText(data); at >= 0 {
		line, column := textPosition(data, at)
		r.reportAt(line, column, "", "byte 0x%02x can't stand in a text file: policies files are YAML in UTF-8", data[at])
		return nil
	}
	loader, err := yaml.NewLoader(bytes.NewReader(data), yaml.WithPlugin(loaderlimits.New(loaderlimits.DepthValue(maxPolicyDepth))))
	if err != nil {
		r.reportAt(0, 0, "", "%v", err)
		return nil
	}
	var first, second yaml.Node
	if err := loader.Load(&first); err != nil && !errors.Is(err, io.EOF) {
		r.syntax(data, err)
		return nil
	}
	if len(first.Content) == 0 || isNull(first.Content[0]) {
		r.reportAt(1, 1, "", "the file is empty: %s", formsHint)
		return nil
	}
	if err := loader.Load(&second); err == nil {
		r.report(&second, "", "a second YAML document begins here: a policies file holds one")
		return nil
	} else if !errors.Is(err, io.EOF) {
		r.syntax(data, err)
		return nil
	}
	return withoutAlias(first.Content[0])
}

// syntax notes an error of the YAML library.
func (r *policyReader) syntax(data []byte, err error) {
	e, ok := errors.AsType[*yaml.LoadError](err)
	if !ok {
		r.reportAt(0, 0, "", "not valid YAML: %v", err)
		return
	}
	message := e.Message
	if e.ContextMsg != "" {
		message += " " + e.ContextMsg
		if e.ContextMark.Line > 0 && e.ContextMark != e.Mark {
			message += fmt.Sprintf(" that begins at %d:%d", e.ContextMark.Line, e.ContextMark.Column)
		}
	}
	if strings.HasPrefix(restOfLine(data, e.Mark.Line, e.Mark.Column), "\t") {
		message = "a tab can't indent YAML: use spaces"
	}
	r.reportAt(e.Mark.Line, e.Mark.Column, "", "not valid YAML: %s", message)
}

// notText returns where data stops being UTF-8 text, or -1.
func notText(data []byte) int {
	for i := 0; i < len(data); {
		c, size := utf8.DecodeRune(data[i:])
		control := c < ' ' && c != '\t' && c != '\n' && c != '\r'
		if control || c == 0x7f || c == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return -1
}

// textPosition turns an offset into a line and a column.
func textPosition(data []byte, offset int) (line, column int) {
	before := data[:offset]
	begin := bytes.LastIndexByte(before, '\n') + 1
	return bytes.Count(before, []byte{'\n'}) + 1, utf8.RuneCount(before[begin:]) + 1
}

// restOfLine returns the rest of a line from a column on.
func restOfLine(data []byte, line, column int) string {
	number := 0
	for text := range strings.Lines(string(data)) {
		if number++; number < line {
			continue
		}
		runes := []rune(text)
		return string(runes[min(max(column-1, 0), len(runes)):])
	}
	return ""
}

// withoutAlias follows an alias to what it stands for.
func withoutAlias(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

func isNull(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.Tag == "!!null"
}

// mapping returns the fields of a map in the order of the file. Keys that
// aren't text or come twice are noted and left out.
func (r *policyReader) mapping(n *yaml.Node, path string) []yamlField {
	if n.Kind != yaml.MappingNode {
		r.report(n, path, "must be a map, is %s", describeNode(n))
		return nil
	}
	if len(n.Content)/2 > maxPolicyFields {
		r.report(n, path, "has %d fields; at most %d are read", len(n.Content)/2, maxPolicyFields)
		return nil
	}
	first := make(map[string]*yaml.Node)
	var fields []yamlField
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		name := withoutAlias(key)
		switch {
		case name.Kind != yaml.ScalarNode:
			r.report(key, path, "a key must be text, is %s", describeNode(name))
		case name.Tag == "!!merge":
			r.report(key, path, "merge keys (<<) aren't supported: repeat the fields, or give the whole map an anchor")
		case first[name.Value] != nil:
			r.report(key, joinPath(path, name.Value), "duplicate key; the first is at %s", nodePosition(first[name.Value]))
		default:
			first[name.Value] = key
			fields = append(fields, yamlField{name.Value, key, withoutAlias(n.Content[i+1])})
		}
	}
	return fields
}

// unknown notes the fields whose names aren't allowed.
func (r *policyReader) unknown(fields []yamlField, path, noun string, allowed []string) {
	for _, f := range fields {
		if !slices.Contains(allowed, f.name) {
			r.report(f.key, joinPath(path, f.name), "unknown %s; %s", noun, oneOf(f.name, allowed))
		}
	}
}

// fields returns the fields, by name, of a map that may have only these.
func (r *policyReader) fields(n *yaml.Node, path string, allowed ...string) map[string]yamlField {
	list := r.mapping(n, path)
	r.unknown(list, path, "field", allowed)
	fields := make(map[string]yamlField, len(list))
	for _, f := range list {
		fields[f.name] = f
	}
	return fields
}

// text returns a scalar that YAML takes for text.
func (r *policyReader) text(n *yaml.Node, path string) (string, bool) {
	if n.Kind == yaml.ScalarNode && n.Tag == "!!str" {
		return n.Value, true
	}
	hint := ""
	if n.Kind == yaml.ScalarNode && !isNull(n) {
		hint = ": put it in quotes"
	}
	r.report(n, path, "must be text, is %s%s", describeNode(n), hint)
	return "", false
}

// describeNode says what a node is, for "must be this, is that".
func describeNode(n *yaml.Node) string {
	switch {
	case n.Kind == yaml.MappingNode:
		return "a map"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case isNull(n):
		return "empty"
	case n.Tag == "!!str":
		return fmt.Sprintf("the text %q", clipText(n.Value))
	case n.Tag == "!!bool":
		return "the boolean " + showText(n.Value)
	case n.Tag == "!!int" || n.Tag == "!!float":
		return "the number " + showText(n.Value)
	}
	return fmt.Sprintf("%q of type %s", clipText(n.Value), showText(n.Tag))
}

// nodePosition is a node's position within the file.
func nodePosition(n *yaml.Node) string {
	return fmt.Sprintf("%d:%d", n.Line, n.Column)
}

// joinPath appends a field's name to a path.
func joinPath(path, name string) string {
	name = clipText(name)
	if quoted := strconv.Quote(name); name == "" || strings.ContainsAny(name, " .:[]") || len(quoted) != len(name)+2 {
		name = quoted
	}
	if path == "" {
		return name
	}
	return path + "." + name
}

// indexPath appends the place in a list to a path.
func indexPath(path string, i int) string {
	return fmt.Sprintf("%s[%d]", path, i)
}
