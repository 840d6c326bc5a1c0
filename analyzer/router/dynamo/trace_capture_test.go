package dynamo

import (
	"bytes"
	"errors"
	"reflect"
	"testing"
	"time"

	"github.com/kvshadow/kvshadow/analyzer/decision"
	"github.com/kvshadow/kvshadow/internal/testfile"
)

// readTrace returns the lines of a trace; see testdata/traces/README.md.
func readTrace(tb testing.TB, name string) [][]byte {
	tb.Helper()
	return testfile.Lines(tb, "testdata/traces/"+name+".jsonl.gz")
}

func TestTraceCaptures_Success(t *testing.T) {
	f := func(name string, lifecycles, hashes, partial, disaggregated int, skips map[string]int) {
		t.Helper()
		var dec traceDecoder
		var gotLifecycles, gotHashes, gotPartial, gotDisaggregated int
		gotSkips := map[string]int{}
		for i, line := range readTrace(t, name) {
			if !isTrace(line) {
				t.Errorf("%s:%d isn't recognised", name, i+1)
			}
			l, skip, err := dec.decode(line)
			switch {
			case err != nil:
				t.Errorf("%s:%d: %v", name, i+1, err)
			case skip != "":
				gotSkips[skip]++
			default:
				checkLifecycle(t, l)
				if !l.HasWorkers || l.Model == "" || l.SessionID == "" || l.Wait < 0 || l.FirstToken < l.Wait || l.Total < l.FirstToken || !l.HitRate.Set || l.CachedTokens < 0 {
					t.Errorf("%s:%d misses something: %+v", name, i+1, l)
				}
				gotLifecycles++
				gotHashes += len(l.Hashes)
				if len(l.FullBlocks()) < len(l.Hashes) {
					gotPartial++
				}
				if !l.Aggregated() {
					gotDisaggregated++
				}
			}
		}
		got := []int{gotLifecycles, gotHashes, gotPartial, gotDisaggregated}
		if want := []int{lifecycles, hashes, partial, disaggregated}; !reflect.DeepEqual(got, want) || !reflect.DeepEqual(gotSkips, skips) {
			t.Errorf("%s: got %v %v, want %v %v", name, got, gotSkips, want, skips)
		}
	}

	none := map[string]int{}
	// The counts are those of a Python script on the same files.
	f("agg-1.5.1", 4, 198, 4, 0, none)
	f("agg-1.6.1", 15, 753, 15, 0, none)
	f("disagg-1.5.1", 15, 751, 15, 15, none)
	f("dynamo-pi-agent", 17, 4163, 15, 0, map[string]int{"tool_end": 20, "tool_error": 2, "tool_start": 22})
	f("mixed-3w-1.6.1", 4, 147, 4, 0, none)
	f("mixed-dp2-1.5.1", 15, 504, 14, 0, none)
	f("mixed-noevents-1.6.1", 4, 156, 4, 0, none)
	f("mixed-sglang-1.5.1", 4, 153, 4, 0, none)
	f("mixed-weights-1.5.1", 4, 110, 4, 0, none)
}

// The values are read off the ninth line of the file by hand.
func TestTraceCaptureRow_Success(t *testing.T) {
	var dec traceDecoder
	l, skip, err := dec.decode(readTrace(t, "disagg-1.5.1")[8])
	if err != nil || skip != "" {
		t.Fatal(skip, err)
	}
	if n := len(l.Hashes); n != 51 || l.Hashes[0] != 9954164018858505273 || l.Hashes[50] != 8669596555217647665 {
		t.Errorf("hashes are wrong: %v", l.Hashes)
	}
	if n := len(l.FullBlocks()); n != 50 || l.Aggregated() {
		t.Errorf("got %d full blocks, aggregated %v", n, l.Aggregated())
	}
	l.Hashes = nil
	want := &decision.Lifecycle{
		RequestID:       "0f3fcb41-bfde-4a40-8a2d-359d7e3dada8",
		SessionID:       "session-03",
		Model:           "mock-model",
		Received:        time.Date(2026, 11, 29, 23, 29, 0, 461e6, time.UTC),
		Wait:            947918,
		FirstToken:      23315348,
		Total:           504344155,
		InputTokens:     3224,
		OutputTokens:    32,
		CachedTokens:    3072,
		HitRate:         decision.Some(0.9411764705882353),
		BlockSizeTokens: 64,
		Prefill:         decision.Key{WorkerID: 17641526427371552099},
		Decode:          decision.Key{WorkerID: 12560556508350650113},
		HasWorkers:      true,
	}
	if !reflect.DeepEqual(l, want) {
		t.Errorf("got  %+v\nwant %+v", l, want)
	}

	l, _, err = dec.decode(readTrace(t, "mixed-dp2-1.5.1")[0])
	if key := (decision.Key{WorkerID: 9384487199899606400, DPRank: 1}); err != nil || l.Prefill != key || l.Decode != key {
		t.Errorf("got %+v, %v", l, err)
	}
}

// checkLifecycle checks what holds of every lifecycle that is decoded.
func checkLifecycle(t *testing.T, l *decision.Lifecycle) {
	t.Helper()
	if l.RequestID == "" || l.BlockSizeTokens == 0 || l.Received.IsZero() || l.Received.Location() != time.UTC {
		t.Errorf("incomplete: %+v", l)
	}
	size := uint64(l.BlockSizeTokens)
	full, n := l.InputTokens/size, uint64(len(l.Hashes))
	if n != full && n != full+1 || n == full+1 && l.InputTokens%size == 0 {
		t.Errorf("%d hashes for %d tokens in blocks of %d", n, l.InputTokens, size)
	}
	if uint64(len(l.FullBlocks())) != full {
		t.Errorf("%d full blocks, want %d", len(l.FullBlocks()), full)
	}
	for _, d := range []time.Duration{l.Wait, l.FirstToken, l.Total} {
		if d < -1 || d > maxTraceTime {
			t.Errorf("duration %v", d)
		}
	}
	if l.CachedTokens < -1 || l.HitRate.Value < 0 {
		t.Errorf("cached tokens %d, hit rate %v", l.CachedTokens, l.HitRate)
	}
	if !l.HasWorkers && (l.Prefill != decision.Key{} || l.Decode != decision.Key{}) {
		t.Errorf("workers %v, %v are set but said to be unknown", l.Prefill, l.Decode)
	}
}

// The text of a record that is decoded must not be kept: readers reuse it.
func TestTraceKeepsNoLine_Success(t *testing.T) {
	var dec traceDecoder
	line := readTrace(t, "agg-1.6.1")[0]
	want, _, err := dec.decode(line)
	if err != nil {
		t.Fatal(err)
	}
	buffer := bytes.Clone(line)
	got, _, err := dec.decode(buffer)
	if err != nil {
		t.Fatal(err)
	}
	clear(buffer)
	if _, _, err := dec.decode(readTrace(t, "agg-1.6.1")[1]); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// Lines end early where a writer was killed: at no byte is the record taken
// for a whole one, or for a malformed one.
func TestTraceTruncated_Failure(t *testing.T) {
	var dec traceDecoder
	for _, whole := range []string{traceRequest, traceBare, envelope(traceRequest), string(readTrace(t, "agg-1.6.1")[0]), string(readTrace(t, "dynamo-pi-agent")[2])} {
		for n := 1; n < len(whole); n++ {
			isTrace([]byte(whole[:n]))
			if l, skip, err := dec.decode([]byte(whole[:n])); l != nil || skip != "" || !errors.Is(err, errTruncated) {
				t.Fatalf("%s: got %v, %q, %v", whole[:n], l, skip, err)
			}
		}
	}
}

func BenchmarkTrace(b *testing.B) {
	b.Run("decode", func(b *testing.B) {
		lines := readTrace(b, "disagg-1.5.1")
		b.SetBytes(int64(len(bytes.Join(lines, []byte("\n"))) + 1))
		b.ReportAllocs()
		var dec traceDecoder
		for b.Loop() {
			for _, line := range lines {
				if l, _, err := dec.decode(line); err != nil || l == nil {
					b.Fatal(err)
				}
			}
		}
	})
	b.Run("isTrace/trace", func(b *testing.B) { benchmarkIsTrace(b, readTrace(b, "disagg-1.5.1")) })
	b.Run("isTrace/log", func(b *testing.B) { benchmarkIsTrace(b, readCapture(b, "disagg-1.5.1.jsonl")) })
	b.Run("isTrace/readable", func(b *testing.B) { benchmarkIsTrace(b, readCapture(b, "dynamo-1.5.1-readable-ansi.log")) })
}

func benchmarkIsTrace(b *testing.B, lines [][]byte) {
	b.SetBytes(int64(len(bytes.Join(lines, []byte("\n"))) + 1))
	for b.Loop() {
		for _, line := range lines {
			isTrace(line)
		}
	}
}
