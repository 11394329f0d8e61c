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
	rows := make([]float64, n)
	heaviest := 0.0
	for _, p := range set.Pairs() {
		for _, i := range [...]int32{p.I, p.J} {
			rows[i] += p.Weight
			heaviest = max(heaviest, rows[i])
		}
	}
	return heaviest
}

// sparsePart returns W plus a diagonal, which may be nil, and further edges, symmetric and on the grid. Entries at the
// same place, such as those of a pair that is both must-linked and cannot-linked, add up, exactly in any order.
func sparsePart(n int, set *constraint.Set, grid kernel.Grid, diagonal []float64,
	edges []dataset.Edge) (*kernel.Sparse, error) {
	all := slices.Clone(edges)
	for _, p := range set.Pairs() {
		all = append(all, dataset.Edge{Source: p.I, Target: p.J, Weight: signedWeight(p)})
	}
	for i, v := range diagonal {
		all = append(all, dataset.Edge{Source: int32(i), Target: int32(i), Weight: v})
	}
	for at := range all {
		all[at].Weight = grid.Round(all[at].Weight)
	}
	g, err := dataset.NewGraph(n, all)
	if err != nil {
		return nil, err
	}
	return &kernel.Sparse{RowStart: g.RowStart, Column: g.Column, Value: g.Weight}, nil
}
