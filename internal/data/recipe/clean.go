package recipe

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/cleave-project/cleave/internal/data/table"
)

// clean returns a column as the feature reads it: dates become numbers, and cells that stand for missing values become
// empty. It never modifies c. If a cell of a feature of dates is no date in its format, it returns c with allDates
// false.
func (f *Feature) clean(c *table.Column, decimals string) (cleaned *table.Column, allDates bool) {
	switch {
	case f.isCheck() && c.Type == table.Text:
		c = withChecks(c)
	case f.readsDates(c):
		converted, _ := momentOf(f.Dates).convert(c)
		if converted == nil {
			return c, false
		}
		c = converted
	case f.AbsentTexts && c.Type == table.Text:
		c = asNumbers(c, decimals)
	}
	if len(f.Absent) == 0 || c.Type == table.Text {
		return c, true
	}
	marked := *c
	marked.Empty = slices.Clone(c.Empty)
	for row := range c.Len() {
		if !c.IsEmpty(row) && slices.Contains(f.Absent, c.Number(row)) {
			marked.MarkEmpty(row)
		}
	}
	return &marked, true
}

// readsDates reports whether the feature converts a column of dates or times. Dates may be numbers, such as 20240501;
// numbers in a column of times are hours already.
func (f *Feature) readsDates(c *table.Column) bool {
	return f.Dates != "" && (c.Type == table.Text || f.Dates != hours)
}

// withoutWords returns a column whose words for missing values are empty cells, or c itself if it has none. A table
// that was read from a text has none; those of other formats and of programs follow the same rule.
func withoutWords(c *table.Column) *table.Column {
	cleaned := c
	for row, s := range c.Texts {
		if s == "" || !table.IsMissingText(s) {
			continue
		}
		if cleaned == c {
			cleaned = &table.Column{Name: c.Name, Type: c.Type, Texts: slices.Clone(c.Texts),
				Empty: slices.Clone(c.Empty)}
		}
		cleaned.Texts[row] = ""
		cleaned.MarkEmpty(row)
	}
	return cleaned
}

// AsRead returns a column with the values that the recipe uses, to show them to people: placeholders such as -999 are
// empty, times are in hours, and each category has one spelling. Dates stay as they are. It returns c itself if
// nothing changes.
func (r *Recipe) AsRead(c *table.Column) *table.Column {
	at := slices.IndexFunc(r.Features, func(f Feature) bool { return f.Column == c.Name })
	if at < 0 {
		return c
	}
	f := &r.Features[at]
	c = withoutWords(c)
	switch {
	case f.Categories == nil && (f.Dates == "" || f.Dates == hours), f.isCheck():
		cleaned, _ := f.clean(c, r.Decimals)
		return cleaned
	case c.Type != table.Text:
		return c
	}
	spelled := f.spelling()
	categories := make(map[string]string, len(f.Categories))
	for _, category := range f.Categories {
		categories[spelled(category)] = category
	}
	read := *c
	read.Texts = slices.Clone(c.Texts)
	for row, s := range read.Texts {
		if category, known := categories[spelled(s)]; known {
			read.Texts[row] = category
		}
	}
	return &read
}

// asNumbers parses texts as numbers. Cells that do not parse become empty.
func asNumbers(c *table.Column, decimals string) *table.Column {
	read := &table.Column{Name: c.Name, Type: table.Number, Numbers: make([]float64, c.Len())}
	for row, s := range c.Texts {
		v, ok := readNumber(s, decimals)
		if !ok || c.IsEmpty(row) {
			read.MarkEmpty(row)
			continue
		}
		read.Numbers[row] = v
	}
	return read
}

// readNumber parses a number with the given decimal separator; "" allows both. ok is false for anything else, for
// numbers that are not finite, and for thousands separators, which are ambiguous.
func readNumber(s, decimals string) (v float64, ok bool) {
	if decimals == "." && strings.Contains(s, ",") || decimals == "," && strings.Contains(s, ".") || len(s) > 40 {
		return 0, false
	}
	v, err := strconv.ParseFloat(strings.Replace(s, ",", ".", 1), 64)
	return v, err == nil && v-v == 0
}

// strays describes the cells of a mostly numeric column that are not numbers.
type strays struct {
	count, first int // how many there are, and the first row with one, or -1
	numbers      int // cells that are numbers
	placeholders int // strays that stand for a missing value, such as "n/a"
}

// findStrays counts the cells of a column that are not numbers.
func findStrays(c *table.Column, decimals string) strays {
	found := strays{first: -1}
	for row, s := range c.FilledTexts() {
		if _, ok := readNumber(s, decimals); ok {
			found.numbers++
			continue
		}
		found.count++
		if found.first < 0 {
			found.first = row
		}
		if table.IsPlaceholder(s) {
			found.placeholders++
		}
	}
	return found
}

// few reports whether the strays can be read as missing values: they are at most a twentieth of the cells, or one in
// at least six, or all are placeholders and no more than the numbers.
func (s strays) few() bool {
	return s.count > 0 && s.numbers > 0 && (19*s.count <= s.numbers || s.count == 1 && s.numbers >= 5 ||
		s.count == s.placeholders && s.numbers >= s.count)
}

// ambiguousCommas reports whether commas may be thousands separators: some cells have one, and three digits follow
// each.
func ambiguousCommas(c *table.Column) bool {
	found := false
	for row, s := range c.Texts {
		at := strings.IndexByte(s, ',')
		if at < 0 || c.IsEmpty(row) {
			continue
		}
		if len(s)-at != 4 {
			return false
		}
		found = true
	}
	return found
}

// conventional reports whether people write this number for a missing value, and how far it must be from all other
// values to count as one, as a multiple of their range.
func conventional(v float64) (apart float64, ok bool) {
	switch math.Abs(v) {
	case 99, 999, 9999, 99999, 999999, 9999999, 99999999, 1e20, 1e30, 1e36, 32767, 32768, 65535, 2147483647, 2147483648:
		return 0.5, true
	case 0:
		return 0.5, true
	case 1, 9:
		return 1, v < 0
	}
	return 0, false
}

// maxAbsent is the largest number of values of a column that stand for missing ones: -1, -9, 99 and 999 may occur
// together.
const maxAbsent = 4

// findAbsent returns, in ascending order, the numbers that stand for missing values: conventional ones that repeat
// and are far from all others. One that does not repeat must be very far. The other values must be varied and at
// least as frequent.
func findAbsent(numbers []float64) []float64 {
	var absent []float64
	for range maxAbsent {
		e := extremesOf(numbers, absent)
		switch {
		case e.most.isAbsent(e, e.most.next-e.least.value):
			absent = append(absent, e.most.value)
		case e.least.isAbsent(e, e.most.value-e.least.next):
			absent = append(absent, e.least.value)
		default:
			slices.Sort(absent)
			return absent
		}
	}
	slices.Sort(absent)
	return absent
}

// extreme is the smallest or largest value of a column.
type extreme struct {
	value, next float64 // the extreme value, and the distinct value closest to it
	count       int     // cells with the extreme value
}

// extremes describes both ends of a column's values.
type extremes struct {
	least, most extreme
	count       int  // cells with values
	several     bool // at least 4 distinct values
	many        bool // at least 12 distinct values: 10 besides the extremes
}

// isAbsent reports whether the extreme stands for a missing value; span is the range of all other values.
func (e extreme) isAbsent(all extremes, span float64) bool {
	apart, ok := conventional(e.value)
	gap := math.Abs(e.value - e.next)
	switch {
	case !ok || !all.several || !(gap > float64(apart*span)) || 2*e.count > all.count:
		return false
	case e.value == 0:
		return e.count >= 2 && all.many && 5*e.count <= all.count
	case e.count == 1:
		return math.Abs(e.value) >= 999 && gap > 3*span
	}
	return true
}

// extremesOf returns the extremes of numbers, ignoring the absent ones.
func extremesOf(numbers, absent []float64) extremes {
	const enough = 12 // distinct values, see extremes.many
	found := extremes{least: extreme{value: math.Inf(1), next: math.Inf(1)},
		most: extreme{value: math.Inf(-1), next: math.Inf(-1)}}
	var seen []float64
	for _, v := range numbers {
		if len(absent) > 0 && slices.Contains(absent, v) {
			continue
		}
		found.count++
		if len(seen) == enough && v > found.least.next && v < found.most.next {
			continue // changes nothing, like almost all numbers
		}
		switch {
		case v < found.least.value:
			found.least = extreme{value: v, next: found.least.value, count: 1}
		case v == found.least.value:
			found.least.count++
		case v < found.least.next:
			found.least.next = v
		}
		switch {
		case v > found.most.value:
			found.most = extreme{value: v, next: found.most.value, count: 1}
		case v == found.most.value:
			found.most.count++
		case v > found.most.next:
			found.most.next = v
		}
		if len(seen) < enough && !slices.Contains(seen, v) {
			seen = append(seen, v)
		}
	}
	found.several, found.many = len(seen) >= 4, len(seen) >= enough
	return found
}
