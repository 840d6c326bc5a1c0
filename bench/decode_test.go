package bench

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kvshadow/kvshadow/analyzer"
	"github.com/kvshadow/kvshadow/analyzer/decision"
	"github.com/kvshadow/kvshadow/analyzer/input"
	"github.com/kvshadow/kvshadow/analyzer/twin"
	"github.com/kvshadow/kvshadow/internal/testfile"
)

// logs returns the decompressed logs to decode, by name: the embedded capture,
// and all of $KVSHADOW_CORPUS/live if that is set.
func logs(b *testing.B) map[string][]byte {
	files := []string{"../exporter/demo/disagg-1.5.1.log.jsonl.gz"}
	if dir := os.Getenv("KVSHADOW_CORPUS"); dir != "" {
		more, err := filepath.Glob(filepath.Join(dir, "live", "*.log.jsonl.gz"))
		if err != nil {
			b.Fatal(err)
		}
		files = append(files, more...)
	}
	out := map[string][]byte{}
	for _, name := range files {
		out[strings.TrimSuffix(filepath.Base(name), ".log.jsonl.gz")] = testfile.Gunzip(b, name)
	}
	return out
}

// decode decodes a log and returns how many decisions it holds.
func decode(b *testing.B, text []byte) int {
	n := 0
	d := analyzer.NewIntake(twin.Options{}, func(*decision.Decision) { n++ }).NewDecoder()
	lines := input.NewLineReader(bytes.NewReader(text))
	for {
		line, err := lines.Next()
		if err != nil {
			break
		}
		if err := d.Line(1, line); err != nil {
			b.Fatal(err)
		}
	}
	d.Flush()
	return n
}

// BenchmarkDecode decodes whole logs on one core.
func BenchmarkDecode(b *testing.B) {
	for name, text := range logs(b) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				n = decode(b, text)
			}
			b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "decisions/s")
		})
	}
}

// BenchmarkPeer reads the same logs with peer.py, the script that an operator
// would otherwise write: json and re, sums of non-max selections.
func BenchmarkPeer(b *testing.B) {
	python, err := exec.LookPath("python3")
	if err != nil {
		b.Skip("no python3")
	}
	for name, text := range logs(b) {
		b.Run(name, func(b *testing.B) {
			file := filepath.Join(b.TempDir(), "log")
			if err := os.WriteFile(file, bytes.Repeat(text, 4), 0o600); err != nil { // start-up is not the point
				b.Fatal(err)
			}
			b.SetBytes(int64(4 * len(text)))
			for b.Loop() {
				if out, err := exec.Command(python, "peer.py", file).CombinedOutput(); err != nil {
					b.Fatalf("%s: %s", err, out)
				}
			}
		})
	}
}
