package kernel

// window is a thread's buffer for columns that do not lie in memory as float32, what computes them,
// the pass it is at, and the panel.
type window struct {
	values []float32
	maker  *entryMaker
	pass   pass
	panel  panel
}

// borrow takes a window that is returned by giveBack.
func (s *Source) borrowWindow() *window {
	if w, _ := s.windows.Get().(*window); w != nil {
		return w
	}
	return &window{}
}

func (s *Source) returnWindow(w *window) { s.windows.Put(w) }

// makerOf is the window's entry maker, set to a tile.
func (w *window) entryMakerFor(t *denseTile) *entryMaker {
	if w.maker == nil {
		w.maker = &entryMaker{source: t.source}
	}
	w.maker.selectTile(t.rows)
	return w.maker
}

// view is where some columns lie: one after the other, or in a tile.
type view struct {
	values  []float32
	pitch   int     // from one column to the next
	columns []int32 // nil: the columns lie in the order they were asked for
}

// begin is where the place-th of the columns begins.
func (v *view) begin(place int) int {
	if v.columns != nil {
		place = int(v.columns[place])
	}
	return place * v.pitch
}

// look finds columns: in the tile, or, converted or computed, in the window.
func (t *denseTile) locate(columns []int32, w *window) (view, error) {
	s, height := t.source, t.stride
	if t.entries != nil {
		return view{values: t.entries, pitch: height, columns: columns}, nil
	}
	w.values = resized(w.values, len(columns)*height)
	if t.half != nil {
		for at, j := range columns {
			s.routines.fromHalf(w.values[at*height:(at+1)*height], t.half[int(j)*height:][:height], float32(s.spec.HalfScale))
		}
		return view{values: w.values, pitch: height}, nil
	}
	m := w.entryMakerFor(t)
	for from := 0; from < len(columns); from += columnsPerFill {
		to := min(from+columnsPerFill, len(columns))
		if err := m.fill(columns[from:to], w.values[from*height:to*height]); err != nil {
			return view{}, err
		}
	}
	return view{values: w.values, pitch: height}, nil
}

// pace is how the tile takes the entries of a plan.
func (t *denseTile) chunking(p *plan) chunking {
	switch {
	case !t.stored():
		return fewColumns
	case t.entries != nil && p.window() == 0:
		return wholePlan
	}
	return cacheWindow
}

// apply does to the sums what a plan says.
func (t *denseTile) apply(sums []float64, p *plan, w *window) error {
	pace := t.chunking(p)
	l := &p.layouts[pace] // made before the threads began
	for at, b := range l.blocks {
		columns := p.columns[b.firstColumn:b.endColumn]
		v, err := t.locate(columns, w)
		if err != nil {
			return err
		}
		var next []int32
		if at+1 < len(l.blocks) && t.entries != nil {
			next = p.columns[l.blocks[at+1].firstColumn:l.blocks[at+1].endColumn]
		}
		t.applyRuns(sums, l, b, v, next, &w.pass)
	}
	return nil
}

// columnsAhead is how long before they are read columns are fetched from memory, where they are read once.
const columnsAhead = columnsPerPass

// applyRuns takes one block's entries, and meanwhile fetches the next block's columns.
func (t *denseTile) applyRuns(sums []float64, l *layout, b block, v view, next []int32, p *pass) {
	routines := &t.source.routines
	p.values = v.values
	first, end := l.runs[b.firstRun].start, l.runs[b.endRun-1].end
	fetched := 0
	for _, r := range l.runs[b.firstRun:b.endRun] {
		for start := r.start; start < r.end; start += columnsPerPass {
			p.count = min(columnsPerPass, r.end-start)
			wanted := len(next) * (start + p.count - first) / (end - first)
			for i := range p.count {
				p.columns[i] = v.begin(int(l.places[start+i]) - b.firstColumn)
				switch {
				case next == nil:
					p.ahead[i] = v.begin(int(l.places[min(start+i+columnsAhead, end-1)]) - b.firstColumn)
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

// sumsOf is the sums of one cluster.
func (t *denseTile) sumsOf(sums []float64, c int32) []float64 {
	return sums[int(c)*t.stride:][:t.stride]
}
