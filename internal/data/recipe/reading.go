package recipe

import (
	"maps"
	"math"
	"slices"

	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/text"
)

// Texts of at most fewValues, and at most half as many as rows, are categories, each. Of more than that, those are which are in
// at least leastRows and a leastShare-th of the rows, at most mostValues; the others are one.
const fewValues, mostValues, leastRows, leastShare = 10, 50, 3, 50

// maxCategories is how many categories a column may have that is called categorical.
const maxCategories = 10_000

// read finds how a column is read, and what is missing in it. It says why one is left out, which then has no cells.
func (f *fitting) read(g *gap) error {
	c, name := &f.Columns[g.at], f.typed(g.at)
	g.made.Column = c.Name
	g.made.AbsentTexts = f.retyped != nil && f.retyped[g.at]
	if g.role == feature && !g.asked && c.Type == table.Integer && table.IsCodeName(c.Name) {
		g.role, g.coded = category, true
	}
	if g.role != category && c.Type == table.Text {
		if used, err := f.readTexts(g, c, name); !used || err != nil {
			return err
		}
	}
	column := g.made.clean(c, f.recipe.Decimals)
	if g.role == feature && column.Type != table.Text {
		g.made.Absent = findAbsent(column)
		column = g.made.clean(c, f.recipe.Decimals)
	}
	empty, row := countEmpty(column)
	switch {
	case empty > 0 && f.recipe.Missing == Error:
		if !c.IsEmpty(row) {
			return f.Fault(c, row, "MISSING_VALUE", "%.40q stands for a missing value; --keep %s says that it does not; or use --missing auto, drop, mean or median", c.CellText(row), name)
		}
		return f.Fault(c, row, "MISSING_VALUE", "there is no value; fill it in, or use --missing auto, drop, mean or median")
	case empty == f.Rows():
		f.leaveOut(c, "it is empty")
		return nil
	case f.recipe.Missing == Auto && 2*empty > f.Rows() && g.role != kept:
		f.leaveOut(c, "%d of its %d cells are empty; --keep %s uses it", empty, f.Rows(), name)
		return nil
	case column.Type == table.Text || g.role == category:
		used, err := f.findCategories(g, column, name)
		if !used || err != nil {
			return err
		}
	}
	for _, v := range g.made.Absent {
		f.notice("column %q: %s %v and read as missing; --keep %s keeps them", c.Name, text.Count(countOf(c, v), "cell is", "cells are"), v, name)
	}
	g.column, g.empty = column, empty
	return nil
}

// readTexts finds dates, and numbers among which a few words stray.
func (f *fitting) readTexts(g *gap, c *table.Column, name string) (used bool, err error) {
	if holdsDates(c) {
		order := orderOf(c)
		switch {
		case f.wishes.Dates && order != "" && (&Feature{Dates: order}).clean(c, "").Type == table.Number:
			g.made.Dates = order
			f.notice("column %q holds dates, read as days since 1970", c.Name)
			return true, nil
		case f.wishes.Dates:
			f.leaveOut(c, "its dates are written in several ways, or are none; --categorical %s makes each a category", name)
		case g.asked:
			return false, fault.Invalid("NOT_A_NUMBER", "column %q holds dates, not numbers; --dates numbers turns them into days, --categorical %s makes each a category", c.Name, name).With("column", c.Name)
		default:
			f.leaveOut(c, "it holds dates; --dates numbers uses them as days, --categorical %s makes each a category", name)
		}
		return false, nil
	}
	found := findStrays(c, f.recipe.Decimals)
	if found.count == 0 && found.numbers > 0 && looksLikeID(f.Table, g.at) && !g.asked {
		g.made.AbsentTexts = true // its name misled who read the texts
		return true, nil
	}
	row := mixedAt(c)
	if row < 0 {
		return true, nil
	}
	if g.role != kept && found.few() && otherDecimals(c) < 0 && (f.recipe.Decimals != "" || !ambiguousCommas(c)) {
		g.made.AbsentTexts = true
		f.notice("column %q: %s and read as missing, the first %.40q %s; --categorical %s makes all its values categories", c.Name,
			text.Count(found.count, "cell is not a number", "cells are not numbers"), c.Texts[found.first], f.Place(found.first), name)
		return true, nil
	}
	problem := "is not a number, as most cells of the column are"
	if isNumber(c.Texts[row]) {
		problem = "mixes decimal points and commas with the cells before"
	}
	return false, f.Fault(c, row, "NOT_A_NUMBER", "%.40q %s; correct it, or use --categorical %s to make its values categories, or --ignore %s; a cell without a value is left empty",
		c.Texts[row], problem, name, name)
}

// findCategories finds the values of a column. Where they are many, those that hardly repeat are one; where none repeats, the
// column is left out, unless categories were asked for.
func (f *fitting) findCategories(g *gap, c *table.Column, name string) (used bool, err error) {
	counts := map[string]int{}
	rows := 0
	for row := range c.Len() {
		if !c.IsEmpty(row) {
			counts[c.CellText(row)]++
			rows++
		}
	}
	all := slices.SortedFunc(maps.Keys(counts), inOrder(c.Type))
	if g.role == category && !g.coded || len(all) == 1 || len(all) <= fewValues && 2*len(all) <= c.Len() {
		if len(all) > maxCategories {
			return false, fault.Invalid("TOO_MANY_TEXTS", "column %q has more than %d different values; that is too many for categories", c.Name, maxCategories).With("column", c.Name)
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
		f.leaveOut(c, "its %d different values hardly repeat in %d rows; --categorical %s makes each a category", len(all), rows, name)
		return false, nil
	}
	for _, value := range all {
		if slices.Contains(frequent, value) || value == otherValues {
			g.made.Categories = append(g.made.Categories, value)
		}
	}
	if !slices.Contains(g.made.Categories, otherValues) {
		g.made.Categories = append(g.made.Categories, otherValues)
	}
	g.made.Other = otherValues
	f.notice("column %q has %d different values: those of fewer than %s, in %s, become one, %q; --categorical %s keeps all", c.Name, len(all),
		text.Plural(max(least, lowest(counts, frequent)), "row"), text.Plural(rows-in, "row"), otherValues, name)
	return true, nil
}

// lowest is how often the rarest of some values is there.
func lowest(counts map[string]int, of []string) int {
	least := math.MaxInt
	for _, value := range of {
		least = min(least, counts[value])
	}
	return least
}

// otherValues is the category of values that hardly repeat.
const otherValues = "other"

// isConstant reports whether all values of a column are the same.
func isConstant(c *table.Column) bool {
	first := -1
	for row := range c.Len() {
		switch {
		case c.IsEmpty(row):
		case first < 0:
			first = row
		case c.Type == table.Text && c.Texts[row] != c.Texts[first], c.Type != table.Text && numberAt(c, row) != numberAt(c, first):
			return false
		}
	}
	return true
}

// sayConstant tells which columns are left out because they are the same in all rows.
func (f *fitting) sayConstant(list []gap) {
	if len(list) == 0 {
		return
	}
	var names, flags []string
	for _, g := range list {
		names, flags = append(names, g.made.Column), append(flags, f.typed(g.at))
	}
	be := "column %s is left out: it is the same in all rows; --keep %s uses it"
	if len(list) > 1 {
		be = "columns %s are left out: each is the same in all rows; --keep %s uses them"
	}
	f.notice(be, quoted(names), typedList(flags))
}

// sayCategories tells what the values of a column become.
func (f *fitting) sayCategories(g *gap) {
	c, made := g.column, &g.made
	switch {
	case made.Categories == nil || g.role == category && !g.coded || made.Other != "":
	case g.coded:
		f.notice("column %q is called a code: its %s; --keep %s reads them as sizes", c.Name, text.Count(len(made.Categories), "number is a category", "numbers are categories"), f.typed(g.at))
	case made.isSwitch():
		f.notice("column %q says %.40q or %.40q: read as 1 or 0", c.Name, made.Categories[1], made.Categories[0])
	case len(made.Categories) == 1: // asked for, or there is nothing else
		f.notice("column %q is constant: it is %s in all rows, and does not affect the clusters", c.Name, quoted(made.Categories))
	default:
		f.notice("column %q has %s: %s; each becomes a column of 0 and 1", c.Name, text.Count(len(made.Categories), "category", "categories"), quoted(made.Categories))
	}
}

// countOf is how many cells have a number.
func countOf(c *table.Column, v float64) int {
	count := 0
	for row := range c.Len() {
		if c.IsEmpty(row) {
			continue
		}
		if c.Type == table.Text {
			if read, ok := readNumber(c.Texts[row], ""); ok && read == v {
				count++
			}
		} else if numberAt(c, row) == v {
			count++
		}
	}
	return count
}
