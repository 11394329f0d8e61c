package recipe

import (
	"fmt"
	"strings"
)

// maxAlike is how many columns are named of which the same is said.
const maxAlike = 8

// arranged puts first what columns were taken for, then what their values became, and then what was filled in. A table of
// many columns would repeat itself: of those of which the same is said, the first are named and the others are counted.
func arranged(notices []string) []string {
	kinds := []struct{ has, more string }{
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
		if more := len(list) - maxAlike; more > 1 {
			list = append(list[:maxAlike], fmt.Sprintf(kinds[at].more, more))
		}
		first = append(first, list...)
	}
	return first
}
