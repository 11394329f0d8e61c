package recipe

import "strings"

// addedColumns is how many columns from the given one on a run has added to the table by --join: its label, the class of its cluster
// if there are classes, and scores of the row. Those that were called like others begin with cleave_.
func (f *fitting) addedColumns(at int) int {
	next := at
	follows := func(name string) bool {
		if next < len(f.Columns) && strings.ReplaceAll(f.Columns[next].Name, "cleave_", "") == name {
			next++
			return true
		}
		return false
	}
	label := follows("label")
	follows("class")
	if !label || !follows("distance") || !follows("margin") {
		return 0
	}
	follows("confidence")
	return next - at
}

// findAdded sets aside what an earlier run has found, unless it was asked for.
func (f *fitting) findAdded() {
	for at := 0; at < len(f.Columns); at++ {
		var left []string
		for column := at; column < at+f.addedColumns(at); column++ {
			if f.roles[column] == undecided && len(f.wishes.Only) == 0 {
				f.roles[column] = unused
				left = append(left, f.Columns[column].Name)
			}
		}
		if len(left) > 0 {
			f.notice("columns %s are left out: an earlier run has added them by --join; --columns names those to use", quoted(left))
		}
	}
}
