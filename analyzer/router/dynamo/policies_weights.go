package dynamo

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

const (
	// maxWeight is where float64 stops telling one block from the next.
	maxWeight = 1 << 53
	// seedName is the only parameter that isn't a weight.
	seedName = "seed"
)

// parameters reads weights; those that are left out have their defaults. Only
// Dynamo's own form has a seed, which changes no cost.
func (r *policyReader) parameters(n *yaml.Node, path string, own bool) Params {
	p := DefaultParams()
	if n == nil || isNull(n) {
		return p
	}
	allowed := ParameterNames()
	if own {
		allowed = append(allowed, seedName)
	}
	fields := r.mapping(n, path)
	fields = r.deprecated(fields, path)
	r.unknown(fields, path, "parameter", allowed)
	for _, f := range fields {
		at := joinPath(path, f.name)
		if own && f.name == seedName {
			r.seed(f.value, at)
			continue
		}
		if _, ok := p.Get(f.name); !ok {
			continue
		}
		if v, ok := r.weight(f.value, at); ok {
			if err := p.Set(f.name, v); err != nil {
				r.report(f.value, at, "%v", err)
			}
		}
	}
	return p
}

// deprecated notes the weight that upstream gave up, and leaves it out.
func (r *policyReader) deprecated(fields []yamlField, path string) []yamlField {
	return slices.DeleteFunc(fields, func(f yamlField) bool {
		if f.name != "overlap_score_weight" {
			return false
		}
		r.report(f.key, joinPath(path, f.name), "deprecated upstream: use overlap_score_credit (the credit for a cached block) "+
			"or prefill_load_scale (the weight of the blocks to prefill)")
		return true
	})
}

func (r *policyReader) seed(n *yaml.Node, path string) {
	if n.Kind != yaml.ScalarNode || n.Tag != "!!int" || strings.HasPrefix(n.Value, "-") {
		r.report(n, path, "must be a whole number that is not negative, is %s", describeNode(n))
	}
}

// weight returns a number that a weight may have.
func (r *policyReader) weight(n *yaml.Node, path string) (float64, bool) {
	v, err := strconv.ParseFloat(n.Value, 64)
	tooBig := errors.Is(err, strconv.ErrRange)
	switch {
	case !isNumber(n) && !(n.Style == 0 && tooBig):
		r.report(n, path, "must be a number, is %s", describeNode(n))
	case isNonFinite(n):
		r.report(n, path, "must be finite, is %s", showText(n.Value))
	case v < 0:
		r.report(n, path, "must not be negative, is %s", showText(n.Value))
	case tooBig || err == nil && v > maxWeight:
		r.report(n, path, "must be at most 2^53, is %s: beside it a cost can't tell one block from the next", showText(n.Value))
	case err != nil || !isDecimal(n.Value):
		r.report(n, path, "must be a decimal number, is %s", showText(n.Value))
	default:
		return v, true
	}
	return 0, false
}

// isNumber says whether a node is meant as a number. The names of non-finite
// numbers in JSON are text in YAML, but no less meant as numbers.
func isNumber(n *yaml.Node) bool {
	if n.Kind != yaml.ScalarNode {
		return false
	}
	return n.Tag == "!!int" || n.Tag == "!!float" || n.Style == 0 && isNonFinite(n)
}

func isNonFinite(n *yaml.Node) bool {
	switch strings.ToLower(strings.TrimLeft(n.Value, "+-")) {
	case ".inf", ".nan", "inf", "infinity", "nan":
		return true
	}
	return false
}

// isDecimal says whether all readers of YAML agree on a number: 010, 0x10 and
// 1_000 are other numbers, or text, in another version.
func isDecimal(s string) bool {
	s = strings.TrimLeft(s, "+-")
	octal := len(s) > 1 && s[0] == '0' && s[1] >= '0' && s[1] <= '9'
	return !octal && strings.Trim(s, "0123456789.eE+-") == ""
}
