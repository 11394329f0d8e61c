package recipe

import (
	"fmt"
	"strconv"

	"github.com/cleave-project/cleave/internal/table"
)

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
	const fewRows, longNumber = 10, 8 // prices and the like are shorter
	digits := len(strconv.FormatInt(c.Integers[0], 10))
	if c.Len() < fewRows || digits < longNumber {
		return ""
	}
	for _, v := range c.Integers {
		if v < 0 || len(strconv.FormatInt(v, 10)) != digits {
			return ""
		}
	}
	if _, _, repeats := repetition(c); repeats {
		return ""
	}
	return fmt.Sprintf("has another number of %d digits in each row", digits)
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
