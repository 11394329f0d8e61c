package kernelkmeans

import (
	"context"
	"fmt"
	"slices"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/component"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/text"
)

// Isolated points have weight 0 in a normalized cut, so the cut is the same in whichever cluster they are. They are left
// out: during a run they have no label, their constraints are not part of W, and at the end component.Attach assigns
// them to clusters.

// setIsolated finds the points of weight 0.
func (f *Family) setIsolated() {
	f.isolated, f.active, f.constraints = nil, f.p.n, f.p.Constraints
	for i, a := range f.weights {
		if a > 0 {
			continue
		}
		if f.isolated == nil {
			f.isolated = make([]bool, f.p.n)
		}
		f.isolated[i] = true
		f.active--
	}
	if f.isolated != nil {
		f.constraints = f.p.Constraints.Without(f.isolated)
	}
}

// Isolated reports, for each point, whether it is isolated. It returns nil if none is.
func (f *Family) Isolated() []bool { return f.isolated }

func (f *Family) isIsolated(i int) bool { return f.isolated != nil && f.isolated[i] }

// rowWeights returns the weights for the executor, which divides by them. Those of isolated points are 1; any positive
// value would do, because what the executor finds for them is ignored.
func (f *Family) rowWeights() []float64 {
	if f.isolated == nil {
		return f.weights
	}
	weights := slices.Clone(f.weights)
	for i, isolated := range f.isolated {
		if isolated {
			weights[i] = 1
		}
	}
	return weights
}

// diagonalShare returns M_ii / a_i, or 0 for an isolated point.
func (f *Family) diagonalShare(i int) float64 {
	if f.isIsolated(i) {
		return 0
	}
	return f.diagonal[i] / f.weights[i]
}

// unlabeled returns the labels without those of isolated points.
func (f *Family) unlabeled(labels []int32) []int32 {
	if f.isolated == nil {
		return labels
	}
	labels = slices.Clone(labels)
	for i, isolated := range f.isolated {
		if isolated {
			labels[i] = -1
		}
	}
	return labels
}

// withoutIsolated removes the moves of isolated points.
func (f *Family) withoutIsolated(moves []kernel.Move) []kernel.Move {
	if f.isolated == nil {
		return moves
	}
	return slices.DeleteFunc(moves, func(m kernel.Move) bool { return f.isolated[m.Point] })
}

// attached assigns isolated points to the clusters of their seeds, otherwise by component.Attach. It returns labels
// unchanged until all other points have labels.
func (f *Family) attached(labels []int32) []int32 {
	if f.isolated == nil {
		return labels
	}
	for i, c := range labels {
		if c < 0 && !f.isolated[i] {
			return labels
		}
	}
	labels = slices.Clone(labels)
	for _, s := range f.p.spec.Seeds {
		if f.isolated[s.Index] && s.Probability == 0 {
			labels[s.Index] = s.Label
		}
	}
	component.Attach(labels, f.p.spec.K, f.p.graph, f.p.Constraints)
	return labels
}

// warnIsolated warns about isolated points.
func (f *Family) warnIsolated(o clustering.Observer) {
	if f.isolated != nil {
		f.Warn(o, "ISOLATED_VERTICES", IsolatedNotice(f.p.Matrix, f.isolated))
	}
}

// IsolatedNotice returns a message that lists the isolated points and says where they are assigned.
func IsolatedNotice(m kernel.MatrixSpec, isolated []bool) string {
	var which []int
	for i, is := range isolated {
		if is {
			which = append(which, i)
		}
	}
	what, have, remedy := "vertices", "have", ""
	if len(which) == 1 {
		have = "has"
	}
	if m.Function != kernel.Adjacency {
		what = "points"
	}
	if m.Rho > 0 {
		remedy = fmt.Sprintf("; a wider kernel than rho = %.4g connects them", m.Rho)
	}
	return fmt.Sprintf("%d of %d %s %s no affinity to any other (%s): each joins the cluster that most of its must-linked points are in, else the largest one%s",
		len(which), len(isolated), what, have, text.First(which, 10), remedy)
}

// AddEdges adds edges to the affinity and to its degrees.
func (f *Family) AddEdges(ctx context.Context, edges []dataset.Edge) error {
	if f.p.Objective == ObjectiveNormalizedCut {
		f.weights = slices.Clone(f.weights)
		for _, e := range edges {
			f.weights[e.Source] += e.Weight
			f.weights[e.Target] += e.Weight
		}
		f.setIsolated()
	}
	return f.x.SetOperands(ctx, kernel.Operands{
		ID: 2, K: f.p.spec.K, Weights: f.rowWeights(), Sparse: sparsePart(f.p.n, f.constraints, f.p.Matrix.Grid, nil, edges),
	})
}

// Graph returns the graph that is clustered, or nil if the data is not one.
func (p *Problem) Graph() *dataset.Graph { return p.graph }

// Pieces returns the connected parts of the graph. Edges that are 0 on the grid do not count. If together is not nil,
// points in the same must-link component count as connected.
func (p *Problem) Pieces(together *constraint.Components) component.Pieces {
	return component.Find(p.graph, together, p.FromUnit(p.Matrix.Grid.Spacing()/2))
}
