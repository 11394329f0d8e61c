package cli

import (
	"cmp"
	"context"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cleave-project/cleave/internal/cli/jobflags"
	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/segment"
	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/format"
	"github.com/cleave-project/cleave/internal/render/picture"
	"github.com/cleave-project/cleave/internal/text"
)

// overlayFlags are the flags of overlay: files, and how large a pixel is drawn.
type overlayFlags struct {
	picture           string
	labels            string
	embedding, column string
	boxes             string
	scale             *shell.Value
	out               string
}

func (a *app) overlayCommand() *cobra.Command {
	f := &overlayFlags{}
	cmd, set := flagsCommand("overlay --picture FILE (--labels FILE | --embedding FILE) --out FILE.png",
		"Draw the segments of a picture, or a column of their embedding, over it", func(context.Context) error { return a.overlay(f) })
	set.StringVar(&f.picture, "picture", "", "the picture whose pixels were clustered, in this `FILE` (PNG, JPEG or GIF)")
	set.StringVar(&f.labels, "labels", "", "color the pixels by the clusters in this `FILE` (index,label)")
	set.StringVar(&f.embedding, "embedding", "", "draw a column of this `FILE` (index,u0,...) from blue to red instead")
	set.StringVar(&f.column, "column", "", "the column's `NAME` (default: the first after index)")
	set.StringVar(&f.boxes, "constraint-boxes", "", "outline the rectangles in this `FILE` (x,y,width,height,label)")
	f.scale = shell.NewNumber("auto", 1, "auto").Declare(set, "scale", "width of a drawn pixel (auto: enlarges small pictures)")
	set.StringVar(&f.out, "out", "", "write the drawing to this `FILE`, a .png")
	return cmd
}

// check refuses flags that contradict each other, before anything is read.
func (f *overlayFlags) check() error {
	switch {
	case f.picture == "":
		return shell.Usage("the picture is missing; give --picture FILE")
	case (f.labels == "") == (f.embedding == ""):
		return shell.Usage("give either --labels FILE or --embedding FILE")
	case f.column != "" && f.embedding == "":
		return shell.Usage("--column requires --embedding")
	case !strings.EqualFold(filepath.Ext(f.out), ".png"):
		return shell.Usage("give --out FILE.png")
	case f.scale.String() != "auto" && f.scale.Number() != math.Trunc(f.scale.Number()):
		return shell.Usage("--scale is %v; use a whole number or auto", f.scale.Number())
	}
	return nil
}

// overlay draws clusters or an embedding over the picture whose pixels were clustered, row by row.
func (a *app) overlay(f *overlayFlags) error {
	if err := cmp.Or(f.check(), jobflags.RefuseInput("--out", f.out, "", nil, f.picture, f.labels, f.embedding, f.boxes)); err != nil {
		return err
	}
	p, err := format.LoadPicture(f.picture)
	if err != nil {
		return err
	}
	o := picture.Overlay{Picture: p, Scale: picture.AutoScale(p)}
	if f.scale.String() != "auto" {
		if most := picture.MaxScale(p); f.scale.Number() > float64(most) {
			return shell.Usage("--scale is %v; a picture of %d x %d pixels can be drawn up to %d times as large", f.scale.Number(), p.Width, p.Height, most)
		}
		o.Scale = int(f.scale.Number())
	}
	if f.boxes != "" {
		if o.Boxes, err = format.LoadBoxes(f.boxes, p.Width, p.Height); err != nil {
			return err
		}
	}
	draw, err := f.drawing(o)
	if err != nil {
		return err
	}
	if err := format.WriteFile(f.out, draw); err != nil {
		return err
	}
	return a.printf("%s: %d x %d pixels, scale %d\n", f.out, p.Width, p.Height, o.Scale)
}

// drawing reads the value of each pixel and returns a function that draws them.
func (f *overlayFlags) drawing(o picture.Overlay) (func(io.Writer) error, error) {
	if f.labels != "" {
		_, labels, err := format.LoadTable(f.labels, table.Labels, o.Picture.Pixels())
		if err != nil {
			return nil, f.forPixels(err, o.Picture)
		}
		return func(w io.Writer) error { return o.Segments(w, labels) }, nil
	}
	values, err := f.indicator(o.Picture)
	if err != nil {
		return nil, err
	}
	return func(w io.Writer) error { return o.HeatMap(w, values) }, nil
}

// forPixels adds the size of the picture to an error about the number of rows.
func (f *overlayFlags) forPixels(err error, p *segment.Picture) error {
	if fault.Is(err, "SIZE_MISMATCH") || fault.Is(err, "INDEX_OUT_OF_RANGE") {
		return fault.Wrap(err, "%s has %d x %d pixels", f.picture, p.Width, p.Height)
	}
	return err
}

// indexColumn is the column of an embedding with the number of the row.
const indexColumn = "index"

// indicator reads one column of an embedding and sorts it by pixel.
func (f *overlayFlags) indicator(p *segment.Picture) ([]float64, error) {
	points, header, err := format.LoadPoints(f.embedding)
	if err != nil {
		return nil, err
	}
	column, err := f.findColumn(header)
	if err != nil {
		return nil, err
	}
	if points.N != p.Pixels() {
		return nil, f.forPixels(fault.Invalid("SIZE_MISMATCH", "%s: the file has %s; each pixel needs one", f.embedding, text.Plural(points.N, "row")), p)
	}
	return f.inOrder(points, slices.Index(header, indexColumn), column)
}

// findColumn returns the column that a flag names, or the first one that is not the index.
func (f *overlayFlags) findColumn(header []string) (int, error) {
	column := slices.Index(header, f.column)
	if f.column == "" {
		column = slices.IndexFunc(header, func(name string) bool { return name != indexColumn })
	}
	switch {
	case header == nil:
		return 0, fault.Invalid("MISSING_HEADER", "%s: the file has no header; it needs one such as index,u0,u1", f.embedding)
	case column < 0 && f.column == "":
		return 0, fault.Invalid("MISSING_COLUMN", "%s: the file has no column but index", f.embedding)
	case column < 0:
		return 0, fault.Invalid("MISSING_COLUMN", "%s: there is no column %q; the columns are %s", f.embedding, f.column, text.First(header, 8))
	}
	return column, nil
}

// inOrder returns a column sorted by the index column, or as it is if index is -1.
func (f *overlayFlags) inOrder(points *dataset.Points, index, column int) ([]float64, error) {
	values := make([]float64, points.N)
	seen := make([]bool, points.N)
	for i := range points.N {
		row := points.Row(i)
		to := i
		if index >= 0 {
			at := row[index]
			if at != math.Trunc(at) || at < 0 || at >= float64(points.N) || seen[int(at)] {
				return nil, fault.Invalid("BAD_INDEX", "%s: row %d has the index %v; the rows need the numbers 0 to %d, each once", f.embedding, i, at, points.N-1)
			}
			to = int(at)
		}
		values[to], seen[to] = row[column], true
	}
	return values, nil
}
