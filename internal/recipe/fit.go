package recipe

import (
	"context"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/parallel"
	"github.com/cleave-project/cleave/internal/table"
	"github.com/cleave-project/cleave/internal/text"
)

// Texts with few values are categories: at most so many of them, and at most half as many as rows.
const fewValues = 50

// maxCategories is how many categories a column may have that is called categorical.
const maxCategories = 10_000

// Fit decides how the rows of a table become points. The notices say what it found by itself.
func Fit(t *table.Table, w Wishes) (*Recipe, []string, error) {
	if t.Rows() == 0 {
		return nil, nil, fault.Invalid("EMPTY_DATA", "the table has no rows")
	}
	f := &fitting{Table: t, wishes: w, recipe: &Recipe{Missing: w.Missing, Decimals: w.Decimals}}
	if w.Missing == "" {
		f.recipe.Missing = Auto
	}
	if !slices.Contains(Ways(), string(f.recipe.Missing)) {
		return nil, nil, fault.Invalid("BAD_MISSING", "missing values can be treated as %s; %.40q is none of them", strings.Join(Ways(), ", "), string(w.Missing))
	}
	if !slices.Contains([]string{"", ".", ","}, w.Decimals) {
		return nil, nil, fault.Invalid("BAD_DECIMALS", "%.40q does not stand before decimals; it is . or , or left out", w.Decimals)
	}
	var err error
	if f.roles, err = w.wished(t); err != nil {
		return nil, nil, err
	}
	f.findAdded()
	for _, step := range []func() error{f.findID, f.findLabels, f.findFeatures} {
		if err := step(); err != nil {
			return nil, nil, err
		}
	}
	return f.recipe, arranged(f.notices), nil
}

// fitting is a recipe in the making.
type fitting struct {
	*table.Table
	wishes  Wishes
	roles   []role
	recipe  *Recipe
	notices []string
	reasons []string // why columns are left out
}

func (f *fitting) notice(format string, args ...any) {
	f.notices = append(f.notices, fmt.Sprintf(format, args...))
}

// leaveOut says why a column is no feature. Where features were named, no one expects others.
func (f *fitting) leaveOut(c *table.Column, format string, args ...any) {
	said := fmt.Sprintf("column %q is left out: "+format, append([]any{c.Name}, args...)...)
	f.reasons = append(f.reasons, said)
	if len(f.wishes.Only) == 0 || slices.Contains(f.wishes.Only, c.Name) {
		f.notices = append(f.notices, said)
	}
}

// findID finds the column that names the rows: the one that was wished for, or else one that is called so and has
// distinct values, or else one of distinct texts.
func (f *fitting) findID() error {
	for at, r := range f.roles {
		if r == identifies {
			f.recipe.ID = f.Columns[at].Name // Apply checks its values
		}
	}
	for at := range f.Columns {
		if f.roles[at] == undecided && f.Columns[at].Type != table.Number && looksLikeID(f.Table, at) {
			f.considerID(at)
		}
	}
	for at := range f.Columns {
		c := &f.Columns[at]
		if f.roles[at] != undecided || c.Type != table.Text || looksLikeLabel(f.Table, at) {
			continue
		}
		if empty, _ := countEmpty(c); empty > 0 || f.Rows() < 2 {
			continue
		}
		if _, _, repeats := repetition(c); repeats || mixedAt(c) >= 0 {
			continue
		}
		f.roles[at] = unused
		if f.recipe.ID == "" && !hasUnits(c) {
			f.recipe.ID = c.Name
			f.notice("column %q names the rows: its texts are all different", c.Name)
		} else {
			f.leaveOut(c, "%s", whyNoFeature(c))
		}
	}
	return nil
}

// considerID decides about a column that is called as an id.
func (f *fitting) considerID(at int) {
	c := &f.Columns[at]
	f.roles[at] = unused
	empty, row := countEmpty(c)
	first, second, repeats := repetition(c)
	switch {
	case empty > 0:
		f.leaveOut(c, "it is called as an id, but is empty %s; --columns or --categorical uses it", f.Place(row))
	case repeats:
		f.leaveOut(c, "it is called as an id, but has %.40q %s and %s; --columns or --categorical uses it", c.CellText(first), f.Place(first), f.Place(second))
	case f.recipe.ID != "":
		f.leaveOut(c, "it is called as an id, and %q names the rows", f.recipe.ID)
	default:
		f.recipe.ID = c.Name
		f.notice("column %q names the rows, and is no feature", c.Name)
	}
}

// findLabels sets aside what looks like an answer: to cluster by it would be to give the answer away.
func (f *fitting) findLabels() error {
	for at, r := range f.roles {
		if r == classifies {
			f.recipe.Label = f.Columns[at].Name
		}
	}
	for at := range f.Columns {
		if f.roles[at] == undecided && len(f.wishes.Only) == 0 && looksLikeLabel(f.Table, at) {
			f.roles[at] = unused
			if f.recipe.Label == "" {
				f.notice("column %q looks like known classes and is not used; --label-column %s uses it as such", f.Columns[at].Name, typed(f.Columns[at].Name, at))
			} else {
				f.notice("column %q looks like known classes and is not used; --columns makes it a feature", f.Columns[at].Name)
			}
		}
	}
	return nil
}

// typed is a column as it is typed in a shell: by its name, or by its number if it has none.
func typed(name string, at int) string {
	if name == table.Unnamed(at) {
		return strconv.Itoa(at + 1)
	}
	if strings.ContainsAny(name, " \t'\"$&|;()<>*?`\\!#~") {
		return "'" + strings.ReplaceAll(name, "'", `'\''`) + "'"
	}
	return name
}

// findFeatures makes features of all other columns.
func (f *fitting) findFeatures() error {
	var many []int // columns of too many different texts
	var gaps []gap // of the features
	for at := range f.Columns {
		c, role := &f.Columns[at], f.roles[at]
		if role == undecided && len(f.wishes.Only) == 0 {
			role = feature
		}
		if role != feature && role != category {
			continue
		}
		empty, row := countEmpty(c)
		switch {
		case empty > 0 && f.recipe.Missing == Error:
			return f.Fault(c, row, "MISSING_VALUE", "there is no value; fill it in, or use --missing auto, drop, mean or median")
		case empty == f.Rows():
			f.leaveOut(c, "it is empty")
			continue
		case f.recipe.Missing == Auto && 2*empty > f.Rows():
			f.leaveOut(c, "%d of its %d cells are empty; --missing median uses it", empty, f.Rows())
			continue
		case role == feature && c.Type == table.Text && mixedAt(c) >= 0:
			row := mixedAt(c)
			problem := "is no number, as most cells of the column are"
			if isNumber(c.Texts[row]) {
				problem = "mixes decimal points and commas with the cells before"
			}
			return f.Fault(c, row, "NOT_A_NUMBER", "%.40q %s; correct it, or use --categorical %s to make its values categories, or --ignore %s; a cell without a value is left empty",
				c.Texts[row], problem, typed(c.Name, at), typed(c.Name, at))
		case role == feature && c.Type == table.Text && holdsDates(c):
			if f.roles[at] == feature {
				return fault.Invalid("NOT_A_NUMBER", "column %q holds dates, which are no numbers; give days or years in a column of numbers, or use --categorical %s", c.Name, typed(c.Name, at)).With("column", c.Name)
			}
			f.leaveOut(c, "it holds dates, which are no numbers; --categorical makes each a category")
			continue
		case role == feature && c.Type == table.Text && tooMany(c):
			many = append(many, at)
			continue
		}
		if f.roles[at] == undecided {
			if how := likeID(c); how != "" {
				f.notice("column %q %s and is used as a feature; if it is none: --id-column %s, or --ignore", c.Name, how, typed(c.Name, at))
			}
		}
		made := Feature{Column: c.Name}
		if c.Type == table.Text || role == category {
			if err := made.findCategories(c); err != nil {
				return err
			}
			switch {
			case role == category:
			case made.isSwitch():
				f.notice("column %q says %.40q or %.40q: read as 1 or 0", c.Name, made.Categories[1], made.Categories[0])
			default:
				f.notice("column %q has %s: %s; each becomes a column of 0 and 1", c.Name, text.Count(len(made.Categories), "category", "categories"), quoted(made.Categories))
			}
		}
		f.recipe.Features = append(f.recipe.Features, made)
		gaps = append(gaps, gap{c, empty, len(f.notices)})
	}
	if len(many) > 0 {
		return f.tooManyTexts(many)
	}
	if err := f.findFills(gaps); err != nil {
		return err
	}
	if len(f.recipe.Features) == 0 {
		why := ""
		if f.recipe.ID != "" {
			f.reasons = append([]string{fmt.Sprintf("column %q names the rows", f.recipe.ID)}, f.reasons...)
		}
		if len(f.reasons) > 0 {
			why = " (" + text.First(f.reasons, 3) + ")"
		}
		help := "--columns names those that are to be used"
		if len(f.Columns) == 1 && strings.ContainsAny(f.Columns[0].Name, ",;|\t ") {
			help = "the table has a single column; does --delimiter say what separates its cells?"
		}
		return fault.Invalid("NO_FEATURES", "no column is left to cluster by%s; %s", why, help)
	}
	return nil
}

// gap is what there is to fill in of a feature.
type gap struct {
	column *table.Column
	empty  int // cells
	after  int // how many notices come before the one about it
}

// findFills finds what stands in for missing values, also if none is missing yet, of several columns at a time.
func (f *fitting) findFills(gaps []gap) error {
	said := make([]string, len(gaps))
	threads := runtime.GOMAXPROCS(0)
	err := parallel.NewPool(threads).Run(context.Background(), threads, len(gaps), func(at int) error {
		said[at] = f.findFill(gaps[at].column, &f.recipe.Features[at], gaps[at].empty)
		return nil
	})
	for at := len(gaps) - 1; at >= 0; at-- {
		if said[at] != "" {
			f.notices = slices.Insert(f.notices, gaps[at].after, said[at])
		}
	}
	return err
}

// findFill finds what stands in for the missing values of a column, and says so if there are any.
func (f *fitting) findFill(c *table.Column, into *Feature, empty int) string {
	what := ""
	switch missing := f.recipe.Missing; {
	case missing == Drop || missing == Error:
		return ""
	case into.Categories != nil:
		into.FillCategory = mostFrequent(c, into.Categories)
		what = fmt.Sprintf("its most frequent value, %.40q", into.FillCategory)
	case missing == Mean:
		into.Fill = mean(c)
		what = fmt.Sprintf("its mean, %.6g", into.Fill)
	default:
		into.Fill = median(c)
		what = fmt.Sprintf("its median, %.6g", into.Fill)
	}
	if empty == 0 {
		return ""
	}
	return fmt.Sprintf("column %q: %s filled with %s", c.Name, text.Count(empty, "empty cell is", "empty cells are"), what)
}

// tooMany tells whether texts have more values than categories have.
func tooMany(c *table.Column) bool {
	values := map[string]bool{}
	for _, s := range c.Texts {
		if s != "" {
			values[s] = true
		}
		if len(values) > fewValues || 2*len(values) > c.Len() {
			return true
		}
	}
	return false
}

// tooManyTexts is about columns whose texts are neither categories nor names.
func (f *fitting) tooManyTexts(columns []int) error {
	var names, flags []string
	for _, at := range columns {
		names, flags = append(names, f.Columns[at].Name), append(flags, typed(f.Columns[at].Name, at))
	}
	be := "column %s holds"
	if len(columns) > 1 {
		be = "columns %s hold"
	}
	return fault.Invalid("TOO_MANY_TEXTS", be+" texts with many different values, which are no numbers; --ignore %s leaves out, --id-column NAME names the rows by, --categorical makes each value a category",
		quoted(names), strings.Join(flags, ",")).With("column", names[0])
}

// findCategories finds the values of a column.
func (f *Feature) findCategories(c *table.Column) error {
	values := map[string]bool{}
	for row := range c.Len() {
		if !c.IsEmpty(row) {
			values[c.CellText(row)] = true
		}
		if len(values) > maxCategories {
			return fault.Invalid("TOO_MANY_TEXTS", "column %q has more than %d different values; that is too many for categories", c.Name, maxCategories).With("column", c.Name)
		}
	}
	f.Categories = slices.SortedFunc(maps.Keys(values), inOrder(c.Type))
	return nil
}

// quoted are the first of many names.
func quoted(names []string) string {
	shown := make([]string, len(names))
	for at, name := range names {
		shown[at] = fmt.Sprintf("%.40q", name)
	}
	return text.First(shown, 6)
}
