package eigen

import (
	"context"
	"math"
	"sync"

	"gonum.org/v1/gonum/mat"

	"github.com/cleave-project/cleave/internal/parallel"
	"github.com/cleave-project/cleave/internal/partition"
)

// Columns returns count columns of n zeros.
func Columns(n, count int) [][]float64 {
	block := make([][]float64, count)
	all := make([]float64, n*count)
	for j := range block {
		block[j] = all[j*n : (j+1)*n : (j+1)*n]
	}
	return block
}

// ranges is parallel.Ranges on all processors, for products of a block of vectors. They are so short that they need not
// end early, and so many that their callers hand on no context.
func ranges(n, size int, do func(from, to int)) {
	_ = parallel.Ranges(context.Background(), n, size, do) // this context never ends
}

// overTiles calls work for every tile of n rows.
func overTiles(n int, work func(tile int, rows partition.Range)) {
	const minSharedTiles = 4 // fewer short tiles are done before another thread has woken up
	size := 1
	if n < minSharedTiles*1024 {
		size = partition.TileCount(n)
	}
	ranges(partition.TileCount(n), size, func(from, to int) {
		for tile := from; tile < to; tile++ {
			work(tile, partition.Tile(n, tile))
		}
	})
}

// Gram computes X'Y for columns of length n. Each entry is summed per tile in row order, then in tile order.
func Gram(n int, x, y [][]float64) *mat.Dense {
	total := newDense(len(x), len(y))
	if len(x) == 0 || len(y) == 0 {
		return total
	}
	parts := make([][][]float64, partition.TileCount(n))
	overTiles(n, func(tile int, rows partition.Range) {
		part := Columns(len(y), len(x))
		dots(x, y, rows, part)
		parts[tile] = part
	})
	for _, part := range parts {
		for i, row := range part {
			sums := total.RawRowView(i)
			for j, v := range row {
				sums[j] += v
			}
		}
	}
	return total
}

// dots computes x'y over some rows for every x and every y, in blocks of four by four columns.
func dots(x, y [][]float64, rows partition.Range, into [][]float64) {
	i := 0
	for ; i+groupColumns <= len(x); i += groupColumns {
		left := four(x[i:], rows)
		j := 0
		for ; j+groupColumns <= len(y); j += groupColumns {
			right := four(y[j:], rows)
			for at, product := range plainDotBlock(&left, &right) {
				into[i+at/groupColumns][j+at%groupColumns] = product
			}
		}
		for ; j < len(y); j++ {
			for at, product := range plainDots(y[j][rows.From:rows.To], &left) {
				into[i+at][j] = product
			}
		}
	}
	for ; i < len(x); i++ {
		for j := range y {
			into[i][j] = plainDot(x[i][rows.From:rows.To], y[j][rows.From:rows.To])
		}
	}
}

// four returns some rows of the first four columns.
func four(x [][]float64, rows partition.Range) (parts [groupColumns][]float64) {
	for c := range parts {
		parts[c] = x[c][rows.From:rows.To]
	}
	return parts
}

// combine adds X c_j to every column y_j, where entry (i, j) of factors is the factor of x_i in y_j.
func combine(n int, y, x [][]float64, factors *mat.Dense) {
	if len(x) == 0 || len(y) == 0 {
		return
	}
	ranges(n, stripRows, func(from, to int) {
		rows := partition.Range{From: from, To: to}
		parts := make([][]float64, len(y))
		for j := range y {
			parts[j] = y[j][from:to]
		}
		addCombinations(parts, x, rows, factors)
	})
}

// stripRows is how many rows of columns are combined at a time: those of eight columns stay in the cache.
const stripRows = 512

// addCombinations adds X c_j to every column for some rows, four columns of X to four others at a time.
func addCombinations(to, x [][]float64, rows partition.Range, factors *mat.Dense) {
	j := 0
	for ; j+groupColumns <= len(to); j += groupColumns {
		some := [groupColumns][]float64(to[j:])
		i := 0
		for ; i+groupColumns <= len(x); i += groupColumns {
			var block [groupColumns * groupColumns]float64
			for at := range block {
				block[at] = factors.At(i+at%groupColumns, j+at/groupColumns)
			}
			group := four(x[i:], rows)
			addBlock(&some, &group, &block)
		}
		for ; i < len(x); i++ {
			for at, column := range some {
				subtractMultiple(column, x[i][rows.From:rows.To], -factors.At(i, j+at))
			}
		}
	}
	for ; j < len(to); j++ {
		addCombination(to[j], x, rows, factors, j)
	}
}

// addCombination adds X c_j for some rows, four columns of X at a time.
func addCombination(to []float64, x [][]float64, rows partition.Range, factors *mat.Dense, j int) {
	i := 0
	for ; i+groupColumns <= len(x); i += groupColumns {
		group := four(x[i:], rows)
		var some [groupColumns]float64
		for c := range some {
			some[c] = factors.At(i+c, j)
		}
		addMultiples(to, &group, &some)
	}
	for ; i < len(x); i++ {
		subtractMultiple(to, x[i][rows.From:rows.To], -factors.At(i, j))
	}
}

// Combination returns X times factors, in new columns.
func Combination(n int, x [][]float64, factors *mat.Dense) [][]float64 {
	y := Columns(n, columnCount(factors))
	combine(n, y, x, factors)
	return y
}

// recombineInPlace replaces the first columns of X by X times factors, and returns them.
func recombineInPlace(n int, x [][]float64, factors *mat.Dense) [][]float64 {
	count := columnCount(factors)
	pool := sync.Pool{New: func() any {
		strips := Columns(partition.TileRows(n), count)
		return &strips
	}}
	overTiles(n, func(_ int, rows partition.Range) {
		buffer := pool.Get().(*[][]float64)
		strips := *buffer
		for j := range strips {
			strips[j] = strips[j][:rows.Len()]
			clear(strips[j])
		}
		addCombinations(strips, x, rows, factors)
		for j, strip := range strips {
			copy(x[j][rows.From:rows.To], strip)
		}
		pool.Put(buffer)
	})
	clear(x[count:])
	return x[:count]
}

// project removes from every column of w its part in the span of the orthonormal columns of v.
func project(n int, w, v [][]float64) {
	if len(w) == 0 || len(v) == 0 {
		return
	}
	parts := Gram(n, v, w)
	parts.Scale(-1, parts)
	combine(n, w, v, parts)
}

// dependent is the smallest length of a unit vector after projection. A shorter one counts as linearly dependent.
const dependent = 1e-8

// Orthonormalize makes the columns of w orthonormal, to each other and to the orthonormal columns of other blocks, in
// place. It returns them without those that depend on the rest. Everything is done twice, which is enough (Kahan).
func Orthonormalize(n int, w [][]float64, others ...[][]float64) [][]float64 {
	kept := w[:0:0]
	for _, x := range w {
		if normalize(x) > 0 {
			kept = append(kept, x)
		}
	}
	for _, least := range []float64{dependent, 0.5} {
		for _, v := range others {
			project(n, kept, v)
		}
		independent := kept[:0:0]
		for _, x := range kept {
			for range 2 {
				for _, u := range independent {
					subtractMultiple(x, u, dot(u, x))
				}
			}
			if normalize(x) > least {
				independent = append(independent, x)
			}
		}
		kept = independent
	}
	return kept
}

// normalize divides a vector by its length, unless that is 0, and returns the length.
func normalize(x []float64) float64 {
	norm := math.Sqrt(dot(x, x))
	if norm > 0 {
		for i := range x {
			x[i] /= norm
		}
	}
	return norm
}
