package recipe

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"

	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/numeric/choose"
	"github.com/cleave-project/cleave/internal/parallel"
	"github.com/cleave-project/cleave/internal/text"
)

// eachColumn calls do for the columns 0 to columns-1 in parallel.
func eachColumn(ctx context.Context, columns int, do func(at int) error) error {
	return parallel.Run(ctx, parallel.Threads(ctx), columns, do)
}

// findDonors stores rows in the recipe from which similar rows are filled, if the table has empty cells.
func (f *fitting) findDonors(ctx context.Context, candidates []candidateColumn) error {
	empty, hasGaps := 0, false
	blank := len(blankRows(f.Table)) // these are not filled
	var where []string
	for _, candidate := range candidates {
		hasGaps = hasGaps || candidate.empty > 0
		if here := candidate.empty - blank; here > 0 {
			empty += here
			where = append(where, fmt.Sprintf("%.40q %d", candidate.column.Name, here))
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
		f.notice(filled, "%s filled %s (%s)", text.Count(empty, "empty cell is", "empty cells are"), how,
			text.First(where, maxAlike))
	}
	sources, err := f.recipe.sources(ctx, f.Table)
	if err != nil || len(donors) == 0 {
		return err
	}
	return eachColumn(ctx, len(sources), func(at int) error {
		sources[at].keepDonors(donors)
		return nil
	})
}

// findFill sets the value that replaces missing ones in a candidate, even if none is missing in this table; numbers are
// those of its column. It returns a notice, or "" if no cell is filled with that value.
func (f *fitting) findFill(candidate *candidateColumn, numbers []float64) string {
	made, what := &candidate.made, ""
	switch {
	case f.recipe.Missing == Drop || f.recipe.Missing == Error:
		return ""
	case made.Categories != nil:
		made.FillCategory = made.mostFrequent(candidate.column)
		what = fmt.Sprintf("its most frequent value, %.40q", made.FillCategory)
	case f.recipe.Missing == Mean:
		made.Fill = mean(numbers) + 0 // turns -0 into 0, because files do not keep the sign of a zero
		what = fmt.Sprintf("its mean, %.6g", made.Fill)
	default:
		made.Fill = median(numbers) + 0
		what = fmt.Sprintf("its median, %.6g", made.Fill)
	}
	if candidate.empty == 0 || f.recipe.Missing == Auto {
		return ""
	}
	return fmt.Sprintf("column %q: %s filled with %s", candidate.column.Name,
		text.Count(candidate.empty, "empty cell is", "empty cells are"), what)
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
	for value, cells := range spellings(c) {
		value = spelled(value)
		if _, known := count[value]; !known {
			value = spelled(f.Other)
		}
		count[value] += cells
	}
	most := f.Categories[0]
	for _, category := range f.Categories {
		if count[spelled(category)] > count[spelled(most)] {
			most = category
		}
	}
	return most
}

// present returns the numbers in the cells that are not empty, in order. The caller must not change them: they may be
// those of the column.
func present(c *table.Column) []float64 {
	if c.Type == table.Number && c.Empty == nil {
		return c.Numbers
	}
	numbers := make([]float64, c.Len())
	count := 0
	for row := range numbers {
		if !c.IsEmpty(row) {
			numbers[count] = c.Number(row)
			count++
		}
	}
	return numbers[:count]
}

// mean returns the mean of numbers. It divides before it adds, because the sum may overflow.
func mean(numbers []float64) float64 {
	sum := 0.0
	for _, v := range numbers {
		sum += v / float64(len(numbers))
	}
	return sum
}

// median returns the median of one or more numbers.
func median(numbers []float64) float64 {
	odd, middle := len(numbers)%2 == 1, len(numbers)/2
	near, smaller := aroundMedian(numbers)
	middle -= smaller
	choose.Rank(near, middle)
	if odd {
		return near[middle]
	}
	below := slices.Max(near[:middle])
	if below == near[middle] {
		return below
	}
	return below/2 + near[middle]/2 // exact, fused or not
}

// aroundMedian returns a new list of the numbers near the median, and how many are smaller than those. The list has
// the number at half the length in sorted order and the one before; it may have all.
//
// Of many numbers it takes those between two of a sample, on both sides of its median: one pass, where a selection
// among all numbers takes several and writes each.
func aroundMedian(numbers []float64) (near []float64, smaller int) {
	const sampled, beside = 4096, 128 // beside is 4 standard deviations of a median's rank in the sample
	if len(numbers) < 16*sampled {
		return slices.Clone(numbers), 0
	}
	sample := choose.At(numbers, choose.Even[int](len(numbers), sampled))
	slices.Sort(sample)
	low, high := sample[sampled/2-beside], sample[sampled/2+beside]
	near = make([]float64, len(numbers)/8) // twice as many as there are, unless values repeat
	count := 0
	for _, v := range numbers { // without branches, because half of them would be mispredicted
		if count == len(near) {
			break
		}
		near[count] = v
		count += bit(v >= low) & bit(v <= high)
		smaller += bit(v < low)
	}
	if middle := len(numbers) / 2; count == len(near) || smaller >= middle || smaller+count <= middle {
		return slices.Clone(numbers), 0
	}
	return near[:count], smaller
}

// bit returns 1 for true, and 0 for false.
func bit(set bool) int {
	if set {
		return 1
	}
	return 0
}
