package format

import (
	"io"
	"slices"

	"github.com/cleave-project/cleave/internal/data/segment"
	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/fault"
)

var boxColumns = table.Columns{
	{Name: "x", Type: table.Integer}, {Name: "y", Type: table.Integer},
	{Name: "width", Type: table.Integer}, {Name: "height", Type: table.Integer}, {Name: "label", Type: table.Integer},
}

// ReadBoxes reads the columns x, y, width, height and label: rectangles in a picture of the given size.
func ReadBoxes(r io.Reader, name string, width, height int) ([]segment.Box, error) {
	t, err := readCells(r, name, boxColumns)
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
			return nil, fault.Wrap(err, "%s, line %d", name, table.LineOf(row))
		}
	}
	return boxes, nil
}

// LoadBoxes is ReadBoxes of a path.
func LoadBoxes(path string, width, height int) ([]segment.Box, error) {
	return load(path, func(r io.Reader, name string) ([]segment.Box, error) { return ReadBoxes(r, name, width, height) })
}

// WriteBoxes writes the columns x, y, width, height and label.
func WriteBoxes(w io.Writer, boxes []segment.Box) error {
	return writeTable(w, []string{"x", "y", "width", "height", "label"}, slices.Values(boxes), func(c *csvWriter, b segment.Box) {
		for _, v := range []int64{int64(b.X), int64(b.Y), int64(b.Width), int64(b.Height), b.Label} {
			c.integer(v)
		}
	})
}
