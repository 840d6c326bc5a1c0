package fleet

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
)

// Workload is the requests of a simulation, in sessions: a turn begins some
// time after the one before it ended.
type Workload struct {
	turns []turn
	first []int32 // of each session
	ids   map[string]int32
}

type turn struct {
	session, index int32
	next           int32
	input, output  int
	full           []uint64 // hashes of the full blocks
	at             float64  // ms; the earliest beginning
	delay          float64  // ms after the turn before
	open           bool     // arrives at its time, whatever became of the turn before
}

// Len returns the number of requests.
func (l *Workload) Len() int { return len(l.turns) }

// mooncakeRow is a line of a Mooncake-format trace.
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
	HashIDs      []uint64 `json:"hash_ids"`
}

// Mooncake reads a Mooncake-format trace line by line. Rows with a session_id
// and a delay are closed loops: a turn begins that long after the one before it
// ended.
type Mooncake struct {
	load                  Workload
	hashTokens, blockSize int
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
	var row mooncakeRow
	if err := json.Unmarshal(line, &row); err != nil {
		return fmt.Errorf("neither a Mooncake row nor a request trace: %w", err)
	}
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

func (l *Workload) add(row *mooncakeRow, hashTokens, blockSize int) error {
	input, output := pick(row.InputLength, row.InputTokens), pick(row.OutputLength, row.OutputTokens)
	at, delay := pick(row.Timestamp, row.CreatedTime), pick(row.Delay, row.DelayMs)
	switch {
	case input == nil || *input <= 0:
		return errors.New("input_length is missing or not positive")
	case output == nil || *output < 0:
		return errors.New("output_length is missing or negative")
	case len(row.HashIDs) < *input/hashTokens:
		return fmt.Errorf("%d hash_ids don't cover %d input tokens of %d a hash", len(row.HashIDs), *input, hashTokens)
	case at == nil && (delay == nil || row.SessionID == nil):
		return errors.New("neither a timestamp nor a session_id with a delay")
	}
	t := turn{next: -1, input: *input, output: *output, at: math.Inf(-1), full: expand(row.HashIDs, *input, hashTokens, blockSize)}
	if at != nil {
		t.at = *at
	}
	if delay != nil {
		t.delay = *delay
	}
	l.join(t, row.SessionID)
	return nil
}

// expand turns hashes of hashTokens each into hashes of full engine blocks.
func expand(ids []uint64, input, hashTokens, blockSize int) []uint64 {
	per := uint64(hashTokens / blockSize)
	full := make([]uint64, input/blockSize)
	for i := range full {
		full[i] = ids[uint64(i)/per]*per + uint64(i)%per
	}
	return full
}

// join appends a turn to its session, or begins one.
func (l *Workload) join(t turn, session *string) {
	id := int32(len(l.turns))
	if session != nil {
		if last, ok := l.ids[*session]; ok {
			before := &l.turns[last]
			before.next, t.session, t.index = id, before.session, before.index+1
			l.ids[*session] = id
			l.turns = append(l.turns, t)
			return
		}
		l.ids[*session] = id
	}
	t.session = int32(len(l.first))
	l.first = append(l.first, id)
	l.turns = append(l.turns, t)
}

// start makes the first arrival the beginning of time.
func (l *Workload) start() *Workload {
	l.ids = nil
	begin := math.Inf(1)
	for i := range l.turns {
		if at := l.turns[i].at; !math.IsInf(at, -1) {
			begin = min(begin, at)
		}
	}
	for i := range l.turns {
		if l.turns[i].index == 0 && math.IsInf(l.turns[i].at, -1) {
			l.turns[i].at = begin
		}
		l.turns[i].at -= begin
	}
	return l
}
