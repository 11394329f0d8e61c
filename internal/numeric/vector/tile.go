package vector

import (
	"context"
	"fmt"
	"slices"

	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/labeling"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/parallel"
	"github.com/cleave-project/cleave/internal/partition"
)

// groupRows is the number of rows of a dense tile that are stored side by side: as many as the widest SIMD code
// processes at a time.
const groupRows = 32

// tile is a range of consecutive rows, prepared and rounded to their grids.
//
// Dense rows are packed in groups: packed[(g*width+f)*groupRows+l] is feature f of row g*groupRows+l, with the
// background as the last feature, and zeros after the last row. Sparse rows share their columns with the data set,
// unless they were fetched.
type tile struct {
	rows  partition.Range
	width int

	packed []float64 // dense tiles only

	starts      []int64 // sparse tiles only: where the rows begin, followed by the number of values
	columns     []int32
	ownColumns  bool // no data set has them
	values      []float64
	backgrounds []float64 // per row; nil if rows have no background

	step   uint64 // of the labels of its rows
	loaded bool   // its rows have labels

	own   []ownDistances  // per lane; nil until first used
	moves []labeling.Move // scratch: what the last Assign found
	// the step that the last Step took the tile to, by moves; 0 if moves are not those of a Step
	stepped uint64
}

// buildTile prepares the rows of a tile. It fetches them first if this process does not hold the data set.
func (s *Source) buildTile(ctx context.Context, number int) (*tile, error) {
	t := &tile{rows: partition.Tile(s.spec.Rows, number), width: s.spec.Width()}
	if s.features != nil {
		return t, s.fillFeatures(t, s.features, 0)
	}
	data, first := s.data, 0
	if s.fetch != nil {
		fetched, err := s.fetch(ctx, t.rows)
		if err != nil {
			return nil, err
		}
		if points, dense := fetched.(*dataset.Points); dense && s.spec.Features != nil {
			features, shift, err := kernel.NewFeaturesOf(s.spec.Features, points, t.rows)
			if err != nil {
				return nil, err
			}
			return t, s.fillFeatures(t, features, shift)
		}
		if rows, columns, sparse := shapeOf(fetched); rows != t.rows.Len() || columns != s.spec.Columns ||
			sparse != s.sparse {
			return nil,
				fmt.Errorf("vector: the fetched rows are a %T of %d x %d values, want %d x %d of the kind of the data",
					fetched, rows, columns, t.rows.Len(), s.spec.Columns)
		}
		data, first = fetched, t.rows.From
	}
	if points, sparse := data.(*dataset.SparsePoints); sparse {
		starts := points.RowStart[t.rows.From-first : t.rows.To-first+1]
		from, to := starts[0], starts[t.rows.Len()]
		t.starts = make([]int64, len(starts))
		t.columns = points.Column[from:to:to]
		t.ownColumns = s.fetch != nil
		t.values = make([]float64, to-from)
		if s.spec.HasBackground() {
			t.backgrounds = make([]float64, t.rows.Len())
		}
		for r, start := range starts {
			t.starts[r] = start - from
		}
	} else {
		t.packed = make([]float64, t.groups()*groupRows*t.width)
	}
	p := newPreparer(s.spec, data, first)
	for r := range t.rows.Len() {
		prepared, err := p.prepare(t.rows.From + r)
		if err != nil {
			return nil, err
		}
		s.round(&prepared)
		t.store(r, &prepared)
	}
	return t, nil
}

// store copies row r of the tile, counted from 0.
func (t *tile) store(r int, prepared *row) {
	if t.packed == nil {
		copy(t.values[t.starts[r]:t.starts[r+1]], prepared.values)
		if t.backgrounds != nil {
			t.backgrounds[r] = prepared.background
		}
		return
	}
	group := t.group(r / groupRows)
	lane := r % groupRows
	for f, v := range prepared.values {
		group[f*groupRows+lane] = v
	}
	if t.width > len(prepared.values) {
		group[len(prepared.values)*groupRows+lane] = prepared.background
	}
}

// at reports whether the labels of the tile's rows are those of the given step.
func (t *tile) at(step uint64) bool { return t.loaded && t.step == step }

// groups returns the number of groups of a dense tile.
func (t *tile) groups() int { return (t.rows.Len() + groupRows - 1) / groupRows }

// group returns the values of one group of rows. They alias the tile.
func (t *tile) group(g int) []float64 {
	return t.packed[g*t.width*groupRows : (g+1)*t.width*groupRows]
}

// pointsOf returns the points that lie in the tile. points must be ascending.
func (t *tile) pointsOf(points []int32) []int32 {
	from, _ := slices.BinarySearch(points, int32(t.rows.From))
	to, _ := slices.BinarySearch(points, int32(t.rows.To))
	return points[from:to]
}

// movesOf returns the moves of points in the tile. moves must be those of one lane, ascending by point.
func (t *tile) movesOf(moves []labeling.Move) []labeling.Move {
	compare := func(m labeling.Move, point int) int { return int(m.Point) - point }
	from, _ := slices.BinarySearchFunc(moves, t.rows.From, compare)
	to, _ := slices.BinarySearchFunc(moves, t.rows.To, compare)
	return moves[from:to]
}

// unpackedRows is the number of rows that are taken out of a group at a time: one cache line of each feature.
const unpackedRows = 8

// reader reads the rows of a tile one by one. Call open first.
type reader struct {
	tile     *tile
	features int       // without the background
	unpacked []float64 // a few rows of a dense tile, row by row
	first    int       // index of the first unpacked row
	read     row
}

func (d *reader) open(t *tile, features int) {
	d.tile, d.features, d.first, d.read = t, features, -1, row{}
}

// row returns a row of the tile. It is valid until the next call.
func (d *reader) row(r int) *row {
	t, read := d.tile, &d.read
	if t.packed == nil {
		from, to := t.starts[r], t.starts[r+1]
		read.columns, read.values = t.columns[from:to:to], t.values[from:to:to]
		if t.backgrounds != nil {
			read.background = t.backgrounds[r]
		}
		return read
	}
	if first := r - r%unpackedRows; first != d.first {
		d.unpack(first)
	}
	values := d.unpacked[(r-d.first)*t.width:][:t.width]
	read.values = values[:d.features]
	if t.width > d.features {
		read.background = values[d.features]
	}
	return read
}

// unpack converts unpackedRows rows of a group, from row first on, to row order.
func (d *reader) unpack(first int) {
	width := d.tile.width
	d.unpacked = parallel.Resized(d.unpacked, unpackedRows*width)
	d.first = first
	group := d.tile.group(first / groupRows)[first%groupRows:]
	for f := range width {
		line := (*[unpackedRows]float64)(group[f*groupRows:])
		for l, v := range line {
			d.unpacked[l*width+f] = v
		}
	}
}

// pack returns some features of at most groupRows points of a dense tile, packed like a group. The values of rows
// without a point are undefined. They are valid until the next call of pack or row.
func (d *reader) pack(points []int32, from, features int) []float64 {
	d.unpacked = parallel.Resized(d.unpacked, features*groupRows)
	d.first = -1
	var begin [groupRows]int // where the features of each point are
	for l, i := range points {
		r := int(i) - d.tile.rows.From
		begin[l] = (r/groupRows*d.tile.width+from)*groupRows + r%groupRows
	}
	for f := range features { // feature by feature, because points of one group share cache lines
		line := (*[groupRows]float64)(d.unpacked[f*groupRows:])
		for l := range points {
			line[l] = d.tile.packed[begin[l]+f*groupRows]
		}
	}
	return d.unpacked
}
