package table

import (
	"regexp"
	"slices"
	"strconv"

	"github.com/cleave-project/cleave/internal/fault"
)

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
