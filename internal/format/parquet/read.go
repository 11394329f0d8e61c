package parquet

import (
	"context"
	"io"
	"math"
	"runtime"

	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/numeric/parallel"
)

// A batch has so many cells, in columns of at least and at most so many rows.
const (
	batchCells = 1 << 20
	leastRows  = 1 << 8
	mostRows   = 1 << 16
)

// Columns are the columns, without cells.
func (f *File) Columns() []table.Column {
	columns := make([]table.Column, len(f.columns))
	for at := range f.columns {
		columns[at] = table.Column{Name: f.columns[at].name, Type: f.columns[at].to}
	}
	return columns
}

// Rename gives the columns other names.
func (f *File) Rename(names []string) {
	for at, name := range names {
		f.columns[at].name = name
	}
}

// Close frees what the reader holds; the file itself stays open.
func (f *File) Close() { f.unpacker.Close() }

// Next is the next rows; io.EOF after the last.
func (f *File) Next() (*table.Table, error) {
	for f.inGroup == 0 {
		if f.group == len(f.groups) {
			return nil, io.EOF
		}
		f.beginGroup(&f.groups[f.group])
		f.group++
	}
	rows := min(f.batchRows(), f.inGroup)
	f.inGroup -= rows
	columns := f.Columns()
	if err := f.readColumns(columns, int(rows)); err != nil {
		return nil, err
	}
	return table.New(columns)
}

// Whole makes batches as large as row groups, for those who want all rows at once. Memory stays in proportion to the bytes that are
// really there.
func (f *File) Whole() { f.whole = true }

// batchRows is how many rows are read at a time.
func (f *File) batchRows() int64 {
	columns := max(len(f.columns), 1)
	if f.whole && f.inGroup <= wholeGrowth*f.size/8/int64(columns) {
		return f.inGroup
	}
	return int64(max(leastRows, min(mostRows, batchCells/columns)))
}

// wholeGrowth is how many times the size of the file a batch may take.
const wholeGrowth = 2

// readColumns fills columns with the next rows, several columns at a time.
func (f *File) readColumns(columns []table.Column, rows int) error {
	threads := runtime.GOMAXPROCS(0)
	panics := make([]any, len(columns)) // whoever calls recovers from them
	err := parallel.NewPool(threads).Run(context.Background(), threads, len(columns), func(at int) error {
		defer func() { panics[at] = recover() }()
		return f.chunks[at].read(&columns[at], rows)
	})
	for _, p := range panics {
		if p != nil {
			panic(p)
		}
	}
	return err
}

func (f *File) beginGroup(g *group) {
	for at := range f.columns {
		if at == len(f.chunks) {
			f.chunks = append(f.chunks, &chunk{File: f, column: &f.columns[at]})
		}
		c := f.chunks[at]
		c.extent, c.inPage, c.dictionary = g.chunks[at], 0, cells{}
		c.at, c.end = c.from, c.from+c.extent.size
	}
	f.inGroup = g.rows
}

// read fills a column with the next rows.
func (c *chunk) read(out *table.Column, rows int) error {
	if c.leaf < 0 {
		out.Texts = make([]string, rows)
		out.Empty = make([]bool, rows)
		for row := range out.Empty {
			out.Empty[row] = true
		}
		return nil
	}
	var all cells
	all.grow(c.to, rows)
	filled := 0
	for filled < rows {
		if c.inPage == 0 {
			if err := c.nextPage(); err != nil {
				return err
			}
			continue
		}
		n := min(rows-filled, c.inPage)
		present := n
		if c.levels != nil {
			var err error
			if present, err = c.readLevels(n); err != nil {
				return err
			}
		}
		if !c.values.decode(&all, present) {
			return c.badValue(&all)
		}
		if present < n {
			if out.Empty == nil {
				out.Empty = make([]bool, rows)
			}
			all.spread(c.to, c.present[:n], present, out.Empty[filled:])
		}
		c.inPage -= n
		filled += n
	}
	out.Integers, out.Numbers, out.Texts = all.integers, all.numbers, all.texts
	out.MarkNaN()
	if c.unneeded {
		c.markUnfit(out)
	}
	return nil
}

// markUnfit marks as empty what no table can hold, unsigned integers that became negative among them.
func (c *chunk) markUnfit(out *table.Column) {
	out.MarkUnfit()
	if c.checkInt == nil {
		return
	}
	for row, v := range out.Integers {
		if v < 0 {
			out.MarkEmpty(row)
		}
	}
}

// badValue is why a value could not be decoded: the last one does not fit, or there is none.
func (c *chunk) badValue(all *cells) error {
	if n := len(all.texts); n > 0 && len(all.texts[n-1]) > table.MaxTextBytes {
		return fault.Invalid("BAD_TEXT", "column %q: %.60q is not a text; it must have at most %d bytes of UTF-8", c.name, all.texts[n-1], table.MaxTextBytes).
			With("column", c.name)
	}
	if n := len(all.integers); n > 0 && c.checkInt != nil && all.integers[n-1] < 0 {
		return fault.Invalid("NOT_AN_INTEGER", "column %q: %d is above %d", c.name, uint64(all.integers[n-1]), int64(math.MaxInt64)).With("column", c.name)
	}
	return c.corrupt("a page has fewer values than it claims, or indices out of range")
}

// readLevels reads which of the next values are there, into present, and counts them.
func (c *chunk) readLevels(n int) (count int, err error) {
	if all, ok := c.levels.skipOnes(n); !ok {
		return 0, c.corrupt("the marks of empty cells are cut short")
	} else if all {
		return n, nil
	}
	if cap(c.present) < n {
		c.present = make([]uint32, n)
	}
	c.present = c.present[:n]
	if !c.levels.next(c.present) {
		return 0, c.corrupt("the marks of empty cells are cut short")
	}
	for _, v := range c.present {
		count += int(v)
	}
	return count, nil
}

// grow makes room for rows more values.
func (all *cells) grow(to table.Type, rows int) {
	switch to {
	case table.Integer:
		all.integers = make([]int64, 0, rows)
	case table.Number:
		all.numbers = make([]float64, 0, rows)
	default:
		all.texts = make([]string, 0, rows)
	}
}

// spread moves the last values to the rows that have one, and marks the others as empty.
func (all *cells) spread(to table.Type, there []uint32, count int, empty []bool) {
	switch to {
	case table.Integer:
		all.integers = spread(all.integers, there, count)
	case table.Number:
		all.numbers = spread(all.numbers, there, count)
	default:
		all.texts = spread(all.texts, there, count)
	}
	for row, v := range there {
		empty[row] = v == 0
	}
}

func spread[T any](values []T, there []uint32, count int) []T {
	from := len(values) - count
	values = append(values, make([]T, len(there)-count)...)
	next := from + count
	for row := len(there) - 1; row >= 0; row-- {
		var v T
		if there[row] == 1 {
			next--
			v = values[next]
		}
		values[from+row] = v
	}
	return values
}
