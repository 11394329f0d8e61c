package text

// Nearest is the name that takes the fewest changes of letters to make from a mistaken one; of several such, the first. It
// is "" when there are no names.
func Nearest(mistaken string, names []string) string {
	nearest, fewest := "", 0
	for _, name := range names {
		if changes := editDistance(mistaken, name); nearest == "" || changes < fewest {
			nearest, fewest = name, changes
		}
	}
	return nearest
}

// editDistance is how many letters have to be added, removed or replaced to make b of a.
func editDistance(a, b string) int {
	row := make([]int, len(b)+1) // distances of the beginning of a from every beginning of b
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := diagonal
			if a[i] != b[j] {
				replaced++
			}
			diagonal = row[j+1]
			row[j+1] = min(replaced, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
