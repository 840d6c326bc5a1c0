package dynamo

import (
	"bytes"
	"math"
	"strconv"

	"github.com/kvshadow/kvshadow/analyzer/decision"
)

// form is the shape of a formula row.
type form uint8

const (
	formOrdinary form = iota // scale * adjusted_prefill_blocks + decode_blocks + ...
	formDecode               // max(0, decode_blocks - overlap_credit_blocks) + ...
	formLegacy               // weight * prefill_blocks + decode_blocks, with whole cached blocks
)

// row is one candidate as a formula row prints it.
type row struct {
	decision.Key
	form             form
	pinned           bool // a pin, or an exclusive session affinity
	effective        float64
	cost             float64
	scale            float64
	adjusted         float64
	decode           float64
	activeCost       decision.Float
	raw              float64
	credit           decision.Float
	decay            decision.Float
	shared           float64
	sharedMultiplier decision.Float
}

// parseRow reads a formula row and returns what follows it. It fails on any
// term it doesn't know, so that a fork's formula is never half-read.
//
// Sources of the shapes: captures of 1.3.1, 1.4.2 and 1.5.1, and upstream's
// selector of 0.x for the legacy one.
func parseRow(b []byte) (r row, rest []byte, ok bool) {
	s := scanner{b: b, ok: true}
	switch {
	case s.try("Formula"):
	case s.try("Pinned formula"), s.try("Session affinity formula"):
		r.pinned = true
	default:
		s.ok = false
	}
	s.lit(" for worker_id=")
	r.WorkerID = s.uint(64)
	if s.try(" dp_rank=") {
		r.DPRank = uint32(s.uint(32))
	}
	s.lit(" with ")
	r.effective = s.num()
	switch {
	case s.try(" effective cached blocks"):
		s.modern(&r)
	case s.try(" cached blocks"):
		s.legacy(&r)
	default:
		s.ok = false
	}
	return r, s.b, s.ok
}

func (s *scanner) modern(r *row) {
	if s.try(", ") {
		r.shared = s.num()
		s.lit(" shared blocks beyond device (multiplier=")
		r.sharedMultiplier = decision.Some(s.num())
		s.lit(")")
	}
	s.lit(": ")
	r.cost = s.num()
	switch {
	case s.try(" = prefill_load_scale * adjusted_prefill_blocks + decode_blocks + active_request_cost_blocks = "):
		s.ordinary(r, true)
	case s.try(" = prefill_load_scale * adjusted_prefill_blocks + decode_blocks = "): // 1.3
		s.ordinary(r, false)
	case s.try(" = max(0, decode_blocks - overlap_credit_blocks) + active_request_cost_blocks = max(0, "):
		r.form = formDecode
		r.decode = s.num()
		s.lit(" - ")
		r.credit = decision.Some(s.num())
		s.lit(") + ")
		r.activeCost = decision.Some(s.num())
	default:
		s.ok = false
	}
}

func (s *scanner) ordinary(r *row, activeCost bool) {
	r.scale = s.num()
	s.lit(" * ")
	r.adjusted = s.num()
	s.lit(" + ")
	r.decode = s.num()
	if activeCost {
		s.lit(" + ")
		r.activeCost = decision.Some(s.num())
	}
	s.lit(" (raw_prefill_blocks: ")
	r.raw = s.num()
	s.lit(", overlap_credit_blocks: ")
	r.credit = decision.Some(s.num())
	s.lit(", overlap_credit_decay: ")
	r.decay = decision.Some(s.num())
	s.lit(")")
}

// legacy reads the row of early releases. Its prefill blocks are already less
// the cached ones, so raw is their sum, and its weight is today's scale.
func (s *scanner) legacy(r *row) {
	r.form = formLegacy
	s.lit(": ")
	r.cost = s.num()
	s.lit(" = ")
	r.scale = s.num()
	s.lit(" * prefill_blocks + decode_blocks = ")
	if s.num() != r.scale {
		s.ok = false
	}
	s.lit(" * ")
	r.adjusted = s.num()
	s.lit(" + ")
	r.decode = s.num()
	r.raw = r.adjusted + r.effective
	if math.IsInf(r.raw, 0) {
		s.ok = false
	}
	r.credit, r.decay = decision.Some(r.effective), decision.Some(1)
}

// selection is what a text message about the winner says.
type selection struct {
	decision.Key
	workerType []byte
	cost       decision.Float
	pinned     bool
	text       bool // the values came in the text, not as fields
}

// parseSelection reads "Selected worker", whose values are fields, and the
// forms with the values in the text: "Selected pinned worker: worker_type=...,
// worker_id=... dp_rank=..., logit: ..., effective cached blocks: ..." and the
// older "Selected worker: worker_id=... dp_rank=..., logit: ..., cached blocks: ...".
func parseSelection(b []byte) (sel selection, rest []byte, ok bool) {
	s := scanner{b: b, ok: true}
	switch {
	case s.try("Selected worker"):
	case s.try("Selected pinned worker"), s.try("Selected session affinity worker"):
		sel.pinned = true
	default:
		return sel, b, false
	}
	if !s.try(": ") {
		return sel, s.b, true
	}
	sel.text = true
	if s.try("worker_type=") {
		end := max(0, bytes.IndexByte(s.b, ','))
		sel.workerType, s.b = s.b[:end], s.b[end:]
		s.lit(", ")
	}
	s.lit("worker_id=")
	sel.WorkerID = s.uint(64)
	if s.try(" dp_rank=") {
		sel.DPRank = uint32(s.uint(32))
	}
	s.lit(", logit: ")
	sel.cost = decision.Some(s.num())
	if s.try(", effective cached blocks: ") || s.try(", cached blocks: ") {
		s.num()
	}
	return sel, s.b, s.ok
}

// scanner consumes a message from the left; after the first mismatch ok stays
// false.
type scanner struct {
	b  []byte
	ok bool
}

// try consumes text if it comes next.
func (s *scanner) try(text string) bool {
	if len(s.b) < len(text) || string(s.b[:len(text)]) != text {
		return false
	}
	s.b = s.b[len(text):]
	return true
}

// lit consumes text, which must come next.
func (s *scanner) lit(text string) {
	if !s.try(text) {
		s.ok = false
	}
}

func (s *scanner) uint(bits int) uint64 {
	n := 0
	for n < len(s.b) && s.b[n] >= '0' && s.b[n] <= '9' {
		n++
	}
	v, ok := parseUint(s.b[:n], bits)
	s.ok = s.ok && ok
	s.b = s.b[n:]
	return v
}

// pow10 are the powers of ten that a float64 holds exactly, as far as rows
// need them.
var pow10 = [...]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6}

// num consumes a decimal number. Short ones are read exactly: the quotient of
// two exact numbers is correctly rounded. Some releases print costs below 0.
func (s *scanner) num() float64 {
	if s.try("-") {
		return -s.decimal()
	}
	return s.decimal()
}

func (s *scanner) decimal() float64 {
	var digits uint64
	n, point := 0, -1
	for ; n < len(s.b); n++ {
		c := s.b[n]
		if c == '.' && point < 0 {
			point = n
			continue
		}
		if c < '0' || c > '9' {
			break
		}
		digits = digits*10 + uint64(c-'0')
	}
	text := s.b[:n]
	decimals := 0
	if point >= 0 {
		decimals = n - point - 1
	}
	if n == 0 || point == 0 || point == n-1 {
		s.ok = false
		return 0
	}
	s.b = s.b[n:]
	if n <= 16 && decimals < len(pow10) {
		return float64(digits) / pow10[decimals]
	}
	v, err := strconv.ParseFloat(string(text), 64)
	if err != nil || math.IsInf(v, 0) {
		s.ok = false
	}
	return v
}

// full consumes a number at full precision, as JSON writes it.
func (s *scanner) full() float64 {
	v, err := strconv.ParseFloat(string(s.b), 64)
	if err != nil || math.IsInf(v, 0) || math.IsNaN(v) {
		s.ok = false
		return 0
	}
	return v
}
