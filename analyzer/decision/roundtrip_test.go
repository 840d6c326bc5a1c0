package decision

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"testing"
	"time"
)

func TestRoundTrip_Full(t *testing.T) { requireRoundTrip(t, fullDecision()) }

func TestRoundTrip_Random(t *testing.T) {
	for seed := range uint64(2000) {
		requireRoundTrip(t, randomDecision(rand.New(rand.NewPCG(seed, 1))))
	}
}

func FuzzDecode(f *testing.F) {
	full := fullDecision()
	line, err := Append(nil, &full)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(line)
	f.Add([]byte(minimal))
	f.Add([]byte(with(`"decode"`, `"decode","tier_maps":false,"time":"2026-01-01T00:00:00+01:00","shared_hits":[[0,0]]`)))
	f.Add([]byte(with(`"decode"`, `"prefill","unknown":["tiers"],"recorded_weights":{"":-0},"preferred_taints":{}`)))
	f.Add([]byte(with(`100`, `null`)))
	f.Add([]byte(`{"schema":"kvshadow.decision.v2","\u001b":[{}]}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		var d Decision
		if err := Unmarshal(line, &d); err != nil {
			requirePrintable(t, err)
			return
		}
		requireRoundTrip(t, d)
	})
}

func requireRoundTrip(t *testing.T, d Decision) {
	t.Helper()
	line, err := Append(nil, &d)
	if err != nil {
		t.Fatalf("cannot encode %+v: %v", d, err)
	}
	if !Matches(line) {
		t.Fatalf("doesn't match: %s", line)
	}
	var got Decision
	if err := Unmarshal(line, &got); err != nil {
		t.Fatalf("cannot decode %s: %v", line, err)
	}
	if !reflect.DeepEqual(got, d) {
		t.Fatalf("unexpected decision after %s\ngot:  %+v\nwant: %+v", line, got, d)
	}
}

func requirePrintable(t *testing.T, err error) {
	t.Helper()
	for _, r := range err.Error() {
		if !strconv.IsPrint(r) {
			t.Fatalf("the error holds %q: %q", r, err)
		}
	}
}

// randomDecision returns a valid decision in which any part may be absent.
func randomDecision(r *rand.Rand) Decision {
	d := fullDecision()
	key := d.Selected
	zeroSome(r, reflect.ValueOf(&d).Elem())
	d.RequestID, d.Selected = strconv.FormatUint(r.Uint64(), 36), key
	d.WorkerType = WorkerTypes[r.IntN(len(WorkerTypes))]
	if !d.Time.IsZero() {
		d.Time = time.Unix(r.Int64N(1<<37), r.Int64N(1e9)).UTC()
	}
	d.RequestBlocks = Blocks(d.InputTokens, d.BlockSizeTokens)
	d.Unknown = Unknown(r.IntN(16)) &^ UnknownRequestBlocks
	d.fillRequestBlocks()
	d.Candidates = nil
	for i := range 1 + r.IntN(5) {
		c := fullDecision().Candidates[0]
		zeroSome(r, reflect.ValueOf(&c).Elem())
		c.Key = Key{WorkerID: key.WorkerID - uint64(i/2), DPRank: key.DPRank + uint32(i%2)}
		c.Ineligible = c.Ineligible && i > 0
		c.EffectiveOverlapBlocks *= math.Exp(r.NormFloat64())
		d.Candidates = append(d.Candidates, c)
	}
	r.Shuffle(len(d.Candidates), func(i, j int) {
		d.Candidates[i], d.Candidates[j] = d.Candidates[j], d.Candidates[i]
	})
	return d
}

// zeroSome zeroes each field of a struct with a chance of a half.
func zeroSome(r *rand.Rand, v reflect.Value) {
	for i := range v.NumField() {
		f := v.Field(i)
		switch {
		case r.IntN(2) == 0:
			f.SetZero()
		case f.Type() == reflect.TypeFor[Recorded]():
			zeroSome(r, f)
		}
	}
}

func TestRoundTrip_KeepsWhatDefaultsWouldChange(t *testing.T) {
	f := func(edit func(*Decision)) {
		t.Helper()
		d := fullDecision()
		edit(&d)
		requireRoundTrip(t, d)
	}
	f(func(d *Decision) { d.TierMaps = false })
	f(func(d *Decision) { d.Candidates[0].EffectiveOverlapBlocks = 0 })
	f(func(d *Decision) { d.Candidates[0].DeviceBlocks = Float{} })
	f(func(d *Decision) { d.PreferredTaints = map[string]float32{} })
	f(func(d *Decision) { d.AllowedWorkerIDs = []uint64{} })
	f(func(d *Decision) { d.RecordedWeights = slices.Repeat(d.RecordedWeights, 1)[:0] })
	f(func(d *Decision) { d.Candidates[0].DecodeCostBlocks = math.MaxFloat64 })
	f(func(d *Decision) { d.Candidates[0].DecodeCostBlocks = math.SmallestNonzeroFloat64 })
	f(func(d *Decision) { d.Candidates[0].Recorded.CostBlocks = Some(math.Copysign(0, -1)) })
}

func BenchmarkUnmarshal(b *testing.B) {
	d := fullDecision()
	for i := range 7 {
		c := Candidate{Key: Key{WorkerID: uint64(i)}, DeviceBlocks: Some(3), ActivePrefillTokens: 512, DecodeCostBlocks: 95.5}
		d.Candidates = append(d.Candidates, c)
	}
	line, err := Append(nil, &d)
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(line)))
	b.ReportAllocs()
	for b.Loop() {
		if err := Unmarshal(line, &d); err != nil {
			b.Fatal(err)
		}
	}
}
