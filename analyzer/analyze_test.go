package analyzer

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/kvshadow/kvshadow/analyzer/decision"
	"github.com/kvshadow/kvshadow/analyzer/input"
	"github.com/kvshadow/kvshadow/analyzer/report"
	"github.com/kvshadow/kvshadow/analyzer/router/dynamo"
	"github.com/kvshadow/kvshadow/analyzer/shadow"
	"github.com/kvshadow/kvshadow/analyzer/twin"
	"github.com/kvshadow/kvshadow/internal/testfile"
)

const capture = "../exporter/demo/disagg-1.5.1.log.jsonl.gz"

// captureLines returns the lines of the capture with their ends.
func captureLines(tb testing.TB) [][]byte {
	tb.Helper()
	return bytes.SplitAfter(bytes.TrimSuffix(testfile.Gunzip(tb, capture), []byte("\n")), []byte("\n"))
}

func policies(names ...string) []dynamo.Policy {
	var list []dynamo.Policy
	for _, name := range names {
		p := dynamo.Policy{Name: name, Params: dynamo.DefaultParams()}
		switch name {
		case "affinity-4":
			p.Params.PrefixAffinityWeight = 4
		case "scale-4":
			p.Params.PrefillLoadScale = 4
		case "load-only":
			p.Params.OverlapScoreCredit = 0
		case "sampled":
			p.Params.RouterTemperature = 0.5
		}
		list = append(list, p)
	}
	return list
}

// open returns one file of these lines.
func open(t *testing.T, lines [][]byte) *input.Set {
	t.Helper()
	name := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(name, bytes.Join(lines, nil), 0o600); err != nil {
		t.Fatal(err)
	}
	files, err := input.Open([]string{name}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := files.Close(); err != nil {
			t.Fatal(err)
		}
	})
	return files
}

// read decodes lines, without any warning.
func read(t *testing.T, lines [][]byte, emit func(*decision.Decision)) report.Inputs {
	t.Helper()
	in, err := Read(context.Background(), open(t, lines), twin.Options{}, emit, func(at input.Position, err error) { t.Fatalf("%s: %s", at, err) })
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// cuts returns the positions between lines that no request's messages span.
func cuts(t *testing.T, lines [][]byte) []int {
	t.Helper()
	first, last := map[string]int{}, map[string]int{}
	decoder := NewIntake(twin.Options{}, func(*decision.Decision) {}).NewDecoder()
	for i, line := range lines {
		before := decoder.Ignored()
		if err := decoder.Line(1, bytes.TrimSpace(line)); err != nil {
			t.Fatal(err)
		}
		if decoder.Ignored() > before {
			continue
		}
		var x struct {
			ID string `json:"request_id"`
		}
		if err := json.Unmarshal(line, &x); err != nil {
			t.Fatal(err)
		}
		if _, ok := first[x.ID]; !ok {
			first[x.ID] = i
		}
		last[x.ID] = i
	}
	open := make([]int, len(lines)+1) // how many requests begin less end before a line
	for id, i := range first {
		open[i+1]++
		open[last[id]+1]--
	}
	var free []int
	spans := 0
	for i, n := range open {
		if spans += n; spans == 0 {
			free = append(free, i)
		}
	}
	return free
}

func TestTotals_Parts(t *testing.T) {
	lines := captureLines(t)
	list := policies("live", "affinity-4", "load-only", "sampled")
	whole := NewEngine(list)
	in := read(t, lines, func(d *decision.Decision) { whole.Evaluate(d) })
	if in.Decisions != 480 || in.Lines != 6538 {
		t.Fatalf("%d decisions in %d lines", in.Decisions, in.Lines)
	}
	// The router's own counters: /metrics of the capture.
	live := &whole.Totals().Pools[decision.Prefill].Policies[0]
	if live.NonMax.Float64() != 8 || live.Lost.Float64() != 321 {
		t.Fatalf("live: %s non-max selections, %s blocks lost; the router counted 8 and 321", live.NonMax, live.Lost)
	}
	free := cuts(t, lines)
	if len(free) < 1000 {
		t.Fatalf("only %d positions to cut at", len(free))
	}
	for seed := range uint64(12) {
		r := rand.New(rand.NewPCG(seed, 2))
		at := []int{0, len(lines)}
		for range 1 + r.IntN(5) {
			at = append(at, free[r.IntN(len(free))])
		}
		slices.Sort(at)
		sum, got := shadow.NewTotals(whole.Totals().Policies), report.Inputs{Files: 1, Undecodable: map[string]uint64{}}
		parts := make([]*shadow.Totals, 0, len(at))
		for i := range at[1:] {
			e := NewEngine(list)
			part := read(t, lines[at[i]:at[i+1]], func(d *decision.Decision) { e.Evaluate(d) })
			parts = append(parts, e.Totals())
			got.Lines, got.Bytes = got.Lines+part.Lines, got.Bytes+part.Bytes
			got.Decisions, got.IgnoredLines = got.Decisions+part.Decisions, got.IgnoredLines+part.IgnoredLines
			for k, n := range part.Undecodable {
				got.Undecodable[k] += n
			}
		}
		r.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
		for _, p := range parts {
			if err := sum.Merge(p); err != nil {
				t.Fatal(err)
			}
		}
		if !reflect.DeepEqual(sum, whole.Totals()) {
			t.Fatalf("cut at %v: the parts sum to\n%+v\nthe whole has\n%+v", at, sum, whole.Totals())
		}
		if !reflect.DeepEqual(got, in) {
			t.Fatalf("cut at %v: the parts have %+v\nthe whole has %+v", at, got, in)
		}
	}
}

// decisions returns those of the capture.
func decisions(t *testing.T) []*decision.Decision {
	t.Helper()
	lines := captureLines(t)
	var all []*decision.Decision
	read(t, lines, func(d *decision.Decision) { all = append(all, d.Clone()) })
	return all
}

// evaluated returns the totals of decisions.
func evaluated(list []dynamo.Policy, all []*decision.Decision) *shadow.Totals {
	e := NewEngine(list)
	for _, d := range all {
		e.Evaluate(d)
	}
	return e.Totals()
}

func TestEngineWithPolicies(t *testing.T) {
	all := decisions(t)
	before, after := all[:301], all[301:]
	old := policies("live", "affinity-4", "load-only")
	f := func(names []string, from []int) {
		t.Helper()
		e := NewEngine(old)
		for _, d := range before {
			e.Evaluate(d)
		}
		frozen := e.Totals().Clone()
		n := e.WithPolicies(policies(names...), from)
		for _, d := range after {
			n.Evaluate(d)
		}
		if !reflect.DeepEqual(e.Totals(), frozen) {
			t.Fatalf("%v: the old engine's sums changed", names)
		}
		got := n.Totals()
		if !slices.Equal(got.Policies, names) {
			t.Fatalf("policies %v; want %v", got.Policies, names)
		}
		whole, late := evaluated(policies(names...), all), evaluated(policies(names...), after)
		for i := range got.Pools {
			g, w := &got.Pools[i], &whole.Pools[i]
			for j := range names {
				want := &w.Policies[j]
				if from[j] < 0 {
					want = &late.Pools[i].Policies[j]
				}
				if !reflect.DeepEqual(&g.Policies[j], want) {
					t.Fatalf("%s of pool %d: %+v; want %+v", names[j], i, g.Policies[j], *want)
				}
			}
			if g.Evaluated != w.Evaluated || g.Checked != w.Checked || g.Mismatches != w.Mismatches || g.Excluded != w.Excluded || g.RequestBlocks != w.RequestBlocks {
				t.Fatalf("pool %d: %+v; want the whole's counts %+v", i, g, w)
			}
		}
	}
	f([]string{"live", "affinity-4", "load-only"}, []int{0, 1, 2})
	f([]string{"live", "load-only", "scale-4"}, []int{0, 2, -1})
	f([]string{"live", "load-only", "affinity-4"}, []int{0, 2, 1})
	f([]string{"live"}, []int{0})
	f([]string{"live", "scale-4", "sampled", "affinity-4", "load-only"}, []int{0, -1, -1, 1, -1})
}

func TestEngineExplain(t *testing.T) {
	all := decisions(t)
	list := policies("live", "affinity-4", "sampled")
	e := NewEngine(list)
	for i, d := range all {
		e.Evaluate(d)
		other := all[(i*7+3)%len(all)]
		x, err := e.Explain(other)
		if err != nil {
			t.Fatal(err)
		}
		if x.Decision != other || len(x.Picks) != len(list) || x.Picks[1].Policy != "affinity-4" {
			t.Fatalf("explanation of another decision, or of other policies: %+v", x)
		}
		if len(x.Picks[0].Costs) != len(x.Eligible) || len(x.Picks[0].Chances) != len(x.Eligible) {
			t.Fatalf("%d costs, %d chances of %d candidates", len(x.Picks[0].Costs), len(x.Picks[0].Chances), len(x.Eligible))
		}
	}
	if want := evaluated(list, all); !reflect.DeepEqual(e.Totals(), want) {
		t.Fatalf("explaining changed the sums:\n%+v\nwant\n%+v", e.Totals(), want)
	}
	none := &decision.Decision{RequestID: "none", Candidates: []decision.Candidate{{Ineligible: true}}}
	if _, err := e.Explain(none); err == nil {
		t.Fatal("no error for a decision without eligible candidates")
	}
}

func TestRead_Counts(t *testing.T) {
	const record = `{"schema":"kvshadow.decision.v1","request_id":"a","worker_type":"decode","selected":{"worker_id":1},"candidates":[{"worker_id":1}]}` + "\n"
	f := func(content string, want report.Inputs, warnings ...string) {
		t.Helper()
		name := filepath.Join(t.TempDir(), "in")
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		files, err := input.Open([]string{name}, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer files.Close()
		n, got := uint64(0), []string(nil)
		in, err := Read(context.Background(), files, twin.Options{}, func(*decision.Decision) { n++ }, func(at input.Position, err error) {
			got = append(got, strconv.FormatUint(at.Line, 10)+": "+err.Error())
		})
		if err != nil {
			t.Fatal(err)
		}
		if n != in.Decisions {
			t.Fatalf("%d decisions emitted, %d counted", n, in.Decisions)
		}
		for reason, n := range in.Undecodable {
			if n == 0 {
				delete(in.Undecodable, reason)
			}
		}
		if !reflect.DeepEqual(in, want) {
			t.Fatalf("%+v; want %+v", in, want)
		}
		if !slices.EqualFunc(got, warnings, func(got, want string) bool { return strings.HasPrefix(got, want) }) {
			t.Fatalf("warnings %q; want %q", got, warnings)
		}
	}
	lost := func(reasons ...string) map[string]uint64 {
		m := map[string]uint64{}
		for _, r := range reasons {
			m[r]++
		}
		return m
	}
	f("", report.Inputs{Files: 1, Undecodable: lost()})
	f("noise\n\n"+record+record, report.Inputs{Files: 1, Lines: 4, Bytes: uint64(7 + 2*len(record)), Decisions: 2, IgnoredLines: 2, Undecodable: lost()})
	f(record+`{"schema":"kvshadow.decision.v9"}`, report.Inputs{Files: 1, Lines: 2, Bytes: uint64(len(record) + 33), Decisions: 1, Undecodable: lost("invalid_record")}, "2: /schema: ")
	f(strings.Repeat("x", input.MaxLine+1)+"\n"+record, report.Inputs{Files: 1, Lines: 2, Bytes: uint64(input.MaxLine + 2 + len(record)), Decisions: 1, Undecodable: lost("line_too_long")})

	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	if _, err := io.WriteString(w, record); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	f(z.String()[:z.Len()-4], report.Inputs{Files: 1, Lines: 1, Bytes: uint64(len(record)), Decisions: 1, Undecodable: lost("broken_input")}, "1: the input breaks off: unexpected EOF")
}

func TestRead_Cancel(t *testing.T) {
	lines := captureLines(t)
	ctx, cancel := context.WithCancel(context.Background())
	n := 0
	_, err := Read(ctx, open(t, lines), twin.Options{}, func(*decision.Decision) {
		if n++; n == 20 {
			cancel()
		}
	}, func(at input.Position, err error) { t.Fatalf("%s: %s", at, err) })
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v; want the context's error", err)
	}
	if n == 480 {
		t.Fatal("read to the end")
	}
}
