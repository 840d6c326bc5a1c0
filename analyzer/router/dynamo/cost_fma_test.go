package dynamo

import (
	"bytes"
	"os"
	"os/exec"
	"regexp"
	"testing"
)

// TestNoFusedMultiplyAdd compiles for an architecture on which Go fuses a
// product with the addition that follows, and looks for such instructions in
// whatever was inlined from the files that compute costs and effects. A fused
// cost would differ from the router's in the last place.
func TestNoFusedMultiplyAdd(t *testing.T) {
	goTool, err := exec.LookPath("go")
	if err != nil {
		t.Skip("SKIPPED: no go tool, so fused multiply-adds were not looked for")
	}
	if testing.Short() {
		t.Skip("SKIPPED: compiles for another architecture")
	}
	cmd := exec.Command(goTool, "build", "-gcflags=-S", ".", "../../shadow")
	cmd.Env = append(os.Environ(), "GOARCH=arm64", "GOOS=linux", "CGO_ENABLED=0", "GOFLAGS=")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("go build: %s: %s", err, out)
	}
	instruction := regexp.MustCompile(`/(cost|columns|shadow)\.go:(\d+)\)\t(\S+)`)
	products := map[string]int{}
	for line := range bytes.Lines(out) {
		m := instruction.FindSubmatch(line)
		if m == nil {
			continue
		}
		switch op := string(m[3]); op {
		case "FMULD":
			products[string(m[1])]++
		case "FMADDD", "FMSUBD", "FNMADDD", "FNMSUBD":
			t.Errorf("%s.go:%s compiles to %s: convert the product with float64()", m[1], m[2], op)
		}
	}
	for file, name := range map[string]string{"cost": "cost.go", "columns": "columns.go", "shadow": "../../shadow/shadow.go"} {
		// Reading the sources tells go test to run this test again when they
		// change, although the code of its own architecture stays the same.
		if _, err := os.ReadFile(name); err != nil {
			t.Error(err)
		}
		if products[file] == 0 { // was the listing really read?
			t.Errorf("no product of %s.go is in the listing", file)
		}
	}
}
