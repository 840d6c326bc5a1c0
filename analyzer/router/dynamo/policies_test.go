package dynamo

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "rewrite the golden files of testdata")

// policyTexts are "name: changed weights", the live policy first.
func policyTexts(f *PolicyFile) []string {
	var out []string
	for _, p := range f.Policies() {
		out = append(out, strings.TrimSpace(p.Name+": "+strings.Join(p.Changed(), " ")))
	}
	return out
}

func TestLoadPolicies_Success(t *testing.T) {
	f := func(file string, policies, notices []string) {
		t.Helper()
		got, err := LoadPolicies(filepath.Join("testdata/policies", file))
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if have := policyTexts(got); !slices.Equal(have, policies) {
			t.Errorf("%s: policies are\n%q, want\n%q", file, have, policies)
		}
		if have := got.Notices(); !slices.Equal(have, notices) {
			t.Errorf("%s: notices are\n%q, want\n%q", file, have, notices)
		}
	}

	f("short.yaml", []string{
		"live: overlap_score_credit=0.5", "affinity-4: prefix_affinity_weight=4", "scale-4: prefill_load_scale=4", "defaults:",
	}, nil)
	f("live-only.yaml", []string{"live: decode_active_request_weight=1.5"}, nil)
	f("json.yaml", []string{
		"live: disk_cache_hit_weight=0", "same:", "decay: overlap_score_credit_decay=1e-05 host_cache_hit_weight=1",
	}, nil)
	f("anchors.yaml", []string{
		"live: prefill_load_scale=2", "same-as-live: prefill_load_scale=2", "shared: host_cache_hit_weight=0.5 shared_cache_multiplier=0.5",
	}, nil)
	f("dynamo.yaml", []string{"live: prefill_load_scale=8", "tuned: prefill_load_scale=8", "plain:"}, []string{
		"skipped two-tier (dynamo-two-tier-cost-fn): only costs of type dynamo-default-cost-fn can be computed",
	})
	f("dynamo-disagg.yaml", []string{"live: prefix_affinity_weight=2", "cache: prefix_affinity_weight=2", "load: overlap_score_credit=0"}, []string{
		"skipped other (in-house): only costs of type dynamo-default-cost-fn can be computed",
		"line 3: the live weights are those of cache, but decode workers run load",
	})
	f("dynamo-custom-live.yaml", []string{"live:"}, []string{
		"skipped other (in-house): only costs of type dynamo-default-cost-fn can be computed",
		"line 2: the live weights are those of default, but aggregated workers run other",
	})
	f("dynamo-prefill-only.yaml", []string{"live: prefix_affinity_weight=2", "cache: prefix_affinity_weight=2"}, []string{
		"line 1: the live weights are those of cache, but decode workers run default",
	})
	f("dynamo-default.yaml", []string{"live:", "cache: prefix_affinity_weight=2"}, nil)
}

func TestLoadPolicies_Failure(t *testing.T) {
	if _, err := LoadPolicies("testdata/policies/missing.yaml"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing file is %v", err)
	}
	if _, err := LoadPolicies("testdata/policies"); err == nil {
		t.Error("a folder is read as a file")
	}
	if _, err := LoadPolicies("testdata/policies/bad/empty.yaml"); err == nil {
		t.Error("an empty file is valid")
	}
}

// TestParsePolicies_Failure compares every bad file's problems with the golden
// text beside it.
func TestParsePolicies_Failure(t *testing.T) {
	files, err := filepath.Glob("testdata/policies/bad/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no bad files: %v", err)
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, err = ParsePolicies("policies.yaml", data)
		if _, ok := errors.AsType[ProblemList](err); !ok {
			t.Errorf("%s: the error is %v", file, err)
			continue
		}
		checkGolden(t, strings.TrimSuffix(file, ".yaml")+".err", err.Error()+"\n")
	}
}

func checkGolden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s: got\n%swant\n%s", file, got, want)
	}
}

func TestParsePolicies_TooLarge(t *testing.T) {
	_, err := ParsePolicies("big.yaml", []byte("policies: # "+strings.Repeat("x", maxPolicyBytes)))
	if err == nil || err.Error() != "big.yaml: the file is larger than 1048576 bytes" {
		t.Errorf("the error is %v", err)
	}
	_, err = ParsePolicies("wide.yaml", []byte("policies: [{name: a, parameters: {"+strings.Repeat("a: 1, ", maxPolicyFields+1)+"}}]"))
	if err == nil || !strings.Contains(err.Error(), "wide.yaml:1:34: policies[0].parameters: has 257 fields; at most 256 are read") {
		t.Errorf("the error is %v", err)
	}
}

func TestPoliciesSetLive_Success(t *testing.T) {
	f := func(file, name string, policies ...string) {
		t.Helper()
		got, err := LoadPolicies(filepath.Join("testdata/policies", file))
		if err != nil {
			t.Fatal(err)
		}
		if err := got.SetLive(name); err != nil {
			t.Fatal(err)
		}
		if have := policyTexts(got); !slices.Equal(have, policies) {
			t.Errorf("SetLive(%q) leaves %q, want %q", name, have, policies)
		}
		if len(got.Warnings) != 0 {
			t.Errorf("SetLive(%q) leaves the warnings %q about what isn't live", name, got.Warnings)
		}
	}

	f("dynamo-disagg.yaml", "load", "live: overlap_score_credit=0", "cache: prefix_affinity_weight=2", "load: overlap_score_credit=0")
	f("short.yaml", "defaults", "live:", "affinity-4: prefix_affinity_weight=4", "scale-4: prefill_load_scale=4", "defaults:")
}

func TestPoliciesSetLive_Failure(t *testing.T) {
	f := func(file, name, want string) {
		t.Helper()
		got, err := LoadPolicies(filepath.Join("testdata/policies", file))
		if err != nil {
			t.Fatal(err)
		}
		before := policyTexts(got)
		if err := got.SetLive(name); err == nil || err.Error() != want {
			t.Errorf("SetLive(%q) is %v, want %s", name, err, want)
		}
		if have := policyTexts(got); !slices.Equal(have, before) {
			t.Errorf("a failed SetLive changed the policies to %q", have)
		}
	}

	f("short.yaml", "affinity4", `no policy is named "affinity4": the file has affinity-4, scale-4, defaults (did you mean affinity-4?)`)
	f("short.yaml", "", `no policy is named "": the file has affinity-4, scale-4, defaults`)
	f("live-only.yaml", "a", `no policy is named "a": the file has none`)
	f("dynamo.yaml", "two-tier", `no policy is named "two-tier": the file has tuned, plain`)
}

// TestPoliciesDocument keeps docs/policies.md complete and its examples valid.
func TestPoliciesDocument(t *testing.T) {
	text, err := os.ReadFile("../../../docs/policies.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range ParameterNames() {
		def, _ := DefaultParams().Get(name)
		if section := fmt.Sprintf("\n### `%s`\n\nDefault %v", name, def); !strings.Contains(string(text), section) {
			t.Errorf("the page has no section that begins %q", section)
		}
	}
	examples := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllSubmatch(text, -1)
	if len(examples) < 2 {
		t.Fatalf("the page has %d examples, want one for each form", len(examples))
	}
	for _, e := range examples {
		if _, err := ParsePolicies("docs/policies.md", e[1]); err != nil {
			t.Errorf("an example isn't valid: %v\n%s", err, e[1])
		}
	}
}

func FuzzParsePolicies(f *testing.F) {
	for _, pattern := range []string{"testdata/policies/*.yaml", "testdata/policies/bad/*.yaml"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range files {
			data, err := os.ReadFile(file)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(data)
		}
	}
	valid := regexp.MustCompile(`^[A-Za-z0-9._-]{1,64}$`)
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := ParsePolicies("fuzz", data)
		if err != nil {
			checkProblems(t, err)
			return
		}
		names := make(map[string]bool)
		for i, p := range got.Policies() {
			if names[p.Name] || !valid.MatchString(p.Name) || (p.Name == LiveName) != (i == 0) {
				t.Fatalf("policy %d has the name %q", i, p.Name)
			}
			names[p.Name] = true
			for _, w := range ParameterNames() {
				if v, _ := p.Params.Get(w); !(v >= 0) || math.IsInf(v, 0) {
					t.Fatalf("%s of %s is %v", w, p.Name, v)
				}
			}
		}
		if n := len(got.Candidates); n > maxPolicies {
			t.Fatalf("%d candidates", n)
		}
		_ = got.Notices()
	})
}

// checkProblems checks what holds of every list of problems.
func checkProblems(t *testing.T, err error) {
	t.Helper()
	list, ok := errors.AsType[ProblemList](err)
	if !ok || len(list) == 0 {
		t.Fatalf("the error is %v", err)
	}
	if lines := strings.Count(err.Error(), "\n") + 1; lines != len(list) {
		t.Fatalf("%d problems on %d lines: %v", len(list), lines, err)
	}
}
