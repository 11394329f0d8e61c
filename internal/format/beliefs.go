package format

import (
	"io"

	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/fault"
)

// ReadBeliefs reads beliefs about so many points: a table, or in any other format of dense matrices (.npy,
// .mtx) the whole matrix.
func ReadBeliefs(r io.Reader, name string, points int, naming table.Naming) ([]constraint.Belief, error) {
	if suffix := suffixOf(name); denseFormats.has(suffix) && suffix != ".csv" && suffix != ".tsv" {
		return readBeliefMatrix(r, name, points)
	}
	_, beliefs, err := ReadNamed(r, name, table.Beliefs, points, naming)
	return beliefs, err
}

// readBeliefMatrix reads a symmetric matrix whose nonzero entries are the beliefs.
func readBeliefMatrix(r io.Reader, name string, points int) ([]constraint.Belief, error) {
	m, err := readMatrix(r, name, nil)
	if err != nil {
		return nil, err
	}
	if m.rows != points || m.columns != points {
		return nil, fault.Invalid("BELIEF_ROWS", "%s: the matrix of beliefs has %d rows and %d columns; the data have %d rows, so it must have %d of both",
			name, m.rows, m.columns, points, points)
	}
	var beliefs []constraint.Belief
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
				beliefs = append(beliefs, constraint.Belief{I: int32(i), J: int32(j), Value: value})
			}
		}
	}
	return beliefs, nil
}

// LoadBeliefs is ReadBeliefs of a path.
func LoadBeliefs(path string, points int, naming table.Naming) ([]constraint.Belief, error) {
	return load(path, func(r io.Reader, name string) ([]constraint.Belief, error) {
		return ReadBeliefs(r, name, points, naming)
	})
}
