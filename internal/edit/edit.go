// Package edit compares names that people may have mistyped.
package edit

// Nearest returns the name that differs least from a name, at most by limit
// edits, or "". Of equally near ones the first is taken.
func Nearest(name string, names []string, limit int) string {
	best, least := "", limit+1
	for _, n := range names {
		if d := Distance(name, n); d < least {
			best, least = n, d
		}
	}
	return best
}

// Distance is the number of bytes to insert, delete or replace to turn a into b
// (Levenshtein).
func Distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			substitute := diagonal
			if a[i] != b[j] {
				substitute++
			}
			diagonal = row[j+1]
			row[j+1] = min(substitute, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
