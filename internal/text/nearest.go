package text

import "strings"

// compared is how much of long names is compared, so that whole files in place of names take no time.
const compared = 100

// Nearest is the name that takes the fewest changes of letters to make from a mistaken one; of several such, the first. It
// is "" when there are no names.
func Nearest(mistaken string, names []string) string {
	nearest, fewest := "", 0
	mistaken = mistaken[:min(len(mistaken), compared)]
	for _, name := range names {
		if changes := editDistance(mistaken, name[:min(len(name), compared)]); nearest == "" || changes < fewest {
			nearest, fewest = name, changes
		}
	}
	return nearest
}

// Similar is the name that a mistaken one was probably meant to be: the nearest, if it takes few changes for its length, or
// the only one that begins so. It is "" where no name is like it.
func Similar(mistaken string, names []string) string {
	if nearest := Nearest(mistaken, names); nearest != "" {
		shorter := min(len(mistaken), len(nearest))
		if changes := editDistance(mistaken, nearest); changes <= max(1, shorter/3) && changes < shorter { // x is not like y
			return nearest
		}
	}
	if begun := Beginning(mistaken, names); len(begun) == 1 && len(mistaken) > 1 {
		return begun[0]
	}
	return ""
}

// Beginning are the names that begin with a prefix.
func Beginning(prefix string, names []string) (begun []string) {
	for _, name := range names {
		if strings.HasPrefix(name, prefix) {
			begun = append(begun, name)
		}
	}
	return begun
}

// editDistance is how many letters have to be added, removed, replaced or exchanged with their neighbor to make b of a.
func editDistance(a, b string) int {
	// Rows are beginnings of a, of which the last three are kept; columns are beginnings of b.
	before, last, row := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before, last, row = last, row, before
		row[0] = i + 1
		for j := range len(b) {
			replaced := last[j]
			if a[i] != b[j] {
				replaced++
			}
			row[j+1] = min(replaced, row[j]+1, last[j+1]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
	}
	return row[len(b)]
}
