package recipe

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/cleave-project/cleave/internal/data/table"
)

// enoughRows is how many rows it takes to tell what is no accident.
const enoughRows = 10

// likeID says why a column of integers looks as if it named the rows rather than measured them; "" where it does not.
func likeID(c *table.Column) string {
	if c.Type != table.Integer || c.Empty != nil || c.Len() < 3 {
		return ""
	}
	if step := c.Integers[1] - c.Integers[0]; step != 0 && even(c.Integers, step) {
		if step == 1 {
			return fmt.Sprintf("counts the rows from %d", c.Integers[0])
		}
		return fmt.Sprintf("goes on by %d from row to row", step)
	}
	if c.Len() < enoughRows {
		return ""
	}
	least, most := slices.Min(c.Integers), slices.Max(c.Integers)
	digits := len(strconv.FormatInt(most, 10))
	sameDigits := least >= 0 && len(strconv.FormatInt(least, 10)) == digits
	const longNumber = 8 // prices and the like are shorter
	switch whole := uint64(most)-uint64(least) == uint64(c.Len())-1; {
	case !whole && !(sameDigits && digits >= longNumber) && !(isNumberName(c.Name) && ascending(c.Integers)):
		return ""
	case repeats(c):
		return ""
	case whole:
		return fmt.Sprintf("has each number from %d to %d once", least, most)
	case sameDigits && digits >= longNumber:
		return fmt.Sprintf("has another number of %d digits in each row", digits)
	}
	return "is called as an id and ascends from row to row"
}

func repeats(c *table.Column) bool {
	_, _, found := repetition(c)
	return found
}

// isNumberName tells whether a column is called as one that numbers the rows.
func isNumberName(name string) bool {
	switch table.LastWord(name) {
	case "nr", "no", "num", "number", "row", "case", "record", "obs", "observation", "seq", "sequence", "#", "nummer", "zeile", "id", "index", "key":
		return true
	}
	return strings.HasSuffix(strings.ToLower(name), "nummer")
}

// even tells whether numbers are all so far apart.
func even(numbers []int64, step int64) bool {
	for at := 1; at < len(numbers); at++ {
		if numbers[at]-numbers[at-1] != step {
			return false
		}
	}
	return true
}
