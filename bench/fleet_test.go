package bench

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/kvshadow/kvshadow/analyzer"
	"github.com/kvshadow/kvshadow/analyzer/fleet"
	"github.com/kvshadow/kvshadow/analyzer/input"
	"github.com/kvshadow/kvshadow/analyzer/router/dynamo"
)

const seedWorkload = "../testdata/simulation/seed-4.trace.jsonl.gz"

// fleetCase is a workload and the fleet that it meets.
type fleetCase struct {
	name, trace string
	hashTokens  int
	config      fleet.Config
}

// fleetCases returns the published workload, and the Mooncake conversations if
// KVSHADOW_CORPUS is set.
func fleetCases() []fleetCase {
	config := func(workers, blocks, size, seqs int) fleet.Config {
		return fleet.Config{Workers: workers, Ranks: 1, GPUBlocks: blocks, BlockSize: size, MaxNumSeqs: seqs,
			MaxBatchedTokens: fleet.DefaultMaxBatchedTokens, Timing: fleet.MockTiming()}
	}
	cases := []fleetCase{{"seed", seedWorkload, 64, config(2, 512, 64, 8)}}
	if dir := os.Getenv("KVSHADOW_CORPUS"); dir != "" {
		cases = append(cases, fleetCase{"mooncake-conversation", filepath.Join(dir, "traces", "mooncake-conversation.jsonl.gz"), 512, config(16, 16384, 512, 256)})
	}
	return cases
}

func (c *fleetCase) read(b *testing.B) *fleet.Workload {
	files, err := input.Open([]string{c.trace}, nil)
	if err != nil {
		b.Fatal(err)
	}
	defer files.Close()
	load, _, _, err := analyzer.ReadWorkload(b.Context(), files, analyzer.WorkloadOptions{BlockSize: c.config.BlockSize, HashTokens: c.hashTokens})
	if err != nil {
		b.Fatal(err)
	}
	return load
}

// BenchmarkSimulate runs one world on one core, with and without reading the
// trace.
func BenchmarkSimulate(b *testing.B) {
	for _, c := range fleetCases() {
		chooser := dynamo.NewScorer(policies(1))
		run := func(b *testing.B, load *fleet.Workload) {
			if _, err := fleet.Run(c.config, load, chooser, 0, 1); err != nil {
				b.Fatal(err)
			}
		}
		b.Run(c.name+"/world", func(b *testing.B) {
			load := c.read(b)
			b.ReportAllocs()
			for b.Loop() {
				run(b, load)
			}
			b.ReportMetric(float64(load.Len())*float64(b.N)/b.Elapsed().Seconds(), "requests/s")
		})
		b.Run(c.name+"/read-and-world", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				run(b, c.read(b))
			}
		})
	}
}

// BenchmarkReplayPeer runs Dynamo's own offline replay of the same traces from
// its wheel, with the Python that KVSHADOW_DYNAMO_PYTHON names. replay.py prints
// how long the replay itself took, without Python's start.
func BenchmarkReplayPeer(b *testing.B) {
	python := os.Getenv("KVSHADOW_DYNAMO_PYTHON")
	if python == "" {
		b.Skip("KVSHADOW_DYNAMO_PYTHON names no Python that has the ai-dynamo wheel")
	}
	for _, c := range fleetCases() {
		b.Run(c.name, func(b *testing.B) {
			var seconds float64
			for b.Loop() {
				var log bytes.Buffer
				cmd := exec.Command(python, "replay.py", c.trace, strconv.Itoa(c.config.Workers), strconv.Itoa(c.config.GPUBlocks), strconv.Itoa(c.config.BlockSize), strconv.Itoa(c.config.MaxNumSeqs), strconv.Itoa(c.hashTokens))
				cmd.Stderr = &log // the router's log
				out, err := cmd.Output()
				if err != nil {
					b.Fatalf("%v: %.2000s", err, log.Bytes()[max(0, log.Len()-2000):])
				}
				took, err := strconv.ParseFloat(strings.TrimSpace(string(out)), 64)
				if err != nil {
					b.Fatal(err)
				}
				seconds += took
			}
			b.ReportMetric(seconds/float64(b.N)*1e9, "replay-ns/op")
		})
	}
}
