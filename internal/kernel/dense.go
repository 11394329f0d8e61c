package kernel

import (
	"github.com/cleave-project/cleave/internal/kernel/hugepage"
	"github.com/cleave-project/cleave/internal/parallel"
	"github.com/cleave-project/cleave/internal/partition"
)

// denseTile is a range of consecutive rows of a dense matrix.
//
// A stored tile is laid out column by column, so that a sweep is a stream of additions into float64 accumulators, and a
// delta touches only the columns of points that moved. Columns are padded with zeros to whole SIMD vectors. A tile that
// is not stored (matrix-free) computes the columns that an operation needs each time, to the same bits.
type denseTile struct {
	source  *Source
	rows    partition.Range
	n       int
	height  int
	stride  int
	entries []float32 // nil if the tile is not stored, or is in half precision
	half    []uint16  // entries in half precision; nil if the tile is not stored, or is in full precision
}

// newTile returns a dense tile without storage. Call allocate to store its entries.
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

// save stores computed columns, starting at column from and at the given row. It does nothing in full precision, where
// columns are computed in place.
func (t *denseTile) save(from, row int, values []float32) {
	if t.half == nil {
		return // full precision is computed in place
	}
	for at := row; at < len(values); at += t.stride {
		t.source.routines.toHalf(t.half[from*t.stride+at:][:t.stride-row], values[at:],
			float32(1/t.source.spec.HalfScale))
	}
}

// forEachPass calls do for the given columns in order, up to columnsPerPass at a time. The pass is only valid during
// the call.
func (t *denseTile) forEachPass(columns []int32, do func(columns []int32, p *pass)) error {
	w := t.source.borrowDense()
	defer t.source.returnDense(w)
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

// degrees adds the sums of the rows to dst. It fails if an entry is negative.
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

// diagonal implements matrix. Without stored entries of full precision, it computes those of the columns of the rows.
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

func (t *denseTile) stored() bool { return t.entries != nil || t.half != nil }

// denseWorkspace is the scratch space of one goroutine for dense tiles: a buffer for columns that are not stored as
// float32, the maker that computes them, and the current pass and panel.
type denseWorkspace struct {
	values []float32
	maker  *entryMaker
	pass   pass
	panel  panel
}

// borrowDense takes a workspace from the pool. The caller must pass it to returnDense when done.
func (s *Source) borrowDense() *denseWorkspace {
	if w, _ := s.denseWorkspaces.Get().(*denseWorkspace); w != nil {
		return w
	}
	return &denseWorkspace{}
}

func (s *Source) returnDense(w *denseWorkspace) { s.denseWorkspaces.Put(w) }

// entryMakerFor returns the workspace's entry maker with tile t selected.
func (w *denseWorkspace) entryMakerFor(t *denseTile) *entryMaker {
	if w.maker == nil {
		w.maker = &entryMaker{source: t.source}
	}
	w.maker.selectTile(t.rows)
	return w.maker
}

// view locates columns: contiguous in a buffer, or scattered in a tile.
type view struct {
	values  []float32
	pitch   int     // values from one column to the next
	columns []int32 // the columns' numbers in the tile; nil if they are in a buffer, in order
}

// begin returns the index in values where the column at the given place begins.
func (v *view) begin(place int) int {
	if v.columns != nil {
		place = int(v.columns[place])
	}
	return place * v.pitch
}

// locate returns a view of the given columns: those stored in the tile, or a copy converted or computed into the
// workspace, which is valid until the workspace is used again.
func (t *denseTile) locate(columns []int32, w *denseWorkspace) (view, error) {
	s, height := t.source, t.stride
	if t.entries != nil {
		return view{values: t.entries, pitch: height, columns: columns}, nil
	}
	w.values = parallel.Resized(w.values, len(columns)*height)
	if t.half != nil {
		for i, j := range columns {
			s.routines.fromHalf(w.values[i*height:(i+1)*height], t.half[int(j)*height:][:height],
				float32(s.spec.HalfScale))
		}
		return view{values: w.values, pitch: height}, nil
	}
	m := w.entryMakerFor(t)
	for from := 0; from < len(columns); from += columnsPerFill {
		to := min(from+columnsPerFill, len(columns))
		if err := m.fill(0, columns[from:to], w.values[from*height:to*height]); err != nil {
			return view{}, err
		}
	}
	return view{values: w.values, pitch: height}, nil
}

// windowing returns how the tile divides the columns of a plan into windows.
func (t *denseTile) windowing(p *plan) windowing {
	switch {
	case !t.stored():
		return fewColumns
	case t.entries != nil && p.windowSize() == 0:
		return wholePlan
	}
	return cacheSized
}

// apply updates the sums as the plan prescribes. The plan's layout for this tile must have been computed before.
func (t *denseTile) apply(sums []float64, p *plan, w *denseWorkspace) error {
	l := &p.layouts[t.windowing(p)] // computed before the threads started
	for i, in := range l.windows {
		columns := p.columns[in.firstColumn:in.endColumn]
		v, err := t.locate(columns, w)
		if err != nil {
			return err
		}
		var next []int32
		if i+1 < len(l.windows) && t.entries != nil {
			next = p.columns[l.windows[i+1].firstColumn:l.windows[i+1].endColumn]
		}
		t.applyRuns(sums, l, in, v, next, &w.pass)
	}
	return nil
}

// columnsAhead is the prefetch distance for columns that are read once.
const columnsAhead = columnsPerPass

// applyRuns applies the transfers of one window while prefetching the columns of the next window.
func (t *denseTile) applyRuns(sums []float64, l *layout, in window, v view, next []int32, p *pass) {
	routines := &t.source.routines
	p.values = v.values
	first, end := l.runs[in.firstRun].start, l.runs[in.endRun-1].end
	fetched := 0
	for _, r := range l.runs[in.firstRun:in.endRun] {
		for start := r.start; start < r.end; start += columnsPerPass {
			p.count = min(columnsPerPass, r.end-start)
			wanted := len(next) * (start + p.count - first) / (end - first)
			for i := range p.count {
				p.columns[i] = v.begin(int(l.places[start+i]) - in.firstColumn)
				switch {
				case next == nil:
					p.ahead[i] = v.begin(int(l.places[min(start+i+columnsAhead, end-1)]) - in.firstColumn)
				case fetched < wanted:
					p.ahead[i] = int(next[fetched]) * t.stride
					fetched++
				default:
					p.ahead[i] = p.columns[i]
				}
			}
			switch {
			case r.from < 0:
				routines.addColumns(t.sumsOf(sums, r.to), p)
			case r.to < 0:
				routines.subtractColumns(t.sumsOf(sums, r.from), p)
			default:
				routines.moveColumns(t.sumsOf(sums, r.from), t.sumsOf(sums, r.to), p)
			}
		}
	}
}

// sumsOf returns the sums of cluster c, which alias sums.
func (t *denseTile) sumsOf(sums []float64, c int32) []float64 {
	return sums[int(c)*t.stride:][:t.stride]
}

// pick writes the entries of some rows, which must be in the tile, and columns to dst, row by row.
func (t *denseTile) pick(dst []float64, width int, rows, columns []int32) error {
	at := 0
	copyColumn := func(column []float32) {
		for r, i := range rows {
			dst[r*width+at] = float64(column[int(i)-t.rows.From])
		}
		at++
	}
	if t.entries != nil {
		for _, j := range columns {
			copyColumn(t.column(int(j)))
		}
		return nil
	}
	return t.forEachPass(columns, func(some []int32, p *pass) {
		for c := range some {
			copyColumn(p.column(c))
		}
	})
}
