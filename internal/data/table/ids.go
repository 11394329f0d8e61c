package table

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"sync"

	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/text"
)

// IDs holds the ids of the points of a data set, in order. nil means that points are identified by their numbers from 0.
type IDs struct {
	list    []string
	numbers sync.Once        // makes number at the first lookup; many lists are only shown
	number  map[string]int32 // the number of each id
	open    bool             // unknown ids are added, see OpenIDs
}

// NewIDs returns the ids of points, which must be distinct. It returns nil if the list is empty or holds the numbers from 0.
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
		ids.list, ids.number[name] = append(ids.list, name), number
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
}

// FileColumns returns the columns of a kind of table as a file has them: texts where ids or class names may stand for numbers.
func (n Naming) FileColumns(columns Columns) Columns {
	named := slices.Clone(columns)
	for at := range named {
		if (n.IDs != nil || n.InOrder) && pointColumns[named[at].Name] || n.Classes != nil && named[at].Name == "label" {
			named[at].Type = Text
		}
	}
	return named
}

// Resolve replaces the names in a table by numbers. It adds new classes. Labels that are all integers stay unchanged.
func (n Naming) Resolve(t *Table) error {
	for at := range t.Columns {
		c := &t.Columns[at]
		switch {
		case c.Type != Text:
		case n.InOrder && pointColumns[c.Name]:
			c.Type, c.Integers, c.Texts = Integer, make([]int64, t.rows), nil
			for row := range c.Integers {
				c.Integers[row] = int64(row)
			}
		case n.IDs != nil && pointColumns[c.Name]:
			if err := t.resolvePoints(c, n.IDs); err != nil {
				return err
			}
		case n.Classes != nil && c.Name == "label":
			t.resolveLabels(c, n.Classes)
		}
	}
	return nil
}

func (t *Table) resolvePoints(c *Column, ids *IDs) error {
	numbers := make([]int64, t.rows)
	for row, name := range c.Texts {
		if c.IsEmpty(row) {
			continue
		}
		number, known := ids.find(name)
		if !known {
			return t.Fault(c, row, "UNKNOWN_ID", "the data has no row with the id %.40q; did you mean %.40q?", name, nearestID(name, ids.list)).With("id", name)
		}
		numbers[row] = int64(number)
	}
	c.Type, c.Integers, c.Texts = Integer, numbers, nil
	return nil
}

// nearestID returns the most similar of the first 100,000 ids.
func nearestID(mistaken string, ids []string) string {
	return text.Nearest(mistaken, ids[:min(len(ids), 100_000)])
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

func (t *Table) resolveLabels(c *Column, classes *Classes) {
	numbers := make([]int64, t.rows)
	whole := true
	for row, name := range c.Texts {
		if !c.IsEmpty(row) && whole {
			numbers[row], whole = integerOf(name)
		}
	}
	if !whole {
		classes.Add(c.Texts)
		for row, name := range c.Texts {
			if !c.IsEmpty(row) {
				numbers[row] = int64(classes.Number(name))
			}
		}
	}
	c.Type, c.Integers, c.Texts = Integer, numbers, nil
}

// Classes numbers classes by name, from 0.
type Classes struct {
	Names  []string
	number map[string]int
}

// Add numbers the new names in sorted order: integers by value, before all others alphabetically. It ignores "".
func (c *Classes) Add(names []string) {
	if c.number == nil {
		c.number = map[string]int{}
	}
	before := len(c.Names)
	for _, name := range names {
		if _, known := c.number[name]; name != "" && !known {
			c.number[name] = -1
			c.Names = append(c.Names, name)
		}
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
	for at := before; at < len(c.Names); at++ {
		c.number[c.Names[at]] = at
	}
}

// Number returns the number of a class that was added.
func (c *Classes) Number(name string) int { return c.number[name] }

// Check returns an error if there are more classes than clusters.
func (c *Classes) Check(k int) error {
	if len(c.Names) > k {
		return fault.Invalid("TOO_MANY_CLASSES", "there are %d classes (%.40q and others), but only %s; --k %d makes one for each", len(c.Names), c.Names[0], text.Plural(k, "cluster"), len(c.Names))
	}
	return nil
}

// Number returns the table with the texts that identify points replaced by the numbers of the points. If ids is nil, the texts
// must be numbers themselves.
func (t *Table) Number(ids *IDs) (*Table, error) {
	numbered := *t
	numbered.Columns = slices.Clone(t.Columns)
	for at := range numbered.Columns {
		c := &numbered.Columns[at]
		if !pointColumns[c.Name] || c.Type != Text {
			continue
		}
		var err error
		if ids != nil {
			err = numbered.resolvePoints(c, ids)
		} else {
			err = numbered.parsePoints(c)
		}
		if err != nil {
			return nil, err
		}
	}
	return &numbered, nil
}

// parsePoints parses the numbers of points.
func (t *Table) parsePoints(c *Column) error {
	numbers := make([]int64, t.rows)
	for row, name := range c.Texts {
		if c.IsEmpty(row) {
			continue // the reader of the table decides about empty cells
		}
		var err error
		if numbers[row], err = strconv.ParseInt(name, 10, 64); err != nil {
			return t.Fault(c, row, "UNKNOWN_ID", "%.40q is not a number, and the data has no id column: rows are numbered from 0", name).With("id", name)
		}
	}
	c.Type, c.Integers, c.Texts = Integer, numbers, nil
	return nil
}

// OpenIDs returns ids for a table about points that are not known here. They number the points in the order in which the table
// names them, so that the table can be checked, and Table.Named restores the names.
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

var (
	numberedPoints = regexp.MustCompile(`\b(?:point|pair) \d+(?:, \d+)?`)
	digits         = regexp.MustCompile(`\d+`)
)

// NamePoints replaces the numbers of points in an error by their names if OpenIDs numbered them.
func (ids *IDs) NamePoints(err error) error {
	bad, ok := err.(*fault.Error)
	if ids == nil || !ids.open || !ok {
		return err
	}
	named := *bad
	named.Message = numberedPoints.ReplaceAllStringFunc(bad.Message, func(found string) string {
		return digits.ReplaceAllStringFunc(found, func(number string) string {
			at, _ := strconv.Atoi(number)
			return ids.Of(at)
		})
	})
	return &named
}
