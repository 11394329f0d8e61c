package recipe

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/text"
)

// shape is what a column says, whatever its unit and the names of its categories: copies have the same.
type shape struct {
	column          *table.Column
	words           bool
	gaps            uint64 // a hash of which cells are empty
	same            uint64 // of categories, a hash of which rows have the same
	mean, deviation float64
	mark            float64 // of numbers, by which copies are found: a sum of standardized values, each with a sign of its row
}

// shapeOf describes a column. Sums are of shares, so that any magnitude will do.
func shapeOf(c *table.Column, words bool) shape {
	s := shape{column: c, words: words, gaps: 14695981039346656037, same: 14695981039346656037}
	number := map[string]uint64{}
	count := 0.0
	for row := range c.Len() {
		if c.IsEmpty(row) {
			s.gaps = (s.gaps ^ uint64(row)) * 1099511628211
			continue
		}
		count++
		if words {
			value := c.CellText(row)
			if _, known := number[value]; !known {
				number[value] = uint64(len(number))
			}
			s.same = (s.same ^ number[value]) * 1099511628211
		}
	}
	if words {
		return s
	}
	for row := range c.Len() {
		if !c.IsEmpty(row) {
			s.mean += numberAt(c, row) / count
		}
	}
	s.deviation = deviation(present(c))
	if !s.varies() {
		return s
	}
	for row := range c.Len() {
		if !c.IsEmpty(row) {
			s.mark += float64(sign(row) * s.standard(row))
		}
	}
	s.mark = math.Abs(s.mark) / math.Sqrt(count)
	return s
}

// varies reports whether there is a unit to compare numbers in.
func (s *shape) varies() bool { return s.deviation > 0 && s.deviation-s.deviation == 0 }

func (s *shape) standard(row int) float64 { return (numberAt(s.column, row) - s.mean) / s.deviation }

// sign is 1 or -1, at random.
func sign(row int) float64 {
	h := uint64(row+1) * 0x9E3779B97F4A7C15
	h ^= h >> 31
	h *= 0xBF58476D1CE4E5B9
	return float64(int(h>>63)*2 - 1)
}

// isCopy reports whether a column says the same as another: its categories are the same but for their names; or its numbers are a linear
// function of those of the other, but for what was rounded off.
func (s *shape) isCopy(of *shape) bool {
	if s.words != of.words || s.gaps != of.gaps {
		return false
	}
	if s.words {
		return s.same == of.same && sameGroups(s.column, of.column)
	}
	const most = 0.06 // apart, of marks: four times what columns differ in that are as like as they have to be
	if !s.varies() || !of.varies() || math.Abs(s.mark-of.mark) > most {
		return false
	}
	r, squares, count := 0.0, 0.0, 0.0
	for row := range s.column.Len() {
		if s.column.IsEmpty(row) {
			continue
		}
		r += float64(s.standard(row) * of.standard(row))
		squares += float64(s.standard(row) * s.standard(row))
		if count++; count == 64 && math.Abs(r) < 0.9*squares { // of columns that have nothing to do with each other
			return false
		}
	}
	r /= count
	switch loss := 1 - math.Abs(r); {
	case loss < 1e-9:
		return true
	case loss > 1e-4:
		return false
	}
	// What is left is due to rounding.
	slope := math.Copysign(s.deviation/of.deviation, r)
	allowed := 0.55 * (float64(slope*stepOfAll(of.column))*math.Copysign(1, slope) + stepOfAll(s.column))
	for row := range s.column.Len() {
		if s.column.IsEmpty(row) {
			continue
		}
		expected := s.mean + float64(slope*(numberAt(of.column, row)-of.mean))
		if !(math.Abs(numberAt(s.column, row)-expected) <= allowed) {
			return false
		}
	}
	return true
}

// sameGroups reports whether the same rows have the same category.
func sameGroups(a, b *table.Column) bool {
	name, back := map[string]string{}, map[string]string{}
	for row := range a.Len() {
		if a.IsEmpty(row) {
			continue
		}
		x, y := a.CellText(row), b.CellText(row)
		if there, known := name[x]; known && there != y {
			return false
		}
		if there, known := back[y]; known && there != x {
			return false
		}
		name[x], back[y] = y, x
	}
	return true
}

// stepOfAll is what the last digit of the most precise of some numbers counts.
func stepOfAll(c *table.Column) float64 {
	if c.Type == table.Integer {
		return 1
	}
	const enough = 1000
	step := 1.0
	for row := range min(enough, c.Len()) {
		if !c.IsEmpty(row) {
			step = min(step, stepOf(numberAt(c, row)))
		}
	}
	return step
}

// withoutCopies leaves out the columns that say the same as one before them, except those that were asked for.
func (f *fitting) withoutCopies(gaps []gap) ([]gap, error) {
	if f.Rows() < enoughRows {
		return gaps, nil // any two numbers are a linear function of any other two
	}
	shapes := make([]shape, len(gaps))
	err := eachOf(len(gaps), func(at int) error {
		shapes[at] = shapeOf(gaps[at].column, gaps[at].made.Categories != nil)
		return nil
	})
	if err != nil {
		return nil, err
	}
	var rest []gap
	var those []*shape
	var copies, flags []string
	for at := range gaps {
		of := -1
		if !gaps[at].asked {
			of = slices.IndexFunc(those, shapes[at].isCopy)
		}
		if of < 0 {
			rest, those = append(rest, gaps[at]), append(those, &shapes[at])
			continue
		}
		copies = append(copies, fmt.Sprintf("%.40q (of %.40q)", gaps[at].made.Column, those[of].column.Name))
		flags = append(flags, f.typed(gaps[at].at))
	}
	switch len(copies) {
	case 0:
	case 1:
		f.notice("column %s is left out: a copy, perhaps in another unit; --keep %s uses it", copies[0], flags[0])
	default:
		f.notice("columns %s are left out: copies, perhaps in other units; --keep %s uses them", text.First(copies, maxAlike), typedList(flags))
	}
	return rest, nil
}

// typedList is how columns are typed after a flag, at most the first few.
func typedList(flags []string) string {
	if len(flags) > maxAlike {
		return strings.Join(flags[:maxAlike], ",") + ",..."
	}
	return strings.Join(flags, ",")
}
