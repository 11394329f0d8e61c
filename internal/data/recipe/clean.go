package recipe

import (
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/cleave-project/cleave/internal/data/table"
)

// clean is a column as a feature reads it: dates as numbers, and without the cells that stand for missing values. It is the column
// itself where nothing changes.
func (f *Feature) clean(c *table.Column, decimals string) *table.Column {
	switch {
	case f.Dates != "" && c.Type == table.Text:
		c = f.asDays(c)
	case f.AbsentTexts && c.Type == table.Text:
		c = asNumbers(c, decimals)
	}
	if len(f.Absent) == 0 || c.Type == table.Text {
		return c
	}
	cleaned := *c
	cleaned.Empty = slices.Clone(c.Empty)
	for row := range c.Len() {
		if !c.IsEmpty(row) && slices.Contains(f.Absent, numberAt(c, row)) {
			cleaned.MarkEmpty(row)
		}
	}
	return &cleaned
}

// asNumbers reads texts as numbers; those that are none are missing.
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

// readNumber reads a number that has this character before its decimals; "": either one.
func readNumber(s, decimals string) (float64, bool) {
	if decimals == "." && strings.Contains(s, ",") || decimals == "," && strings.Contains(s, ".") || len(s) > 40 {
		return 0, false // thousands, which are written in too many ways
	}
	v, err := strconv.ParseFloat(strings.Replace(s, ",", ".", 1), 64)
	return v, err == nil && v-v == 0
}

// strays are texts among numbers.
type strays struct {
	count, first int // of the rows
	numbers      int
	saying       int // how many say that there is no value
}

// findStrays counts the cells of a column that are not numbers.
func findStrays(c *table.Column, decimals string) strays {
	found := strays{first: -1}
	for row, s := range c.Texts {
		if c.IsEmpty(row) {
			continue
		}
		if _, ok := readNumber(s, decimals); ok {
			found.numbers++
			continue
		}
		if found.count++; found.first < 0 {
			found.first = row
		}
		if saysNothing(s) {
			found.saying++
		}
	}
	return found
}

// few reports whether the texts are so few, at most a twentieth, that they are no part of what the column says; or whether each says
// that there is no value.
func (s strays) few() bool {
	return s.count > 0 && s.numbers > 0 && (19*s.count <= s.numbers || s.count == s.saying && s.numbers >= s.count)
}

// saysNothing reports whether a text among numbers says that the value is not known.
func saysNothing(s string) bool {
	switch strings.ToLower(strings.Trim(s, " ().?*-_")) {
	case "", "na", "n/a", "n.a", "nan", "null", "nil", "none", "unknown", "missing", "not available", "not known", "undefined", "no data", "tbd",
		"unbekannt", "k.a", "ka", "keine angabe", "fehlt", "inconnu", "desconocido":
		return true
	}
	return false
}

// ambiguousCommas reports whether the commas of numbers may stand between thousands: in each, three digits follow.
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

// conventional reports whether a number is one that people write for a missing value, and how far it has to be from all others, in
// ranges of these.
func conventional(v float64) (apart float64, is bool) {
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

// findAbsent finds numbers that stand for missing values: conventional ones, far from all others, that repeat. A single one has to
// be very far. The others have several values, and are not the fewer.
func findAbsent(c *table.Column) []float64 {
	if c.Type == table.Text {
		return nil
	}
	var absent []float64
	for range 4 {
		e := endsOf(c, absent)
		switch {
		case e.most.stands(e, e.most.next-e.least.value):
			absent = append(absent, e.most.value)
		case e.least.stands(e, e.most.value-e.least.next):
			absent = append(absent, e.least.value)
		default:
			slices.Sort(absent)
			return absent
		}
	}
	slices.Sort(absent)
	return absent
}

// end is the least value of a column, or the largest.
type end struct {
	value, next float64 // and the one next to it
	count       int
}

// ends are both, and about the column.
type ends struct {
	least, most end
	count       int  // of values
	several     bool // values are different, besides the ends: at least three
	many        bool // at least ten
}

// stands reports whether the value at an end stands for a missing one, where all others have this range.
func (e end) stands(of ends, span float64) bool {
	apart, is := conventional(e.value)
	gap := math.Abs(e.value - e.next)
	switch {
	case !is || !of.several || !(gap > float64(apart*span)) || 2*e.count > of.count:
		return false
	case e.value == 0:
		return e.count >= 2 && of.many && 5*e.count <= of.count
	case e.count == 1:
		return math.Abs(e.value) >= 999 && gap > 3*span
	}
	return true
}

// endsOf finds the ends of what is not absent.
func endsOf(c *table.Column, absent []float64) ends {
	const enough = 12 // ten besides both ends
	e := ends{least: end{value: math.Inf(1), next: math.Inf(1)}, most: end{value: math.Inf(-1), next: math.Inf(-1)}}
	var seen []float64
	for row := range c.Len() {
		if c.IsEmpty(row) {
			continue
		}
		v := numberAt(c, row)
		if slices.Contains(absent, v) {
			continue
		}
		e.count++
		switch {
		case v < e.least.value:
			e.least = end{value: v, next: e.least.value, count: 1}
		case v == e.least.value:
			e.least.count++
		case v < e.least.next:
			e.least.next = v
		}
		switch {
		case v > e.most.value:
			e.most = end{value: v, next: e.most.value, count: 1}
		case v == e.most.value:
			e.most.count++
		case v > e.most.next:
			e.most.next = v
		}
		if len(seen) < enough && !slices.Contains(seen, v) {
			seen = append(seen, v)
		}
	}
	e.several, e.many = len(seen) >= 4, len(seen) >= enough
	return e
}
