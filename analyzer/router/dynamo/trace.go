package dynamo

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/kvshadow/kvshadow/analyzer/decision"
)

// traceSchema is the only schema of request traces that is understood, and
// traceSchemaStem how those of all versions begin.
const (
	traceSchema     = "dynamo.request.trace.v1"
	traceSchemaStem = "dynamo.request.trace"
)

// The kinds of valid records that hold no lifecycle, besides Dynamo's own event
// types tool_start, tool_end, tool_error and request_payload.
const (
	// skipWithoutReplay: a finished request without the hashes of its prompt.
	skipWithoutReplay = "without_replay"
	// skipUnknownEvent stands for all event types that are not known, so that
	// a log can't invent label values.
	skipUnknownEvent = "unknown_event"
)

// errTraceSchema is a record of another version, whose fields may mean
// something else.
var errTraceSchema = errors.New("schema: not supported; supported is " + traceSchema)

var (
	traceStemBytes = []byte(traceSchemaStem)
	logLineStart   = []byte(`{"time":`)
)

// isTrace says whether a line claims to be a record of Dynamo's request trace,
// of whatever version: in the envelope of files, {"timestamp":…,"event":{…}},
// or bare, as on NATS and standard error. Members may come in any order. A
// line cut off behind its schema is a claim too.
//
// It is called for every line of every log: without the text of the schema it
// costs one search, and a line that only quotes that text doesn't pass.
func isTrace(line []byte) bool {
	if bytes.HasPrefix(line, logLineStart) || !bytes.Contains(line, traceStemBytes) {
		return false
	}
	object := traceObject(line)
	if object == nil {
		return false
	}
	s := traceScanner{b: object}
	return s.claims(true)
}

// traceObject returns where the JSON object of a line starts, behind what
// container runtimes, docker compose and kubectl write before a line; nil if
// the line starts otherwise. A readable log line that ends with an object is
// therefore none.
func traceObject(line []byte) []byte {
	i := bytes.IndexByte(line, '{')
	if i < 0 {
		return nil
	}
	prefix := bytes.TrimLeft(line[:i], " \t\r\n")
	if len(prefix) == 0 {
		return line[i:]
	}
	for _, end := range [...]string{" stdout F ", " stderr F ", " stdout P ", " stderr P ", " | ", "] "} {
		if bytes.HasSuffix(prefix, []byte(end)) && (end != "] " || bytes.HasPrefix(prefix, []byte("[pod/"))) {
			return line[i:]
		}
	}
	return nil
}

// claims walks the members of an object until one names a trace's schema. An
// envelope has it one level down, and nothing deeper counts.
func (s *traceScanner) claims(outer bool) bool {
	if s.expect('{') != nil {
		return false
	}
	for {
		name, _, err := s.text()
		if err != nil || s.expect(':') != nil {
			return false
		}
		switch kind := s.peek(); {
		case kind == '"' && string(name) == "schema":
			value, _, _ := s.text()
			return bytes.HasPrefix(value, traceStemBytes)
		case kind == '{' && outer && string(name) == "event":
			return s.claims(false)
		}
		if s.skip(0) != nil {
			return false
		}
		if !s.next(',') {
			return false
		}
	}
}

// traceDecoder decodes records of Dynamo's request trace. It keeps its buffers
// from line to line and is not safe for concurrent use.
type traceDecoder struct {
	s      traceScanner
	seen   uint32 // the fields that came, null or not
	has    uint32 // the fields that have a value
	text   [endOfTexts][]byte
	num    [endOfFloats - endOfTexts]traceNumber
	hashes []uint64
	event  traceEvent
	model  string // of the last record: nearly always the same again
}

type traceNumber struct {
	u uint64
	f float64
}

type traceEvent uint8

const (
	eventUnread traceEvent = iota
	eventRequestEnd
	eventOther
)

// decode decodes one record, in an envelope or bare. The lifecycle is the
// caller's and keeps no reference to line.
//
// A skip that isn't empty means a valid record that holds no lifecycle, and
// says of which kind: one of Dynamo's event types, unknown_event or
// without_replay.
//
// Members that aren't read may hold any JSON, under any name; null counts as
// absent. A member that is read may come only once: last-wins and first-wins
// readers would disagree about the record otherwise. An error names the field.
// It wraps errTruncated if the line ends too early, and errTraceSchema if the
// record is of another version; all others are malformed or contradict
// themselves.
func (t *traceDecoder) decode(line []byte) (l *decision.Lifecycle, skip string, err error) {
	object := traceObject(line)
	if object == nil {
		return nil, "", errMalformed
	}
	t.s = traceScanner{b: object}
	t.seen, t.has, t.event = 0, 0, eventUnread
	t.hashes = t.hashes[:0]
	err = t.record()
	if err == nil {
		l, skip, err = t.lifecycle()
	}
	t.s.b, t.text = nil, [endOfTexts][]byte{}
	return l, skip, err
}

// record reads the whole line.
func (t *traceDecoder) record() error {
	if err := t.object(fieldRecord); err != nil {
		return err
	}
	t.s.space()
	if t.s.i != len(t.s.b) {
		return errMalformed
	}
	return nil
}

// object reads the members of one object. in is the field whose value it is.
func (t *traceDecoder) object(in traceField) error {
	if t.s.peek() != '{' {
		return t.s.wrong("an object")
	}
	t.s.i++
	if t.s.next('}') {
		return nil
	}
	for {
		name, err := t.name()
		if err != nil {
			return err
		}
		if err := t.member(in, name); err != nil {
			return err
		}
		if t.s.next(',') {
			continue
		}
		return t.s.expect('}')
	}
}

func (t *traceDecoder) name() ([]byte, error) {
	name, escaped, err := t.s.text()
	if err == nil && escaped {
		name, err = unquoteTrace(name)
	}
	if err == nil {
		err = t.s.expect(':')
	}
	return name, err
}

// member reads or skips the value of one member.
func (t *traceDecoder) member(in traceField, name []byte) error {
	f := t.field(in, name)
	if f == fieldOther {
		return t.s.skip(0)
	}
	if t.seen&(1<<f) != 0 {
		return fmt.Errorf("%s: comes twice", f)
	}
	t.seen |= 1 << f
	if t.s.peek() == 'n' {
		return named(f, t.s.literal("null"))
	}
	t.has |= 1 << f
	if f < endOfObjects {
		return t.nested(f)
	}
	return named(f, t.scalar(f))
}

// nested reads an object whose members are read. Errors below it are named
// already, except that it is no object at all.
func (t *traceDecoder) nested(f traceField) error {
	if t.s.peek() != '{' {
		return named(f, t.s.wrong("an object"))
	}
	return t.object(f)
}

// field says which field a member is. Of a record that is known to be no
// finished request, only the schema and the type matter, since the others
// share names, not types. Only the outermost object may be an envelope.
func (t *traceDecoder) field(in traceField, name []byte) traceField {
	enveloped := t.seen&(1<<fieldEnvelope) != 0
	if in == fieldRecord && string(name) == "event" && (enveloped || t.seen == 0 && t.s.peek() == '{') {
		return fieldEnvelope
	}
	if in == fieldRecord && enveloped {
		return fieldOther
	}
	if in == fieldEnvelope {
		in = fieldRecord
	}
	f := lookupTraceField(in, name)
	if t.event == eventOther && f != fieldSchema && f != fieldEventType {
		return fieldOther
	}
	return f
}

func named(f traceField, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", f, err)
}
