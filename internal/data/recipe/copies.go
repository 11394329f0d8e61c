package recipe

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/text"
)

// shape describes a column regardless of its unit and the names of its categories, so that copies have equal shapes.
type shape struct {
	column          *table.Column
	categorical     bool
	gaps            uint64 // a hash of which cells are empty
	groups          uint64 // of a categorical column, a hash of which rows have equal values
	mean, deviation float64
	// of numbers: the absolute sum of standardized values with signs by row, nearly equal for copies
	mark float64
}

// The constants of FNV-1a.
const (
	fnvOffset = 14695981039346656037
	fnvPrime  = 1099511628211
)

// mixInto returns the hash of numbers, given the hash of those before the last one. It is FNV-1a with words in place of
// bytes.
func mixInto(hash, number uint64) uint64 { return (hash ^ number) * fnvPrime }

// shapeOf describes a column of the given numbers, or a categorical one if they are nil.
func shapeOf(column *table.Column, numbers []float64) shape {
	described := shape{column: column, categorical: numbers == nil, gaps: fnvOffset, groups: fnvOffset}
	if empty, first := countEmpty(column); empty > 0 {
		for row := first; row < column.Len(); row++ {
			if column.IsEmpty(row) {
				described.gaps = mixInto(described.gaps, uint64(row))
			}
		}
	}
	if described.categorical {
		number := map[string]uint64{}
		for row := range column.Filled() {
			value := column.CellText(row)
			if _, known := number[value]; !known {
				number[value] = uint64(len(number))
			}
			described.groups = mixInto(described.groups, number[value])
		}
		return described
	}
	largest := 0.0
	for _, v := range numbers {
		if size := math.Abs(v); size > largest {
			largest = size
		}
	}
	scale := 1 / largest // so that sums of large numbers do not overflow
	if largest == 0 || scale-scale != 0 {
		return described
	}
	count, sum, squares, mark := float64(len(numbers)), 0.0, 0.0, 0.0
	for _, v := range numbers {
		sum += float64(v * scale)
	}
	mean, row := sum/count, 0
	for _, v := range numbers {
		for column.IsEmpty(row) {
			row++
		}
		d := float64(v*scale) - mean
		squares += float64(d * d)
		mark += signed(d, row)
		row++
	}
	deviation := math.Sqrt(squares / count)
	described.mean = float64(mean * largest)
	described.deviation = float64(deviation * largest)
	described.mark = math.Abs(mark) / deviation / math.Sqrt(count)
	return described
}

// varies reports whether the standard deviation is positive and finite, so that numbers can be standardized.
func (s *shape) varies() bool { return s.deviation > 0 && s.deviation-s.deviation == 0 }

func (s *shape) standard(row int) float64 { return (s.column.Number(row) - s.mean) / s.deviation }

// signed returns v or -v, pseudorandomly by row. One bit needs only a part of the finalizer of splitmix64.
func signed(v float64, row int) float64 {
	const signBit = 1 << 63
	h := uint64(row+1) * 0x9E3779B97F4A7C15
	h ^= h >> 31
	h *= 0xBF58476D1CE4E5B9
	return math.Float64frombits(math.Float64bits(v) ^ ^h&signBit)
}

// isCopy reports whether two columns carry the same information: their categories are equal up to names, or their
// numbers are a linear function of the other's up to rounding.
func (s *shape) isCopy(other *shape) bool {
	if s.categorical != other.categorical || s.gaps != other.gaps {
		return false
	}
	if s.categorical {
		return s.groups == other.groups && sameGroups(s.column, other.column)
	}
	const most = 0.06 // the largest difference of marks: four times that of columns which just count as copies
	if !s.varies() || !other.varies() || math.Abs(s.mark-other.mark) > most {
		return false
	}
	r, squares, count := 0.0, 0.0, 0.0
	for row := range s.column.Len() {
		if s.column.IsEmpty(row) {
			continue
		}
		r += float64(s.standard(row) * other.standard(row))
		squares += float64(s.standard(row) * s.standard(row))
		count++
		if count == 64 && math.Abs(r) < 0.9*squares { // unrelated columns: stop early
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
	// A loss in between may be due to rounding: compare each value with the linear function.
	slope := math.Copysign(s.deviation/other.deviation, r)
	// exact, fused or not
	allowed := 0.55 * (float64(slope*stepOfAll(other.column))*math.Copysign(1, slope) + stepOfAll(s.column))
	for row := range s.column.Len() {
		if s.column.IsEmpty(row) {
			continue
		}
		expected := s.mean + float64(slope*(other.column.Number(row)-other.mean))
		if !(math.Abs(s.column.Number(row)-expected) <= allowed) {
			return false
		}
	}
	return true
}

// sameGroups reports whether rows have equal categories in one column exactly if they do in the other.
func sameGroups(a, b *table.Column) bool {
	name, back := map[string]string{}, map[string]string{}
	for row := range a.Len() {
		if a.IsEmpty(row) {
			continue
		}
		x := a.CellText(row)
		y := b.CellText(row)
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

// stepOfAll returns the value of one unit in the last digit of the most precise number, at most 1.
func stepOfAll(c *table.Column) float64 {
	if c.Type == table.Integer {
		return 1
	}
	const enough = 1000
	step := 1.0
	for row := range min(enough, c.Len()) {
		if !c.IsEmpty(row) {
			step = min(step, stepOf(c.Number(row)))
		}
	}
	return step
}

// withoutCopies leaves out the columns that are copies of an earlier one, except those that the user named.
func (f *fitting) withoutCopies(ctx context.Context, candidates []candidateColumn) ([]candidateColumn, error) {
	if f.Rows() < enoughRows {
		return candidates, nil // any two numbers are a linear function of any other two
	}
	var rest []candidateColumn
	var distinct []*shape
	var copies, flags []string
	for at := range candidates {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		original := -1
		if !candidates[at].asked {
			original = slices.IndexFunc(distinct, candidates[at].shape.isCopy)
		}
		if original < 0 {
			rest = append(rest, candidates[at])
			distinct = append(distinct, &candidates[at].shape)
			continue
		}
		copies = append(copies, fmt.Sprintf("%.40q (of %.40q)", candidates[at].made.Column,
			distinct[original].column.Name))
		flags = append(flags, f.typed(candidates[at].at))
	}
	switch len(copies) {
	case 0:
	case 1:
		f.notice(listed, "column %s is left out: a copy, perhaps in another unit; --keep %s uses it",
			copies[0], flags[0])
	default:
		f.notice(listed, "columns %s are left out: copies, perhaps in other units; --keep %s uses them",
			text.First(copies, maxAlike), typedList(flags))
	}
	return rest, nil
}

// typedList joins columns as they are typed after a flag, at most maxAlike of them.
func typedList(flags []string) string {
	if len(flags) > maxAlike {
		return strings.Join(flags[:maxAlike], ",") + ",..."
	}
	return strings.Join(flags, ",")
}
