package format

import (
	"io"

	"github.com/cleave-project/cleave/internal/fault"
)

// Belief is one entry of a symmetric matrix of beliefs about pairs: above 0 together, below 0 apart.
type Belief struct {
	I, J  int32
	Value float64
}

// pair is two points in any order.
type pair struct{ low, high int32 }

// ReadBeliefs reads the columns i, j and belief, in the order of the file. Indices must be below points,
// unless that is 0, for not known. A pair occurs once, in either order; i and j may be the same. A file in
// any other format of dense matrices (.npy, .mtx) is the whole matrix.
func ReadBeliefs(r io.Reader, name string, points int) ([]Belief, error) {
	if suffix := suffixOf(name); denseFormats.has(suffix) && suffix != ".csv" && suffix != ".tsv" {
		return readBeliefMatrix(r, name, points)
	}
	const i, j, value = 0, 1, 2
	t, err := openTable(r, name, column{name: "i"}, column{name: "j"}, column{name: "belief"})
	if err != nil {
		return nil, err
	}
	var beliefs []Belief
	seen := map[pair]int{}
	err = t.each(func() (err error) {
		var b Belief
		if b.I, err = t.index(i, points); err != nil {
			return err
		}
		if b.J, err = t.index(j, points); err != nil {
			return err
		}
		if b.Value, err = t.belief(value); err != nil {
			return err
		}
		key := pair{min(b.I, b.J), max(b.I, b.J)}
		if line, again := seen[key]; again {
			return t.invalid("DUPLICATE_PAIR", "the pair %d, %d stands here again; it was on line %d, and one belief is for both orders", b.I, b.J, line)
		}
		seen[key] = t.lineNumber
		beliefs = append(beliefs, b)
		return nil
	})
	return emptyNotNil(beliefs, err)
}

// readBeliefMatrix reads a symmetric matrix whose nonzero entries are the beliefs.
func readBeliefMatrix(r io.Reader, name string, points int) ([]Belief, error) {
	m, err := readMatrix(r, name, false)
	if err != nil {
		return nil, err
	}
	if points == 0 {
		points = m.rows
	}
	if m.rows != points || m.columns != points {
		return nil, fault.Invalid("BELIEF_ROWS", "%s: the matrix of beliefs has %d rows and %d columns; the data have %d rows, so it must have %d of both",
			name, m.rows, m.columns, points, points)
	}
	var beliefs []Belief
	for i := range points {
		for j := i; j < points; j++ {
			value, mirrored := m.values[i*points+j], m.values[j*points+i]
			if !finite(value) {
				return nil, fault.Invalid("NOT_FINITE", "%s: the belief in %d and %d is %v; beliefs must be finite numbers", name, i, j, value)
			}
			if value != mirrored {
				return nil, fault.Invalid("NOT_SYMMETRIC", "%s: the belief in %d and %d is %v, and in %d and %d it is %v; one belief is for both orders",
					name, i, j, value, j, i, mirrored)
			}
			if value != 0 {
				beliefs = append(beliefs, Belief{I: int32(i), J: int32(j), Value: value})
			}
		}
	}
	return beliefs, nil
}

// LoadBeliefs is ReadBeliefs of a path.
func LoadBeliefs(path string, points int) ([]Belief, error) {
	return loadSized(path, points, ReadBeliefs)
}

// belief reads any finite number.
func (t *table) belief(column int) (float64, error) {
	value, err := t.number("belief", column)
	if err == nil && !finite(value) {
		return 0, t.invalid("NOT_FINITE", "the belief is %s; beliefs must be finite numbers", quoted(t.cell(column)))
	}
	return value, err
}
