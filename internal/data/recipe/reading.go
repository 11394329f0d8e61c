package recipe

import (
	"cmp"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

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
// notice with the reason and leaves candidate.column nil.
func (f *fitting) read(candidate *candidateColumn) error {
	raw := withoutWords(&f.Columns[candidate.at])
	name := f.typed(candidate.at)
	candidate.made.Column = raw.Name
	candidate.made.AbsentTexts = f.retyped != nil && f.retyped[candidate.at]
	if candidate.role == feature && !candidate.asked && raw.Type == table.Integer && table.IsCodeName(raw.Name) {
		candidate.role, candidate.coded = category, true
	}
	if candidate.role == feature && !candidate.asked && raw.Type == table.Integer && holdsDates(raw) ||
		candidate.role != category && raw.Type == table.Text {
		if used, err := f.readTexts(candidate, raw, name); !used || err != nil {
			return err
		}
	}
	if candidate.role == feature && f.recipe.Missing != Error && holdsChecks(raw) {
		candidate.made.Categories = []string{unchecked, firstValue(raw)}
	}
	column, _ := candidate.made.clean(raw, f.recipe.Decimals)
	var numbers []float64 // of the cells that are not empty; nil for categories
	if column.Type != table.Text && candidate.role != category {
		numbers = present(column)
	}
	whole := numbers // with those that stand for missing values
	if candidate.role == feature {
		candidate.made.Absent = findAbsent(numbers)
	}
	if len(candidate.made.Absent) > 0 {
		column, _ = candidate.made.clean(raw, f.recipe.Decimals)
		numbers = present(column)
	}
	empty, row := countEmpty(column)
	switch {
	case empty > 0 && f.recipe.Missing == Error:
		if !raw.IsEmpty(row) {
			return f.Fault(raw, row, "MISSING_VALUE",
				"%.40q stands for a missing value; use --keep %s if it is a value, or --missing auto, drop, mean "+
					"or median", raw.CellText(row), name)
		}
		return f.Fault(raw, row, "MISSING_VALUE",
			"there is no value; fill it in, or use --missing auto, drop, mean or median")
	case empty == f.Rows():
		f.leaveOut(emptyColumn, candidate.at, "it is empty")
		return nil
	case f.recipe.Missing == Auto && 2*empty > f.Rows() && candidate.role != kept:
		f.leaveOut(mostlyEmpty, candidate.at, "%d of its %d cells are empty; --keep %s uses it", empty, f.Rows(), name)
		return nil
	case candidate.made.isCheck():
	case column.Type == table.Text || candidate.role == category:
		used, err := f.findCategories(candidate, column, name)
		if !used || err != nil {
			return err
		}
	}
	for _, v := range candidate.made.Absent {
		f.notice(absent, "column %q: %s read as missing; --keep %s uses them as numbers", raw.Name,
			text.Count(countOf(whole, v), fmt.Sprintf("cell with %v is", v), fmt.Sprintf("cells with %v are", v)), name)
	}
	candidate.column, candidate.empty = column, empty
	if !candidate.asked && f.Rows() >= 3 {
		candidate.constant = isConstant(column)
		if !candidate.constant && candidate.made.Categories == nil {
			candidate.likeID = likeID(column)
		}
	}
	candidate.shape = shapeOf(column, numbers)
	candidate.filling = f.findFill(candidate, numbers)
	return nil
}

// becomesNumbers reports whether all cells of a column are dates in a format, so that it can be read as numbers.
func becomesNumbers(c *table.Column, order string) bool {
	cleaned, _ := (&Feature{Dates: order}).clean(c, "")
	return cleaned.Type == table.Number
}

// readTexts recognizes dates, and numbers with a few other texts among them. If the column is left out, used is false.
func (f *fitting) readTexts(candidate *candidateColumn, column *table.Column, name string) (used bool, err error) {
	if holdsDates(column) {
		order := orderOf(column)
		switch {
		case f.options.Dates && order != "" && becomesNumbers(column, order):
			candidate.made.Dates = order
			return true, nil
		case f.options.Dates:
			f.leaveOut(listed, candidate.at,
				"its dates have different formats, or some are invalid; --categorical %s makes each a category", name)
		case candidate.asked:
			return false,
				fault.Invalid("NOT_A_NUMBER",
					"column %q holds dates, not numbers; --dates numbers turns them into days, --categorical %s "+
						"makes each a category", column.Name, name).With("column", column.Name)
		default:
			f.leaveOut(dates, candidate.at,
				"it holds dates; --dates numbers uses them as days, --categorical %s makes each a category", name)
		}
		return false, nil
	}
	if holdsTimes(column) {
		candidate.made.Dates = hours
		return true, nil
	}
	row := mixedAt(column)
	ofID := looksLikeID(f.Table, candidate.at) && !candidate.asked
	if row < 0 && !ofID {
		return true, nil
	}
	found := findStrays(column, f.recipe.Decimals)
	if found.count == 0 && found.numbers > 0 && ofID {
		candidate.made.AbsentTexts = true // the reader took its numbers for texts because of its name
		return true, nil
	}
	if row < 0 {
		return true, nil
	}
	if candidate.role != kept && found.few() && otherDecimals(column) < 0 &&
		(f.recipe.Decimals != "" || !ambiguousCommas(column)) {
		candidate.made.AbsentTexts = true
		f.notice(absent, "%s; --categorical %s makes all its values categories",
			strayNotice(f.Table, column, found), name)
		return true, nil
	}
	problem := "mixes decimal points and commas with the cells before"
	if !isNumber(column.Texts[row]) {
		hasComma := func(s string) bool { return strings.Contains(s, ",") && isNumber(s) }
		if candidate.role != kept && f.recipe.Decimals == "" && slices.ContainsFunc(column.Texts, hasComma) {
			return true, nil // without known decimals, 1,5 may be a list as well as a number
		}
		problem = "is not a number, unlike most cells of the column"
	}
	return false, f.Fault(column, row, "NOT_A_NUMBER",
		"%.40q %s; correct it, or use --categorical %s to make the values categories, or --ignore %s; leave the cell "+
			"empty if there is no value",
		column.Texts[row], problem, name, name)
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
func (f *fitting) findCategories(candidate *candidateColumn, column *table.Column, name string) (used bool, err error) {
	counts, first := map[string]int{}, map[string]string{} // of each value, and its first spelling
	rows := 0
	for value, count := range spellings(column) {
		if candidate.role != category || candidate.coded {
			key := table.Folded(value)
			if _, known := first[key]; !known {
				first[key] = value
			}
			candidate.merged = candidate.merged || first[key] != value
			value = first[key]
		}
		counts[value] += count
		rows += count
	}
	values := slices.SortedFunc(maps.Keys(counts), categoryOrder(column.Type))
	if candidate.role == category && !candidate.coded || len(values) == 1 ||
		len(values) <= fewValues && 2*len(values) <= column.Len() {
		if len(values) > maxCategories {
			return false,
				fault.Invalid("TOO_MANY_TEXTS",
					"column %q has more than %d different values, which is too many for categories; leave it out "+
						"with --ignore", column.Name, maxCategories).With("column", column.Name)
		}
		candidate.made.Categories = values
		return true, nil
	}
	frequent := slices.Clone(values)
	slices.SortStableFunc(frequent, func(a, b string) int { return counts[b] - counts[a] })
	least := max(leastRows, column.Len()/leastShare)
	in := 0
	for at, value := range frequent {
		if at == mostValues-1 || counts[value] < least {
			frequent = frequent[:at]
			break
		}
		in += counts[value]
	}
	if in == rows {
		candidate.made.Categories = values
		return true, nil
	}
	if 2*in < rows {
		if first, other := unitsOf(column); other != "" {
			f.leaveOut(listed, candidate.at,
				"its numbers have different units, such as %.40q and %.40q; convert them to one unit to use the column",
				first, other)
			return false, nil
		}
		f.leaveOut(hardlyRepeats, candidate.at,
			"its %d different values hardly repeat in %d rows; --categorical %s makes each a category",
			len(values), rows, name)
		return false, nil
	}
	candidate.made.Other = cmp.Or(first[otherValues], otherValues) // as the column spells it, such as Other
	for _, value := range values {
		if slices.Contains(frequent, value) || value == candidate.made.Other {
			candidate.made.Categories = append(candidate.made.Categories, value)
		}
	}
	if counts[candidate.made.Other] == 0 {
		candidate.made.Categories = append(candidate.made.Categories, candidate.made.Other)
	}
	f.notice(rareValues, "column %q has %d different values: those in fewer than %s become one category, %q (%s); "+
		"--categorical %s keeps all", column.Name, len(values),
		text.Plural(max(least, counts[frequent[len(frequent)-1]]), "row"), candidate.made.Other,
		text.Plural(rows-in, "row"), name)
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
		case c.Type == table.Text && c.Texts[row] != c.Texts[first], c.Type != table.Text &&
			c.Number(row) != c.Number(first):
			return false
		}
	}
	return true
}

// noticeConstant reports the columns that are left out because they are constant.
func (f *fitting) noticeConstant(constants []candidateColumn) {
	if len(constants) == 0 {
		return
	}
	var names, flags []string
	for _, constant := range constants {
		names, flags = append(names, constant.made.Column), append(flags, f.typed(constant.at))
	}
	format := "column %s is left out: it is the same in all rows; --keep %s uses it"
	if len(constants) > 1 {
		format = "columns %s are left out: each is the same in all rows; --keep %s uses them"
	}
	f.notice(listed, format, quoted(names), typedList(flags))
}

// noticeCategories reports what the values of a column become.
func (f *fitting) noticeCategories(candidate *candidateColumn) {
	c, made := candidate.column, &candidate.made
	switch {
	case made.Dates != "":
		f.notice(listed, "column %q %s", c.Name, momentOf(made.Dates).notice)
	case made.Categories == nil || candidate.role == category && !candidate.coded || made.Other != "":
	case candidate.coded:
		f.notice(codes, "column %q is named like a code: its %s; --keep %s reads them as quantities", c.Name,
			text.Count(len(made.Categories), "number is a category", "numbers are categories"), f.typed(candidate.at))
	case made.isSwitch():
		f.notice(switches, "column %q %s: read as 1 or 0", c.Name, made.switchText())
	case len(made.Categories) == 1: // the user named it, or no other column is left
		f.notice(listed, "column %q is always %s, so it does not affect the clusters", c.Name, quoted(made.Categories))
	default:
		like := ""
		if candidate.merged {
			like = ", in upper or lower case"
		}
		f.notice(categories, "column %q has %s: %s%s; each becomes a column of 0 and 1", c.Name,
			text.Count(len(made.Categories), "category", "categories"), quoted(made.Categories), like)
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
