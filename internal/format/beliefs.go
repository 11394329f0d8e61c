package format

import (
	"io"
	"slices"

	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/segment"
	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/format/scan"
)

// LoadBeliefs opens path and reads the beliefs about a data set of the given number of points. Tables (.csv, .tsv) have
// one belief per row; the other formats of dense matrices (.npy, .mtx) hold the whole symmetric matrix.
func LoadBeliefs(path string, points int, naming table.Naming) ([]constraint.Belief, error) {
	return Input{Path: path}.beliefs(points, naming)
}

func (in Input) beliefs(points int, naming table.Naming) ([]constraint.Belief, error) {
	if suffix := scan.SuffixOf(in.Name()); denseFormats.has(suffix) && suffix != ".csv" && suffix != ".tsv" {
		return in.beliefMatrix(points)
	}
	_, beliefs, err := LoadNamed(in, table.Beliefs, points, naming)
	return beliefs, err
}

// beliefMatrix reads a symmetric matrix whose nonzero entries are the beliefs.
func (in Input) beliefMatrix(points int) ([]constraint.Belief, error) {
	name := in.Name()
	m, err := in.matrix(scan.Options{})
	if err != nil {
		return nil, err
	}
	if m.Rows != points || m.Columns != points {
		return nil, fault.Invalid("BELIEF_ROWS",
			"%s: the matrix of beliefs has %d rows and %d columns; the data has %d rows, so it must have %d of both",
			name, m.Rows, m.Columns, points, points)
	}
	var beliefs []constraint.Belief
	for i := range points {
		for j := i; j < points; j++ {
			value, mirrored := m.Values[i*points+j], m.Values[j*points+i]
			if !scan.IsFinite(value) {
				return nil, fault.Invalid("NOT_FINITE",
					"%s: the belief about rows %d and %d is %v; beliefs must be finite numbers", name, i, j, value)
			}
			if value != mirrored {
				return nil, fault.Invalid("NOT_SYMMETRIC",
					"%s: the belief about rows %d and %d is %v, but about %d and %d it is %v; make the "+
						"matrix symmetric",
					name, i, j, value, j, i, mirrored)
			}
			if value != 0 {
				beliefs = append(beliefs, constraint.Belief{I: int32(i), J: int32(j), Value: value})
			}
		}
	}
	return beliefs, nil
}

var boxColumns = table.Columns{
	{Name: "x", Type: table.Integer}, {Name: "y", Type: table.Integer},
	{Name: "width", Type: table.Integer}, {Name: "height", Type: table.Integer}, {Name: "label", Type: table.Integer},
}

// LoadBoxes opens path and reads rectangles in a picture of the given size from the columns x, y, width, height and
// label.
func LoadBoxes(path string, width, height int) ([]segment.Box, error) {
	return Input{Path: path}.boxes(width, height)
}

func (in Input) boxes(width, height int) ([]segment.Box, error) {
	t, err := readCells(in, boxColumns, table.Naming{})
	if err != nil {
		return nil, err
	}
	c, err := t.Pick(boxColumns)
	if err != nil {
		return nil, err
	}
	boxes := make([]segment.Box, t.Rows())
	for row := range boxes {
		boxes[row] = segment.Box{X: int(c[0].Integers[row]), Y: int(c[1].Integers[row]),
			Width: int(c[2].Integers[row]), Height: int(c[3].Integers[row]), Label: c[4].Integers[row]}
		if err := boxes[row].Check(width, height); err != nil {
			return nil, fault.Wrap(err, "%s, line %d", in.Name(), table.LineOf(row))
		}
	}
	return boxes, nil
}

// WriteBoxes writes the columns x, y, width, height and label.
func WriteBoxes(w io.Writer, boxes []segment.Box) error {
	return writeTable(w, []string{"x", "y", "width", "height", "label"}, slices.Values(boxes),
		func(c *csvWriter, b segment.Box) {
			for _, v := range []int64{int64(b.X), int64(b.Y), int64(b.Width), int64(b.Height), b.Label} {
				c.integer(v)
			}
		})
}
