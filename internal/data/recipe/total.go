package recipe

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/cleave-project/cleave/internal/data/table"
)

// Lowercase names of a last row that holds totals or averages.
var (
	totals = []string{"total", "totals", "sum", "sums", "grand total", "overall", "all", "subtotal", "summe",
		"gesamt", "gesamtsumme", "insgesamt", "total général", "totale", "suma", "somme"}
	averages = []string{"average", "averages", "mean", "means", "avg", "median", "durchschnitt", "mittelwert", "mittel",
		"schnitt", "moyenne", "media", "promedio"}
)

// fewestSummed is the smallest number of rows above a row of totals.
const fewestSummed = 3

// findTotal leaves out a last row that holds totals or averages of the others.
func (f *fitting) findTotal() {
	if f.options.KeepLastRow || f.Rows() <= fewestSummed {
		return
	}
	r, last := f.recipe, f.Rows()-1
	for at := range f.Columns {
		if c := &f.Columns[at]; f.roles[at] != unused && endsInTotal(c) &&
			(slices.Contains(totals, lastName(c)) || f.hasMeans()) {
			r.TotalColumn = c.Name
			f.notice(listed, "the last row is left out: column %q calls it %.40q; --keep-last-row uses it", c.Name,
				c.Texts[last])
			break
		}
	}
	if r.TotalColumn == "" {
		var columns []*table.Column
		blank := false // the last row alone is empty in a column of texts
		for at := range f.Columns {
			c := &f.Columns[at]
			switch {
			case f.roles[at] == unused || f.roles[at] == identifies || f.roles[at] == classifies ||
				looksLikeID(f.Table, at) || looksLikeLabel(f.Table, at):
			case c.Type != table.Text:
				columns = append(columns, c)
			default:
				empty, first := countEmpty(c)
				blank = blank || empty == 1 && first == last
			}
		}
		sums, means, all := summed(columns)
		if !all || sums < 2 && means < 3 && !(blank && sums+means > 0) || last < 5 {
			return
		}
		r.TotalSums = true
		what := "sums"
		if means > sums {
			what = "means"
		}
		f.notice(listed, "the last row is left out: it holds the %s of the rows above; --keep-last-row uses it", what)
	}
	whole := f.Columns
	f.Table = f.First(last)
	f.retyped = make([]bool, len(whole))
	for at := range whole {
		if c := &whole[at]; c.Type == table.Text && !c.IsEmpty(last) {
			if _, ok := readNumber(c.Texts[last], r.Decimals); !ok {
				f.retyped[at] = f.retype(&f.Columns[at])
			}
		}
	}
}

// retype converts a column of texts to numbers in place if all its cells are numbers, as the row of totals is gone. It
// reports whether it did.
func (f *fitting) retype(c *table.Column) bool {
	if found := findStrays(c, f.recipe.Decimals); found.count > 0 || found.numbers == 0 || ambiguousCommas(c) {
		return false
	}
	read := asNumbers(c, f.recipe.Decimals)
	whole := true
	for _, v := range read.Numbers {
		whole = whole && v == math.Trunc(v) && math.Abs(v) < 1<<53
	}
	if whole {
		read.Type = table.Integer
		read.Integers = make([]int64, len(read.Numbers))
		for row, v := range read.Numbers {
			read.Integers[row] = int64(v)
		}
		read.Numbers = nil
	}
	*c = *read
	return true
}

// endsInTotals reports whether the last row of a table holds totals, by the recipe's rule.
func (r *Recipe) endsInTotals(t *table.Table) bool {
	if t.Rows() <= fewestSummed {
		return false
	}
	if r.TotalColumn != "" {
		c := t.Column(r.TotalColumn)
		return c != nil && endsInTotal(c)
	}
	if !r.TotalSums {
		return false
	}
	named := t.ByName()
	var columns []*table.Column
	for at := range r.Features {
		f := &r.Features[at]
		c := named[f.Column]
		if c == nil || f.Categories != nil {
			continue
		}
		if cleaned, _ := f.clean(c, r.Decimals); cleaned.Type != table.Text {
			columns = append(columns, cleaned)
		}
	}
	sums, means, all := summed(columns)
	return all && sums+means > 0
}

// totalID returns an id for the row of totals that differs from all other ids.
func totalID(c *table.Column, ids []string) string {
	name := cmp.Or(c.CellText(c.Len()-1), "total")
	for slices.Contains(ids, name) {
		name += "'"
	}
	return name
}

// endsInTotal reports whether the last cell of a column calls its row a total, and no other does.
func endsInTotal(c *table.Column) bool {
	if c.Type != table.Text {
		return false
	}
	last := c.Texts[len(c.Texts)-1]
	if name := lastName(c); !slices.Contains(totals, name) && !slices.Contains(averages, name) {
		return false
	}
	return slices.Index(c.Texts, last) == len(c.Texts)-1
}

// lastName returns the last cell of a column in lowercase, without surrounding spaces and colons.
func lastName(c *table.Column) string {
	return strings.ToLower(strings.Trim(c.Texts[len(c.Texts)-1], " :"))
}

// hasMeans reports whether the last row holds the sum or mean of some column. A name such as "average" alone is not
// enough.
func (f *fitting) hasMeans() bool {
	for at := range f.Columns {
		if c := &f.Columns[at]; c.Type != table.Text {
			if sums, means, _ := summed([]*table.Column{c}); sums+means > 0 {
				return true
			}
		}
	}
	return false
}

// summed counts the columns whose last number is the sum or the mean of those above. all reports whether every column
// with a last number is one of these. Matches that may be accidents, such as the sum of zeros or a mean of few digits,
// are not counted.
func summed(columns []*table.Column) (sums, means int, all bool) {
	for _, c := range columns {
		last := c.Len() - 1
		if c.IsEmpty(last) {
			continue
		}
		value := c.Number(last)
		sum := 0.0
		size := 0.0
		squares := 0.0
		count := 0.0
		for row := range last {
			if !c.IsEmpty(row) {
				v := c.Number(row)
				sum += v
				size += math.Abs(v)
				count++
				squares += float64(v * v)
			}
		}
		if count == 0 {
			return 0, 0, false
		}
		mean := sum / count
		deviation := math.Sqrt(max(0, squares/count-float64(mean*mean)))
		step := stepOf(value)
		exact := float64(1e-9 * size)
		rounding := min(float64(0.51*step), deviation/20)
		switch {
		case math.Abs(value-sum) <= exact+rounding:
			if count > 1 && size > 0 && deviation > 0 {
				sums++
			}
		case math.Abs(value-mean) <= exact/count+rounding:
			if deviation > 20*step {
				means++
			}
		default:
			return 0, 0, false
		}
	}
	return sums, means, true
}

// stepOf returns the value of one unit in the last decimal of a number, 1 for an integer.
func stepOf(v float64) float64 {
	digits := strconv.FormatFloat(v, 'f', -1, 64)
	_, decimals, found := strings.Cut(digits, ".")
	if !found {
		return 1
	}
	return math.Pow10(-len(decimals))
}
