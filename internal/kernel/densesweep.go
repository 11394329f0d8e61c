package kernel

// window is a thread's scratch space for dense tiles: a buffer for columns that are not stored as float32,
// what computes them, and the current pass and panel.
type window struct {
	values []float32
	maker  *entryMaker
	pass   pass
	panel  panel
}

// borrowWindow takes a window from the pool; returnWindow puts it back.
func (s *Source) borrowWindow() *window {
	if w, _ := s.windows.Get().(*window); w != nil {
		return w
	}
	return &window{}
}

func (s *Source) returnWindow(w *window) { s.windows.Put(w) }

// entryMakerFor returns the window's entry maker, set to a tile.
func (w *window) entryMakerFor(t *denseTile) *entryMaker {
	if w.maker == nil {
		w.maker = &entryMaker{source: t.source}
	}
	w.maker.selectTile(t.rows)
	return w.maker
}

// view says where some columns are: one after the other in a buffer, or scattered in a tile.
type view struct {
	values  []float32
	pitch   int     // values from one column to the next
	columns []int32 // the columns' numbers in the tile; nil if they are in a buffer, in order
}

// begin is the index in values where the place-th column begins.
func (v *view) begin(place int) int {
	if v.columns != nil {
		place = int(v.columns[place])
	}
	return place * v.pitch
}

// locate finds columns: stored in the tile, or converted or computed into the window.
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

// chunking says how many columns at a time the tile takes for a plan.
func (t *denseTile) chunking(p *plan) chunking {
	switch {
	case !t.stored():
		return fewColumns
	case t.entries != nil && p.window() == 0:
		return wholePlan
	}
	return cacheWindow
}

// apply changes the sums as a plan says.
func (t *denseTile) apply(sums []float64, p *plan, w *window) error {
	pace := t.chunking(p)
	l := &p.layouts[pace] // computed before the threads started
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

// columnsAhead is the prefetch distance for columns that are read once.
const columnsAhead = columnsPerPass

// applyRuns applies the entries of one block, and meanwhile prefetches the columns of the next block.
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

// sumsOf returns the sums of one cluster.
func (t *denseTile) sumsOf(sums []float64, c int32) []float64 {
	return sums[int(c)*t.stride:][:t.stride]
}
