package table

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/text"
)

// IDs holds the ids of the points of a data set, in order. nil means that points are identified by their numbers from
// 0.
type IDs struct {
	list    []string
	numbers sync.Once        // makes number at the first lookup; many lists are only shown
	number  map[string]int32 // the number of each id
	open    bool             // unknown ids are added, see OpenIDs
}

// NewIDs returns the ids of points, which must be distinct. It returns nil if the list is empty or holds the numbers
// from 0.
func NewIDs(list []string) *IDs {
	numbers := true
	for at := 0; numbers && at < len(list); at++ {
		numbers = list[at] == strconv.Itoa(at)
	}
	if numbers {
		return nil
	}
	return &IDs{list: list}
}

// find returns the number of a point.
func (ids *IDs) find(name string) (number int32, known bool) {
	ids.numbers.Do(func() {
		ids.number = make(map[string]int32, len(ids.list))
		for at, id := range ids.list {
			ids.number[id] = int32(at)
		}
	})
	number, known = ids.number[name]
	if !known && ids.open {
		number, known = int32(len(ids.list)), true
		ids.list = append(ids.list, name)
		ids.number[name] = number
	}
	return number, known
}

// Of returns the id of a point, or its number if it has none.
func (ids *IDs) Of(point int) string {
	if ids == nil || point < 0 || point >= len(ids.list) {
		return strconv.Itoa(point)
	}
	return ids.list[point]
}

// mayName reports whether a text identifies a point: it is a known id, or a number if points have no ids or these are
// unknown.
func (ids *IDs) mayName(name string) bool {
	if ids != nil && !ids.open {
		_, known := ids.find(name)
		return known
	}
	_, whole := integerOf(name)
	return whole
}

// All returns the ids of all points, nil if there are none.
func (ids *IDs) All() []string {
	if ids == nil {
		return nil
	}
	return ids.list
}

// pointColumns are the columns that identify points.
var pointColumns = map[string]bool{"i": true, "j": true, "index": true}

// Naming tells how tables identify points and classes: by ids and class names, or by numbers where these are nil.
type Naming struct {
	IDs     *IDs
	Classes *Classes
	InOrder bool // row i is about point i, whatever its id
	// Clusters is the number of clusters, 0 if it is unknown. Labels that are integers are the numbers of clusters,
	// unless some are out of range and there are as many different ones as clusters, such as 1..k: then they are names
	// of classes.
	Clusters int
}

// FileColumns returns the columns of a kind of table as a file has them: texts where ids or class names may stand for
// numbers.
func (n Naming) FileColumns(columns Columns) Columns {
	named := slices.Clone(columns)
	for at := range named {
		if (n.IDs != nil || n.InOrder) && pointColumns[named[at].Name] ||
			n.Classes != nil && named[at].Name == "label" {
			named[at].Type = Text
		}
	}
	return named
}

// IsRow reports whether the cells of a file's first line are a row of a kind of table rather than its header: points
// that exist, kinds of constraints, and numbers, where the columns in the order of Columns.InOrder hold these.
func (n Naming) IsRow(cells []string, columns Columns) bool {
	names := columns.InOrder(len(cells))
	if names == nil {
		return false
	}
	sure := false // a text may also be the name of a column
	for at, name := range names {
		spec := columns[slices.IndexFunc(columns, func(c ColumnSpec) bool { return c.Name == name })]
		_, isKind := kindOf(cells[at])
		_, err := strconv.ParseFloat(cells[at], 64)
		switch {
		case pointColumns[name] && !n.IDs.mayName(cells[at]), name == "kind" && !isKind,
			spec.Type != Text && err != nil:
			return false
		case pointColumns[name], name == "kind", len(names) == 1 && err == nil:
			sure = true
		}
	}
	return sure
}

// Resolve replaces the names in a table by numbers. It adds new classes. Labels that are all integers stay unchanged.
func (n Naming) Resolve(t *Table) error {
	if n.IDs != nil && t.numbersRows(n.IDs) {
		t.guessed = append(t.guessed, "its numbers are read as row numbers from 0, because none of them is an id")
		numbered, err := t.ResolveIDs(nil)
		if err != nil {
			return err
		}
		t.Columns = numbered.Columns
	}
	for at := range t.Columns {
		c := &t.Columns[at]
		switch {
		case c.Type != Text:
		case n.InOrder && pointColumns[c.Name]:
			c.Type = Integer
			c.Integers = make([]int64, t.rows)
			c.Texts = nil
			for row := range c.Integers {
				c.Integers[row] = int64(row)
			}
		case n.IDs != nil && pointColumns[c.Name]:
			if err := t.resolvePoints(c, n.IDs); err != nil {
				return err
			}
		case n.Classes != nil && c.Name == "label":
			t.resolveLabels(c, n)
		}
	}
	return nil
}

// numbersRows reports whether a table identifies points by their numbers although they have ids: all are numbers of
// rows, and none is an id, even if it is written differently, such as 3.0 for 3.
func (t *Table) numbersRows(ids *IDs) bool {
	found := false
	for at := range t.Columns {
		c := &t.Columns[at]
		if !pointColumns[c.Name] || c.Type != Text {
			continue
		}
		for _, name := range c.FilledTexts() {
			number, whole := integerOf(name)
			if !whole || number < 0 || ids.open || number >= int64(len(ids.list)) {
				return false
			}
			written := strconv.FormatInt(number, 10)
			if ids.mayName(name) || ids.mayName(written) || ids.mayName(written+".0") {
				return false
			}
			found = true
		}
	}
	return found
}

// resolvePoints replaces the ids in a column by the numbers of the points; without ids, it parses the numbers. Empty
// cells become 0 and stay empty.
func (t *Table) resolvePoints(c *Column, ids *IDs) error {
	t.ids = ids
	numbers := make([]int64, t.rows)
	for row, name := range c.FilledTexts() {
		if ids == nil {
			var whole bool
			numbers[row], whole = integerOf(name)
			if !whole {
				return t.Fault(c, row, "UNKNOWN_ID",
					"%.40q is not the number of a row, and the data has no id column: rows are numbered from 0",
					name).With("id", name)
			}
			continue
		}
		number, known := ids.find(name)
		if !known {
			return t.Fault(c, row, "UNKNOWN_ID", "the data has no row with the id %.40q; %s", name,
				DidYouMean(name, ids.list)).With("id", name)
		}
		numbers[row] = int64(number)
	}
	c.Type, c.Integers, c.Texts = Integer, numbers, nil
	return nil
}

// DidYouMean returns advice about an unknown id: a similar one of the first 100,000 ids, or the first id as an example.
// There must be an id.
func DidYouMean(mistaken string, ids []string) string {
	if similar := text.Similar(mistaken, ids[:min(len(ids), 100_000)]); similar != "" {
		return fmt.Sprintf("did you mean %.40q?", similar)
	}
	return fmt.Sprintf("the first is %.40q", ids[0])
}

// integerOf parses an integer, also if it is written as a float: some tools write every number as "3.0".
func integerOf(s string) (int64, bool) {
	if v, err := strconv.ParseInt(s, 10, 64); err == nil {
		return v, true
	}
	v, err := strconv.ParseFloat(s, 64)
	const exact = 1 << 53
	if err != nil || v != float64(int64(v)) || v > exact || v < -exact {
		return 0, false
	}
	return int64(v), true
}

// resolveLabels turns names of classes into numbers. Whole numbers stay as they are, unless there are as many
// different ones as clusters and some is not the number of a cluster, as in 1..k.
func (t *Table) resolveLabels(c *Column, n Naming) {
	numbers := make([]int64, t.rows)
	classes := n.Classes
	whole, numbered := true, true
	different := make(map[int64]bool)
	for row, name := range c.Texts {
		if !c.IsEmpty(row) && whole {
			numbers[row], whole = integerOf(name)
			numbered = numbered && numbers[row] >= 0 && numbers[row] < int64(n.Clusters)
			different[numbers[row]] = true
		}
	}
	numbered = numbered || len(different) != n.Clusters
	if whole && !numbered { // such as 1..k
		t.guessed = append(t.guessed,
			fmt.Sprintf("its labels are read as names of classes, because clusters are numbered 0..%d", n.Clusters-1))
	}
	if !whole || !numbered {
		classes.Add(c.Texts)
		for row, name := range c.Texts {
			if !c.IsEmpty(row) {
				numbers[row] = int64(classes.Number(name))
			}
		}
	}
	c.Type, c.Integers, c.Texts = Integer, numbers, nil
}

// Classes numbers classes by name, from 0. Names that differ only in case are one class, unless they have a single
// letter.
type Classes struct {
	Names  []string // as first written
	number map[string]int
	merged []string // other spellings of classes, see Merged
}

// Add numbers the new names in sorted order: integers by value, before all others alphabetically. It ignores "".
func (c *Classes) Add(names []string) {
	if c.number == nil {
		c.number = map[string]int{}
	}
	before := len(c.Names)
	first := map[string]string{} // the first spelling of each class
	for _, name := range c.Names {
		first[Folded(name)] = name
	}
	for _, name := range names {
		if _, known := c.number[name]; name == "" || known {
			continue
		}
		key := Folded(name)
		c.number[name] = -1
		if like, known := first[key]; known {
			c.merged = append(c.merged, fmt.Sprintf("%.40q is read as %.40q", name, like))
			continue
		}
		first[key] = name
		c.Names = append(c.Names, name)
	}
	slices.SortFunc(c.Names[before:], func(a, b string) int {
		x, errX := strconv.ParseInt(a, 10, 64)
		y, errY := strconv.ParseInt(b, 10, 64)
		if errX == nil && errY == nil {
			return cmp.Or(cmp.Compare(x, y), cmp.Compare(a, b))
		}
		switch {
		case errX == nil:
			return -1
		case errY == nil:
			return 1
		}
		return cmp.Compare(a, b)
	})
	place := make(map[string]int, len(c.Names))
	for at, name := range c.Names {
		place[Folded(name)] = at
	}
	for name := range c.number {
		c.number[name] = place[Folded(name)]
	}
}

// Folded returns a text that is equal for names that differ only in case. Single letters stay as they are.
func Folded(name string) string {
	if utf8.RuneCountInString(name) == 1 {
		return name
	}
	return strings.ToLower(name)
}

// Merged returns which names are read as others, "" if there are none.
func (c *Classes) Merged() string { return text.First(c.merged, 4) }

// Number returns the number of a class that was added.
func (c *Classes) Number(name string) int { return c.number[name] }

// Check returns an error if there are more classes than clusters.
func (c *Classes) Check(k int) error {
	if len(c.Names) > k {
		return fault.Invalid("TOO_MANY_CLASSES",
			"there are %d classes (%.40q and others), but only %s; --k %d makes one for each", len(c.Names), c.Names[0],
			text.Plural(k, "cluster"), len(c.Names))
	}
	return nil
}

// ResolveIDs returns the table with the texts that identify points replaced by the numbers of the points. If ids is
// nil, the texts must be numbers themselves.
func (t *Table) ResolveIDs(ids *IDs) (*Table, error) {
	numbered := *t
	numbered.Columns = slices.Clone(t.Columns)
	for at := range numbered.Columns {
		c := &numbered.Columns[at]
		if !pointColumns[c.Name] || c.Type != Text {
			continue
		}
		if err := numbered.resolvePoints(c, ids); err != nil {
			return nil, err
		}
	}
	return &numbered, nil
}

// OpenIDs returns ids for a table about points that are not known here. They number the points in the order in which
// the table names them, so that the table can be checked, and Table.Named restores the names.
func OpenIDs() *IDs { return &IDs{open: true} }

// Points returns how many points a table may be about: count, or with open ids the number of points named so far.
func (ids *IDs) Points(count int) int {
	if ids == nil || !ids.open {
		return count
	}
	return len(ids.list)
}

// Named returns a table whose points OpenIDs numbered, with their names. It returns t unchanged for other ids.
func (t *Table) Named(ids *IDs) *Table {
	if ids == nil || !ids.open {
		return t
	}
	named := *t
	named.Columns = slices.Clone(t.Columns)
	for at := range named.Columns {
		c := &named.Columns[at]
		if !pointColumns[c.Name] || c.Type != Integer {
			continue
		}
		c.Texts = make([]string, t.rows)
		for row, number := range c.Integers {
			if c.Empty == nil || !c.Empty[row] {
				c.Texts[row] = ids.list[number]
			}
		}
		c.Type, c.Integers = Text, nil
	}
	return &named
}
