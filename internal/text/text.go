// Package text writes numbers for people: counted nouns, sizes in bytes, the beginnings of lists.
package text

import (
	"fmt"
	"strings"
)

// Plural is a count and its noun: "1 row", "2 rows".
func Plural(count int, noun string) string {
	if count == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", count, noun)
}

// First is the first few numbers of a list and how many more there are.
func First(numbers []int, limit int) string {
	var b strings.Builder
	for at, v := range numbers {
		if at == limit {
			fmt.Fprintf(&b, " and %d more", len(numbers)-limit)
			break
		}
		if at > 0 {
			b.WriteString(", ")
		}
		fmt.Fprint(&b, v)
	}
	return b.String()
}
