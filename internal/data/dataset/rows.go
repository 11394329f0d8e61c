package dataset

import (
	"context"
	"runtime"
	"slices"
	"sync"

	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/parallel"
)

// graphBuilder makes the compressed rows of a graph by counting, in two steps. The first puts the entries, both
// directions of every edge, into buckets of consecutive rows, in the order of the edges. The second sorts each bucket
// and merges repeated entries. A bucket fits into the cache of a core; a single step over all rows would wait for
// memory at every entry. Threads share the edges, then the buckets; the result does not depend on their number.
type graphBuilder struct {
	n       int
	shift   int // bucket b starts at row b << shift
	buckets int
	pool    *parallel.Pool

	first  []int   // where each bucket starts, and where the last one ends
	row    []int32 // the row of each entry; in a finished bucket, how many entries were merged into it
	column []int32
	weight []float64 // nil if all edges have weight 1

	start   []int64   // start[i+1] is the number of entries of row i until graph sums them up
	scratch sync.Pool // of *bucketRows
}

// Buckets are small enough for the cache, and few enough to write to all of them side by side.
const (
	maxBuckets     = 512
	minBucketShift = 10
	edgesPerPart   = 1 << 16
)

func newGraphBuilder(n int, lists []Edges) *graphBuilder {
	r := &graphBuilder{n: n, pool: parallel.NewPool(threadsFor(CountEdges(lists))), start: make([]int64, n+1)}
	r.scratch.New = func() any { return &bucketRows{} }
	for r.shift = minBucketShift; n>>r.shift >= maxBuckets; r.shift++ {
	}
	r.buckets = 1 + (n-1)>>r.shift
	return r
}

// each calls do with the numbers below count, on all threads.
func (r *graphBuilder) each(count int, do func(at int) error) error {
	return r.pool.Run(context.Background(), count, do)
}

// threadsFor returns how many threads to use for a number of edges.
func threadsFor(edges int) int { return min(runtime.GOMAXPROCS(0), 1+edges/edgesPerPart) }

// fill puts the entries into the buckets and empties the lists.
func (r *graphBuilder) fill(lists []Edges) error {
	shares := r.share(lists)
	next := make([][]int, len(shares)) // for each share, its next place in each bucket
	err := r.each(len(shares), func(share int) error {
		counts := make([]int, r.buckets)
		for _, e := range shares[share] {
			for at, source := range e.Source {
				target := e.Target[at]
				counts[source>>r.shift]++
				if source != target {
					counts[target>>r.shift]++
				}
			}
		}
		next[share] = counts
		return nil
	})
	if err != nil {
		return err
	}
	r.first = make([]int, r.buckets+1)
	total := 0
	for b := range r.buckets {
		r.first[b] = total
		for share := range next {
			next[share][b], total = total, total+next[share][b]
		}
	}
	r.first[r.buckets] = total
	r.row = make([]int32, total)
	r.column = make([]int32, total)
	if slices.ContainsFunc(lists, func(e Edges) bool { return e.Weight != nil }) {
		r.weight = make([]float64, total)
	}
	err = r.each(len(shares), func(share int) error {
		next := next[share]
		put := func(row, column int32) int {
			place := next[row>>r.shift]
			next[row>>r.shift]++
			r.row[place], r.column[place] = row, column
			return place
		}
		for _, e := range shares[share] {
			for at, source := range e.Source {
				target := e.Target[at]
				place := put(source, target)
				mirror := -1
				if source != target {
					mirror = put(target, source)
				}
				if r.weight != nil {
					w := e.weight(at)
					r.weight[place] = w
					if mirror >= 0 {
						r.weight[mirror] = w
					}
				}
			}
		}
		return nil
	})
	clear(lists)
	return err
}

// share divides the edges among the threads.
func (r *graphBuilder) share(lists []Edges) [][]Edges {
	var parts []Edges
	for _, e := range lists {
		for from := 0; from < e.Len(); from += edgesPerPart {
			to := min(from+edgesPerPart, e.Len())
			part := Edges{Source: e.Source[from:to], Target: e.Target[from:to]}
			if e.Weight != nil {
				part.Weight = e.Weight[from:to]
			}
			parts = append(parts, part)
		}
	}
	return slices.Collect(slices.Chunk(parts, max(1, (len(parts)+r.pool.Threads()-1)/r.pool.Threads())))
}

// bucketRows is reusable memory to sort one bucket in.
type bucketRows struct {
	next   []int
	column []int32
	weight []float64
	keys   []uint64
	sorted []float64
}

// finish sorts the entries of a bucket by row and column, merges repeated ones, and counts the entries of each row. It
// leaves the entries at the beginning of the bucket.
func (r *graphBuilder) finish(b int) error {
	w := r.scratch.Get().(*bucketRows)
	defer r.scratch.Put(w)
	from, to := r.first[b], r.first[b+1]
	low := b << r.shift
	height := min(r.n-low, 1<<r.shift)
	w.sort(r, int32(low), height, from, to)
	place, begin := from-1, 0
	for i := range height {
		end, before := w.next[i], place
		for at := begin; at < end; at++ {
			repeated := at > begin && w.column[at] == w.column[at-1]
			if !repeated {
				place++
				r.column[place], r.row[place] = w.column[at], 0
			}
			r.row[place]++
			if r.weight != nil && repeated {
				r.weight[place] += w.weight[at]
			} else if r.weight != nil {
				r.weight[place] = w.weight[at]
			}
		}
		r.start[low+i+1], begin = int64(place-before), end
		for at := before + 1; r.weight != nil && at <= place; at++ {
			if !finite(r.weight[at]) {
				return fault.Invalid("NOT_FINITE", "the weights of edge %d-%d add up to %v", low+i, r.column[at],
					r.weight[at])
			}
		}
	}
	return nil
}

// sort copies the entries of a bucket, sorted by row, column, and the order of the edges. It sets next to where each
// row ends.
func (w *bucketRows) sort(r *graphBuilder, low int32, height, from, to int) {
	w.next = append(w.next[:0], make([]int, height+1)...)
	for _, i := range r.row[from:to] {
		w.next[i-low+1]++
	}
	for i := range height {
		w.next[i+1] += w.next[i]
	}
	w.column = slices.Grow(w.column[:0], to-from)[:to-from]
	if r.weight != nil {
		w.weight = slices.Grow(w.weight[:0], to-from)[:to-from]
	}
	for at := from; at < to; at++ {
		place := &w.next[r.row[at]-low]
		w.column[*place] = r.column[at]
		if r.weight != nil {
			w.weight[*place] = r.weight[at]
		}
		*place++
	}
	begin := 0
	for _, end := range w.next[:height] {
		w.sortRow(begin, end, r.weight != nil)
		begin = end
	}
}

// sortRow sorts the entries of one row by column, repeated ones in the order of the edges.
func (w *bucketRows) sortRow(from, to int, weighted bool) {
	columns := w.column[from:to]
	if slices.IsSorted(columns) {
		return
	}
	if !weighted {
		sortColumns(columns)
		return
	}
	weights := w.weight[from:to]
	w.keys = w.keys[:0]
	w.sorted = append(w.sorted[:0], weights...)
	for at, c := range columns {
		w.keys = append(w.keys, uint64(c)<<32|uint64(at)) // distinct, so that any sort is stable
	}
	slices.Sort(w.keys)
	for at, key := range w.keys {
		columns[at], weights[at] = int32(key>>32), w.sorted[uint32(key)]
	}
}

// sortColumns sorts short rows by insertion, which is fastest; most rows are short.
func sortColumns(columns []int32) {
	const short = 40
	if len(columns) > short {
		slices.Sort(columns)
		return
	}
	for at := 1; at < len(columns); at++ {
		c, place := columns[at], at
		for ; place > 0 && columns[place-1] > c; place-- {
			columns[place] = columns[place-1]
		}
		columns[place] = c
	}
}

// graph finishes all buckets and puts their rows together.
func (r *graphBuilder) graph() (*Graph, error) {
	if err := r.each(r.buckets, r.finish); err != nil {
		return nil, err
	}
	for i := range r.n {
		r.start[i+1] += r.start[i]
	}
	g := &Graph{N: r.n, RowStart: r.start, Column: r.column, Weight: r.weight}
	repeated := r.start[r.n] < int64(len(r.column))
	if repeated {
		g.Column = make([]int32, r.start[r.n])
	}
	if repeated || r.weight == nil {
		g.Weight = make([]float64, r.start[r.n])
	}
	err := r.each(r.buckets, func(b int) error {
		from := r.start[b<<r.shift]
		to := r.start[min(r.n, (b+1)<<r.shift)]
		place := r.first[b]
		if repeated {
			copy(g.Column[from:to], r.column[place:])
		}
		if r.weight == nil {
			for at := range g.Weight[from:to] {
				g.Weight[int(from)+at] = float64(r.row[place+at]) // the sum of as many ones
			}
		} else if repeated {
			copy(g.Weight[from:to], r.weight[place:])
		}
		return nil
	})
	return g, err
}
