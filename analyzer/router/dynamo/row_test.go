package dynamo

import (
	"math"
	"math/rand"
	"strconv"
	"testing"

	"github.com/kvshadow/kvshadow/analyzer/decision"
)

const (
	formulaText = "Formula for worker_id=12 dp_rank=3 with 46.50 effective cached blocks: 143.875 = prefill_load_scale * " +
		"adjusted_prefill_blocks + decode_blocks + active_request_cost_blocks = 2.000 * 0.375 + 140.000 + 3.125 " +
		"(raw_prefill_blocks: 46.875, overlap_credit_blocks: 46.500, overlap_credit_decay: 0.500)"
	formulaText13 = "Formula for worker_id=0 dp_rank=0 with 0.00 effective cached blocks: 96.375 = prefill_load_scale * " +
		"adjusted_prefill_blocks + decode_blocks = 1.000 * 48.375 + 48.000 (raw_prefill_blocks: 48.375, overlap_credit_blocks: 0.000, " +
		"overlap_credit_decay: 1.000)"
	formulaDecode = "Formula for worker_id=7 dp_rank=1 with 4.00 effective cached blocks: 3.500 = max(0, decode_blocks - " +
		"overlap_credit_blocks) + active_request_cost_blocks = max(0, 6.000 - 4.000) + 1.500"
	formulaLegacy = "Formula for worker_id=7 with 17 cached blocks: 17.375 = 1.0 * prefill_blocks + decode_blocks = 1.0 * 0.375 + 17.000"
)

func key(worker uint64, rank uint32) decision.Key {
	return decision.Key{WorkerID: worker, DPRank: rank}
}

func TestParseRow_Success(t *testing.T) {
	f := func(text string, want row) {
		t.Helper()
		got, rest, ok := parseRow([]byte(text))
		if !ok || len(rest) > 0 || got != want {
			t.Errorf("parsed %+v, rest %q, %v; want %+v", got, rest, ok, want)
		}
	}
	some := decision.Some
	modern := row{Key: key(12, 3), effective: 46.5, cost: 143.875, scale: 2, adjusted: 0.375, decode: 140, activeCost: some(3.125),
		raw: 46.875, credit: some(46.5), decay: some(0.5)}
	f(formulaText, modern)
	pinned := modern
	pinned.pinned = true
	f("Pinned f"+formulaText[1:], pinned)
	f("Session affinity f"+formulaText[1:], pinned)
	// 1.3: no active requests.
	f(formulaText13, row{cost: 96.375, scale: 1, adjusted: 48.375, decode: 48, raw: 48.375, credit: some(0), decay: some(1)})
	f(formulaDecode, row{Key: key(7, 1), form: formDecode, effective: 4, cost: 3.5, decode: 6, credit: some(4), activeCost: some(1.5)})
	// Legacy: prefill blocks are what the 17 cached ones leave of the prompt.
	legacy := row{Key: key(7, 0), form: formLegacy, effective: 17, cost: 17.375, scale: 1, adjusted: 0.375, decode: 17, raw: 17.375,
		credit: some(17), decay: some(1)}
	f(formulaLegacy, legacy)
	legacy.DPRank = 2
	f("Formula for worker_id=7 dp_rank=2"+formulaLegacy[len("Formula for worker_id=7"):], legacy)
	// Shared hits.
	f("Formula for worker_id=1 dp_rank=0 with 2.00 effective cached blocks, 5.00 shared blocks beyond device (multiplier=0.500): "+
		"3.500 = prefill_load_scale * adjusted_prefill_blocks + decode_blocks + active_request_cost_blocks = 1.000 * 0.500 + 3.000 + 0.000 "+
		"(raw_prefill_blocks: 5.000, overlap_credit_blocks: 4.500, overlap_credit_decay: 1.000)",
		row{Key: key(1, 0), effective: 2, cost: 3.5, scale: 1, adjusted: 0.5, decode: 3, activeCost: some(0), raw: 5, credit: some(4.5),
			decay: some(1), shared: 5, sharedMultiplier: some(0.5)})
	// The largest id and rank, and a cost below 0 as before the clamp came back.
	f("Formula for worker_id=18446744073709551615 dp_rank=4294967295 with 3.00 effective cached blocks: -1.250 = prefill_load_scale * "+
		"adjusted_prefill_blocks + decode_blocks = 1.000 * -1.250 + 0.000 (raw_prefill_blocks: 1.750, overlap_credit_blocks: 3.000, "+
		"overlap_credit_decay: 1.000)",
		row{Key: key(math.MaxUint64, math.MaxUint32), effective: 3, cost: -1.25, scale: 1, adjusted: -1.25, raw: 1.75, credit: some(3), decay: some(1)})
}

func TestParseRow_Failure(t *testing.T) {
	f := func(text string) {
		t.Helper()
		if r, _, ok := parseRow([]byte(text)); ok {
			t.Errorf("%q was read as %+v", text, r)
		}
	}
	replace := func(text, old, by string) string {
		t.Helper()
		return replaceOnce(t, text, old, by)
	}
	f("")
	f("Formula")
	f("Formula for worker_id=")
	for n := range len(formulaText) { // the router never cuts a row
		f(formulaText[:n])
	}
	for _, text := range []string{formulaText, formulaDecode, formulaLegacy} {
		f("x" + text)
		f(replace(text, "worker_id=", "worker_id=-"))
		f(replace(text, "worker_id=", "worker_id=99999999999999999999"))
		f(replace(text, " with ", " dp_rank=x with "))
		f(replace(text, " cached blocks", " cached tokens"))
		f(replace(text, "decode_blocks", "waiting_requests + decode_blocks"))
	}
	f(replace(formulaText, "dp_rank=3", "dp_rank=4294967296"))
	for _, number := range []string{"NaN", "inf", "-inf", "1e3", "1.", ".5", "1.2.3", "--1", "+1", "", "0x1p4", "1_0"} {
		f(replace(formulaText, "143.875", number))
		f(replace(formulaText, "46.50 ", number+" "))
		f(replace(formulaText, "140.000", number))
	}
	f(replace(formulaText, "143.875", "1"+repeat("0", 400)))
	// Terms of forks, at every place.
	f(replace(formulaText, "active_request_cost_blocks =", "active_request_cost_blocks + waiting_requests ="))
	f(replace(formulaText, " + 3.125", " + 3.125 + 1.000"))
	f(replace(formulaText, "overlap_credit_decay: 0.500)", "overlap_credit_decay: 0.500, waiting_requests: 1)"))
	f(replace(formulaText, "(raw_prefill_blocks", "(transfer_blocks: 1.000, raw_prefill_blocks"))
	f(replace(formulaText, "46.50 effective cached blocks", "46.50 effective cached blocks and 2.00 lower-tier blocks"))
	f(replace(formulaText, "46.50 effective cached blocks", "46.50 effective cached blocks, 2.00 shared blocks"))
	f(replace(formulaDecode, "max(0, decode_blocks", "max(1, decode_blocks"))
	f(replace(formulaLegacy, "= 1.0 * 0.375", "= 2.0 * 0.375")) // the two weights disagree
}

func TestParseSelection_Success(t *testing.T) {
	f := func(text string, want selection, wantRole, wantRest string) {
		t.Helper()
		got, rest, ok := parseSelection([]byte(text))
		role := string(got.workerType)
		got.workerType = nil
		if !ok || string(rest) != wantRest || role != wantRole || got.Key != want.Key || got.cost != want.cost ||
			got.pinned != want.pinned || got.text != want.text {
			t.Errorf("parsed %+v of %q, rest %q, %v; want %+v", got, role, rest, ok, want)
		}
	}
	f("Selected worker", selection{}, "", "")
	f("Selected worker router_mode=kv", selection{}, "", " router_mode=kv")
	f("Selected worker: worker_id=9 dp_rank=0, logit: -1.500, cached blocks: 4",
		selection{Key: key(9, 0), cost: decision.Some(-1.5), text: true}, "", "")
	f("Selected worker: worker_id=9, logit: 17.375, cached blocks: 17, tree size: 3",
		selection{Key: key(9, 0), cost: decision.Some(17.375), text: true}, "", ", tree size: 3")
	f("Selected worker: worker_id=18446744073709551615 dp_rank=2, logit: 0.000, effective cached blocks: 0.25",
		selection{Key: key(math.MaxUint64, 2), cost: decision.Some(0), text: true}, "", "")
	f("Selected pinned worker: worker_type=prefill, worker_id=1 dp_rank=0, logit: 1.500, effective cached blocks: 2.00",
		selection{Key: key(1, 0), cost: decision.Some(1.5), text: true, pinned: true}, "prefill", "")
	f("Selected session affinity worker: worker_type=decode, worker_id=1 dp_rank=0, logit: 1.500, effective cached blocks: 2.00",
		selection{Key: key(1, 0), cost: decision.Some(1.5), text: true, pinned: true}, "decode", "")
}

func TestParseSelection_Failure(t *testing.T) {
	f := func(text string) {
		t.Helper()
		if sel, _, ok := parseSelection([]byte(text)); ok {
			t.Errorf("%q was read as %+v", text, sel)
		}
	}
	f("")
	f("Selected model parser route")
	f("Selected worker: ")
	f("Selected worker: worker_type=prefill")
	f("Selected worker: worker_id=x dp_rank=0, logit: 1.000, cached blocks: 4")
	f("Selected worker: worker_id=1 dp_rank=, logit: 1.000, cached blocks: 4")
	f("Selected worker: worker_id=1 dp_rank=0, logit: NaN, cached blocks: 4")
	f("Selected worker: worker_id=1 dp_rank=0, logit: 1.000, cached blocks: none")
	f("Selected worker: worker_id=1 dp_rank=0, cost: 1.000, cached blocks: 4")
	f("Selected pinned worker: worker_type=prefill worker_id=1 dp_rank=0, logit: 1.500")
}

// TestScanner_Num: every printed number becomes the float64 nearest to it.
func TestScanner_Num(t *testing.T) {
	r := rand.New(rand.NewSource(9))
	f := func(text string) {
		t.Helper()
		s := scanner{b: []byte(text + " rest"), ok: true}
		want, err := strconv.ParseFloat(text, 64)
		if got := s.num(); err != nil || !s.ok || got != want || string(s.b) != " rest" {
			t.Errorf("%s became %v, want %v (%v), rest %q", text, got, want, err, s.b)
		}
	}
	for range 20000 {
		f(strconv.FormatFloat(r.NormFloat64()*math.Pow(10, float64(r.Intn(20)-4)), 'f', r.Intn(20), 64))
		f(strconv.FormatFloat(float64(r.Intn(1e6))/1000, 'f', 3, 64))
	}
	f("0")
	f("-0.000")
	f("9007199254740993")
	f("999999999999999.999999")
	f("0.1234567890123456789")
	f("00012.500")
}
