package recipe

import (
	"cmp"
	"context"
	"fmt"
	"math/bits"
	"runtime"
	"slices"
	"strconv"

	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/numeric/parallel"
	"github.com/cleave-project/cleave/internal/text"
)

// findFills finds what stands in for missing values, also if none is missing yet, of several columns at a time.
func (f *fitting) findFills(gaps []gap) error {
	if f.recipe.Missing == Drop || f.recipe.Missing == Error {
		return nil
	}
	said := make([]string, len(gaps))
	err := eachOf(len(gaps), func(at int) error {
		said[at] = f.findFill(gaps[at].column, &f.recipe.Features[at], gaps[at].empty)
		return nil
	})
	if err != nil || f.recipe.Missing == Auto {
		if err == nil {
			err = f.findDonors(gaps)
		}
		return err
	}
	for at := len(gaps) - 1; at >= 0; at-- {
		if said[at] != "" {
			f.notices = slices.Insert(f.notices, gaps[at].after, said[at])
		}
	}
	return nil
}

// eachOf does something for each of several columns, at the same time.
func eachOf(columns int, do func(at int) error) error {
	threads := runtime.GOMAXPROCS(0)
	return parallel.NewPool(threads).Run(context.Background(), threads, columns, do)
}

// findDonors keeps rows from which those that are like them are filled, if there is anything to fill.
func (f *fitting) findDonors(gaps []gap) error {
	empty := 0
	var where []string
	for _, g := range gaps {
		if g.empty > 0 {
			empty += g.empty
			where = append(where, fmt.Sprintf("%.40q %d", g.column.Name, g.empty))
		}
	}
	donors := donorRows(f.Rows(), len(gaps))
	if empty == 0 {
		return nil
	}
	how := "from similar rows; --missing median, mean or drop does otherwise"
	if len(donors) == 0 {
		how = "with medians and most frequent values"
	}
	f.notice("%s filled %s (%s)", text.Count(empty, "empty cell is", "empty cells are"), how, text.First(where, maxAlike))
	sources, err := f.recipe.sources(f.Table)
	if err != nil || len(donors) == 0 {
		return err
	}
	return eachOf(len(sources), func(at int) error {
		sources[at].keepDonors(donors)
		return nil
	})
}

// findFill finds what stands in for the missing values of a column, and says so if there are any.
func (f *fitting) findFill(c *table.Column, into *Feature, empty int) string {
	what := ""
	switch {
	case into.Categories != nil:
		into.FillCategory = into.mostFrequent(c)
		what = fmt.Sprintf("its most frequent value, %.40q", into.FillCategory)
	case f.recipe.Missing == Mean:
		into.Fill = mean(c) + 0 // without the sign of a zero, which files do not keep
		what = fmt.Sprintf("its mean, %.6g", into.Fill)
	default:
		into.Fill = median(c) + 0
		what = fmt.Sprintf("its median, %.6g", into.Fill)
	}
	if empty == 0 {
		return ""
	}
	return fmt.Sprintf("column %q: %s filled with %s", c.Name, text.Count(empty, "empty cell is", "empty cells are"), what)
}

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
func (f *Feature) mostFrequent(c *table.Column) string {
	count := make(map[string]int, len(f.Categories))
	for _, category := range f.Categories {
		count[category] = 0
	}
	for row := range c.Len() {
		if c.IsEmpty(row) {
			continue
		}
		value := c.CellText(row)
		if _, known := count[value]; !known {
			value = f.Other
		}
		count[value]++
	}
	most := f.Categories[0]
	for _, category := range f.Categories {
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
			numbers = append(numbers, numberAt(c, row))
		}
	}
	return numbers
}

func numberAt(c *table.Column, row int) float64 {
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
