package diff

import (
	"strings"

	"github.com/kvshadow/kvshadow/catalog"
	"github.com/kvshadow/kvshadow/internal/edit"
)

// renames pairs metrics that are gone with ones that came and are the same but
// for the name: old name to new name.
func (c *comparison) renames() map[string]string {
	pairs, taken := map[string]string{}, map[string]bool{}
	for _, name := range c.old.names() {
		if _, there := c.now.metrics[name]; there {
			continue
		}
		if to := c.renamedTo(c.old.metrics[name], taken); to != "" {
			pairs[name], taken[to] = to, true
		}
	}
	return pairs
}

// renamedTo returns the new name of a metric that is gone, or "". Of several
// the most similar name is taken.
func (c *comparison) renamedTo(a catalog.Entry, taken map[string]bool) string {
	var names []string
	for _, name := range c.now.names() {
		_, known := c.old.metrics[name]
		if !known && !taken[name] && c.same(a, c.now.metrics[name]) {
			names = append(names, name)
		}
	}
	return edit.Nearest(a.Name, names, len(a.Name))
}

func (c *comparison) same(a, b catalog.Entry) bool {
	return a.Type == b.Type && sameHelp(a.Help, b.Help) && c.labels(a, b) == ""
}

// sameHelp compares help texts. That of a catalog ends with a full stop where
// the page's may not.
func sameHelp(a, b string) bool {
	a, b = strings.TrimSuffix(a, "."), strings.TrimSuffix(b, ".")
	return a == b && a != ""
}
