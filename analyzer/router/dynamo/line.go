package dynamo

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"time"
)

// kind says which of the router's messages a line carries.
type kind uint8

const (
	kindNone         kind = iota
	kindFormula           // cost of one candidate
	kindSelected          // the winner, structured or as text
	kindRoutingInput      // [ROUTING_INPUT]: prompt length and block size
	kindBest              // [ROUTING] Best: the winner of a tracked request
	kindNonMax            // the router's own non-max-overlap observation
)

// messages maps the text after which a line is recognised to its kind. The
// router also prints "Pinned formula" and "Session affinity formula", and
// "Selected pinned worker".
var messages = [...]struct {
	text []byte
	kind kind
}{
	{[]byte("Formula for worker_id="), kindFormula},
	{[]byte("Pinned formula for worker_id="), kindFormula},
	{[]byte("Session affinity formula for worker_id="), kindFormula},
	{[]byte("Selected "), kindSelected},
	{[]byte("[ROUTING_INPUT] "), kindRoutingInput},
	{[]byte("[ROUTING] Best"), kindBest},
	{[]byte("Router selected a worker with lower KV cache overlap"), kindNonMax},
}

var (
	messageKey    = []byte(`"message":`)
	jsonStart     = []byte(`{"time":`)
	selectedWords = [...][]byte{[]byte("Selected worker"), []byte("Selected pinned worker"), []byte("Selected session affinity worker")}

	errTruncated = errors.New("truncated")
	errMalformed = errors.New("malformed")
)

// kindOf recognises a message by how it begins.
func kindOf(message []byte) kind {
	if len(message) == 0 {
		return kindNone
	}
	switch message[0] { // nearly every line of a log is turned away here
	case 'F', 'P', 'S', '[', 'R':
	default:
		return kindNone
	}
	for i := range messages {
		if bytes.HasPrefix(message, messages[i].text) {
			return messages[i].kind
		}
	}
	return kindNone
}

// classify finds out whether a line can be one of the router's messages,
// without parsing it. object is the JSON object of the line, or nil for a
// human-readable line.
func classify(line []byte) (k kind, object []byte) {
	if len(line) == 0 {
		return kindNone, nil
	}
	if line[0] != '{' {
		i := bytes.Index(line, jsonStart) // behind a container runtime's prefix
		if i < 0 {
			k, _ = classifyReadable(line)
			return k, nil
		}
		line = line[i:]
	}
	i := bytes.Index(line, messageKey)
	if i < 0 {
		return kindNone, nil
	}
	message := bytes.TrimLeft(line[i+len(messageKey):], " ")
	if len(message) == 0 || message[0] != '"' {
		return kindNone, nil
	}
	return kindOf(message[1:]), line
}

func classifyReadable(line []byte) (kind, []byte) {
	if i := bytes.Index(line, []byte("ormula for worker_id=")); i > 0 {
		for _, prefix := range [...]string{"Session affinity f", "Pinned f", "F"} {
			if bytes.HasSuffix(line[:i], []byte(prefix)) {
				return kindFormula, line[i-len(prefix):]
			}
		}
		return kindNone, nil
	}
	for _, m := range messages[3:] {
		i := bytes.Index(line, m.text)
		if i < 0 {
			continue
		}
		if m.kind == kindSelected && !isSelection(line[i:]) {
			continue
		}
		return m.kind, line[i:]
	}
	return kindNone, nil
}

// isSelection tells the winner's message from others that begin with the same
// word ("Selected model parser route").
func isSelection(message []byte) bool {
	for _, w := range selectedWords {
		if rest, ok := bytes.CutPrefix(message, w); ok && (len(rest) == 0 || !isWord(rest[0])) {
			return true
		}
	}
	return false
}

func isWord(c byte) bool { return c == '_' || c|0x20 >= 'a' && c|0x20 <= 'z' }

// fields are the members of a line that the decoder reads. Slices point into
// the line.
type fields struct {
	message, requestID, workerType, time []byte
	workerID, dpRank, logit              []byte
	hostBlocks, diskBlocks               []byte
	islTokens, blockSize, totalBlocks    []byte
	lostBlocks, totalKVBlocks            []byte
}

// slot returns where the value of a member belongs, or nil.
func (f *fields) slot(name []byte) *[]byte {
	switch string(name) {
	case "message":
		return &f.message
	case "request_id":
		return &f.requestID
	case "worker_type":
		return &f.workerType
	case "time":
		return &f.time
	case "worker_id":
		return &f.workerID
	case "dp_rank":
		return &f.dpRank
	case "logit":
		return &f.logit
	case "host_pinned_blocks":
		return &f.hostBlocks
	case "disk_blocks":
		return &f.diskBlocks
	case "isl_tokens":
		return &f.islTokens
	case "block_size":
		return &f.blockSize
	case "total_blocks":
		return &f.totalBlocks
	case "overlap_blocks_lost":
		return &f.lostBlocks
	case "total_kv_blocks":
		return &f.totalKVBlocks
	}
	return nil
}

// parseObject reads the members of one flat JSON object that ends the line.
func (f *fields) parseObject(b []byte) error {
	*f = fields{}
	p := jsonParser{b: b}
	if !p.next('{') {
		return p.err()
	}
	for first := true; !p.next('}'); first = false {
		if !first && !p.next(',') {
			return p.err()
		}
		name, ok := p.str()
		if !ok || !p.next(':') {
			return p.err()
		}
		value, ok := p.value()
		if !ok {
			return p.err()
		}
		if s := f.slot(name); s != nil {
			*s = value
		}
	}
	p.space()
	if p.i != len(p.b) {
		return errMalformed
	}
	return nil
}

// fieldsFollow says whether nothing but fields follows a human-readable
// message: the first word is a name and a value, so no term of the message.
func fieldsFollow(b []byte) bool {
	b = bytes.TrimLeft(b, " ")
	n := 0
	for n < len(b) && (isWord(b[n]) || n > 0 && (b[n] == '.' || b[n] >= '0' && b[n] <= '9')) {
		n++
	}
	return len(b) == 0 || n > 0 && n < len(b) && b[n] == '='
}

// parseReadable reads the name=value fields behind a human-readable message.
func (f *fields) parseReadable(b []byte) {
	for len(b) > 0 {
		b = bytes.TrimLeft(b, " ")
		eq := bytes.IndexByte(b, '=')
		if eq < 0 {
			return
		}
		name := b[:eq]
		if sp := bytes.LastIndexByte(name, ' '); sp >= 0 {
			name = name[sp+1:]
		}
		b = b[eq+1:]
		end := bytes.IndexByte(b, ' ')
		if len(b) > 0 && b[0] == '"' {
			if q := bytes.IndexByte(b[1:], '"'); q >= 0 {
				end = q + 2
			}
		}
		if end < 0 || end > len(b) {
			end = len(b)
		}
		if s := f.slot(name); s != nil {
			*s = bytes.Trim(b[:end], `"`)
		}
		b = b[end:]
	}
}

// jsonParser walks one JSON text. It reads what the router's logging layer
// writes, one object of scalars, and skips nested values whole. It accepts
// more than JSON: any bare word as a scalar, control characters in strings,
// and whatever stands in balanced brackets.
type jsonParser struct {
	b []byte
	i int
}

// err tells a text that ends too early from one that is wrong.
func (p *jsonParser) err() error {
	if p.i >= len(p.b) {
		return errTruncated
	}
	return errMalformed
}

func (p *jsonParser) space() {
	for p.i < len(p.b) && (p.b[p.i] == ' ' || p.b[p.i] == '\t' || p.b[p.i] == '\r' || p.b[p.i] == '\n') {
		p.i++
	}
}

// next consumes c if it comes next.
func (p *jsonParser) next(c byte) bool {
	p.space()
	if p.i < len(p.b) && p.b[p.i] == c {
		p.i++
		return true
	}
	return false
}

// str consumes a string and returns its content.
func (p *jsonParser) str() ([]byte, bool) {
	if !p.next('"') {
		return nil, false
	}
	start, escaped := p.i, false
	for {
		q := bytes.IndexByte(p.b[p.i:], '"')
		if q < 0 {
			p.i = len(p.b)
			return nil, false
		}
		if bs := bytes.IndexByte(p.b[p.i:p.i+q], '\\'); bs >= 0 {
			escaped = true
			p.i = min(p.i+bs+2, len(p.b)) // past the escaped byte
			continue
		}
		content := p.b[start : p.i+q]
		p.i += q + 1
		if !escaped {
			return content, true
		}
		var s string
		if json.Unmarshal(p.b[start-1:p.i], &s) != nil {
			return nil, false
		}
		return []byte(s), true
	}
}

// value consumes any value and returns the content of a string or the text of
// a number or literal; nested values and null are returned as nil.
func (p *jsonParser) value() ([]byte, bool) {
	p.space()
	if p.i >= len(p.b) {
		return nil, false
	}
	switch p.b[p.i] {
	case '"':
		return p.str()
	case '{', '[':
		return nil, p.skipNested()
	}
	start := p.i
	for p.i < len(p.b) && p.b[p.i] != ',' && p.b[p.i] != '}' && p.b[p.i] > ' ' {
		p.i++
	}
	text, ok := p.b[start:p.i], p.i > start && p.i < len(p.b)
	if string(text) == "null" {
		return nil, ok
	}
	return text, ok
}

func (p *jsonParser) skipNested() bool {
	for depth := 0; p.i < len(p.b); {
		switch p.b[p.i] {
		case '"':
			if _, ok := p.str(); !ok {
				return false
			}
			continue
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		}
		p.i++
		if depth == 0 {
			return true
		}
	}
	return false
}

// stripANSI appends b to dst without terminal colour sequences.
func stripANSI(dst, b []byte) []byte {
	for {
		i := bytes.Index(b, []byte("\x1b["))
		if i < 0 {
			return append(dst, b...)
		}
		dst = append(dst, b[:i]...)
		b = b[i+2:]
		for len(b) > 0 && (b[0] < 0x40 || b[0] > 0x7e) {
			b = b[1:]
		}
		if len(b) > 0 {
			b = b[1:]
		}
	}
}

// parseTime reads an RFC 3339 time stamp, as both log formats print it.
func parseTime(b []byte) time.Time {
	t, err := time.Parse(time.RFC3339Nano, string(b))
	if err != nil {
		return time.Time{}
	}
	return t
}

// parseUint reads a whole decimal number that fits bits.
func parseUint(b []byte, bits int) (uint64, bool) {
	v, err := strconv.ParseUint(string(b), 10, bits)
	return v, err == nil
}
