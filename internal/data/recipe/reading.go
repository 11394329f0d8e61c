package recipe

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"math"
	"slices"

	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/text"
)

// How many texts of a column become categories. If a column has few distinct texts, each does. Otherwise the frequent
// ones do, and the rest share one category.
const (
	fewValues     = 10     // few distinct texts; rows must be at least twice as many as texts
	mostValues    = 50     // the largest number of categories if there are more texts, with the shared one
	leastRows     = 3      // a frequent text is in at least so many rows,
	leastShare    = 50     // and in at least 1/leastShare of all rows
	maxCategories = 10_000 // the largest number of categories in a column that the user called categorical
)

// read decides how a candidate is read, and which of its cells are missing. If the column is left out, it adds a
// notice with the reason and leaves g.column nil.
func (f *fitting) read(g *candidate) error {
	c, name := withoutWords(&f.Columns[g.at]), f.typed(g.at)
	g.made.Column = c.Name
	g.made.AbsentTexts = f.retyped != nil && f.retyped[g.at]
	if g.role == feature && !g.asked && c.Type == table.Integer && table.IsCodeName(c.Name) {
		g.role, g.coded = category, true
	}
	if g.role == feature && !g.asked && c.Type == table.Integer && holdsDates(c) || g.role != category && c.Type == table.Text {
		if used, err := f.readTexts(g, c, name); !used || err != nil {
			return err
		}
	}
	if g.role == feature && f.recipe.Missing != Error && holdsChecks(c) {
		g.made.Categories = []string{unchecked, firstValue(c)}
	}
	column := g.made.clean(c, f.recipe.Decimals)
	var numbers []float64 // of the cells that are not empty; nil for categories
	if column.Type != table.Text && g.role != category {
		numbers = present(column)
	}
	whole := numbers // with those that stand for missing values
	if g.role == feature {
		g.made.Absent = findAbsent(numbers)
	}
	if len(g.made.Absent) > 0 {
		column = g.made.clean(c, f.recipe.Decimals)
		numbers = present(column)
	}
	empty, row := countEmpty(column)
	switch {
	case empty > 0 && f.recipe.Missing == Error:
		if !c.IsEmpty(row) {
			return f.Fault(c, row, "MISSING_VALUE", "%.40q stands for a missing value; use --keep %s if it is a value, or --missing auto, drop, mean or median", c.CellText(row), name)
		}
		return f.Fault(c, row, "MISSING_VALUE", "there is no value; fill it in, or use --missing auto, drop, mean or median")
	case empty == f.Rows():
		f.leaveOut(emptyColumn, g.at, "it is empty")
		return nil
	case f.recipe.Missing == Auto && 2*empty > f.Rows() && g.role != kept:
		f.leaveOut(mostlyEmpty, g.at, "%d of its %d cells are empty; --keep %s uses it", empty, f.Rows(), name)
		return nil
	case g.made.isCheck():
	case column.Type == table.Text || g.role == category:
		used, err := f.findCategories(g, column, name)
		if !used || err != nil {
			return err
		}
	}
	for _, v := range g.made.Absent {
		f.notice(absent, "column %q: %s read as missing; --keep %s uses them as numbers", c.Name,
			text.Count(countOf(whole, v), fmt.Sprintf("cell with %v is", v), fmt.Sprintf("cells with %v are", v)), name)
	}
	g.column, g.empty = column, empty
	if !g.asked && f.Rows() >= 3 {
		g.constant = isConstant(column)
		if !g.constant && g.made.Categories == nil {
			g.likeID = likeID(column)
		}
	}
	g.shape = shapeOf(column, numbers)
	g.filling = f.findFill(g, numbers)
	return nil
}

// readTexts recognizes dates, and numbers with a few other texts among them. If the column is left out, used is false.
func (f *fitting) readTexts(g *candidate, c *table.Column, name string) (used bool, err error) {
	if holdsDates(c) {
		order := orderOf(c)
		switch {
		case f.options.Dates && order != "" && (&Feature{Dates: order}).clean(c, "").Type == table.Number:
			g.made.Dates = order
			return true, nil
		case f.options.Dates:
			f.leaveOut(listed, g.at, "its dates have different formats, or some are invalid; --categorical %s makes each a category", name)
		case g.asked:
			return false, fault.Invalid("NOT_A_NUMBER", "column %q holds dates, not numbers; --dates numbers turns them into days, --categorical %s makes each a category", c.Name, name).With("column", c.Name)
		default:
			f.leaveOut(dates, g.at, "it holds dates; --dates numbers uses them as days, --categorical %s makes each a category", name)
		}
		return false, nil
	}
	if holdsTimes(c) {
		g.made.Dates = hours
		return true, nil
	}
	row, ofID := mixedAt(c), looksLikeID(f.Table, g.at) && !g.asked
	if row < 0 && !ofID {
		return true, nil
	}
	found := findStrays(c, f.recipe.Decimals)
	if found.count == 0 && found.numbers > 0 && ofID {
		g.made.AbsentTexts = true // the reader took its numbers for texts because of its name
		return true, nil
	}
	if row < 0 {
		return true, nil
	}
	if g.role != kept && found.few() && otherDecimals(c) < 0 && (f.recipe.Decimals != "" || !ambiguousCommas(c)) {
		g.made.AbsentTexts = true
		f.notice(absent, "%s; --categorical %s makes all its values categories", strayNotice(f.Table, c, found), name)
		return true, nil
	}
	problem := "is not a number, unlike most cells of the column"
	if isNumber(c.Texts[row]) {
		problem = "mixes decimal points and commas with the cells before"
	}
	return false, f.Fault(c, row, "NOT_A_NUMBER", "%.40q %s; correct it, or use --categorical %s to make the values categories, or --ignore %s; leave the cell empty if there is no value",
		c.Texts[row], problem, name, name)
}

// strayNotice describes the cells of a column that are read as missing because they are not numbers.
func strayNotice(t *table.Table, c *table.Column, found strays) string {
	what := fmt.Sprintf("%d cells are not numbers and are read as missing; the first is", found.count)
	if found.count == 1 {
		what = "a cell is not a number and is read as missing:"
	}
	return fmt.Sprintf("column %q: %s %.40q %s", c.Name, what, c.Texts[found.first], t.Place(found.first))
}

// findCategories sets the categories of a candidate. If there are many values, the rare ones share one category; if
// most cells are rare, the column is left out and used is false. Every value of a column that the user called
// categorical is a category.
func (f *fitting) findCategories(g *candidate, c *table.Column, name string) (used bool, err error) {
	counts, first := map[string]int{}, map[string]string{} // of each value, and its first spelling
	rows := 0
	for value, count := range spellings(c) {
		if g.role != category || g.coded {
			key := table.Folded(value)
			if _, known := first[key]; !known {
				first[key] = value
			}
			g.merged = g.merged || first[key] != value
			value = first[key]
		}
		counts[value] += count
		rows += count
	}
	all := slices.SortedFunc(maps.Keys(counts), categoryOrder(c.Type))
	if g.role == category && !g.coded || len(all) == 1 || len(all) <= fewValues && 2*len(all) <= c.Len() {
		if len(all) > maxCategories {
			return false, fault.Invalid("TOO_MANY_TEXTS", "column %q has more than %d different values, which is too many for categories; leave it out with --ignore", c.Name, maxCategories).With("column", c.Name)
		}
		g.made.Categories = all
		return true, nil
	}
	frequent := slices.Clone(all)
	slices.SortStableFunc(frequent, func(a, b string) int { return counts[b] - counts[a] })
	least, in := max(leastRows, c.Len()/leastShare), 0
	for at, value := range frequent {
		if at == mostValues-1 || counts[value] < least {
			frequent = frequent[:at]
			break
		}
		in += counts[value]
	}
	if in == rows {
		g.made.Categories = all
		return true, nil
	}
	if 2*in < rows {
		if first, other := unitsOf(c); other != "" {
			f.leaveOut(listed, g.at, "its numbers have different units, such as %.40q and %.40q; convert them to one unit to use the column", first, other)
			return false, nil
		}
		f.leaveOut(hardlyRepeats, g.at, "its %d different values hardly repeat in %d rows; --categorical %s makes each a category", len(all), rows, name)
		return false, nil
	}
	g.made.Other = cmp.Or(first[otherValues], otherValues) // as the column spells it, such as Other
	for _, value := range all {
		if slices.Contains(frequent, value) || value == g.made.Other {
			g.made.Categories = append(g.made.Categories, value)
		}
	}
	if counts[g.made.Other] == 0 {
		g.made.Categories = append(g.made.Categories, g.made.Other)
	}
	f.notice(rareValues, "column %q has %d different values: those in fewer than %s become one category, %q (%s); --categorical %s keeps all", c.Name, len(all),
		text.Plural(max(least, lowest(counts, frequent)), "row"), g.made.Other, text.Plural(rows-in, "row"), name)
	return true, nil
}

// spellings yields the distinct texts of the cells that are not empty, in the order of their first rows, and how many
// cells have each.
func spellings(c *table.Column) iter.Seq2[string, int] {
	place := map[string]int{}
	var values []string
	var counts []int
	for row := range c.Filled() {
		value := c.CellText(row)
		at, known := place[value]
		if !known {
			at = len(values)
			place[value], values, counts = at, append(values, value), append(counts, 0)
		}
		counts[at]++
	}
	return func(yield func(string, int) bool) {
		for at, value := range values {
			if !yield(value, counts[at]) {
				return
			}
		}
	}
}

// firstValue returns the first text of a column that is not empty, "" if there is none.
func firstValue(c *table.Column) string {
	for _, s := range c.FilledTexts() {
		return s
	}
	return ""
}

// lowest returns how often the rarest of some values occurs.
func lowest(counts map[string]int, values []string) int {
	least := math.MaxInt
	for _, value := range values {
		least = min(least, counts[value])
	}
	return least
}

// otherValues is the category of all rare values, unless the column has that value in another case.
const otherValues = "other"

// isConstant reports whether all cells that are not empty are equal.
func isConstant(c *table.Column) bool {
	first := -1
	for row := range c.Len() {
		switch {
		case c.IsEmpty(row):
		case first < 0:
			first = row
		case c.Type == table.Text && c.Texts[row] != c.Texts[first], c.Type != table.Text && c.Number(row) != c.Number(first):
			return false
		}
	}
	return true
}

// noticeConstant reports the columns that are left out because they are constant.
func (f *fitting) noticeConstant(list []candidate) {
	if len(list) == 0 {
		return
	}
	var names, flags []string
	for _, g := range list {
		names, flags = append(names, g.made.Column), append(flags, f.typed(g.at))
	}
	format := "column %s is left out: it is the same in all rows; --keep %s uses it"
	if len(list) > 1 {
		format = "columns %s are left out: each is the same in all rows; --keep %s uses them"
	}
	f.notice(listed, format, quoted(names), typedList(flags))
}

// noticeCategories reports what the values of a column become.
func (f *fitting) noticeCategories(g *candidate) {
	c, made := g.column, &g.made
	switch {
	case made.Dates != "":
		f.notice(listed, "column %q %s", c.Name, momentOf(made.Dates).says)
	case made.Categories == nil || g.role == category && !g.coded || made.Other != "":
	case g.coded:
		f.notice(codes, "column %q is named like a code: its %s; --keep %s reads them as quantities", c.Name, text.Count(len(made.Categories), "number is a category", "numbers are categories"), f.typed(g.at))
	case made.isSwitch():
		f.notice(switches, "column %q %s: read as 1 or 0", c.Name, made.saysSwitch())
	case len(made.Categories) == 1: // the user named it, or no other column is left
		f.notice(listed, "column %q is always %s, so it does not affect the clusters", c.Name, quoted(made.Categories))
	default:
		like := ""
		if g.merged {
			like = ", in upper or lower case"
		}
		f.notice(categories, "column %q has %s: %s%s; each becomes a column of 0 and 1", c.Name, text.Count(len(made.Categories), "category", "categories"), quoted(made.Categories), like)
	}
}

// countOf returns how many numbers are v.
func countOf(numbers []float64, v float64) int {
	count := 0
	for _, number := range numbers {
		if number == v {
			count++
		}
	}
	return count
}
