package cut

import (
	"context"
	"slices"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/constraint"
	"github.com/cleave-project/cleave/internal/dataset"
	"github.com/cleave-project/cleave/internal/spectral"
)

// learning is spectral learning (Kamvar et al., in Kulis2009 2.2.2): affinities divided by their largest,
// 1 on must-links and 0 on cannot-links, then the k leading eigenvectors of
//
//	N = (A + d_max I - D) / d_max
func (r *method) learning(ctx context.Context, result *clustering.Result) error {
	maxima, err := r.x.Maxima(ctx)
	if err != nil {
		return err
	}
	largest := slices.Max(maxima)
	if !(largest > 0) {
		largest = 1 // no affinity at all
	}
	corrections, err := r.corrections(ctx, largest)
	if err != nil {
		return err
	}
	degrees := make([]float64, r.n)
	dMax := 0.0
	for i := range degrees {
		degrees[i] = r.degrees[i] / largest
		_, values := corrections.row(i)
		for _, v := range values {
			degrees[i] += v
		}
		dMax = max(dMax, degrees[i])
	}
	k := r.spec.K
	op := learned{r, corrections, degrees, largest, dMax}
	pairs, err := spectral.Largest(ctx, op, k, r.Random(clustering.StreamEigen), r.solverOptions())
	if err != nil {
		return err
	}
	r.report(result, pairs, func(j int) float64 { return 1 - pairs.Values[j] })
	return r.byRows(ctx, result, pairs.Vectors)
}

// learned is N.
type learned struct {
	*method
	corrections   *symmetric
	degrees       []float64
	largest, dMax float64
}

func (l learned) Rows() int { return l.n }

func (l learned) Multiply(ctx context.Context, columns [][]float64) ([][]float64, error) {
	products, err := l.x.Multiply(ctx, columns)
	if err != nil {
		return nil, err
	}
	for _, y := range products {
		for i := range y {
			y[i] /= l.largest
		}
	}
	l.corrections.multiply(products, columns, clustering.Ones(l.n))
	for v, y := range products {
		for i := range y {
			y[i] = (y[i] + float64((l.dMax-l.degrees[i])*columns[v][i])) / l.dMax
		}
	}
	return products, nil
}

// corrections are what constrained affinities lack of 1 or have over 0, after the division. Where a pair
// is both must- and cannot-linked, it is apart.
func (r *method) corrections(ctx context.Context, largest float64) (*symmetric, error) {
	wanted := map[[2]int32]float64{}
	var order [][2]int32
	for _, pair := range r.given.Pairs() {
		key := [2]int32{min(pair.I, pair.J), max(pair.I, pair.J)}
		if _, seen := wanted[key]; !seen {
			order = append(order, key)
			wanted[key] = 1
		}
		if pair.Kind == constraint.CannotLink {
			wanted[key] = 0
		}
	}
	affinities, err := r.affinities(ctx, order)
	if err != nil {
		return nil, err
	}
	s := newSymmetric(r.n)
	for at, key := range order {
		s.add(key[0], key[1], wanted[key]-affinities[at]/largest)
	}
	s.finish()
	return s, nil
}

// columnsAtOnce is how many columns of the matrix are asked for at a time.
const columnsAtOnce = 16

// affinities are single entries of the matrix: of a graph or a given matrix from the data, of points from
// the workers' columns.
func (r *method) affinities(ctx context.Context, pairs [][2]int32) ([]float64, error) {
	values := make([]float64, len(pairs))
	switch data := r.data.(type) {
	case *dataset.Graph:
		for at, pair := range pairs {
			neighbours, weights := data.Row(int(pair[0]))
			if place, found := slices.BinarySearch(neighbours, pair[1]); found {
				values[at] = weights[place]
			}
		}
		return values, nil
	case *dataset.Kernel:
		for at, pair := range pairs {
			values[at] = data.Values[int(pair[0])*data.N+int(pair[1])]
		}
		return values, nil
	}
	byColumn := map[int32][]int{}
	var columns []int32
	for at, pair := range pairs {
		if byColumn[pair[0]] == nil {
			columns = append(columns, pair[0])
		}
		byColumn[pair[0]] = append(byColumn[pair[0]], at)
	}
	for some := range slices.Chunk(columns, columnsAtOnce) {
		lists := make([][]int32, len(some))
		for at, column := range some {
			lists[at] = []int32{column}
		}
		sums, err := r.x.ColumnSums(ctx, lists)
		if err != nil {
			return nil, err
		}
		for at, column := range some {
			for _, pair := range byColumn[column] {
				values[pair] = sums[at][pairs[pair][1]]
			}
		}
	}
	return values, nil
}
