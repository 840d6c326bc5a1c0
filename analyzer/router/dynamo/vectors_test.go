package dynamo

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"io"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/kvshadow/kvshadow/analyzer/decision"
)

// vector is one case of upstream's reference scorer (dynamo-kv-router 1.6.1).
type vector struct {
	Case               int
	Kind               string
	BlockSize          uint32             `json:"block_size"`
	ISLTokens          uint64             `json:"isl_tokens"`
	RequestBlocks      uint64             `json:"request_blocks"`
	TrackPrefillTokens bool               `json:"track_prefill_tokens"`
	WorkerType         string             `json:"worker_type"`
	Temperature        float64            `json:"temperature"`
	Weights            map[string]float64 `json:"weights"`
	SharedHits         [][2]uint32        `json:"shared_hits"`
	AllowedWorkerIDs   []uint64           `json:"allowed_worker_ids"`
	PreferredTaints    map[string]float32 `json:"preferred_taints"`
	RequiredTaints     []string           `json:"required_taints"`
	Pinned             *decision.Key
	Candidates         []vectorCandidate
	NonMaxOverlap      *struct{ Lost float64 } `json:"non_max_overlap"`
	Expected           struct {
		Error    string
		Selected *struct {
			decision.Key
			Logit float64
		}
	}
}

type vectorCandidate struct {
	decision.Key
	ActiveDecodeBlocks     uint64   `json:"active_decode_blocks"`
	AdditionalActiveBlocks uint64   `json:"additional_active_blocks"`
	ActivePrefillTokens    uint64   `json:"active_prefill_tokens"`
	ActiveRequests         uint64   `json:"active_requests"`
	CachedTokens           uint64   `json:"cached_tokens"`
	DeviceBlocks           *float64 `json:"device_blocks"`
	HostBlocks             float64  `json:"host_blocks"`
	DiskBlocks             float64  `json:"disk_blocks"`
	EffectiveOverlapBlocks float64  `json:"effective_overlap_blocks"`
	Eligible               bool
	LoadAvailable          bool `json:"load_available"`
	Taints                 []string
	Expected               struct {
		Logit           *float64 `json:"logit_3dp"`
		Credit          *float64 `json:"overlap_credit_blocks"`
		Decay           *float64 `json:"overlap_credit_decay"`
		RawPrefill      *float64 `json:"raw_prefill_blocks"`
		TaintMultiplier *float64 `json:"taint_multiplier"`
	}
}

func (v *vector) params(t *testing.T) Params {
	p := DefaultParams()
	for name, w := range v.Weights {
		if err := p.Set(name, w); err != nil {
			t.Fatalf("case %d: %s", v.Case, err)
		}
	}
	p.RouterTemperature = v.Temperature
	return p
}

func (v *vector) decision() *decision.Decision {
	d := &decision.Decision{
		WorkerType: decision.Decode, InputTokens: v.ISLTokens, BlockSizeTokens: v.BlockSize,
		RequestBlocks: decision.Blocks(v.ISLTokens, v.BlockSize), TracksPrefill: v.TrackPrefillTokens,
		AllowedWorkerIDs: v.AllowedWorkerIDs, PreferredTaints: v.PreferredTaints, RequiredTaints: v.RequiredTaints,
	}
	if v.WorkerType == "prefill" {
		d.WorkerType = decision.Prefill
	}
	if v.Pinned != nil {
		d.Pinned, d.Selected = true, *v.Pinned
	}
	for _, r := range v.SharedHits {
		d.SharedHits = append(d.SharedHits, decision.BlockRange{Start: r[0], End: r[1]})
	}
	for i := range v.Candidates {
		c := &v.Candidates[i]
		x := decision.Candidate{
			Key: c.Key, Ineligible: !c.Eligible, EffectiveOverlapBlocks: c.EffectiveOverlapBlocks,
			HostBlocks: c.HostBlocks, DiskBlocks: c.DiskBlocks, CachedTokens: c.CachedTokens, NoLoadEntry: !c.LoadAvailable,
			ActivePrefillTokens: c.ActivePrefillTokens, ActiveRequests: c.ActiveRequests, Taints: c.Taints,
			DecodeCostBlocks: float64(c.ActiveDecodeBlocks + c.AdditionalActiveBlocks),
		}
		if c.DeviceBlocks != nil {
			d.TierMaps, x.DeviceBlocks = true, decision.Some(*c.DeviceBlocks)
		}
		d.Candidates = append(d.Candidates, x)
	}
	return d
}

// TestVectors reproduces every case of testdata/scorer-vectors.jsonl.gz, and
// of the file (.gz or plain) that KVSHADOW_VECTORS names.
func TestVectors(t *testing.T) {
	testVectorFile(t, "testdata/scorer-vectors.jsonl.gz", 736)
	if name := os.Getenv("KVSHADOW_VECTORS"); name != "" {
		testVectorFile(t, name, 1)
	}
}

func testVectorFile(t *testing.T, name string, atLeast int) {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var r io.Reader = f
	if strings.HasSuffix(name, ".gz") {
		if r, err = gzip.NewReader(f); err != nil {
			t.Fatal(err)
		}
	}
	n := 0
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<26)
	for ; lines.Scan(); n++ {
		var v vector
		if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
			t.Fatalf("%s: %s", name, err)
		}
		testVector(t, &v)
	}
	if err := lines.Err(); err != nil || n < atLeast {
		t.Fatalf("%s: %d cases, want at least %d (%v)", name, n, atLeast, err)
	}
}

func testVector(t *testing.T, v *vector) {
	t.Helper()
	d := v.decision()
	if d.RequestBlocks != v.RequestBlocks {
		t.Errorf("case %d (%s): %d request blocks, want %d", v.Case, v.Kind, d.RequestBlocks, v.RequestBlocks)
	}
	s := NewScorer([]Policy{{Name: "live", Params: v.params(t)}})
	index, err := s.Prepare(d)
	if v.Expected.Error != "" {
		if err == nil || err.Error() != v.Expected.Error {
			t.Errorf("case %d (%s): error %v, want %q", v.Case, v.Kind, err, v.Expected.Error)
		}
		return
	}
	if err != nil {
		t.Errorf("case %d (%s): %s", v.Case, v.Kind, err)
		return
	}
	costs, p := make([]float64, len(index)), make([]float64, len(index))
	if err := s.Costs(0, costs); err != nil {
		t.Errorf("case %d (%s): %s", v.Case, v.Kind, err)
		return
	}
	want := v.Expected.Selected
	row := slices.IndexFunc(index, func(i int) bool { return d.Candidates[i].Key == want.Key })
	if row < 0 {
		t.Errorf("case %d (%s): the selected worker is not eligible", v.Case, v.Kind)
		return
	}
	if math.Abs(costs[row]-want.Logit) > 1e-9*math.Abs(want.Logit) {
		t.Errorf("case %d (%s): winner's cost %v, want %v", v.Case, v.Kind, costs[row], want.Logit)
	}
	if d.Pinned {
		p[row] = 1
	} else if s.Probabilities(0, costs, p) {
		clear(p)
		if costs[row] == slices.Min(costs) {
			p[row] = 1
		}
	}
	if p[row] <= 0 {
		t.Errorf("case %d (%s): the selected worker can't win: costs %v, probabilities %v", v.Case, v.Kind, costs, p)
	}
	testVectorRows(t, v, s, index, costs)
	testVectorOverlap(t, v, s, row)
}

// testVectorRows compares with the DEBUG rows: three decimals, before taints.
func testVectorRows(t *testing.T, v *vector, s *Scorer, index []int, costs []float64) {
	t.Helper()
	same := func(what string, i int, got float64, want *float64) {
		t.Helper()
		if want != nil && math.Abs(got-*want) > 0.0005+1e-9*math.Abs(got) {
			t.Errorf("case %d (%s) candidate %d: %s %v, want %v", v.Case, v.Kind, i, what, got, *want)
		}
	}
	p := s.Policies()[0].Params
	for row, i := range index {
		e := &v.Candidates[i].Expected
		taint := 1.0
		if s.cols.hasTaint {
			taint = s.cols.taint[row]
		}
		same("taint multiplier", i, taint, e.TaintMultiplier)
		same("cost", i, costs[row]/taint, e.Logit)
		same("credit", i, s.cols.credit(&p, p.OverlapScoreCredit, row), e.Credit)
		same("decay", i, s.cols.decay(&p, row), e.Decay)
		same("raw prefill", i, s.cols.raw[row], e.RawPrefill)
	}
}

func testVectorOverlap(t *testing.T, v *vector, s *Scorer, row int) {
	t.Helper()
	lost := slices.Max(s.cols.effective[:len(s.cols.index)]) - s.cols.effective[row]
	want := 0.0
	if v.NonMaxOverlap != nil {
		want = v.NonMaxOverlap.Lost
	}
	if v.Pinned == nil && lost != want {
		t.Errorf("case %d (%s): %v blocks lost, want %v", v.Case, v.Kind, lost, want)
	}
}
