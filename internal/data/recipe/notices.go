package recipe

import (
	"fmt"
	"strings"
)

// maxAlike is how many columns are named of which the same is said, and maxLeftOut that are left out for the same reason.
const maxAlike, maxLeftOut = 8, 3

// arranged puts first what columns were taken for, then what their values became, what is missing, and what was filled in. A table of
// many columns would repeat itself: of those of which the same is said, the first are named and the others are counted.
func arranged(notices []string) []string {
	kinds := []struct{ has, more string }{ // those that are left out come first
		{" is left out: it is empty", "%d more columns are left out because they are empty"},
		{" cells are empty; --keep ", "%d more columns are left out because they are mostly empty"},
		{" different values hardly repeat in ", "%d more columns are left out because their values hardly repeat"},
		{" is left out: it holds dates", "%d more columns are left out because they hold dates"},
		{" names rows by it", "%d more columns are left out because they look like running numbers"},
		{" become one, ", "%d more columns have values that hardly repeat and become one"},
		{" is called a code: ", "%d more columns are called codes, whose numbers are categories"},
		{"; each becomes a column of 0 and 1", "%d more columns have categories, each of which becomes a column of 0 and 1"},
		{": read as 1 or 0", "%d more columns say yes or no, and are read likewise"},
		{" read as missing", "%d more columns have cells that are read as missing"},
		{" filled ", "%d more columns have empty cells that are filled likewise"},
	}
	var first []string
	alike := make([][]string, len(kinds))
next:
	for _, notice := range notices {
		for at, kind := range kinds {
			if strings.Contains(notice, kind.has) {
				alike[at] = append(alike[at], notice)
				continue next
			}
		}
		first = append(first, notice)
	}
	for at, list := range alike {
		most := maxAlike
		if strings.Contains(kinds[at].more, "left out") {
			most = maxLeftOut
		}
		if more := len(list) - most; more > 1 {
			list = append(list[:most], fmt.Sprintf(kinds[at].more, more))
		}
		first = append(first, list...)
	}
	return first
}
