package spectral

import (
	"context"
	"slices"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/dataset"
)

// learning performs spectral learning (Kamvar et al. 2003, Kulis2009 2.2.2). Affinities are divided by the largest,
// and set to 1 on must-links and to 0 on cannot-links. The result is clustered by the k leading eigenvectors of
//
//	N = (A + d_max I - D) / d_max
func (m *method) learning(ctx context.Context, result *clustering.Result) error {
	maxima, err := m.x.Matrix().Maxima(ctx)
	if err != nil {
		return err
	}
	largest := slices.Max(maxima)
	if !(largest > 0) {
		largest = 1 // all affinities are 0
	}
	corrections, err := m.corrections(ctx, largest)
	if err != nil {
		return err
	}
	degrees := make([]float64, m.n)
	dMax := 0.0
	for i := range degrees {
		degrees[i] = m.degrees[i] / largest
		_, values := corrections.Row(i)
		for _, v := range values {
			degrees[i] += v
		}
		if !m.kept.Left(int32(i)) {
			dMax = max(dMax, degrees[i])
		}
	}
	if !(dMax > 0) {
		dMax = 1 // cannot-links removed every affinity
	}
	return m.clusterLargest(ctx, result, m.kept.Restrict(learned{m, corrections, degrees, largest, dMax}))
}

// learned is the matrix N of learning, as an operator.
type learned struct {
	*method
	corrections   *dataset.Graph
	degrees       []float64
	largest, dMax float64
}

func (l learned) Rows() int { return l.n }

// Multiply implements eigen.Operator: N x = (A x / largest + corrections x + (dMax - D) x) / dMax.
func (l learned) Multiply(ctx context.Context, columns [][]float64) ([][]float64, error) {
	products, err := l.x.Matrix().Multiply(ctx, columns)
	if err != nil {
		return nil, err
	}
	for _, y := range products {
		for i := range y {
			y[i] /= l.largest
		}
	}
	if err := addProducts(ctx, products, l.corrections, columns, clustering.Ones(l.n)); err != nil {
		return nil, err
	}
	for v, y := range products {
		for i := range y {
			y[i] = (y[i] + float64((l.dMax-l.degrees[i])*columns[v][i])) / l.dMax
		}
	}
	return products, nil
}

// corrections returns what has to be added to constrained affinities, after the division, to make them 1 or 0. A pair
// that is both must-linked and cannot-linked becomes 0.
func (m *method) corrections(ctx context.Context, largest float64) (*dataset.Graph, error) {
	wanted := map[[2]int32]float64{}
	var order [][2]int32
	for _, pair := range m.given.Pairs() {
		if m.kept.Left(pair.I) || m.kept.Left(pair.J) {
			continue
		}
		key := [2]int32{min(pair.I, pair.J), max(pair.I, pair.J)}
		if _, seen := wanted[key]; !seen {
			order = append(order, key)
			wanted[key] = 1
		}
		if pair.Kind == constraint.CannotLink {
			wanted[key] = 0
		}
	}
	affinities, err := m.affinities(ctx, order)
	if err != nil {
		return nil, err
	}
	missing := make([]constraint.Belief, len(order))
	for i, key := range order {
		missing[i] = constraint.Belief{I: key[0], J: key[1], Value: wanted[key] - affinities[i]/largest}
	}
	return newSymmetric(m.n, missing)
}

// columnsAtOnce is the number of columns of the matrix that are requested at a time.
const columnsAtOnce = 16

// affinities returns single entries of the matrix: from the data for graphs and given matrices, from columns of the
// executor for points.
func (m *method) affinities(ctx context.Context, pairs [][2]int32) ([]float64, error) {
	values := make([]float64, len(pairs))
	switch data := m.data.(type) {
	case *dataset.Graph:
		for i, pair := range pairs {
			neighbors, weights := data.Row(int(pair[0]))
			if place, found := slices.BinarySearch(neighbors, pair[1]); found {
				values[i] = m.ToUnit(weights[place])
			}
		}
		return values, nil
	case *dataset.Kernel:
		for i, pair := range pairs {
			values[i] = data.Values[int(pair[0])*data.N+int(pair[1])]
		}
		return values, nil
	}
	byColumn := map[int32][]int{}
	var columns []int32
	for i, pair := range pairs {
		if byColumn[pair[0]] == nil {
			columns = append(columns, pair[0])
		}
		byColumn[pair[0]] = append(byColumn[pair[0]], i)
	}
	for some := range slices.Chunk(columns, columnsAtOnce) {
		lists := make([][]int32, len(some))
		for i, column := range some {
			lists[i] = []int32{column}
		}
		sums, err := m.x.Matrix().ColumnSums(ctx, lists)
		if err != nil {
			return nil, err
		}
		for i, column := range some {
			for _, pair := range byColumn[column] {
				values[pair] = sums[i][pairs[pair][1]]
			}
		}
	}
	return values, nil
}
