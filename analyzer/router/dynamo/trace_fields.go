package dynamo

import "time"

// traceField is a member of a record that is read. The order is by type.
type traceField uint8

const (
	fieldRecord traceField = iota // the record itself; in an envelope, too
	fieldEnvelope
	fieldContext
	fieldRequest
	fieldWorker
	fieldReplay
	endOfObjects
)

const (
	fieldSchema traceField = iota + endOfObjects
	fieldEventType
	fieldSession
	fieldRequestID
	fieldModel
	endOfTexts
)

const (
	fieldInputTokens traceField = iota + endOfTexts
	fieldOutputTokens
	fieldCachedTokens
	fieldReceived
	fieldPrefillWorker
	fieldPrefillRank
	fieldDecodeWorker
	fieldDecodeRank
	fieldBlockSize
	fieldInputLength
	endOfUints
)

const (
	fieldWait traceField = iota + endOfUints
	fieldFirstToken
	fieldTotal
	fieldHitRate
	endOfFloats
)

const (
	fieldHashes traceField = iota + endOfFloats
	fieldOther             // is not read
)

// maxTraceTime is how long a request may take. A longer time means that the
// trace counts in another unit.
const maxTraceTime = 30 * 24 * time.Hour

// traceFields says where each field is: its name, and in which field's value.
var traceFields = [fieldOther]struct {
	in   traceField
	name string
}{
	fieldEnvelope:      {fieldRecord, "event"},
	fieldSchema:        {fieldRecord, "schema"},
	fieldEventType:     {fieldRecord, "event_type"},
	fieldContext:       {fieldRecord, "agent_context"},
	fieldSession:       {fieldContext, "session_id"},
	fieldRequest:       {fieldRecord, "request"},
	fieldRequestID:     {fieldRequest, "request_id"},
	fieldModel:         {fieldRequest, "model"},
	fieldInputTokens:   {fieldRequest, "input_tokens"},
	fieldOutputTokens:  {fieldRequest, "output_tokens"},
	fieldCachedTokens:  {fieldRequest, "cached_tokens"},
	fieldReceived:      {fieldRequest, "request_received_ms"},
	fieldWait:          {fieldRequest, "prefill_wait_time_ms"},
	fieldFirstToken:    {fieldRequest, "ttft_ms"},
	fieldTotal:         {fieldRequest, "total_time_ms"},
	fieldHitRate:       {fieldRequest, "kv_hit_rate"},
	fieldWorker:        {fieldRequest, "worker"},
	fieldPrefillWorker: {fieldWorker, "prefill_worker_id"},
	fieldPrefillRank:   {fieldWorker, "prefill_dp_rank"},
	fieldDecodeWorker:  {fieldWorker, "decode_worker_id"},
	fieldDecodeRank:    {fieldWorker, "decode_dp_rank"},
	fieldReplay:        {fieldRequest, "replay"},
	fieldBlockSize:     {fieldReplay, "trace_block_size"},
	fieldInputLength:   {fieldReplay, "input_length"},
	fieldHashes:        {fieldReplay, "input_sequence_hashes"},
}

// String returns the path from the record, by which errors name the field.
func (f traceField) String() string {
	at := traceFields[f]
	if at.in == fieldRecord {
		return at.name
	}
	return at.in.String() + "." + at.name
}

// lookupTraceField finds the field that a member of the object in is. The
// envelope is not found here, since only the outermost object may be one.
func lookupTraceField(in traceField, name []byte) traceField {
	for f := fieldContext; f < fieldOther; f++ {
		if at := &traceFields[f]; at.in == in && at.name == string(name) {
			return f
		}
	}
	return fieldOther
}
