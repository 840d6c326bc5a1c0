package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kvshadow/kvshadow/internal/testfile"
)

// deadline bounds each wait for the real binary; nothing takes that long.
const deadline = 30 * time.Second

// server is a running kvshadow serve.
type server struct {
	t    *testing.T
	cmd  *exec.Cmd
	url  string
	logs bytes.Buffer
	done chan error
}

// build builds the binary.
func build(t *testing.T) string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "kvshadow")
	if out, err := exec.Command("go", "build", "-o", bin, ".").CombinedOutput(); err != nil {
		t.Fatalf("%s: %s", err, out)
	}
	return bin
}

// start runs kvshadow serve on a free port and waits until it listens.
func start(t *testing.T, bin string, stdin io.Reader, args ...string) *server {
	t.Helper()
	s := &server{t: t, done: make(chan error, 1)}
	s.cmd = exec.Command(bin, append([]string{"serve", "--web.listen-address", "127.0.0.1:0"}, args...)...)
	s.cmd.Stdin = stdin
	stderr, err := s.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.cmd.Process.Kill() })
	listening := make(chan string, 1)
	go func() {
		lines := bufio.NewScanner(stderr)
		address := regexp.MustCompile(`address=(127\.0\.0\.1:\d+)`)
		for lines.Scan() {
			fmt.Fprintln(&s.logs, lines.Text())
			if m := address.FindStringSubmatch(lines.Text()); m != nil && len(listening) == 0 {
				listening <- m[1]
			}
		}
		s.done <- s.cmd.Wait()
	}()
	select {
	case address := <-listening:
		s.url = "http://" + address
	case err := <-s.done:
		t.Fatalf("serve ended: %v\n%s", err, s.logs.String())
	case <-time.After(deadline):
		t.Fatal("serve doesn't listen")
	}
	return s
}

// get returns a page.
func (s *server) get(path string) string {
	s.t.Helper()
	r, err := http.Get(s.url + path)
	if err != nil {
		s.t.Fatal(err)
	}
	defer r.Body.Close()
	b, err := io.ReadAll(r.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return string(b)
}

// await scrapes until the page holds every line.
func (s *server) await(lines ...string) {
	s.t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(deadline); ; <-tick.C {
		page, missing := s.get("/metrics"), ""
		for _, line := range lines {
			if !strings.Contains(page, line+"\n") {
				missing = line
			}
		}
		if missing == "" {
			return
		}
		if time.Now().After(end) {
			s.t.Fatalf("the page never showed %s:\n%s", missing, grep(page, "^kvshadow_(decisions|source|config)"))
		}
	}
}

func grep(text, pattern string) string {
	re := regexp.MustCompile(pattern)
	var out []string
	for line := range strings.Lines(text) {
		if re.MatchString(line) {
			out = append(out, line)
		}
	}
	return strings.Join(out, "")
}

// stop sends SIGTERM and waits for a clean end.
func (s *server) stop() {
	s.t.Helper()
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		s.t.Fatal(err)
	}
	select {
	case err := <-s.done:
		if err != nil {
			s.t.Fatalf("serve ended with %v", err)
		}
	case <-time.After(deadline):
		s.t.Fatal("serve doesn't end on SIGTERM")
	}
}

// captureLines is the log of the embedded capture.
func captureLines(t *testing.T) []string {
	t.Helper()
	return strings.SplitAfter(string(testfile.Gunzip(t, "../../exporter/demo/disagg-1.5.1.log.jsonl.gz")), "\n")
}

func appendFile(t *testing.T, name string, lines []string) {
	t.Helper()
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(strings.Join(lines, "")); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
}

// The router's own counters after the whole capture.
var wholeCapture = []string{
	`kvshadow_decisions_total{worker_type="prefill"} 240`,
	`kvshadow_decisions_total{worker_type="decode"} 240`,
	`kvshadow_non_max_overlap_selections_total{policy="live",worker_type="prefill"} 8`,
	`kvshadow_overlap_lost_blocks_total{policy="live",worker_type="prefill"} 321`,
}

// TestServe runs the real binary.
func TestServe(t *testing.T) {
	bin := build(t)
	for name, f := range map[string]func(*testing.T, string){
		"file": testServeFile, "stdin": testServeStdin, "auth": testServeAuth, "demo": testServeDemo,
	} {
		t.Run(name, func(t *testing.T) { f(t, bin) })
	}
}

// testServeFile follows a log that is rotated by renaming while it is read, and
// reloads good and bad policies by signal and by request.
func testServeFile(t *testing.T, bin string) {
	dir := t.TempDir()
	log, policies := filepath.Join(dir, "router.log"), filepath.Join(dir, "policies.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(policies, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("policies: [{name: a, parameters: {prefix_affinity_weight: 4}}]\n")
	lines := captureLines(t)
	third := len(lines) / 3
	appendFile(t, log, lines[:third])

	s := start(t, bin, nil, "--source", "file:"+log+"*", "--policies", policies)
	s.await(fmt.Sprintf("kvshadow_source_lines_total{source=\"file:%s*\"} %d", log, third))
	if err := os.Rename(log, log+".1"); err != nil {
		t.Fatal(err)
	}
	appendFile(t, log+".1", lines[third:2*third])
	appendFile(t, log, lines[2*third:])
	s.await(append([]string{`kvshadow_overlap_lost_blocks_total{policy="a",worker_type="prefill"} 17`}, wholeCapture...)...)

	write("policies: [{name: a, parameters: {prefix_affinity_weight: -4}}]\n")
	if err := s.cmd.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	s.await("kvshadow_config_last_reload_successful 0", `kvshadow_policy_info{parameters="prefix_affinity_weight=4",policy="a",type="dynamo-default-cost-fn"} 1`)
	write("policies: [{name: b, parameters: {prefill_load_scale: 2}}]\n")
	r, err := http.Post(s.url+"/-/reload", "", nil)
	if err != nil || r.StatusCode != http.StatusOK {
		t.Fatalf("reload: %v %v", r, err)
	}
	r.Body.Close()
	s.await("kvshadow_config_last_reload_successful 1", `kvshadow_policy_info{parameters="prefill_load_scale=2",policy="b",type="dynamo-default-cost-fn"} 1`,
		`kvshadow_overlap_lost_blocks_total{policy="live",worker_type="prefill"} 321`)
	if ready := s.get("/-/ready"); !strings.Contains(ready, "is ready") {
		t.Errorf("ready: %s", ready)
	}
	s.stop()
}

// testServeStdin pipes the log in.
func testServeStdin(t *testing.T, bin string) {
	s := start(t, bin, strings.NewReader(strings.Join(captureLines(t), "")), "--source", "stdin:")
	s.await(wholeCapture...)
	s.stop()
}

// testServeAuth asks for a password by a web config file.
func testServeAuth(t *testing.T, bin string) {
	config := filepath.Join(t.TempDir(), "web.yaml")
	// The hash is of "secret", with the least cost.
	text := "basic_auth_users: {ops: $2y$04$JVnGz5IzoLt7WtYk.4cmqOHP2oDnZZMHvTkjVwQMbFRtiXwqxR/1u}\n"
	if err := os.WriteFile(config, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	s := start(t, bin, strings.NewReader(""), "--source", "stdin:", "--web.config.file", config)
	r, err := http.Get(s.url + "/metrics")
	if err != nil {
		t.Fatal(err)
	}
	r.Body.Close()
	if r.StatusCode != http.StatusUnauthorized {
		t.Errorf("without a password: %d, want 401", r.StatusCode)
	}
	s.stop()
}

// testServeDemo plays the demo until it has evaluated something.
func testServeDemo(t *testing.T, bin string) {
	s := start(t, bin, nil, "--demo")
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(deadline); !regexp.MustCompile(`kvshadow_decisions_total\{worker_type="decode"\} [1-9]`).MatchString(s.get("/metrics")); <-tick.C {
		if time.Now().After(end) {
			t.Fatal("the demo evaluates nothing")
		}
	}
	if page := s.get("/"); !strings.Contains(page, "Demo: this plays recorded logs") {
		t.Error("the page doesn't say that it is a demo")
	}
	s.stop()
}
