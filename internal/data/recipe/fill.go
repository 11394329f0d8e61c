package recipe

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"slices"
	"strconv"

	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/numeric/choose"
	"github.com/cleave-project/cleave/internal/numeric/parallel"
	"github.com/cleave-project/cleave/internal/text"
)

// findFills finds the values that replace missing ones in each feature, even if none is missing in this table. It
// handles several columns in parallel.
func (f *fitting) findFills(candidates []candidate) error {
	if f.recipe.Missing == Drop || f.recipe.Missing == Error {
		return nil
	}
	notices := make([]string, len(candidates))
	err := eachColumn(len(candidates), func(at int) error {
		notices[at] = f.findFill(candidates[at].column, &f.recipe.Features[at], candidates[at].empty)
		return nil
	})
	if err != nil || f.recipe.Missing == Auto {
		if err == nil {
			err = f.findDonors(candidates)
		}
		return err
	}
	for at := len(candidates) - 1; at >= 0; at-- {
		if notices[at] != "" {
			f.notices = slices.Insert(f.notices, candidates[at].after, notice{filled, notices[at]})
		}
	}
	return nil
}

// eachColumn calls do for the columns 0 to columns-1 in parallel.
func eachColumn(columns int, do func(at int) error) error {
	threads := runtime.GOMAXPROCS(0)
	return parallel.NewPool(threads).Run(context.Background(), threads, columns, do)
}

// findDonors stores rows in the recipe from which similar rows are filled, if the table has empty cells.
func (f *fitting) findDonors(candidates []candidate) error {
	empty, hasGaps := 0, false
	blank := len(blankRows(f.Table)) // these are not filled
	var where []string
	for _, g := range candidates {
		hasGaps = hasGaps || g.empty > 0
		if here := g.empty - blank; here > 0 {
			empty += here
			where = append(where, fmt.Sprintf("%.40q %d", g.column.Name, here))
		}
	}
	donors := donorRows(f.Rows(), len(candidates))
	if !hasGaps {
		return nil
	}
	how := "from similar rows; --missing selects another method"
	if len(donors) == 0 {
		how = "with medians and most frequent values"
	}
	if empty > 0 {
		f.notice(filled, "%s filled %s (%s)", text.Count(empty, "empty cell is", "empty cells are"), how, text.First(where, maxAlike))
	}
	sources, err := f.recipe.sources(f.Table)
	if err != nil || len(donors) == 0 {
		return err
	}
	return eachColumn(len(sources), func(at int) error {
		sources[at].keepDonors(donors)
		return nil
	})
}

// findFill sets the value that replaces missing ones in a feature. It returns a notice, or "" if no cell is empty.
func (f *fitting) findFill(c *table.Column, into *Feature, empty int) string {
	what := ""
	switch {
	case into.Categories != nil:
		into.FillCategory = into.mostFrequent(c)
		what = fmt.Sprintf("its most frequent value, %.40q", into.FillCategory)
	case f.recipe.Missing == Mean:
		into.Fill = mean(c) + 0 // turns -0 into 0, because files do not keep the sign of a zero
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

// categoryOrder returns how to sort categories: numerically in columns of numbers, else as strings.
func categoryOrder(t table.Type) func(a, b string) int {
	if t == table.Text {
		return cmp.Compare[string]
	}
	return func(a, b string) int {
		x, _ := strconv.ParseFloat(a, 64)
		y, _ := strconv.ParseFloat(b, 64)
		return cmp.Or(cmp.Compare(x, y), cmp.Compare(a, b))
	}
}

// mostFrequent returns the category of most rows, and the first of equally frequent ones.
func (f *Feature) mostFrequent(c *table.Column) string {
	spelled := f.spelling()
	count := make(map[string]int, len(f.Categories))
	for _, category := range f.Categories {
		count[spelled(category)] = 0
	}
	for row := range c.Filled() {
		value := spelled(c.CellText(row))
		if _, known := count[value]; !known {
			value = spelled(f.Other)
		}
		count[value]++
	}
	most := f.Categories[0]
	for _, category := range f.Categories {
		if count[spelled(category)] > count[spelled(most)] {
			most = category
		}
	}
	return most
}

// present returns the numbers in the cells that are not empty.
func present(c *table.Column) []float64 {
	numbers := make([]float64, 0, c.Len())
	for row := range c.Len() {
		if !c.IsEmpty(row) {
			numbers = append(numbers, c.Number(row))
		}
	}
	return numbers
}

// mean returns the mean of the cells that are not empty. It divides before it adds, because the sum may overflow.
func mean(c *table.Column) float64 {
	numbers := present(c)
	sum := 0.0
	for _, v := range numbers {
		sum += v / float64(len(numbers))
	}
	return sum
}

// median returns the median of the cells that are not empty, of which there must be one.
func median(c *table.Column) float64 {
	numbers := present(c)
	middle := len(numbers) / 2
	choose.Rank(numbers, middle)
	if len(numbers)%2 == 1 {
		return numbers[middle]
	}
	below := slices.Max(numbers[:middle])
	if below == numbers[middle] {
		return below
	}
	return below/2 + numbers[middle]/2 // exact, fused or not
}
