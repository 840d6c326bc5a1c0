package dynamo

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/kvshadow/kvshadow/internal/edit"
)

// Problem is one thing that is wrong with a policies file.
type Problem struct {
	File string
	// Line and Column count from 1, columns in characters; both are 0 if the
	// problem is the file as a whole.
	Line, Column int
	// Field is the path of what is wrong, as in policies[1].parameters; empty
	// if the text isn't YAML at all.
	Field   string
	Message string
}

// String is the problem on one line, in the form file:line:column: that
// editors and CI systems link to the file.
func (p Problem) String() string {
	var b strings.Builder
	b.WriteString(p.File)
	if p.Line > 0 {
		fmt.Fprintf(&b, ":%d:%d", p.Line, p.Column)
	}
	b.WriteString(": ")
	if p.Field != "" {
		b.WriteString(p.Field + ": ")
	}
	b.WriteString(p.Message)
	return b.String()
}

// ProblemList is the error of a policies file that isn't valid: everything
// that is wrong with it, by position. It is never empty.
type ProblemList []Problem

// Error lists the problems, one a line.
func (l ProblemList) Error() string {
	lines := make([]string, len(l))
	for i, p := range l {
		lines[i] = p.String()
	}
	return strings.Join(lines, "\n")
}

func (l ProblemList) sort() {
	slices.SortStableFunc(l, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
}

// oneOf names the allowed names, and the one that was probably meant.
func oneOf(name string, allowed []string) string {
	if len(allowed) == 1 {
		return "allowed is " + allowed[0]
	}
	return "allowed are " + strings.Join(allowed, ", ") + suggestion(name, allowed)
}

// minPrefix is the length from which the beginning of a name suggests it.
const minPrefix = 4

// suggestion is " (did you mean x?)" if one of the names is near enough to be
// a misspelling, else empty.
func suggestion(name string, names []string) string {
	if len(name) > maxNameBytes {
		return ""
	}
	best, distance := "", 1+max(2, len(name)/4)
	for _, n := range names {
		d := edit.Distance(name, n)
		if len(name) >= minPrefix && strings.HasPrefix(n, name) {
			d = 1
		}
		if d < distance {
			best, distance = n, d
		}
	}
	if best == "" || distance >= len(name) {
		return ""
	}
	return fmt.Sprintf(" (did you mean %s?)", best)
}

// clipText shortens text from a file so that it fits a message.
func clipText(s string) string {
	const most = 40
	for i := range s {
		if i >= most {
			return s[:i] + "..."
		}
	}
	return s
}

// showText clips text and quotes it if it doesn't print as it is.
func showText(s string) string {
	s = clipText(s)
	if quoted := strconv.Quote(s); len(quoted) != len(s)+2 {
		return quoted
	}
	return s
}
