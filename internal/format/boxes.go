package format

import (
	"io"

	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/segment"
)

// ReadBoxes reads x,y,width,height,label: labeled rectangles of a picture of so many pixels.
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
		return fault.Wrap(b.Check(width, height), "%s, line %d", t.name, t.number)
	})
	return orNone(boxes, err)
}

// LoadBoxes is ReadBoxes of a path.
func LoadBoxes(path string, width, height int) ([]segment.Box, error) {
	return load(path, func(r io.Reader, name string) ([]segment.Box, error) { return ReadBoxes(r, name, width, height) })
}

// WriteBoxes writes x,y,width,height,label.
func WriteBoxes(w io.Writer, boxes []segment.Box) error {
	r := newRow(w)
	if err := r.header([]string{"x", "y", "width", "height", "label"}); err != nil {
		return err
	}
	for _, b := range boxes {
		for _, v := range []int64{int64(b.X), int64(b.Y), int64(b.Width), int64(b.Height), b.Label} {
			r.integer(v)
		}
		if err := r.end(); err != nil {
			return err
		}
	}
	return r.w.Flush()
}
