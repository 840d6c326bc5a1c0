package dynamo

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/kvshadow/kvshadow/analyzer/decision"
)

// maxTraceUnixMs is the end of the year 9999, the last that time stamps can
// be printed for.
const maxTraceUnixMs = 253402300799999

// scalar reads a string, a number or the hashes.
func (t *traceDecoder) scalar(f traceField) (err error) {
	switch {
	case f < endOfTexts:
		return t.textField(f)
	case f < endOfUints:
		v, err := t.s.uint()
		if err == nil && v > maxTraceValue(f) {
			err = fmt.Errorf("larger than %d", maxTraceValue(f))
		}
		t.num[f-endOfTexts].u = v
		return err
	case f < endOfFloats:
		return t.floatField(f)
	}
	return t.hashList()
}

func maxTraceValue(f traceField) uint64 {
	switch f {
	case fieldPrefillRank, fieldDecodeRank, fieldBlockSize:
		return math.MaxUint32
	case fieldReceived:
		return maxTraceUnixMs
	case fieldCachedTokens:
		return math.MaxInt64
	}
	return math.MaxUint64
}

func (t *traceDecoder) textField(f traceField) error {
	raw, escaped, err := t.s.text()
	if err == nil && escaped {
		raw, err = unquoteTrace(raw)
	}
	switch {
	case err != nil:
		return err
	case !utf8.Valid(raw):
		return errors.New("not UTF-8")
	case f == fieldEventType:
		t.event = eventOther
		if string(raw) == "request_end" {
			t.event = eventRequestEnd
		}
	case f == fieldSchema && string(raw) != traceSchema:
		return errTraceSchema // at once: what follows may be of other types
	}
	t.text[f] = raw
	return nil
}

func (t *traceDecoder) floatField(f traceField) error {
	b, err := t.s.number()
	if err != nil {
		return err
	}
	v, err := strconv.ParseFloat(string(b), 64)
	switch {
	case v < 0:
		return errors.New("negative")
	case err != nil: // out of float64's range
		return errors.New("too large")
	case f != fieldHitRate && v > float64(maxTraceTime/time.Millisecond):
		return errors.New("longer than 30 days")
	}
	t.num[f-endOfTexts].f = v
	return nil
}

// hashList reads the hashes, which are nearly all of a record.
func (t *traceDecoder) hashList() error {
	if t.s.peek() != '[' {
		return t.s.wrong("an array")
	}
	t.s.i++
	if t.s.next(']') {
		return nil
	}
	for {
		h, err := t.s.uint()
		if err != nil {
			return err
		}
		t.hashes = append(t.hashes, h)
		if t.s.next(',') {
			continue
		}
		return t.s.expect(']')
	}
}

// lifecycle makes sense of what was read.
func (t *traceDecoder) lifecycle() (*decision.Lifecycle, string, error) {
	switch {
	case !t.is(fieldSchema):
		return nil, "", missing(fieldSchema)
	case !t.is(fieldEventType):
		return nil, "", missing(fieldEventType)
	case t.event != eventRequestEnd:
		return nil, t.skipReason(), nil
	case !t.is(fieldRequest):
		return nil, "", missing(fieldRequest)
	case !t.is(fieldReplay):
		return nil, skipWithoutReplay, nil
	}
	for _, f := range [...]traceField{fieldRequestID, fieldReceived, fieldBlockSize, fieldInputLength, fieldHashes} {
		if !t.is(f) || f < endOfTexts && len(t.text[f]) == 0 {
			return nil, "", missing(f)
		}
	}
	if err := t.check(); err != nil {
		return nil, "", err
	}
	return t.build(), "", nil
}

func missing(f traceField) error { return fmt.Errorf("%s: missing", f) }

func (t *traceDecoder) is(f traceField) bool       { return t.has&(1<<f) != 0 }
func (t *traceDecoder) uint(f traceField) uint64   { return t.num[f-endOfTexts].u }
func (t *traceDecoder) float(f traceField) float64 { return t.num[f-endOfTexts].f }

// skipReason returns the event type as a constant, whose number is limited.
func (t *traceDecoder) skipReason() string {
	for _, known := range [...]string{"tool_start", "tool_end", "tool_error", "request_payload"} {
		if string(t.text[fieldEventType]) == known {
			return known
		}
	}
	return skipUnknownEvent
}

// check finds records that contradict themselves. Every capture has one hash
// for each started block of the prompt, as Dynamo's source says; one for each
// full block only is accepted too, since that is all a cache can hold.
func (t *traceDecoder) check() error {
	size, length := t.uint(fieldBlockSize), t.uint(fieldInputLength)
	if size == 0 {
		return fmt.Errorf("%s: 0", fieldBlockSize)
	}
	if tokens := t.uint(fieldInputTokens); t.is(fieldInputTokens) && tokens != length {
		return fmt.Errorf("%s: %d, but %s is %d", fieldInputTokens, tokens, fieldInputLength, length)
	}
	n, full := uint64(len(t.hashes)), length/size
	if n != full && (n != full+1 || length%size == 0) {
		return fmt.Errorf("%s: %d hashes for %d tokens in blocks of %d", fieldHashes, n, length, size)
	}
	return nil
}

func (t *traceDecoder) build() *decision.Lifecycle {
	l := &decision.Lifecycle{
		RequestID:       string(t.text[fieldRequestID]),
		SessionID:       string(t.text[fieldSession]),
		Model:           t.internModel(),
		Received:        time.UnixMilli(int64(t.uint(fieldReceived))).UTC(),
		Wait:            t.duration(fieldWait),
		FirstToken:      t.duration(fieldFirstToken),
		Total:           t.duration(fieldTotal),
		InputTokens:     t.uint(fieldInputLength),
		CachedTokens:    -1,
		BlockSizeTokens: uint32(t.uint(fieldBlockSize)),
		Hashes:          make([]uint64, len(t.hashes)),
	}
	copy(l.Hashes, t.hashes)
	if t.is(fieldOutputTokens) {
		l.OutputTokens = t.uint(fieldOutputTokens)
	}
	if t.is(fieldCachedTokens) {
		l.CachedTokens = int64(t.uint(fieldCachedTokens))
	}
	if t.is(fieldHitRate) {
		l.HitRate = decision.Some(t.float(fieldHitRate))
	}
	l.Prefill, l.HasWorkers = t.worker(fieldPrefillWorker, fieldPrefillRank)
	decode, ok := t.worker(fieldDecodeWorker, fieldDecodeRank)
	switch {
	case ok && !l.HasWorkers:
		l.Prefill, l.Decode, l.HasWorkers = decode, decode, true
	case ok:
		l.Decode = decode
	default:
		l.Decode = l.Prefill
	}
	return l
}

// worker returns the rank that a role ran on; a rank without its worker says
// nothing.
func (t *traceDecoder) worker(id, rank traceField) (k decision.Key, ok bool) {
	if !t.is(id) {
		return k, false
	}
	k.WorkerID = t.uint(id)
	if t.is(rank) {
		k.DPRank = uint32(t.uint(rank))
	}
	return k, true
}

// duration returns a time in milliseconds, to the nanosecond, or -1.
func (t *traceDecoder) duration(f traceField) time.Duration {
	if !t.is(f) {
		return -1
	}
	return time.Duration(math.Round(t.float(f) * float64(time.Millisecond)))
}

func (t *traceDecoder) internModel() string {
	if string(t.text[fieldModel]) != t.model {
		t.model = string(t.text[fieldModel])
	}
	return t.model
}
