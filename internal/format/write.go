package format

import (
	"bufio"
	"io"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/cleave-project/cleave/internal/constraint"
	"github.com/cleave-project/cleave/internal/dataset"
)

// row builds one line of CSV after another; floats are written so that they read back the same.
type row struct {
	w    *bufio.Writer
	line []byte
}

func newRow(w io.Writer) *row { return &row{w: bufio.NewWriterSize(w, bufferSize)} }

func (r *row) cell() {
	if len(r.line) > 0 {
		r.line = append(r.line, ',')
	}
}

func (r *row) integer(v int64) {
	r.cell()
	r.line = strconv.AppendInt(r.line, v, 10)
}

func (r *row) float(v float64) {
	r.cell()
	r.line = strconv.AppendFloat(r.line, v, 'g', -1, 64)
}

func (r *row) text(v string) {
	r.cell()
	if v == "" || strings.ContainsAny(v, ",\"\r\n") {
		v = `"` + strings.ReplaceAll(strings.NewReplacer("\r", " ", "\n", " ").Replace(v), `"`, `""`) + `"`
	}
	r.line = append(r.line, v...)
}

func (r *row) header(names []string) error {
	if len(names) == 0 {
		return nil
	}
	for _, name := range names {
		r.text(name)
	}
	return r.end()
}

func (r *row) end() error {
	r.line = append(r.line, '\n')
	_, err := r.w.Write(r.line)
	r.line = r.line[:0]
	return err
}

// WriteLabels writes index,label.
func WriteLabels[Label ~int | ~int32 | ~int64](w io.Writer, labels []Label) error {
	r := newRow(w)
	if err := r.header([]string{"index", "label"}); err != nil {
		return err
	}
	for i, label := range labels {
		r.integer(int64(i))
		r.integer(int64(label))
		if err := r.end(); err != nil {
			return err
		}
	}
	return r.w.Flush()
}

// WriteMatrix writes rows of numbers, under a header unless it is empty.
func WriteMatrix(w io.Writer, header []string, rows [][]float64) error {
	return writeRows(w, header, false, len(rows), func(i int) []float64 { return rows[i] })
}

// WriteIndexedMatrix writes rows of numbers after their index: header names the index column too.
func WriteIndexedMatrix(w io.Writer, header []string, rows [][]float64) error {
	return writeRows(w, header, true, len(rows), func(i int) []float64 { return rows[i] })
}

// WritePoints writes points, under a header unless it is empty.
func WritePoints(w io.Writer, header []string, points *dataset.Points) error {
	return writeRows(w, header, false, points.N, points.Row)
}

func writeRows(w io.Writer, header []string, indexed bool, count int, values func(i int) []float64) error {
	r := newRow(w)
	if err := r.header(header); err != nil {
		return err
	}
	for i := range count {
		if indexed {
			r.integer(int64(i))
		}
		for _, v := range values(i) {
			r.float(v)
		}
		if err := r.end(); err != nil {
			return err
		}
	}
	return r.w.Flush()
}

// WriteEdges writes src,dst,weight.
func WriteEdges(w io.Writer, edges []dataset.Edge) error {
	return WriteEdgesOf(w, slices.Values(edges))
}

// WriteEdgesOf is WriteEdges of more edges than anyone wants in memory.
func WriteEdgesOf(w io.Writer, edges iter.Seq[dataset.Edge]) error {
	r := newRow(w)
	if err := r.header([]string{"src", "dst", "weight"}); err != nil {
		return err
	}
	for e := range edges {
		r.integer(int64(e.Source))
		r.integer(int64(e.Target))
		r.float(e.Weight)
		if err := r.end(); err != nil {
			return err
		}
	}
	return r.w.Flush()
}

// WriteConstraints writes i,j,kind,weight; a constraint without a weight has an empty cell.
func WriteConstraints(w io.Writer, constraints []constraint.Constraint) error {
	r := newRow(w)
	if err := r.header([]string{"i", "j", "kind", "weight"}); err != nil {
		return err
	}
	for _, c := range constraints {
		r.integer(int64(c.I))
		r.integer(int64(c.J))
		r.text(c.Kind.String())
		if c.Weighted {
			r.float(c.Weight)
		} else {
			r.cell()
		}
		if err := r.end(); err != nil {
			return err
		}
	}
	return r.w.Flush()
}
