package format

import (
	"io"
	"slices"

	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/segment"
)

// ReadBoxes reads the columns x, y, width, height and label: rectangles in a picture of the given size.
func ReadBoxes(r io.Reader, name string, width, height int) ([]segment.Box, error) {
	t, err := openTable(r, name, column{name: "x"}, column{name: "y"}, column{name: "width"}, column{name: "height"}, column{name: "label"})
	if err != nil {
		return nil, err
	}
	var boxes []segment.Box
	err = t.each(func() (err error) {
		var cells [5]int64
		for column := range cells {
			if cells[column], err = t.integer(column); err != nil {
				return err
			}
		}
		b := segment.Box{X: int(cells[0]), Y: int(cells[1]), Width: int(cells[2]), Height: int(cells[3]), Label: cells[4]}
		boxes = append(boxes, b)
		return fault.Wrap(b.Check(width, height), "%s, line %d", t.name, t.lineNumber)
	})
	return emptyNotNil(boxes, err)
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
