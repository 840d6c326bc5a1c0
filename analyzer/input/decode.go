package input

import (
	"github.com/kvshadow/kvshadow/analyzer/decision"
)

// Router decodes the lines of one kind of router. Decisions come out through
// the function it was made with.
type Router interface {
	// Line takes a line without its end and says whether it was one of the
	// router's. The line may be reused afterwards.
	Line(stream uint64, line []byte) bool
	// Flush hands on or counts everything that still waits for other lines.
	Flush()
	// FlushReady hands on what waits only for lines that may never come.
	FlushReady()
	// Undecodable calls f with each reason and how often it happened.
	Undecodable(f func(reason string, n uint64))
}

// InvalidRecord is the reason under which refused neutral records count.
const InvalidRecord = "invalid_record"

// TooLong is the reason under which lines over [MaxLine] count.
const TooLong = "line_too_long"

// Broken is the reason under which inputs count that broke off.
const Broken = "broken_input"

// Decoder tells neutral records from router lines, line by line. It is not
// safe for concurrent use.
type Decoder struct {
	router  Router
	emit    func(*decision.Decision)
	invalid uint64
	ignored uint64
}

// NewDecoder returns a decoder that hands decisions to emit; router must have
// been made with the same function.
func NewDecoder(router Router, emit func(*decision.Decision)) *Decoder {
	return &Decoder{router: router, emit: emit}
}

// Line decodes one line. The error says why a neutral record was refused; the
// refusal is counted too.
func (d *Decoder) Line(stream uint64, line []byte) error {
	if decision.Matches(line) {
		x := new(decision.Decision)
		if err := decision.Unmarshal(line, x); err != nil {
			d.invalid++
			return err
		}
		d.emit(x)
		return nil
	}
	if !d.router.Line(stream, line) {
		d.ignored++
	}
	return nil
}

// Ignored returns how many lines were neither records nor the router's.
func (d *Decoder) Ignored() uint64 { return d.ignored }

// Flush is described at [Router].
func (d *Decoder) Flush() { d.router.Flush() }

// FlushReady is described at [Router].
func (d *Decoder) FlushReady() { d.router.FlushReady() }

// Undecodable calls f with each reason and how often it happened.
func (d *Decoder) Undecodable(f func(reason string, n uint64)) {
	f(InvalidRecord, d.invalid)
	d.router.Undecodable(f)
}
