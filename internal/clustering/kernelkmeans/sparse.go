package kernelkmeans

import (
	"slices"

	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/kernel"
)

// signedWeight returns the entry of W for a pair: +w for a must-link, -w for a cannot-link.
func signedWeight(p constraint.Pair) float64 {
	if p.Kind == constraint.CannotLink {
		return -p.Weight
	}
	return p.Weight
}

// heaviestRow returns the largest absolute row sum of W.
func heaviestRow(n int, set *constraint.Set) float64 {
	rows, heaviest := make([]float64, n), 0.0
	for _, p := range set.Pairs() {
		for _, i := range [...]int32{p.I, p.J} {
			rows[i] += p.Weight
			heaviest = max(heaviest, rows[i])
		}
	}
	return heaviest
}

// sparseEntry is an entry of a row of the sparse part.
type sparseEntry struct {
	column int32
	value  float64
}

// sparsePart returns W plus a diagonal, which may be nil, and further edges, symmetric and on the grid.
func sparsePart(n int, set *constraint.Set, grid kernel.Grid, diagonal []float64, edges []dataset.Edge) *kernel.Sparse {
	rows := make(map[int32][]sparseEntry, 2*(set.Len()+len(edges)))
	add := func(i, j int32, weight float64) {
		v := grid.Round(weight)
		rows[i] = append(rows[i], sparseEntry{j, v})
		rows[j] = append(rows[j], sparseEntry{i, v})
	}
	for _, p := range set.Pairs() {
		add(p.I, p.J, signedWeight(p))
	}
	for _, e := range edges {
		add(e.Source, e.Target, e.Weight)
	}
	s := &kernel.Sparse{RowStart: make([]int64, n+1)}
	for i := range n {
		row := rows[int32(i)]
		if diagonal != nil {
			row = append(row, sparseEntry{int32(i), diagonal[i]})
		}
		slices.SortFunc(row, func(a, b sparseEntry) int { return int(a.column) - int(b.column) })
		for at, e := range row {
			if at > 0 && row[at-1].column == e.column {
				s.Value[len(s.Value)-1] += e.value // such as a pair that is both must-linked and cannot-linked
				continue
			}
			s.Column = append(s.Column, e.column)
			s.Value = append(s.Value, e.value)
		}
		s.RowStart[i+1] = int64(len(s.Column))
	}
	return s
}
