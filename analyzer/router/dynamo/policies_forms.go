package dynamo

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

const (
	// builtinName is how Dynamo's form refers to the router's built-in policy
	// with the weights of the router's own flags.
	builtinName = "default"
	// maxNameBytes keeps names fit for label values.
	maxNameBytes = 64
	// formsHint says what a file may begin with.
	formsHint = "it needs policies or live (the short form), or worker_selection (Dynamo's own form)"
)

// policyEntry is one item of a list of policies that is worth looking into.
type policyEntry struct {
	name       string
	typ        string
	parameters *yaml.Node
	path       string
}

// roleSelection is what a worker role of Dynamo's form runs.
type roleSelection struct {
	role, name string
	at         *yaml.Node
}

// root reads the file in the form that its top-level fields show.
func (r *policyReader) root(f *PolicyFile, n *yaml.Node) {
	if n.Kind != yaml.MappingNode {
		r.report(n, "", "the file must be a map, is %s: %s", describeNode(n), formsHint)
		return
	}
	top := r.mapping(n, "")
	short := slices.IndexFunc(top, func(f yamlField) bool { return f.name == "policies" || f.name == "live" })
	own := slices.IndexFunc(top, func(f yamlField) bool { return f.name == "worker_selection" })
	switch {
	case short >= 0 && own >= 0:
		later, earlier := top[max(short, own)], top[min(short, own)]
		r.report(later.key, later.name, "mixes the short form with Dynamo's own: %s stands at %s", earlier.name, nodePosition(earlier.key))
	case own >= 0:
		r.workerSelection(f, top[own])
	case short >= 0:
		r.short(f, top)
	case len(top) > 0:
		r.unknown(top, "", "field", []string{"policies", "live", "worker_selection"})
	case len(r.problems) == 0:
		r.report(n, "", "the map is empty: %s", formsHint)
	}
}

// short reads the form of this project: live and policies.
func (r *policyReader) short(f *PolicyFile, top []yamlField) {
	r.unknown(top, "", "field", []string{"live", "policies"})
	for _, t := range top {
		switch {
		case isNull(t.value):
		case t.name == "live":
			fields := r.fields(t.value, t.name, "type", "parameters")
			r.shortType(fields["type"], t.name)
			f.Live.Params = r.parameters(fields["parameters"].value, t.name+".parameters", false)
		case t.name == "policies":
			for _, e := range r.entries(t.value, t.name, false) {
				f.add(e.name, r.parameters(e.parameters, e.path+".parameters", false))
			}
		}
	}
}

// shortType checks a type of the short form, where it may be left out.
func (r *policyReader) shortType(f yamlField, path string) {
	if f.value == nil || isNull(f.value) {
		return
	}
	if typ, ok := r.text(f.value, path+".type"); ok && typ != PolicyType {
		r.report(f.value, path+".type", "unknown type; %s", oneOf(typ, []string{PolicyType}))
	}
}

// workerSelection reads the section of Dynamo's own form that holds policies.
// What else stands in such a file isn't for this program.
func (r *policyReader) workerSelection(f *PolicyFile, section yamlField) {
	roles := []string{"aggregated", "prefill", "decode", "encode"}
	fields := r.fields(section.value, section.name, append(roles, "instances")...)
	if section.value.Kind == yaml.MappingNode && len(section.value.Content) == 0 {
		r.report(section.value, section.name, "must define an instance or select one")
	}
	types := map[string]string{builtinName: PolicyType}
	if instances := fields["instances"].value; instances != nil {
		for _, e := range r.entries(instances, section.name+".instances", true) {
			if e.name != "" {
				types[e.name] = e.typ
			}
			if e.typ != PolicyType {
				f.Skipped = append(f.Skipped, e.name+" ("+e.typ+")")
				continue
			}
			f.add(e.name, r.parameters(e.parameters, e.path+".parameters", true))
		}
	}
	var selected []roleSelection
	for _, role := range roles {
		s, ok := r.selection(fields[role], section.name+"."+role, types)
		if ok && role != "encode" { // encoders have no KV cache to choose by
			selected = append(selected, s)
		}
	}
	f.setLive(selected, types, section.key)
}

// selection returns what a role selects, or false if it selects nothing valid.
func (r *policyReader) selection(f yamlField, path string, types map[string]string) (roleSelection, bool) {
	if f.value == nil || isNull(f.value) {
		return roleSelection{}, false
	}
	name, ok := r.text(f.value, path)
	if !ok {
		return roleSelection{}, false
	}
	if _, ok := types[name]; !ok {
		names := make([]string, 0, len(types))
		for n := range types {
			names = append(names, n)
		}
		slices.Sort(names)
		r.report(f.value, path, "no instance is named %q; %s", clipText(name), oneOf(name, names))
		return roleSelection{}, false
	}
	return roleSelection{f.name, name, f.value}, true
}

// setLive takes the live weights from the first role whose policy can be
// computed, and warns of every role that runs something else. The roles that
// are left out are put at the position of the section.
func (f *PolicyFile) setLive(selected []roleSelection, types map[string]string, at *yaml.Node) {
	selected = append(selected, implicitRoles(selected, at)...)
	i := slices.IndexFunc(selected, func(s roleSelection) bool { return types[s.name] == PolicyType })
	live := roleSelection{name: builtinName}
	if i >= 0 {
		live = selected[i]
	}
	for _, c := range f.Candidates {
		if c.Name == live.name {
			f.Live.Params = c.Params
		}
	}
	for _, s := range selected {
		if s.name != live.name {
			f.Warnings = append(f.Warnings, fmt.Sprintf("line %d: the live weights are those of %s, but %s workers run %s",
				s.at.Line, live.name, s.role, s.name))
		}
	}
}

// implicitRoles lists the roles of a deployment that a file leaves to Dynamo's
// built-in policy: it never falls back from one role to another.
func implicitRoles(selected []roleSelection, at *yaml.Node) []roleSelection {
	has := func(role string) bool {
		return slices.ContainsFunc(selected, func(s roleSelection) bool { return s.role == role })
	}
	switch {
	case has("prefill") && !has("decode"):
		return []roleSelection{{"decode", builtinName, at}}
	case has("decode") && !has("prefill"):
		return []roleSelection{{"prefill", builtinName, at}}
	}
	return nil
}

func (f *PolicyFile) add(name string, p Params) {
	f.Candidates = append(f.Candidates, Policy{Name: name, Params: p})
}

// entries returns the items of a list of policies; an item that isn't a map is
// noted and left out.
func (r *policyReader) entries(n *yaml.Node, path string, own bool) []policyEntry {
	if isNull(n) {
		return nil
	}
	if n.Kind != yaml.SequenceNode {
		r.report(n, path, "must be a list, is %s", describeNode(n))
		return nil
	}
	items := n.Content
	if len(items) > maxPolicies {
		r.report(items[maxPolicies], path, "has %d policies; at most %d are allowed", len(items), maxPolicies)
		items = items[:maxPolicies]
	}
	names := make(map[string]*yaml.Node)
	var list []policyEntry
	for i, item := range items {
		if e, ok := r.entry(withoutAlias(item), indexPath(path, i), own, names); ok {
			list = append(list, e)
		}
	}
	return list
}

// entry reads one policy without its parameters. Names holds where each name
// stands first.
func (r *policyReader) entry(n *yaml.Node, path string, own bool, names map[string]*yaml.Node) (policyEntry, bool) {
	fields := r.fields(n, path, "name", "type", "parameters")
	if n.Kind != yaml.MappingNode {
		return policyEntry{}, false
	}
	e := policyEntry{typ: PolicyType, parameters: fields["parameters"].value, path: path}
	if own {
		e.typ = r.required(n, fields["type"], path, "type")
	} else {
		r.shortType(fields["type"], path)
	}
	e.name = r.required(n, fields["name"], path, "name")
	if e.name != "" {
		r.checkName(fields["name"].value, e.name, path+".name", own)
		if first := names[e.name]; first != nil {
			r.report(fields["name"].value, path+".name", "duplicate name %q; the first is at %s", clipText(e.name), nodePosition(first))
		} else {
			names[e.name] = fields["name"].value
		}
	}
	return e, true
}

// required returns the text of a field that must be there and not be empty.
func (r *policyReader) required(parent *yaml.Node, f yamlField, path, name string) string {
	if f.value == nil {
		r.report(parent, path, "%s is missing", name)
		return ""
	}
	s, ok := r.text(f.value, path+"."+name)
	if ok && s == "" {
		r.report(f.value, path+"."+name, "must not be empty")
	}
	return s
}

func (r *policyReader) checkName(at *yaml.Node, name, path string, own bool) {
	const allowed = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-"
	switch {
	case len(name) > maxNameBytes || strings.Trim(name, allowed) != "":
		r.report(at, path, "must be 1 to %d of the characters A-Z a-z 0-9 . _ -, is %q", maxNameBytes, clipText(name))
	case name == LiveName:
		r.report(at, path, "live is reserved for the policy that production runs")
	case own && name == builtinName:
		r.report(at, path, "default is reserved for Dynamo's built-in policy")
	}
}
