package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/rogpeppe/go-internal/testscript"
)

var update = flag.Bool("update", false, "rewrite the golden outputs in testdata/script")

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"kvshadow": main})
}

// TestScripts runs the scenarios of testdata/script. $DEMO is the embedded
// capture, $DATA the folder of the small ones.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:                 "testdata/script",
		UpdateScripts:       *update,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Setup: func(e *testscript.Env) error {
			data, err := filepath.Abs("testdata")
			e.Setenv("DATA", data)
			e.Setenv("GORACE", "atexit_sleep_ms=0") // else every command takes a second more
			e.Setenv("DEMO", filepath.Join(data, "../../../exporter/demo/disagg-1.5.1.log.jsonl.gz"))
			return err
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":   scriptExits,
			"make":    scriptMake,
			"cmpjson": scriptCmpJSON,
		},
	})
}

// scriptExits runs a command that must end with a code: exits CODE COMMAND...
func scriptExits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND...")
	}
	code := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		ended, ok := errors.AsType[*exec.ExitError](err)
		if !ok {
			ts.Fatalf("%s", err)
		}
		code = ended.ExitCode()
	}
	if strconv.Itoa(code) != args[0] {
		ts.Fatalf("exit code %d; want %s", code, args[0])
	}
}

// scriptMake writes a file made of others: make KIND OUT IN... [NUMBERS]
func scriptMake(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: make KIND OUT IN ...")
	}
	out := ts.MkAbs(args[1])
	number := func(i int) int {
		n, err := strconv.Atoi(args[i])
		ts.Check(err)
		return n
	}
	var b bytes.Buffer
	switch in := args[2]; args[0] {
	case "line": // make line OUT LENGTH
		b.WriteString(strings.Repeat("x", number(2)) + "\n")
	case "concat": // make concat OUT IN...
		for _, name := range args[2:] {
			b.WriteString(ts.ReadFile(name))
		}
	case "plain":
		z, err := gzip.NewReader(strings.NewReader(ts.ReadFile(in)))
		ts.Check(err)
		_, err = b.ReadFrom(z)
		ts.Check(err)
	case "gzip":
		z := gzip.NewWriter(&b)
		_, err := io.WriteString(z, ts.ReadFile(in))
		ts.Check(errors.Join(err, z.Close()))
	case "zstd":
		z, err := zstd.NewWriter(&b)
		ts.Check(err)
		_, err = io.WriteString(z, ts.ReadFile(in))
		ts.Check(errors.Join(err, z.Close()))
	case "bytes": // make bytes OUT IN COUNT
		b.WriteString(ts.ReadFile(in)[:number(3)])
	case "lines": // make lines OUT IN FIRST LAST
		lines := strings.SplitAfter(ts.ReadFile(in), "\n")
		for _, l := range lines[number(3)-1 : min(number(4), len(lines))] {
			b.WriteString(l)
		}
	case "crlf":
		b.WriteString(strings.ReplaceAll(ts.ReadFile(in), "\n", "\r\n"))
	default:
		ts.Fatalf("unknown kind %q", args[0])
	}
	ts.Check(os.WriteFile(out, b.Bytes(), 0o644))
}

// scriptCmpJSON compares by value: cmpjson GOT WANT. Members that WANT lacks
// may stand in GOT.
func scriptCmpJSON(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: cmpjson GOT WANT")
	}
	var got, want any
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[0])), &got))
	ts.Check(json.Unmarshal([]byte(ts.ReadFile(args[1])), &want))
	if diff := compareJSON("", got, want); diff != "" {
		ts.Fatalf("%s", diff)
	}
}

func compareJSON(path string, got, want any) string {
	switch w := want.(type) {
	case map[string]any:
		g, ok := got.(map[string]any)
		for k, v := range w {
			x, known := g[k]
			if !ok || !known {
				return fmt.Sprintf("%s/%s is missing", path, k)
			}
			if diff := compareJSON(path+"/"+k, x, v); diff != "" {
				return diff
			}
		}
		return ""
	case []any:
		g, ok := got.([]any)
		if !ok || len(g) != len(w) {
			return fmt.Sprintf("%s is %v; want %d elements", path, got, len(w))
		}
		for i := range w {
			if diff := compareJSON(fmt.Sprintf("%s/%d", path, i), g[i], w[i]); diff != "" {
				return diff
			}
		}
		return ""
	}
	if !reflect.DeepEqual(got, want) {
		return fmt.Sprintf("%s is %v; want %v", path, got, want)
	}
	return ""
}

func TestRunCancelled(t *testing.T) {
	f := func(args ...string) {
		t.Helper()
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		var stdout, stderr bytes.Buffer
		if code := run(ctx, args, strings.NewReader(""), &stdout, &stderr); code != 2 {
			t.Fatalf("exit code %d; want 2", code)
		}
		if stdout.Len() > 0 {
			t.Fatalf("stdout: %s", &stdout)
		}
		if got := stderr.String(); got != "kvshadow: interrupted before the end of the input; nothing is reported\n" {
			t.Fatalf("stderr: %s", got)
		}
	}
	const demo = "../../exporter/demo/disagg-1.5.1.log.jsonl.gz"
	f("analyze", demo)
	f("analyze", demo, demo, "testdata/dynamo-1.3.1.log.jsonl.gz")
	f("analyze", "-")
	f("explain", demo, "--request", "x")
}

// TestRunInterrupted interrupts the process while a pipe has nothing to say.
func TestRunInterrupted(t *testing.T) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	if _, err := w.WriteString("a line\nhalf a li"); err != nil {
		t.Fatal(err)
	}
	in := &signalOnRead{r: r, after: 1}
	var stdout, stderr bytes.Buffer
	code := run(ctx, []string{"analyze", "-"}, in, &stdout, &stderr)
	if code != 2 || stdout.Len() > 0 || !strings.Contains(stderr.String(), "interrupted") {
		t.Fatalf("exit code %d, stdout %q, stderr %q", code, &stdout, &stderr)
	}
}

// signalOnRead sends the process SIGINT once a number of reads are done, and
// reads on.
type signalOnRead struct {
	r     io.Reader
	after int
}

func (s *signalOnRead) Read(p []byte) (int, error) {
	if s.after == 0 {
		if err := syscall.Kill(os.Getpid(), syscall.SIGINT); err != nil {
			return 0, err
		}
	}
	s.after--
	return s.r.Read(p)
}

// TestInterruptible reads through small and large buffers.
func TestInterruptible(t *testing.T) {
	f := func(size int) {
		t.Helper()
		want := strings.Repeat("0123456789", 60_000)
		i := &interruptible{ctx: context.Background(), r: strings.NewReader(want)}
		var got strings.Builder
		if _, err := io.CopyBuffer(struct{ io.Writer }{&got}, i, make([]byte, size)); err != nil {
			t.Fatal(err)
		}
		if got.String() != want {
			t.Fatalf("%d bytes of %d, or others", got.Len(), len(want))
		}
	}
	f(7)
	f(4096)
	f(1 << 20)
}
