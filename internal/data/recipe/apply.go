package recipe

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/numeric/choose"
	"github.com/cleave-project/cleave/internal/text"
)

// Apply makes points from a table that has the columns of the features, and maybe others. The columns of ids and
// classes may be missing: new rows have no classes yet. Apply fails if the context ends first.
func (r *Recipe) Apply(ctx context.Context, t *table.Table) (*Prepared, error) {
	prepared := &Prepared{Names: r.Names(), rows: t.Rows()}
	t = r.rename(t, prepared)
	whole := t
	if r.endsInTotals(t) {
		t = t.First(t.Rows() - 1)
		prepared.Total = true
	}
	sources, err := r.sources(ctx, t)
	if err != nil {
		return nil, err
	}
	for at := range sources {
		prepared.Notices = append(prepared.Notices, sources[at].strays...)
	}
	if r.Missing == Drop {
		prepared.Kept = complete(t.Rows(), sources)
		if prepared.Kept != nil && len(prepared.Kept) == 0 {
			return nil, fault.Invalid("EMPTY_DATA", "no row is left: all %d rows have missing values", t.Rows())
		}
	}
	if blank := blankRows(t); r.Missing == Auto && len(blank) > 0 && len(blank) < t.Rows() {
		prepared.leaveOut(blank, t.Rows())
	}
	if prepared.Kept == nil && prepared.Total {
		prepared.Kept = choose.All[int32](t.Rows())
	}
	rows := t.Rows()
	if prepared.Kept != nil {
		rows = len(prepared.Kept)
	}
	columns := len(prepared.Names)
	if rows > 0 && columns > (1<<40)/rows {
		return nil, fault.Invalid("TOO_MANY_COLUMNS",
			"the table would become %d rows of %d columns, which is too many; leave columns out with --ignore",
			rows, columns)
	}
	similar, err := newSimilarity(sources)
	if err != nil {
		return nil, err
	}
	prepared.Points, err = dataset.MakePoints(ctx, rows, columns, func(from, to int, values []float64) error {
		fillRows(values, columns, from, to, prepared.Kept, sources, similar)
		return ctx.Err()
	})
	if err != nil {
		return nil, err
	}
	prepared.Points.Categorical = r.categorical()
	for at := range sources {
		prepared.Notices = append(prepared.Notices, sources[at].notices()...)
	}
	prepared.IDs, err = r.ids(t)
	if err != nil {
		return nil, err
	}
	if labels := t.Column(r.Label); labels != nil {
		prepared.Labels = prepared.classes(labels)
	}
	if prepared.Total && prepared.IDs != nil {
		prepared.IDs = append(slices.Clip(prepared.IDs), totalID(whole.Column(r.ID), prepared.IDs))
	}
	if prepared.Total && prepared.Labels != nil {
		prepared.Labels = append(slices.Clip(prepared.Labels), "")
	}
	return prepared, nil
}

// source makes the values of a feature from its column.
type source struct {
	*Feature
	column   *table.Column
	at       int            // the first column of the points that it fills
	category map[string]int // the number of each category, by its spelling; nil for numbers
	spelled  func(category string) string
	one      bool     // a single column encodes the categories no and yes
	strays   []string // a notice about cells that are not numbers

	mu      sync.Mutex
	unknown map[string]int // the number of rows with each unknown category; guarded by mu
}

// sources finds the column of each feature in a table and reads it as the recipe says. It fails if a column is
// missing, if one of numbers has too many other cells, or if one of dates has any.
func (r *Recipe) sources(ctx context.Context, t *table.Table) ([]source, error) {
	columns := t.ByName()
	sources := make([]source, len(r.Features))
	first := 0
	for at := range r.Features {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		feature := &r.Features[at]
		source := &sources[at]
		source.Feature, source.column, source.at = feature, columns[feature.Column], first
		first += feature.columns()
		if source.column == nil {
			return nil, r.missingColumn(t, feature.Column)
		}
		raw := withoutWords(source.column)
		source.column = raw
		allDates := true
		if feature.Categories == nil || feature.isCheck() {
			source.column, allDates = feature.clean(raw, r.Decimals)
		}
		empty, row := countEmpty(source.column)
		if empty > 0 && r.Missing == Error {
			return nil, t.Fault(source.column, row, "MISSING_VALUE", "there is no value; fill it in")
		}
		switch {
		case feature.Categories != nil:
			source.useCategories()
		case !allDates:
			_, row := momentOf(feature.Dates).convert(raw)
			return nil, t.Fault(raw, row, "NOT_A_NUMBER",
				"%.40q is not a date in the format of the other cells; correct it or leave it empty", raw.CellText(row))
		case source.column.Type == table.Text && empty < t.Rows():
			if err := source.useTexts(t, r); err != nil {
				return nil, err
			}
		}
	}
	return sources, nil
}

// useCategories prepares to look up the category of each cell.
func (s *source) useCategories() {
	s.category, s.unknown, s.one, s.spelled = make(map[string]int, len(s.Categories)), map[string]int{}, s.isSwitch(),
		s.spelling()
	for number, category := range s.Categories {
		s.category[s.spelled(category)] = number
	}
}

// useTexts reads the texts of a column as numbers. A few other cells are missing values; it fails if there are more.
func (s *source) useTexts(t *table.Table, r *Recipe) error {
	c := s.column
	found := findStrays(c, r.Decimals)
	if r.Missing == Error || found.count > found.numbers || otherDecimals(c) >= 0 {
		row := noNumberAt(c)
		return t.Fault(c, row, "NOT_A_NUMBER",
			"%.40q is not a number; correct it, or leave the cell empty if there is no value", c.Texts[row])
	}
	if found.count > 0 {
		s.strays = []string{strayNotice(t, c, found)}
	}
	s.column = asNumbers(c, r.Decimals)
	return nil
}

// rename returns a table whose columns have the names in the recipe, where those in the table differ only in case,
// spaces, underscores and hyphens. Of several such columns the first is taken, and a notice names the others.
func (r *Recipe) rename(t *table.Table, p *Prepared) *table.Table {
	wanted := []string{r.ID, r.Label, r.TotalColumn}
	for at := range r.Features {
		wanted = append(wanted, r.Features[at].Column)
	}
	columns := t.ByName()
	missing := map[string]string{} // wanted names that the table does not have
	for _, name := range wanted {
		if columns[name] == nil && name != "" {
			missing[plainName(name)] = name
		}
	}
	if len(missing) == 0 {
		return t
	}
	renamed := *t
	renamed.Columns = slices.Clone(t.Columns)
	readAs := map[string]string{} // by wanted name, the column that is read as it
	for at := range renamed.Columns {
		c := &renamed.Columns[at]
		name := missing[plainName(c.Name)]
		if name == "" || slices.Contains(wanted, c.Name) {
			continue
		}
		if first := readAs[name]; first != "" {
			p.Notices = append(p.Notices, fmt.Sprintf("column %q is not used: %q is read as %q already", c.Name, first,
				name))
			continue
		}
		p.Notices = append(p.Notices, fmt.Sprintf("column %q is read as %q", c.Name, name))
		readAs[name] = c.Name
		c.Name = name
	}
	return &renamed
}

// plainName returns a name without spaces, underscores and hyphens, in lower case.
func plainName(name string) string {
	return strings.ToLower(strings.NewReplacer(" ", "", "_", "", "-", "").Replace(name))
}

// missingColumn returns the error for a table without a column that a recipe needs. It suggests only columns that the
// recipe does not use.
func (r *Recipe) missingColumn(t *table.Table, name string) error {
	var names []string
	for at := range t.Columns {
		c := t.Columns[at].Name
		if !slices.ContainsFunc(r.Features, func(f Feature) bool { return f.Column == c }) {
			names = append(names, c)
		}
	}
	help := "add it; its cells may be empty"
	if similar := similarTo(name, names); similar != "" {
		help = fmt.Sprintf("if it is %.60q, rename that", similar)
	}
	return fault.Invalid("UNKNOWN_COLUMN", "the table has no column %.60q, which the model needs; %s", name, help).With(
		"column", name)
}

// noNumberAt returns the first row that is not a number, or the first row with a value if all values are numbers.
func noNumberAt(c *table.Column) int {
	first := -1
	for row, s := range c.Texts {
		switch {
		case c.IsEmpty(row):
		case !isNumber(s):
			return row
		case first < 0:
			first = row
		}
	}
	return max(first, 0)
}

// complete returns the rows without missing values, nil if those are all rows.
func complete(rows int, sources []source) []int32 {
	kept := choose.All[int32](rows)
	for at := range sources {
		if c := sources[at].column; c.Empty != nil || c.Type == table.Text {
			kept = slices.DeleteFunc(kept, func(row int32) bool { return c.IsEmpty(int(row)) })
		}
	}
	if len(kept) == rows {
		return nil
	}
	return kept
}

// blankRows returns the rows of a table without any value: nothing says where they belong.
func blankRows(t *table.Table) []int32 {
	var blank []int32
	for at := range t.Columns {
		c := &t.Columns[at]
		if c.Empty == nil && c.Type != table.Text {
			return nil
		}
		if at == 0 {
			blank = choose.All[int32](t.Rows())
		}
		blank = slices.DeleteFunc(blank, func(row int32) bool { return !c.IsEmpty(int(row)) })
		if len(blank) == 0 {
			return nil
		}
	}
	return blank
}

// leaveOut leaves out blank rows.
func (p *Prepared) leaveOut(blank []int32, rows int) {
	p.Blank = len(blank)
	p.Notices = append(p.Notices, fmt.Sprintf("%s no cluster (label -1)",
		text.Count(p.Blank, "row has no values, so it gets", "rows have no values, so they get")))
	p.Kept = slices.DeleteFunc(choose.All[int32](rows), func(row int32) bool {
		_, isBlank := slices.BinarySearch(blank, row)
		return isBlank
	})
}

// fillRows writes the values of all features for the points [first, last), a few rows at a time so that they stay in
// the cache.
func fillRows(values []float64, columns, first, last int, kept []int32, sources []source, similar *similarity) {
	const few = 256
	var distances []float64
	if similar != nil {
		distances = make([]float64, similar.donors)
	}
	numbers := make([]int32, 0, few) // of the rows of the table
	for from := first; from < last; from += few {
		to := min(from+few, last)
		numbers = numbers[:0]
		for row := from; row < to; row++ {
			if kept != nil {
				numbers = append(numbers, kept[row])
			} else {
				numbers = append(numbers, int32(row))
			}
		}
		for at := range sources {
			sources[at].fill(values[(from-first)*columns:(to-first)*columns], columns, numbers)
		}
		if similar == nil {
			continue
		}
		for at, row := range numbers {
			point := (from - first + at) * columns
			similar.fillRow(values[point:point+columns], int(row), distances)
		}
	}
}

// fill writes the values of one feature for some rows of the table.
func (s *source) fill(values []float64, columns int, rows []int32) {
	at := s.at
	switch c := s.column; {
	case s.category != nil:
		for _, row := range rows {
			s.mark(values[at:], int(row))
			at += columns
		}
	case c.Empty != nil || c.Type == table.Text: // a column of texts gets here only if all its cells are empty
		for _, row := range rows {
			if c.IsEmpty(int(row)) {
				values[at] = s.Fill
			} else {
				values[at] = c.Number(int(row))
			}
			at += columns
		}
	default:
		for _, row := range rows {
			values[at] = c.Number(int(row))
			at += columns
		}
	}
}

// spelling returns how to normalize a category for comparison: people write Red and red, and spreadsheets TRUE where
// other programs write true. Case matters only if two categories differ in nothing else.
func (f *Feature) spelling() func(category string) string {
	if f.isSwitch() {
		return strings.ToLower
	}
	seen := make(map[string]bool, len(f.Categories))
	for _, category := range f.Categories {
		seen[table.Folded(category)] = true
	}
	if len(seen) == len(f.Categories) {
		return table.Folded
	}
	return func(category string) string { return category }
}

// mark sets the column of a row's category to 1. It leaves all columns at 0 for an unknown category, and counts it.
func (s *source) mark(values []float64, row int) {
	value := s.FillCategory
	if !s.column.IsEmpty(row) {
		value = s.column.CellText(row)
	}
	number, known := s.category[s.spelled(value)]
	if !known && s.Other != "" {
		number, known = s.category[s.spelled(s.Other)]
	}
	switch {
	case !known:
		s.mu.Lock()
		s.unknown[value]++
		s.mu.Unlock()
	case s.one:
		values[0] = float64(number)
	default:
		values[number] = 1
	}
}

// notices reports unknown categories.
func (s *source) notices() []string {
	if len(s.unknown) == 0 {
		return nil
	}
	rows, example := 0, ""
	for value, count := range s.unknown {
		rows += count
		if example == "" || value < example {
			example = value
		}
	}
	return []string{fmt.Sprintf("column %q: %s a value that was not in the training data, such as %.40q; it "+
		"matches no category",
		s.Column, text.Count(rows, "row has", "rows have"), example)}
}

// classes returns the classes of all rows, "" where they are unknown.
func (p *Prepared) classes(c *table.Column) []string {
	labels := slices.Clone(texts(c))
	unknown, first := 0, ""
	for row, label := range labels {
		if label != "" && table.IsUnknownClass(label) {
			unknown++
			if first == "" {
				first = label
			}
			labels[row] = ""
		}
	}
	if unknown > 0 {
		p.Notices = append(p.Notices, fmt.Sprintf("column %q: in %s, such as %.40q, the class is unknown", c.Name,
			text.Plural(unknown, "cell"), first))
	}
	return labels
}

// ids returns the ids of all rows, which must be complete and distinct. Rows without values get new ones.
func (r *Recipe) ids(t *table.Table) ([]string, error) {
	c := t.Column(r.ID)
	if c == nil {
		return nil, nil
	}
	unnamed := r.needNoID(t)
	if row := emptyOutside(c, unnamed); row >= 0 {
		return nil, t.Fault(c, row, "EMPTY_CELL", "the row has no id; give it one, or use another --id-column")
	}
	if first, second, repeats := repetition(c); repeats {
		return nil, t.Fault(c, second, "DUPLICATE_ID", "the id %.40q is used a second time; the first is %s",
			c.CellText(second), t.Place(first))
	}
	if len(unnamed) == 0 {
		return texts(c), nil
	}
	ids := slices.Clone(texts(c))
	used := make(map[string]bool, c.Len())
	for _, id := range ids {
		used[id] = true
	}
	for at, row := range unnamed {
		ids[row] = fmt.Sprint("blank ", at+1)
		for used[ids[row]] {
			ids[row] += "'"
		}
	}
	return ids, nil
}

// needNoID returns the rows without any value, which get no cluster unless empty cells are filled.
func (r *Recipe) needNoID(t *table.Table) []int32 {
	if r.Missing != Auto && r.Missing != Drop {
		return nil
	}
	return blankRows(t)
}

// emptyOutside returns the first row outside some rows, given in ascending order, in which a column is empty, or -1.
func emptyOutside(c *table.Column, rows []int32) int {
	if empty, first := countEmpty(c); empty == 0 || len(rows) == 0 {
		return first
	}
	for row := range c.Len() {
		if _, found := slices.BinarySearch(rows, int32(row)); !found && c.IsEmpty(row) {
			return row
		}
	}
	return -1
}

// texts returns the cells of a column as texts.
func texts(c *table.Column) []string {
	if c.Type == table.Text && c.Empty == nil {
		return c.Texts
	}
	all := make([]string, c.Len())
	for row := range all {
		all[row] = c.CellText(row)
	}
	return all
}
