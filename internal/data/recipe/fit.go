package recipe

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/text"
)

// Fit decides how the rows of a table become points. The notices report what it decided without the user. The result
// depends only on the table and the options. Fit fails if the context ends first.
func Fit(ctx context.Context, t *table.Table, o Options) (r *Recipe, notices []string, err error) {
	if t.Rows() == 0 {
		return nil, nil, fault.Invalid("EMPTY_DATA", "the table has no rows")
	}
	f := &fitting{Table: t, options: o, recipe: &Recipe{Missing: o.Missing, Decimals: o.Decimals}}
	if o.Missing == "" {
		f.recipe.Missing = Auto
	}
	if !slices.Contains(MissingMethods(), string(f.recipe.Missing)) {
		return nil, nil, fault.Invalid("BAD_MISSING", "%.40q is not a method for missing values; use one of %s",
			string(o.Missing), strings.Join(MissingMethods(), ", "))
	}
	if !slices.Contains([]string{"", ".", ","}, o.Decimals) {
		return nil, nil, fault.Invalid("BAD_DECIMALS", "%.40q is not a decimal separator; use . or , or leave it out",
			o.Decimals)
	}
	f.roles, err = o.roles(t)
	if err != nil {
		return nil, nil, err
	}
	f.findTotal()
	f.findAdded()
	f.findID()
	f.findLabels()
	if err := f.findFeatures(ctx); err != nil {
		return nil, nil, err
	}
	return f.recipe, arranged(f.notices), nil
}

// fitting holds the state of Fit.
type fitting struct {
	*table.Table
	options Options
	roles   []role
	recipe  *Recipe
	notices []notice
	retyped []bool   // columns that are texts only because of the totals; nil if there are no totals
	reasons []string // why columns were left out
}

// findID finds the column of row ids: the one the user named, or else one with a typical name and distinct values, or
// else one of distinct texts.
func (f *fitting) findID() {
	unnamed := f.recipe.needNoID(f.Table)
	for at, r := range f.roles {
		if r == identifies {
			f.recipe.ID = f.Columns[at].Name // Apply checks its values
		}
	}
	for at := range f.Columns {
		if f.roles[at] == undecided && f.Columns[at].Type != table.Number && looksLikeID(f.Table, at) &&
			!hasDecimals(&f.Columns[at]) {
			f.considerID(at, unnamed)
		}
	}
	for at := range f.Columns {
		c := &f.Columns[at]
		if f.roles[at] != undecided || c.Type != table.Text || looksLikeLabel(f.Table, at) {
			continue
		}
		if emptyOutside(c, unnamed) >= 0 || f.Rows() < 2 {
			continue
		}
		if _, _, repeats := repetition(c); repeats || mixedAt(c) >= 0 || f.options.Dates && holdsDates(c) ||
			holdsTimes(c) || hasDecimals(c) {
			continue
		}
		f.roles[at] = unused
		if f.recipe.ID == "" && !hasUnits(c) && !isProse(c) {
			f.recipe.ID = c.Name
			if holdsDates(c) {
				f.notice(listed, "column %q is the row id: its dates are all different; --dates numbers uses "+
					"them as days", c.Name)
			} else {
				f.notice(listed, "column %q is the row id: its values are all different", c.Name)
			}
		} else {
			k, why := whyNoFeature(c)
			f.leaveOut(k, at, "%s", why)
		}
	}
}

// hasDecimals reports whether all texts of a column are numbers and some have decimals: ids do not, but a measured
// index may.
func hasDecimals(c *table.Column) bool {
	found := false
	for _, s := range c.FilledTexts() {
		if !isNumber(s) {
			return false
		}
		found = found || strings.ContainsAny(s, ".,")
	}
	return found
}

// considerID decides about a column with the name of an id, which some rows need not have.
func (f *fitting) considerID(at int, unnamed []int32) {
	c := &f.Columns[at]
	f.roles[at] = unused
	row := emptyOutside(c, unnamed)
	first, second, repeats := repetition(c)
	switch {
	case row >= 0:
		f.leaveOut(listed, at, "it is named like an id, but is empty %s; --columns or --categorical uses it",
			f.Place(row))
	case repeats:
		f.leaveOut(listed, at, "it is named like an id, but has %.40q %s and %s; --columns or --categorical uses it",
			c.CellText(first), f.Place(first), f.Place(second))
	case f.recipe.ID != "":
		f.leaveOut(listed, at, "it is named like an id, but %q is the row id", f.recipe.ID)
	default:
		f.recipe.ID = c.Name
		f.notice(listed, "column %q is the row id, not a feature", c.Name)
	}
}

// findLabels leaves out columns that look like known classes: clustering by them would give the answer away.
func (f *fitting) findLabels() {
	for at, r := range f.roles {
		if r == classifies {
			f.recipe.Label = f.Columns[at].Name
		}
	}
	for at := range f.Columns {
		if f.roles[at] == undecided && len(f.options.Only) == 0 && looksLikeLabel(f.Table, at) {
			f.roles[at] = unused
			if f.recipe.Label == "" {
				f.notice(listed, "column %q looks like known classes and is not used; --label-column %s reads it as "+
					"the classes", f.Columns[at].Name, table.Typed(f.Columns[at].Name, at))
			} else {
				f.notice(listed, "column %q looks like known classes and is not used; --columns makes it a feature",
					f.Columns[at].Name)
			}
		}
	}
}

// readAll reads the columns that may become features, in parallel. Each is read by a copy of f, which collects what it
// reports; reports are in the order of the columns.
func (f *fitting) readAll(ctx context.Context) (read []candidateColumn, reports []fitting, err error) {
	for at, role := range f.roles {
		found := candidateColumn{at: at, role: role, asked: role != undecided}
		if role == undecided && len(f.options.Only) == 0 {
			found.role = feature
		}
		if found.role == feature || found.role == category || found.role == kept {
			read = append(read, found)
		}
	}
	reports = make([]fitting, len(read))
	err = eachColumn(ctx, len(read), func(at int) error {
		reports[at] = *f
		reports[at].notices, reports[at].reasons = nil, nil
		return reports[at].read(&read[at])
	})
	return read, reports, err
}

// findFeatures makes features of all columns without another role.
func (f *fitting) findFeatures(ctx context.Context) error {
	read, reports, err := f.readAll(ctx)
	if err != nil {
		return err
	}
	// features, and columns that become features only if there are no others
	var candidates, constants, counting []candidateColumn
	for at, candidate := range read {
		f.notices = append(f.notices, reports[at].notices...)
		f.reasons = append(f.reasons, reports[at].reasons...)
		switch {
		case candidate.column == nil: // left out
		case candidate.constant:
			constants = append(constants, candidate)
		case candidate.likeID != "" && f.Rows() < enoughRows:
			f.notice(listed, "column %q %s and is used as a feature; if it should not be, use --id-column %s or "+
				"--ignore", candidate.made.Column, candidate.likeID, table.Typed(candidate.made.Column, candidate.at))
			candidates = append(candidates, candidate)
		case candidate.likeID != "":
			counting = append(counting, candidate)
		default:
			candidates = append(candidates, candidate)
		}
	}
	switch {
	case len(candidates) > 0:
		f.noticeConstant(constants)
		for _, candidate := range counting {
			f.leaveOut(rowIDs, candidate.at, "it %s; --keep %s uses it, --id-column %s makes it the row id",
				candidate.likeID, f.typed(candidate.at), table.Typed(candidate.made.Column, candidate.at))
		}
	case len(counting) > 0:
		f.noticeConstant(constants)
		candidates = counting
		f.notice(listed, "column %q %s, but is used because no other is left", candidates[0].made.Column,
			candidates[0].likeID)
	case len(constants) > 0:
		candidates = constants
		f.notice(listed, "all rows are equal: every column that is left is constant")
	default:
		return f.noFeatures()
	}
	candidates, err = f.withoutCopies(ctx, candidates)
	if err != nil {
		return err
	}
	for at := range candidates {
		candidate := &candidates[at]
		f.noticeCategories(candidate)
		if candidate.filling != "" {
			f.notice(filled, "%s", candidate.filling)
		}
		f.recipe.Features = append(f.recipe.Features, candidate.made)
	}
	if f.recipe.Missing != Auto {
		return nil
	}
	return f.findDonors(ctx, candidates)
}

// noFeatures returns an error that reports why no column is left.
func (f *fitting) noFeatures() error {
	why := ""
	if f.recipe.ID != "" {
		f.reasons = append([]string{fmt.Sprintf("column %q is the row id", f.recipe.ID)}, f.reasons...)
	}
	if len(f.reasons) > 0 {
		why = " (" + text.First(f.reasons, 3) + ")"
	}
	help := "select the columns to use with --columns"
	if len(f.Columns) == 1 && strings.ContainsAny(f.Columns[0].Name, ",;|\t ") {
		help = "the table has a single column; set --delimiter to the character between its cells"
	}
	return fault.Invalid("NO_FEATURES", "no column is left to cluster by%s; %s", why, help)
}

// typed returns what to type for a column in a list of columns.
func (f *fitting) typed(at int) string { return table.TypedInList(f.Columns[at].Name, at) }

// candidateColumn is a column that may become a feature.
type candidateColumn struct {
	at     int // its position in the table
	role   role
	asked  bool // the user named it
	coded  bool // its name suggests that its numbers are codes of categories
	merged bool // some of its categories differ only in case
	made   Feature
	column *table.Column // cleaned by the feature; nil if it is left out
	empty  int           // number of empty cells
	// constant and likeID say why it is no feature unless there is no better one: all its values are equal, or it looks
	// like row ids, see likeID. They are not set if the user named it, or if the table has fewer than three rows.
	constant bool
	likeID   string
	shape    shape
	filling  string // a notice about its empty cells, "" if it has none or similar rows fill them
}

// addedColumns returns how many columns, from the given one on, an earlier run added by --join: the label, the class
// of the cluster if there are classes, and the scores of the row. A name that was taken already begins with cleave_.
func (f *fitting) addedColumns(at int) int {
	next := at
	follows := func(name string) bool {
		if next < len(f.Columns) && strings.ReplaceAll(f.Columns[next].Name, "cleave_", "") == name {
			next++
			return true
		}
		return false
	}
	label := follows("label")
	follows("class")
	if !label || !follows("distance") || !follows("margin") {
		return 0
	}
	follows("confidence")
	return next - at
}

// findAdded leaves out the columns that an earlier run added, unless the user named them.
func (f *fitting) findAdded() {
	for at := 0; at < len(f.Columns); at++ {
		var left []string
		for column := at; column < at+f.addedColumns(at); column++ {
			if f.roles[column] == undecided && len(f.options.Only) == 0 {
				f.roles[column] = unused
				left = append(left, f.Columns[column].Name)
			}
		}
		if len(left) > 0 {
			f.notice(listed, "columns %s are left out: an earlier run added them with --join; select columns with "+
				"--columns to use them", quoted(left))
		}
	}
}
