package kernel

import (
	"github.com/cleave-project/cleave/internal/numeric/hugepage"
	"github.com/cleave-project/cleave/internal/partition"
)

// denseTile is some consecutive rows of a dense matrix.
//
// A stored tile is laid out column by column, so that a sweep is a stream of additions into float64
// accumulators, and a delta touches only the columns of points that moved. Columns are padded with zeros
// to whole SIMD vectors. A tile that is not stored (matrix-free) computes the columns that an operation
// needs each time, to the same bits.
type denseTile struct {
	source  *Source
	rows    partition.Range
	n       int
	height  int
	stride  int
	entries []float32 // nil if the tile is not stored, or is in half precision
	half    []uint16  // entries in half precision; nil if the tile is not stored, or is in full precision
}

// newTile makes a dense tile without storage.
func (s *Source) newTile(number int) *denseTile {
	return s.rowsTile(partition.Tile(s.spec.Rows, number))
}

func (t *denseTile) allocate() {
	if t.source.spec.HalfScale != 0 {
		t.half = make([]uint16, t.stride*t.n)
		hugepage.Advise(t.half)
		return
	}
	t.entries = make([]float32, t.stride*t.n)
	hugepage.Advise(t.entries)
}

func (t *denseTile) column(j int) []float32 {
	return t.entries[j*t.stride : (j+1)*t.stride : (j+1)*t.stride]
}

// save stores computed columns, the first of which is number from, starting at a row.
func (t *denseTile) save(from, row int, values []float32) {
	if t.half == nil {
		return // full precision is computed in place
	}
	for at := row; at < len(values); at += t.stride {
		t.source.routines.toHalf(t.half[from*t.stride+at:][:t.stride-row], values[at:], float32(1/t.source.spec.HalfScale))
	}
}

// forEachPass calls do with the given columns, in order, a pass of them at a time.
func (t *denseTile) forEachPass(columns []int32, do func(columns []int32, p *pass)) error {
	w := t.source.borrowWindow()
	defer t.source.returnWindow(w)
	for len(columns) > 0 {
		some := columns[:min(columnsPerFill, len(columns))]
		columns = columns[len(some):]
		v, err := t.locate(some, w)
		if err != nil {
			return err
		}
		p := pass{values: v.values}
		for start := 0; start < len(some); start += columnsPerPass {
			p.count = min(columnsPerPass, len(some)-start)
			for i := range p.count {
				p.columns[i] = v.begin(start + i)
				p.ahead[i] = v.begin(min(start+i+columnsAhead, len(some)-1))
			}
			do(some[start:start+p.count], &p)
		}
	}
	return nil
}

func (t *denseTile) addColumns(dst []float64, columns []int32) error {
	return t.forEachPass(columns, func(_ []int32, p *pass) { t.source.routines.addColumns(dst, p) })
}

func (t *denseTile) degrees(dst []float64) error {
	var negative error
	err := t.forEachPass(t.source.allColumns(), func(columns []int32, p *pass) {
		for i, j := range columns {
			for r, v := range p.column(i)[:t.height] {
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

func (t *denseTile) maxima(dst []float64) error {
	return t.forEachPass(t.source.allColumns(), func(columns []int32, p *pass) {
		for i := range columns {
			for r, v := range p.column(i)[:t.height] {
				dst[r] = max(dst[r], float64(v))
			}
		}
	})
}

func (t *denseTile) diagonal(dst []float64) error {
	if t.entries != nil {
		for r := range t.height {
			dst[r] = float64(t.column(t.rows.From + r)[r])
		}
		return nil
	}
	own := t.source.allColumns()[t.rows.From:t.rows.To]
	return t.forEachPass(own, func(columns []int32, p *pass) {
		for i, j := range columns {
			r := int(j) - t.rows.From
			dst[r] = float64(p.column(i)[r])
		}
	})
}

func (t *denseTile) bytes() int64 { return 4*int64(len(t.entries)) + 2*int64(len(t.half)) }

func (t *denseTile) stored() bool { return t.entries != nil || t.half != nil }
