package format

import (
	"bufio"
	"fmt"
	"io"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/format/scan"
)

// csvWriter writes lines of CSV. Floats read back bit for bit.
type csvWriter struct {
	w     *bufio.Writer
	line  []byte
	cells int // on the current line
}

func newCSVWriter(w io.Writer) *csvWriter {
	return &csvWriter{w: bufio.NewWriterSize(w, scan.BufferSize)}
}

// lineBreaks replaces line breaks by spaces.
var lineBreaks = strings.NewReplacer("\r", " ", "\n", " ")

// writeTable writes a line for each row, after the header unless that is empty.
func writeTable[Row any](w io.Writer, header []string, rows iter.Seq[Row], write func(c *csvWriter, row Row)) error {
	c := newCSVWriter(w)
	if len(header) > 0 {
		for _, name := range header {
			c.text(lineBreaks.Replace(name)) // readers of numbers take a line for a row
		}
		if err := c.endLine(); err != nil {
			return err
		}
	}
	for row := range rows {
		write(c, row)
		if err := c.endLine(); err != nil {
			return err
		}
	}
	return c.w.Flush()
}

// emptyCell starts a new cell; the other methods also fill it.
func (c *csvWriter) emptyCell() {
	if c.cells > 0 {
		c.line = append(c.line, ',')
	}
	c.cells++
}

func (c *csvWriter) integer(v int64) {
	c.emptyCell()
	c.line = strconv.AppendInt(c.line, v, 10)
}

func (c *csvWriter) float(v float64) {
	c.emptyCell()
	c.line = strconv.AppendFloat(c.line, v, 'g', -1, 64)
}

func (c *csvWriter) floats(values []float64) {
	for _, v := range values {
		c.float(v)
	}
}

// text writes a text, in quotes if it is empty or has separators, quotes, line ends or space around it. Words such as
// NA stay as they are: readers take them as missing even in quotes.
func (c *csvWriter) text(v string) {
	c.emptyCell()
	if v == "" || strings.ContainsAny(v, ",;\t\"\r\n") || strings.TrimSpace(v) != v {
		v = `"` + strings.ReplaceAll(v, `"`, `""`) + `"`
	}
	c.line = append(c.line, v...)
}

func (c *csvWriter) endLine() error {
	c.line = append(c.line, '\n')
	_, err := c.w.Write(c.line)
	c.line, c.cells = c.line[:0], 0
	return err
}

// numbered yields 0 to n-1.
func numbered(n int) iter.Seq[int] {
	return func(yield func(int) bool) {
		for i := range n {
			if !yield(i) {
				return
			}
		}
	}
}

// WriteLabels writes the columns index and label.
func WriteLabels[Label ~int | ~int32 | ~int64](w io.Writer, labels []Label) error {
	return writeTable(w, []string{"index", "label"}, numbered(len(labels)), func(c *csvWriter, i int) {
		c.integer(int64(i))
		c.integer(int64(labels[i]))
	})
}

// WriteMatrix writes rows of numbers, after the header unless that is empty.
func WriteMatrix(w io.Writer, header []string, rows [][]float64) error {
	return writeTable(w, header, slices.Values(rows), (*csvWriter).floats)
}

// WriteIndexedMatrix writes rows of numbers, each preceded by its index. The header includes the index column.
func WriteIndexedMatrix(w io.Writer, header []string, rows [][]float64) error {
	return writeTable(w, header, numbered(len(rows)), func(c *csvWriter, i int) {
		c.integer(int64(i))
		c.floats(rows[i])
	})
}

// WritePoints writes one line per point, after the header unless that is empty.
func WritePoints(w io.Writer, header []string, points *dataset.Points) error {
	return writeTable(w, header, numbered(points.N), func(c *csvWriter, i int) { c.floats(points.Row(i)) })
}

// WriteEdges writes the columns src, dst and weight.
func WriteEdges(w io.Writer, edges []dataset.Edge) error {
	return WriteEdgesOf(w, slices.Values(edges))
}

// WriteEdgesOf is WriteEdges for edges that need not all be in memory.
func WriteEdgesOf(w io.Writer, edges iter.Seq[dataset.Edge]) error {
	return writeTable(w, []string{"src", "dst", "weight"}, edges, func(c *csvWriter, e dataset.Edge) {
		c.integer(int64(e.Source))
		c.integer(int64(e.Target))
		c.float(e.Weight)
	})
}

// WriteConstraints writes the columns i, j, kind and weight. The weight of an unweighted constraint is an empty cell.
func WriteConstraints(w io.Writer, constraints []constraint.Constraint) error {
	return writeTable(w, []string{"i", "j", "kind", "weight"}, slices.Values(constraints),
		func(c *csvWriter, pair constraint.Constraint) {
			c.integer(int64(pair.I))
			c.integer(int64(pair.J))
			c.text(pair.Kind.String())
			if pair.Weighted {
				c.float(pair.Weight)
			} else {
				c.emptyCell()
			}
		})
}

// WriteEmbedding writes the columns index, u0, u1 and so on, from values in row-major order. index holds the number of
// each row; nil means 0, 1, 2 and so on. If ids is not nil, the first column is id and holds the ids of these rows.
func WriteEmbedding(w io.Writer, ids []string, index []int32, columns int, values []float64) error {
	header := []string{"index"}
	if ids != nil {
		header[0] = "id"
	}
	for c := range columns {
		header = append(header, fmt.Sprintf("u%d", c))
	}
	return writeTable(w, header, numbered(len(values)/max(columns, 1)), func(c *csvWriter, i int) {
		number := i
		if index != nil {
			number = int(index[i])
		}
		if ids != nil {
			c.text(ids[number])
		} else {
			c.integer(int64(number))
		}
		c.floats(values[i*columns : (i+1)*columns])
	})
}

// WriteFile writes a file atomically: write fills a temporary file in the same directory, which is renamed once its
// bytes are on disk. After an error the path is unchanged; after a crash of the machine it has the old file or the new
// one, because the new name may not be on disk yet. A file that is replaced keeps its permissions, and a symbolic link
// to it stays one.
func WriteFile(path string, write func(io.Writer) error) (err error) {
	target := path
	before, missing := os.Stat(path)
	if missing == nil {
		if !before.Mode().IsRegular() {
			return fault.Invalid("BAD_OUTPUT", "%s is not a regular file; give another path", path)
		}
		target, err = filepath.EvalSymlinks(path)
		if err != nil {
			return fmt.Errorf("cannot write %s: %w", path, err)
		}
	}
	file, err := createBeside(target)
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", path, err)
	}
	defer func() {
		if err != nil {
			file.Close()
			os.Remove(file.Name())
			err = fmt.Errorf("cannot write %s: %w", path, err)
		}
	}()
	if missing == nil {
		if err := keepMode(file, before); err != nil {
			return err
		}
	}
	if err := write(file); err != nil {
		return err
	}
	if err := file.Sync(); err != nil {
		return err
	}
	if err := file.Close(); err != nil {
		return err
	}
	return os.Rename(file.Name(), target)
}

// keepMode gives a new file the permissions of the one that it replaces. It changes nothing if they are equal, because
// some file systems have none to change.
func keepMode(file *os.File, before os.FileInfo) error {
	if created, err := file.Stat(); err == nil && created.Mode().Perm() == before.Mode().Perm() {
		return nil
	}
	return file.Chmod(before.Mode().Perm())
}

// createBeside creates a temporary file in the directory of path, with the permissions that the umask allows
// (os.CreateTemp would let only the owner read it).
func createBeside(path string) (*os.File, error) {
	var err error
	for try := range 1000 {
		name := filepath.Join(filepath.Dir(path), fmt.Sprintf(".%s.%d-%d.tmp", filepath.Base(path), os.Getpid(), try))
		var file *os.File
		file, err = os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
		if err == nil {
			return file, nil
		} else if !os.IsExist(err) {
			break
		}
	}
	return nil, err
}
