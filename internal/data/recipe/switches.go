package recipe

import "strings"

// opposites are the words of columns that say yes or no.
var opposites = map[string]string{"false": "true", "no": "yes", "n": "y", "f": "t"}

// isSwitch tells whether the categories are yes and no, in this order: then one column of 0 and 1 says it all.
func (f *Feature) isSwitch() bool {
	return len(f.Categories) == 2 && strings.ToLower(f.Categories[1]) == opposites[strings.ToLower(f.Categories[0])]
}
