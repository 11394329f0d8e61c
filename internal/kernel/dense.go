package kernel

import (
	"github.com/cleave-project/cleave/internal/pages"
	"github.com/cleave-project/cleave/internal/partition"
)

// denseTile is rows of a dense matrix. Stored, it lies column by column, so that a sweep is a stream
// of additions into float64 accumulators and a delta touches only the columns of points that moved;
// columns are padded with zeros to whole vectors. Not stored (matrix-free), the columns that an
// operation needs are computed again, to the same bits.
type denseTile struct {
	source  *Source
	rows    partition.Range
	n       int
	height  int
	stride  int
	entries []float32 // nil: not stored, or in half precision
	half    []uint16  // the entries in half precision; nil: not stored, or in full
	zeros   []float32 // a column that fills a pass with fewer columns than it could have
}

// newTile is a dense tile that is not stored.
func (s *Source) newTile(number int) *denseTile {
	rows := partition.Tile(s.spec.Rows, number)
	stride := padded(rows.Len())
	return &denseTile{source: s, rows: rows, n: s.spec.Rows, height: rows.Len(), stride: stride, zeros: make([]float32, stride)}
}

func (t *denseTile) allocate() {
	if t.source.spec.HalfScale != 0 {
		t.half = make([]uint16, t.stride*t.n)
		pages.Large(t.half)
		return
	}
	t.entries = make([]float32, t.stride*t.n)
	pages.Large(t.entries)
}

func (t *denseTile) column(j int) []float32 {
	return t.entries[j*t.stride : (j+1)*t.stride : (j+1)*t.stride]
}

// keep stores columns from..from+len/stride that lie in values, from a row on.
func (t *denseTile) keep(from, row int, values []float32) {
	if t.half == nil {
		return // they were computed in place
	}
	for at := row; at < len(values); at += t.stride {
		t.source.routines.toHalf(t.half[from*t.stride+at:][:t.stride-row], values[at:], float32(1/t.source.spec.HalfScale))
	}
}

// visit hands over columns, a pass at a time and in order.
func (t *denseTile) visit(columns []int32, do func(columns []int32, p *pass)) error {
	return t.visitRuns(columns, []run{{end: len(columns)}}, func(_ run, columns []int32, p *pass) { do(columns, p) })
}

// visitRuns hands over the columns of runs, a pass at a time and in order; no pass has columns of two
// runs. Columns that do not lie in memory as float32 come through a buffer, many at a time.
func (t *denseTile) visitRuns(columns []int32, runs []run, do func(r run, columns []int32, p *pass)) error {
	f := fetcher{tile: t}
	defer f.close()
	var passes [2]pass
	var pending run // of passes[0], when its columns are there
	ready := false
	for _, r := range runs {
		for start := r.start; start < r.end; start += columnsPerPass {
			next := run{from: r.from, to: r.to, start: start, end: min(start+columnsPerPass, r.end)}
			if !f.holds(next) && ready {
				passes[0].next = &passes[0].columns // the buffer is about to be filled anew
				do(pending, columns[pending.start:pending.end], &passes[0])
				ready = false
			}
			if err := f.fetch(columns, next, &passes[1]); err != nil {
				return err
			}
			if ready {
				passes[0].next = &passes[1].columns
				do(pending, columns[pending.start:pending.end], &passes[0])
			}
			passes[0], pending, ready = passes[1], next, true
		}
	}
	if ready {
		passes[0].next = &passes[0].columns
		do(pending, columns[pending.start:pending.end], &passes[0])
	}
	return nil
}

// fetcher finds the columns of passes: in the tile, or in a buffer that it fills with the columns of
// several passes at a time.
type fetcher struct {
	tile     *denseTile
	maker    *entryMaker
	borrowed *[]float32
	from, to int // the places in the list of columns whose entries are in the buffer
}

// holds tells whether the columns of a pass are there without filling the buffer.
func (f *fetcher) holds(r run) bool {
	return f.tile.entries != nil || (r.start >= f.from && r.end <= f.to)
}

func (f *fetcher) fetch(columns []int32, r run, p *pass) error {
	t := f.tile
	if !f.holds(r) {
		if err := f.fill(columns, r.start); err != nil {
			return err
		}
	}
	p.count = r.end - r.start
	for i := range p.columns {
		switch at := r.start + i; {
		case at >= r.end:
			p.columns[i] = t.zeros
		case t.entries != nil:
			p.columns[i] = t.column(int(columns[at]))
		default:
			p.columns[i] = (*f.borrowed)[(at-f.from)*t.stride : (at-f.from+1)*t.stride]
		}
	}
	return nil
}

// fill puts the entries of the next columns into the buffer.
func (f *fetcher) fill(columns []int32, start int) error {
	t, s := f.tile, f.tile.source
	if f.borrowed == nil {
		f.borrowed = s.borrow(columnsPerFill * t.stride)
	}
	some := columns[start:min(start+columnsPerFill, len(columns))]
	f.from, f.to = start, start+len(some)
	if t.half != nil {
		for at, j := range some {
			s.routines.fromHalf((*f.borrowed)[at*t.stride:(at+1)*t.stride], t.half[int(j)*t.stride:(int(j)+1)*t.stride], float32(s.spec.HalfScale))
		}
		return nil
	}
	if f.maker == nil {
		f.maker = s.maker(t.rows)
	}
	return f.maker.fill(some, (*f.borrowed)[:columnsPerFill*t.stride])
}

func (f *fetcher) close() {
	if f.borrowed != nil {
		f.tile.source.scratch.Put(f.borrowed)
	}
	if f.maker != nil {
		f.tile.source.giveBack(f.maker)
	}
}

func (t *denseTile) apply(sums []float64, p *plan) error {
	routines := &t.source.routines
	sumsOf := func(c int32) []float64 { return sums[int(c)*t.stride : (int(c)+1)*t.stride] }
	return t.visitRuns(p.columns, p.runs, func(r run, _ []int32, p *pass) {
		switch {
		case r.from >= 0 && r.to >= 0:
			routines.moveColumns(sumsOf(r.from), sumsOf(r.to), p)
		case r.from >= 0:
			routines.subtractColumns(sumsOf(r.from), p)
		case r.to >= 0:
			routines.addColumns(sumsOf(r.to), p)
		}
	})
}

func (t *denseTile) addColumns(dst []float64, columns []int32) error {
	return t.visit(columns, func(_ []int32, p *pass) { t.source.routines.addColumns(dst, p) })
}

func (t *denseTile) multiply(dst, x []float64) error {
	return t.visit(t.source.allColumns(), func(columns []int32, p *pass) {
		var factors [columnsPerPass]float64
		for i, j := range columns {
			factors[i] = x[j]
		}
		t.source.routines.addScaled(dst, p, &factors)
	})
}

func (t *denseTile) degrees(dst []float64) error {
	var negative error
	err := t.visit(t.source.allColumns(), func(columns []int32, p *pass) {
		for i, j := range columns {
			for r, v := range p.columns[i][:t.height] {
				if v < 0 && negative == nil {
					negative = negativeAffinity(t.rows.From+r, int(j), float64(v))
				}
			}
		}
		t.source.routines.addColumns(dst, p)
	})
	if err == nil {
		err = negative
	}
	return err
}

func (t *denseTile) diagonal(dst []float64) error {
	if t.entries != nil {
		for r := range t.height {
			dst[r] = float64(t.column(t.rows.From + r)[r])
		}
		return nil
	}
	own := t.source.allColumns()[t.rows.From:t.rows.To]
	return t.visit(own, func(columns []int32, p *pass) {
		for i, j := range columns {
			r := int(j) - t.rows.From
			dst[r] = float64(p.columns[i][r])
		}
	})
}

func (t *denseTile) bytes() int64 { return 4*int64(len(t.entries)) + 2*int64(len(t.half)) }

func (t *denseTile) stored() bool { return t.entries != nil || t.half != nil }
