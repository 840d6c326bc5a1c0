package dynamo

import (
	"fmt"
	"io"
	"os"
	"strings"
)

// LiveName is the name of the policy that production runs. No candidate may
// have it.
const LiveName = "live"

const (
	// maxPolicies bounds the series of an exporter: each policy has its own.
	maxPolicies = 64
	// maxPolicyBytes is far above any real policies file.
	maxPolicyBytes = 1 << 20
)

// PolicyFile is a validated policies file: the live policy and the candidates.
type PolicyFile struct {
	// Live has the name [LiveName] and the weights that production runs.
	Live Policy
	// Candidates are the policies to compare with Live, in the order of the
	// file. Their names are unique. The one whose weights are live is among
	// them, so that its series go on when production switches.
	Candidates []Policy
	// Skipped names the instances whose type is not [PolicyType], as
	// "name (type)": this package can't compute their costs.
	Skipped []string
	// Warnings say where Live may not be what a router really runs.
	Warnings []string
}

// LoadPolicies reads and validates the policies file at path. The error is a
// [ProblemList] if the file can be read but isn't valid.
func LoadPolicies(path string) (*PolicyFile, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxPolicyBytes+1))
	if err != nil {
		return nil, err
	}
	return ParsePolicies(path, data)
}

// ParsePolicies validates a policies file of either form, the short one or
// Dynamo's own; docs/policies.md describes both. The name stands for the file
// in messages. The error is a [ProblemList] of everything that is wrong.
func ParsePolicies(name string, data []byte) (*PolicyFile, error) {
	r := policyReader{file: name}
	f := &PolicyFile{Live: Policy{Name: LiveName, Params: DefaultParams()}}
	if root := r.document(data); root != nil {
		r.root(f, root)
	}
	if len(r.problems) > 0 {
		r.problems.sort()
		return nil, r.problems
	}
	return f, nil
}

// Policies lists the live policy and then the candidates.
func (f *PolicyFile) Policies() []Policy {
	return append([]Policy{f.Live}, f.Candidates...)
}

// Notices says what a user should know though the file is valid: Skipped and
// Warnings as sentences, one a line, without the file's name.
func (f *PolicyFile) Notices() []string {
	var notices []string
	for _, s := range f.Skipped {
		notices = append(notices, fmt.Sprintf("skipped %s: only costs of type %s can be computed", s, PolicyType))
	}
	return append(notices, f.Warnings...)
}

// SetLive makes the weights of the candidate of that name the live ones,
// instead of those that the file declares live. All candidates stay.
func (f *PolicyFile) SetLive(instance string) error {
	names := make([]string, len(f.Candidates))
	for i, c := range f.Candidates {
		if c.Name == instance {
			f.Live.Params = c.Params
			f.Warnings = nil
			return nil
		}
		names[i] = c.Name
	}
	if len(names) == 0 {
		return fmt.Errorf("no policy is named %q: the file has none", instance)
	}
	return fmt.Errorf("no policy is named %q: the file has %s%s",
		instance, strings.Join(names, ", "), suggestion(instance, names))
}
