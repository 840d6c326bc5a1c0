package fleet

import (
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// Bounds of what a row may say, far beyond any request: sums of them stay exact.
const (
	maxTokens = 1 << 31
	maxMs     = 1e15
)

// mooncakeRow is a line of a Mooncake-format trace. Other fields are ignored.
type mooncakeRow struct {
	Timestamp    *float64 `json:"timestamp"`
	CreatedTime  *float64 `json:"created_time"`
	Delay        *float64 `json:"delay"`
	DelayMs      *float64 `json:"delay_ms"`
	SessionID    *string  `json:"session_id"`
	InputLength  *int     `json:"input_length"`
	InputTokens  *int     `json:"input_tokens"`
	OutputLength *int     `json:"output_length"`
	OutputTokens *int     `json:"output_tokens"`
	HashIDs      hashes   `json:"hash_ids"`
}

// hashes is an array of integers. Traces consist of little else, so that it is
// taken apart by hand.
type hashes []uint64

// UnmarshalJSONFrom implements [json.UnmarshalerFrom].
func (h *hashes) UnmarshalJSONFrom(dec *jsontext.Decoder) error {
	v, err := dec.ReadValue() // syntactically valid from here on
	switch {
	case err != nil:
		return err
	case v.Kind() == jsontext.KindNull:
		return nil
	case v.Kind() != jsontext.KindBeginArray:
		return errors.New("hash_ids is no array")
	}
	*h = (*h)[:0]
	for i := 1; ; i++ {
		start := i
		for v[i] != ',' && v[i] != ']' && v[i] > ' ' {
			i++
		}
		if i > start {
			id, err := parseHash(v[start:i])
			if err != nil {
				return err
			}
			*h = append(*h, id)
		}
		if v[i] == ']' {
			return nil
		}
	}
}

func parseHash(digits []byte) (uint64, error) {
	var id uint64
	for i, c := range digits {
		if c < '0' || c > '9' || i >= 18 { // a sign, a fraction, or near the end of the range
			return parseOddHash(string(digits))
		}
		id = 10*id + uint64(c-'0')
	}
	return id, nil
}

func parseOddHash(text string) (uint64, error) {
	if id, err := strconv.ParseUint(text, 10, 64); err == nil {
		return id, nil
	}
	id, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("hash_ids holds %.40s, which is no 64-bit integer", text)
	}
	return uint64(id), nil
}

// Mooncake reads a Mooncake-format trace line by line. Rows with a session_id
// and a delay are closed loops: a turn begins that long after the one before it
// ended.
type Mooncake struct {
	load                  Workload
	hashTokens, blockSize int
	scratch               hashes
}

// NewMooncake returns a reader. hashTokens is how many tokens a hash stands for,
// blockSize the engine's block; the former must be a multiple of the latter.
func NewMooncake(hashTokens, blockSize int) *Mooncake {
	return &Mooncake{load: Workload{ids: map[string]int32{}}, hashTokens: hashTokens, blockSize: blockSize}
}

// Line takes a row.
func (m *Mooncake) Line(line []byte) error {
	if m.blockSize <= 0 || m.hashTokens%m.blockSize != 0 {
		return fmt.Errorf("a hash stands for %d tokens, which is no multiple of the block size %d", m.hashTokens, m.blockSize)
	}
	row := mooncakeRow{HashIDs: m.scratch[:0]}
	if err := json.Unmarshal(line, &row); err != nil {
		return fmt.Errorf("neither a Mooncake row nor a request trace: %w", err)
	}
	m.scratch = row.HashIDs
	return m.load.add(&row, m.hashTokens, m.blockSize)
}

// Len returns the number of rows so far.
func (m *Mooncake) Len() int { return len(m.load.turns) }

// Workload returns what was read. The reader must not be used afterwards.
func (m *Mooncake) Workload() (*Workload, error) {
	if len(m.load.turns) == 0 {
		return nil, errors.New("the input has no request")
	}
	return m.load.start(), nil
}

func pick[T any](a, b *T) *T {
	if a != nil {
		return a
	}
	return b
}

// check refuses rows that make no request.
func (row *mooncakeRow) check(hashTokens, blockSize int) error {
	input, output := pick(row.InputLength, row.InputTokens), pick(row.OutputLength, row.OutputTokens)
	at, delay := pick(row.Timestamp, row.CreatedTime), pick(row.Delay, row.DelayMs)
	switch {
	case input == nil || *input <= 0 || *input > maxTokens:
		return errors.New("input_length is missing, not positive or too large")
	case output == nil || *output < 0 || *output > maxTokens:
		return errors.New("output_length is missing, negative or too large")
	case !covers(len(row.HashIDs), *input, hashTokens, blockSize):
		return fmt.Errorf("%d hash_ids don't cover %d input tokens of %d a hash", len(row.HashIDs), *input, hashTokens)
	case at == nil && (delay == nil || row.SessionID == nil):
		return errors.New("neither a timestamp nor a session_id with a delay")
	case at != nil && math.Abs(*at) > maxMs:
		return errors.New("timestamp is too large")
	case delay != nil && !(*delay >= 0 && *delay <= maxMs):
		return errors.New("delay is negative or too large")
	}
	return nil
}

func (l *Workload) add(row *mooncakeRow, hashTokens, blockSize int) error {
	if err := row.check(hashTokens, blockSize); err != nil {
		return err
	}
	input, output := *pick(row.InputLength, row.InputTokens), *pick(row.OutputLength, row.OutputTokens)
	t := turn{next: -1, input: input, output: output, at: math.Inf(-1), full: expand(row.HashIDs, input, hashTokens, blockSize)}
	if at := pick(row.Timestamp, row.CreatedTime); at != nil {
		t.at = *at
	}
	if delay := pick(row.Delay, row.DelayMs); delay != nil {
		t.delay = *delay
	}
	l.join(t, row.SessionID)
	return nil
}
