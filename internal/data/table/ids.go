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

// IDs are what the points of a data set are called, in their order. nil are points that go by their numbers from 0.
type IDs struct {
	list    []string
	numbers sync.Once // they are found when a name is looked up: many lists are only shown
	number  map[string]int32
	open    bool // whatever a table calls points becomes an id, see OpenIDs
}

// NewIDs are the ids of points, which are all different; nil where there are none, or only the numbers of points.
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

// find is the number of a point.
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

// Of is what a point is called.
func (ids *IDs) Of(point int) string {
	if ids == nil || point < 0 || point >= len(ids.list) {
		return strconv.Itoa(point)
	}
	return ids.list[point]
}

// All are the ids of all points, nil where there are none.
func (ids *IDs) All() []string {
	if ids == nil {
		return nil
	}
	return ids.list
}

// pointColumns are those that name points.
var pointColumns = map[string]bool{"i": true, "j": true, "index": true}

// Naming is what tables may call points and classes by; what is nil goes by its number.
type Naming struct {
	IDs     *IDs
	Classes *Classes
	InOrder bool // whatever points are called, there is a row for each, in their order
}

// In are the columns of a kind of table as a file has them, with texts where there may be names.
func (n Naming) In(columns Columns) Columns {
	named := slices.Clone(columns)
	for at := range named {
		if (n.IDs != nil || n.InOrder) && pointColumns[named[at].Name] || n.Classes != nil && named[at].Name == "label" {
			named[at].Type = Text
		}
	}
	return named
}

// Resolve makes numbers of the names in a table. It adds classes that are new. Labels that are all integers stay what
// they are.
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
			return t.Fault(c, row, "UNKNOWN_ID", "the data have no row %.40q, and rows go by their ids here; did you mean %.40q?", name, nearestID(name, ids.list)).With("id", name)
		}
		numbers[row] = int64(number)
	}
	c.Type, c.Integers, c.Texts = Integer, numbers, nil
	return nil
}

// nearestID is the id that is most like a mistaken one, of the first hundred thousand.
func nearestID(mistaken string, ids []string) string {
	return text.Nearest(mistaken, ids[:min(len(ids), 100_000)])
}

// integerOf reads an integer, also in the form of a float: some tools write every number as "3.0".
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

// Classes are names of classes, which are numbered from 0.
type Classes struct {
	Names  []string
	number map[string]int
}

// Add numbers the names that are new, in order: integers by their size, all others by their letters. "" is no name.
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
		return cmp.Or(cmp.Compare(b2i(errX != nil), b2i(errY != nil)), cmp.Compare(a, b))
	})
	for at := before; at < len(c.Names); at++ {
		c.number[c.Names[at]] = at
	}
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// Number is the number of a class that was added.
func (c *Classes) Number(name string) int { return c.number[name] }

// Check refuses more classes than clusters.
func (c *Classes) Check(k int) error {
	if len(c.Names) > k {
		return fault.Invalid("TOO_MANY_CLASSES", "there are %d classes, %.40q and others, for %s; --k %d makes one for each", len(c.Names), c.Names[0], text.Plural(k, "cluster"), len(c.Names))
	}
	return nil
}

// Number is the table with texts that name points replaced by their numbers: by their ids, or, where points have none, by the
// numbers that the texts are. Integers are numbers of points already.
func (t *Table) Number(ids *IDs) (*Table, error) {
	numbered := *t
	numbered.Columns = slices.Clone(t.Columns)
	for at := range numbered.Columns {
		c := &numbered.Columns[at]
		if !pointColumns[c.Name] || c.Type != Text {
			continue
		}
		resolve := numbered.parsePoints
		if ids != nil {
			resolve = func(c *Column) error { return numbered.resolvePoints(c, ids) }
		}
		if err := resolve(c); err != nil {
			return nil, err
		}
	}
	return &numbered, nil
}

// parsePoints reads numbers of points that are texts.
func (t *Table) parsePoints(c *Column) error {
	numbers := make([]int64, t.rows)
	for row, name := range c.Texts {
		if c.IsEmpty(row) {
			continue // whoever reads the table decides about that
		}
		var err error
		if numbers[row], err = strconv.ParseInt(name, 10, 64); err != nil {
			return t.Fault(c, row, "UNKNOWN_ID", "%.40q is no number, and the data have no column of ids: rows are numbered from 0", name).With("id", name)
		}
	}
	c.Type, c.Integers, c.Texts = Integer, numbers, nil
	return nil
}

// OpenIDs are for a table about points that are not at hand: it is checked as far as that goes, with its points numbered as they
// come, and Named calls them by their names again, for whoever knows the points.
func OpenIDs() *IDs { return &IDs{open: true} }

// Points is how many points a table may be about: so many, or those that it named if ids are open.
func (ids *IDs) Points(count int) int {
	if ids == nil || !ids.open {
		return count
	}
	return len(ids.list)
}

// Named is a table about points that OpenIDs numbered, with their names. With other ids it stays what it is.
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

var numberedPoints = regexp.MustCompile(`\b(?:point|pair) \d+(?:, \d+)?`)

// Say is an error about points that OpenIDs numbered, with their names.
func (ids *IDs) Say(err error) error {
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

var digits = regexp.MustCompile(`\d+`)
