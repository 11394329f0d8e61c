package eigen

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/cleave-project/cleave/internal/partition"
)

// sparse is a symmetric matrix, given by its rows. If tiled is set, it computes its tiles from last to first.
type sparse struct {
	start, column []int
	value         []float64
	tiled         bool
}

func (s *sparse) Rows() int { return len(s.start) - 1 }

func (s *sparse) Multiply(_ context.Context, x [][]float64) ([][]float64, error) {
	n := s.Rows()
	y := Columns(n, len(x))
	row := func(i int) {
		for k := s.start[i]; k < s.start[i+1]; k++ {
			c, v := s.column[k], s.value[k]
			for j := range x {
				y[j][i] += float64(v * x[j][c])
			}
		}
	}
	if s.tiled {
		for _, tile := range slices.Backward(partition.AllTiles(n)) {
			for i := partition.Tile(n, tile).From; i < partition.Tile(n, tile).To; i++ {
				row(i)
			}
		}
		return y, nil
	}
	ranges(n, 1024, func(from, to int) {
		for i := from; i < to; i++ {
			row(i)
		}
	})
	return y, nil
}

func (s *sparse) dense() []float64 {
	n := s.Rows()
	a := make([]float64, n*n)
	for i := range n {
		for k := s.start[i]; k < s.start[i+1]; k++ {
			a[i*n+s.column[k]] += s.value[k]
		}
	}
	return a
}

// scaled is D^-1/2 S D^-1/2.
func (s *sparse) scaled(degrees []float64) *sparse {
	t := &sparse{start: s.start, column: s.column, value: slices.Clone(s.value)}
	for i := range degrees {
		for k := s.start[i]; k < s.start[i+1]; k++ {
			t.value[k] /= math.Sqrt(float64(degrees[i] * degrees[s.column[k]]))
		}
	}
	return t
}

func (s *sparse) sums() []float64 {
	d := make([]float64, s.Rows())
	for i := range d {
		for k := s.start[i]; k < s.start[i+1]; k++ {
			d[i] += s.value[k]
		}
	}
	return d
}

type edge struct {
	i, j int
	w    float64
}

func fromEdges(n int, edges []edge) *sparse {
	s := &sparse{start: make([]int, n+1)}
	both := make([]edge, 0, 2*len(edges))
	for _, e := range edges {
		both = append(both, e)
		if e.i != e.j {
			both = append(both, edge{e.j, e.i, e.w})
		}
	}
	for _, e := range both {
		s.start[e.i+1]++
	}
	for i := range n {
		s.start[i+1] += s.start[i]
	}
	at := slices.Clone(s.start)
	s.column = make([]int, len(both))
	s.value = make([]float64, len(both))
	for _, e := range both {
		s.column[at[e.i]], s.value[at[e.i]] = e.j, e.w
		at[e.i]++
	}
	return s
}

// blocks draws a graph of n vertices in several blocks. Every vertex has about `inside` neighbors in its own block,
// and `outside` neighbors anywhere. Every block is connected.
func blocks(n, count, inside int, outside float64, rng *rand.Rand) *sparse {
	var edges []edge
	for i := range n {
		if i >= count {
			edges = append(edges, edge{i, i - count, 0.5 + rng.Float64()})
		}
		for range inside / 2 {
			if j := i%count + count*rng.IntN((n-i%count+count-1)/count); j != i {
				edges = append(edges, edge{i, j, 0.5 + rng.Float64()})
			}
		}
		if rng.Float64() < outside {
			if j := rng.IntN(n); j != i {
				edges = append(edges, edge{i, j, 0.5 + rng.Float64()})
			}
		}
	}
	return fromEdges(n, edges)
}
