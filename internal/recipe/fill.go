package recipe

import (
	"cmp"
	"math/bits"
	"slices"
	"strconv"

	"github.com/cleave-project/cleave/internal/table"
)

// inOrder compares the values of categories: numbers by their size, texts by their letters.
func inOrder(t table.Type) func(a, b string) int {
	if t == table.Text {
		return cmp.Compare[string]
	}
	return func(a, b string) int {
		x, _ := strconv.ParseFloat(a, 64)
		y, _ := strconv.ParseFloat(b, 64)
		return cmp.Or(cmp.Compare(x, y), cmp.Compare(a, b))
	}
}

// mostFrequent is the category of most rows; of several such, the first.
func mostFrequent(c *table.Column, categories []string) string {
	count := make(map[string]int, len(categories))
	for row := range c.Len() {
		if !c.IsEmpty(row) {
			count[c.CellText(row)]++
		}
	}
	most := categories[0]
	for _, category := range categories {
		if count[category] > count[most] {
			most = category
		}
	}
	return most
}

// present are the numbers of a column that are not empty.
func present(c *table.Column) []float64 {
	numbers := make([]float64, 0, c.Len())
	for row := range c.Len() {
		if !c.IsEmpty(row) {
			numbers = append(numbers, number(c, row))
		}
	}
	return numbers
}

func number(c *table.Column, row int) float64 {
	if c.Type == table.Integer {
		return float64(c.Integers[row])
	}
	return c.Numbers[row]
}

// mean is the mean of the numbers that are there. Their shares are added, because their sum may be infinite.
func mean(c *table.Column) float64 {
	numbers := present(c)
	sum := 0.0
	for _, v := range numbers {
		sum += v / float64(len(numbers))
	}
	return sum
}

// median is the number in the middle of those that are there, or the mean of both that are.
func median(c *table.Column) float64 {
	numbers := present(c)
	middle := len(numbers) / 2
	place(numbers, middle)
	if len(numbers)%2 == 1 {
		return numbers[middle]
	}
	below := slices.Max(numbers[:middle])
	if below == numbers[middle] {
		return below
	}
	return below/2 + numbers[middle]/2
}

// place moves the number that belongs at a place of the sorted list there, with none larger before and none smaller
// after it. It halves the part where the place is until that is short; where it does not get much shorter, it is
// sorted.
func place(numbers []float64, at int) {
	const short = 64
	for steps := 2 * bits.Len(uint(len(numbers))); len(numbers) > short && steps > 0; steps-- {
		pivot := middleOf(numbers[0], numbers[len(numbers)/2], numbers[len(numbers)-1])
		low, high := 0, len(numbers)-1
		for low <= high {
			for numbers[low] < pivot {
				low++
			}
			for numbers[high] > pivot {
				high--
			}
			if low <= high {
				numbers[low], numbers[high] = numbers[high], numbers[low]
				low++
				high--
			}
		}
		switch {
		case at <= high:
			numbers = numbers[:high+1]
		case at >= low:
			numbers, at = numbers[low:], at-low
		default:
			return
		}
	}
	slices.Sort(numbers)
}

func middleOf(a, b, c float64) float64 { return max(min(a, b), min(max(a, b), c)) }
