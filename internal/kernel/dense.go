package kernel

import "github.com/cleave-project/cleave/internal/partition"

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
		return
	}
	t.entries = make([]float32, t.stride*t.n)
}

func (t *denseTile) column(j int) []float32 {
	return t.entries[j*t.stride : (j+1)*t.stride : (j+1)*t.stride]
}

// keep stores columns from..from+len/stride that lie in values.
func (t *denseTile) keep(from int, values []float32) {
	if t.half == nil {
		return // they were computed in place
	}
	t.source.routines.toHalf(t.half[from*t.stride:from*t.stride+len(values)], values, float32(1/t.source.spec.HalfScale))
}

// visit hands over columns, a pass of at most columnsPerPass at a time and in order. Columns that do
// not lie in memory as float32 come through a buffer.
func (t *denseTile) visit(columns []int32, do func(columns []int32, pass *[columnsPerPass][]float32)) error {
	var buffer []float32
	if t.entries == nil {
		borrowed := t.source.borrow(columnsPerFill * t.stride)
		defer t.source.scratch.Put(borrowed)
		buffer = (*borrowed)[:columnsPerFill*t.stride]
	}
	var m *entryMaker
	if t.entries == nil && t.half == nil {
		m = t.source.maker(t.rows)
		defer t.source.giveBack(m)
	}
	var pass [columnsPerPass][]float32
	for len(columns) > 0 {
		some := columns[:min(columnsPerFill, len(columns))]
		columns = columns[len(some):]
		if m != nil {
			if err := m.fill(some, buffer); err != nil {
				return err
			}
		}
		for from := 0; from < len(some); from += columnsPerPass {
			to := min(from+columnsPerPass, len(some))
			for i := range pass {
				at := from + i
				switch {
				case at >= to:
					pass[i] = t.zeros
				case t.entries != nil:
					pass[i] = t.column(int(some[at]))
				default:
					pass[i] = buffer[at*t.stride : (at+1)*t.stride]
					if t.half != nil {
						j := int(some[at])
						t.source.routines.fromHalf(pass[i], t.half[j*t.stride:(j+1)*t.stride], float32(t.source.spec.HalfScale))
					}
				}
			}
			do(some[from:to], &pass)
		}
	}
	return nil
}

func (t *denseTile) apply(sums []float64, p *plan) error {
	r := &t.source.routines
	sumsOf := func(c int32) []float64 { return sums[int(c)*t.stride : (int(c)+1)*t.stride] }
	for _, run := range p.runs {
		var from, to []float64
		if run.from >= 0 {
			from = sumsOf(run.from)
		}
		switch {
		case run.to >= 0:
			to = sumsOf(run.to)
		case from != nil:
			to = make([]float64, t.stride) // they go nowhere
		default:
			continue
		}
		err := t.visit(p.columns[run.start:run.end], func(_ []int32, pass *[columnsPerPass][]float32) {
			if from == nil {
				r.addColumns(to, pass)
			} else {
				r.moveColumns(from, to, pass)
			}
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (t *denseTile) addColumns(dst []float64, columns []int32) error {
	return t.visit(columns, func(_ []int32, pass *[columnsPerPass][]float32) { t.source.routines.addColumns(dst, pass) })
}

func (t *denseTile) multiply(dst, x []float64) error {
	return t.visit(t.source.allColumns(), func(columns []int32, pass *[columnsPerPass][]float32) {
		var factors [columnsPerPass]float64
		for i, j := range columns {
			factors[i] = x[j]
		}
		t.source.routines.addScaled(dst, pass, &factors)
	})
}

func (t *denseTile) degrees(dst []float64) error {
	var negative error
	err := t.visit(t.source.allColumns(), func(columns []int32, pass *[columnsPerPass][]float32) {
		for i, j := range columns {
			for r, v := range pass[i][:t.height] {
				if v < 0 && negative == nil {
					negative = negativeAffinity(t.rows.From+r, int(j), float64(v))
				}
			}
		}
		t.source.routines.addColumns(dst, pass)
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
	return t.visit(own, func(columns []int32, pass *[columnsPerPass][]float32) {
		for i, j := range columns {
			r := int(j) - t.rows.From
			dst[r] = float64(pass[i][r])
		}
	})
}

func (t *denseTile) bytes() int64 { return 4*int64(len(t.entries)) + 2*int64(len(t.half)) }

func (t *denseTile) stored() bool { return t.entries != nil || t.half != nil }
