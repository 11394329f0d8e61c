package format

import (
	"io"
	"strings"

	"github.com/cleave-project/cleave/internal/constraint"
)

// ReadConstraints reads the columns i, j, kind and optionally weight. Indices must be below points, unless
// that is 0, for not known. A constraint whose cell is empty has no weight.
func ReadConstraints(r io.Reader, name string, points int) ([]constraint.Constraint, error) {
	const i, j, kind, weight = 0, 1, 2, 3
	t, err := openTable(r, name, column{name: "i"}, column{name: "j"}, column{name: "kind"}, column{name: "weight", optional: true})
	if err != nil {
		return nil, err
	}
	var constraints []constraint.Constraint
	err = t.each(func() (err error) {
		var c constraint.Constraint
		if c.I, err = t.index(i, points); err != nil {
			return err
		}
		if c.J, err = t.index(j, points); err != nil {
			return err
		}
		if c.Kind, err = t.kind(kind); err != nil {
			return err
		}
		if c.I == c.J && c.Kind == constraint.CannotLink {
			return t.invalid("SELF_CANNOT_LINK", "point %d cannot be apart from itself", c.I)
		}
		if len(t.cell(weight)) > 0 {
			c.Weighted = true
			if c.Weight, err = t.weight(weight); err != nil {
				return err
			}
		}
		constraints = append(constraints, c)
		return nil
	})
	return emptyNotNil(constraints, err)
}

// LoadConstraints is ReadConstraints of a path.
func LoadConstraints(path string, points int) ([]constraint.Constraint, error) {
	return loadSized(path, points, ReadConstraints)
}

func (t *table) kind(column int) (constraint.Kind, error) {
	switch strings.ToLower(string(t.cell(column))) {
	case "must", "must-link":
		return constraint.MustLink, nil
	case "cannot", "cannot-link":
		return constraint.CannotLink, nil
	}
	return 0, t.invalid("UNKNOWN_CONSTRAINT_KIND", "the kind is %s; use must or cannot", quoted(t.cell(column)))
}
