package edit

import "testing"

func TestNearest(t *testing.T) {
	f := func(want, name string, limit int, names ...string) {
		t.Helper()
		if got := Nearest(name, names, limit); got != want {
			t.Errorf("Nearest(%q, %q, %d) = %q; want %q", name, names, limit, got, want)
		}
	}
	f("", "abc", 2)
	f("abd", "abc", 2, "xyz", "abd", "abe")
	f("ab", "abc", 2, "ab", "a")
	f("", "abc", 2, "xyz", "")
	f("xyz", "abc", 3, "xyz")
	f("", "", 0, "a")
	f("a", "", 1, "a")
}
