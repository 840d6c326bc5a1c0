package alerts

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/common/model"
	"go.yaml.in/yaml/v4"
)

// field is one value of a section. set returns what is wrong with a value, as
// the end of a sentence.
type field struct {
	name string
	set  func(*yaml.Node) error
}

// share is a fraction of 1.
func share(name string, to *float64) field { return number(name, to, 0, 1, "between 0 and 1") }

// amount is a number that isn't negative.
func amount(name string, to *float64) field {
	return number(name, to, 0, math.MaxFloat64, "of 0 or more")
}

func atLeast(least float64, name string, to *float64) field {
	return number(name, to, least, math.MaxFloat64, fmt.Sprintf("of %g or more", least))
}

func number(name string, to *float64, least, most float64, want string) field {
	return field{name, func(n *yaml.Node) error {
		v, err := strconv.ParseFloat(n.Value, 64)
		numeric := n.ShortTag() == "!!int" || n.ShortTag() == "!!float"
		if err != nil || !numeric || !(v >= least && v <= most) { // false for NaN too
			return fmt.Errorf("must be a number %s, is %q", want, n.Value)
		}
		*to = v
		return nil
	}}
}

// duration is a time in Prometheus' form, above 0: an alert without a "for"
// fires on one bad evaluation.
func duration(name string, to *model.Duration) field {
	return field{name, func(n *yaml.Node) error {
		d, err := model.ParseDuration(n.Value)
		if err != nil || d <= 0 {
			return fmt.Errorf("must be a time above 0 such as 15m, is %q", n.Value)
		}
		*to = d
		return nil
	}}
}

func boolean(name string, to *bool) field {
	return field{name, func(n *yaml.Node) error {
		if n.ShortTag() != "!!bool" {
			return fmt.Errorf("must be true or false, is %q", n.Value)
		}
		return n.Decode(to)
	}}
}

func oneOf(name string, to *string, allowed []string) field {
	return field{name, func(n *yaml.Node) error {
		if !slices.Contains(allowed, n.Value) {
			return fmt.Errorf("must be one of %s, is %q", strings.Join(allowed, ", "), n.Value)
		}
		*to = n.Value
		return nil
	}}
}

// all returns the fields of a section, the common ones first.
func (s section) all() []field {
	return append([]field{
		boolean("enabled", &s.common.Enabled),
		oneOf("severity", &s.common.Severity, Severities()),
		duration("for", &s.common.For),
	}, s.fields...)
}

// thresholdReader reads one file and notes what is wrong. It walks nodes
// because only they know their lines.
type thresholdReader struct {
	file     string
	problems []error
}

func (r *thresholdReader) report(line int, format string, args ...any) {
	r.problems = append(r.problems, fmt.Errorf("%s:%d: %s", r.file, line, fmt.Sprintf(format, args...)))
}

func (r *thresholdReader) err() error { return errors.Join(r.problems...) }

func (r *thresholdReader) read(t *Thresholds, data []byte) {
	d := yaml.NewDecoder(bytes.NewReader(data))
	var doc, second yaml.Node
	switch err := d.Decode(&doc); {
	case errors.Is(err, io.EOF):
		return // an empty file changes nothing
	case err != nil:
		r.problems = append(r.problems, fmt.Errorf("%s: %w", r.file, err))
		return
	}
	if err := d.Decode(&second); !errors.Is(err, io.EOF) {
		r.report(max(second.Line, 1), "one YAML document is allowed, a second one follows")
		return
	}
	root := doc.Content[0]
	if root.ShortTag() == "!!null" {
		return
	}
	sections, names := t.sections(), []string{"scope_labels"}
	for _, s := range sections {
		names = append(names, s.name)
	}
	r.entries(root, "the file", names, func(name string, _, value *yaml.Node) {
		if name == "scope_labels" {
			r.scope(t, value)
			return
		}
		i := slices.IndexFunc(sections, func(s section) bool { return s.name == name })
		r.section(sections[i], value)
	})
	if len(r.problems) == 0 {
		r.exclusive(t, root)
	}
}

// entries calls do for each known entry of a map.
func (r *thresholdReader) entries(n *yaml.Node, what string, allowed []string, do func(name string, at, value *yaml.Node)) {
	if n.Kind != yaml.MappingNode {
		r.report(n.Line, "%s must be a map", what)
		return
	}
	seen := make(map[string]int)
	for i := 0; i < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		before, twice := seen[key.Value]
		seen[key.Value] = key.Line
		switch {
		case twice:
			r.report(key.Line, "%s has %q twice, in line %d too", what, key.Value, before)
		case !slices.Contains(allowed, key.Value):
			r.report(key.Line, "%s has no %q: allowed are %s", what, key.Value, strings.Join(allowed, ", "))
		default:
			do(key.Value, key, value)
		}
	}
}

func (r *thresholdReader) section(s section, n *yaml.Node) {
	fields := s.all()
	var names []string
	for _, f := range fields {
		names = append(names, f.name)
	}
	r.entries(n, s.name, names, func(name string, at, value *yaml.Node) {
		i := slices.IndexFunc(fields, func(f field) bool { return f.name == name })
		if value.Kind != yaml.ScalarNode {
			r.report(at.Line, "%s.%s must be a single value", s.name, name)
		} else if err := fields[i].set(value); err != nil {
			r.report(value.Line, "%s.%s %v", s.name, name, err)
		}
	})
}

// labelName is what Prometheus and VictoriaMetrics both take without quotes.
var labelName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)

func (r *thresholdReader) scope(t *Thresholds, n *yaml.Node) {
	if n.Kind != yaml.SequenceNode {
		r.report(n.Line, "scope_labels must be a list of label names")
		return
	}
	t.ScopeLabels = nil
	for _, l := range n.Content {
		switch {
		case l.Kind != yaml.ScalarNode || !labelName.MatchString(l.Value):
			r.report(l.Line, "scope_labels: %q is no label name", l.Value)
		case slices.Contains(t.ScopeLabels, l.Value):
			r.report(l.Line, "scope_labels: %q stands there twice", l.Value)
		default:
			t.ScopeLabels = append(t.ScopeLabels, l.Value)
		}
	}
}

// exclusive refuses thresholds under which one state of the fleet is called
// both a loss without and a loss for load.
func (r *thresholdReader) exclusive(t *Thresholds, root *yaml.Node) {
	low, high := t.SessionsMoving.MaxLoadExcess, t.OverlapLost.MinLoadExcess
	if low > high {
		r.report(root.Line, "sessions_keep_moving.max_load_excess_blocks (%g) must not be above overlap_lost_without_load_reason.min_load_excess_blocks (%g): both alerts would fire for the same cause", low, high)
	}
}
