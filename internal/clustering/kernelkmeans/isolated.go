package kernelkmeans

import (
	"context"
	"fmt"
	"slices"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/component"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/labeling"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/text"
)

// Isolated points have weight 0 in a normalized cut, so the cut is the same in whichever cluster they are. They are
// left out: during a run they have no label, their constraints are not part of W, and at the end component.Attach
// assigns them to clusters.

// setIsolated finds the points of weight 0.
func (w *weightedMatrix) setIsolated() {
	w.isolated, w.active, w.constraints = nil, w.p.n, w.p.Constraints
	for i, a := range w.weights {
		if a > 0 {
			continue
		}
		if w.isolated == nil {
			w.isolated = make([]bool, w.p.n)
		}
		w.isolated[i] = true
		w.active--
	}
	if w.isolated != nil {
		w.constraints = w.p.Constraints.Without(w.isolated)
	}
}

func (w *weightedMatrix) isIsolated(i int) bool { return w.isolated != nil && w.isolated[i] }

// rowWeights returns the weights for the executor, which divides by them. Those of isolated points are 1; any positive
// value would do, because what the executor finds for them is ignored.
func (w *weightedMatrix) rowWeights() []float64 {
	if w.isolated == nil {
		return w.weights
	}
	weights := slices.Clone(w.weights)
	for i, isolated := range w.isolated {
		if isolated {
			weights[i] = 1
		}
	}
	return weights
}

// diagonalShare returns M_ii / a_i, or 0 for an isolated point.
func (w *weightedMatrix) diagonalShare(i int) float64 {
	if w.isIsolated(i) {
		return 0
	}
	return w.diagonal[i] / w.weights[i]
}

// unlabeled returns the labels without those of isolated points.
func (w *weightedMatrix) unlabeled(labels []int32) []int32 {
	if w.isolated == nil {
		return labels
	}
	labels = slices.Clone(labels)
	for i, isolated := range w.isolated {
		if isolated {
			labels[i] = -1
		}
	}
	return labels
}

// withoutIsolated removes the moves of isolated points.
func (w *weightedMatrix) withoutIsolated(moves []labeling.Move) []labeling.Move {
	if w.isolated == nil {
		return moves
	}
	return slices.DeleteFunc(moves, func(m labeling.Move) bool { return w.isolated[m.Point] })
}

// attached assigns isolated points to the clusters of their seeds, otherwise by component.Attach. It returns labels
// unchanged until all other points have labels.
func (w *weightedMatrix) attached(labels []int32) []int32 {
	if w.isolated == nil {
		return labels
	}
	for i, c := range labels {
		if c < 0 && !w.isolated[i] {
			return labels
		}
	}
	labels = slices.Clone(labels)
	for _, seed := range w.p.spec.Supervision.Seeds {
		if w.isolated[seed.Index] && seed.Probability == 0 {
			labels[seed.Index] = seed.Label
		}
	}
	component.Attach(labels, w.p.spec.K, w.p.graph, w.p.Constraints)
	return labels
}

// Isolated reports, for each point, whether it is isolated. It returns nil if none is.
func (s *Setup) Isolated() []bool { return s.matrix.isolated }

// WarnIsolated warns about isolated points, if there are any, and says where they are assigned.
func (s *Setup) WarnIsolated(o clustering.Observer) {
	if s.matrix.isolated != nil {
		o.Observe(isolatedNotice(s.p.Matrix, s.matrix.isolated))
	}
}

func isolatedNotice(m kernel.MatrixSpec, isolated []bool) clustering.Notice {
	var which []text.Part
	for i, is := range isolated {
		if is {
			which = append(which, text.Row(i))
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
		remedy = fmt.Sprintf("; a kernel wider than rho = %.4g may connect them", m.Rho)
	}
	message := append(text.Message{text.Plain("%d of %d %s %s no affinity to any other (", len(which), len(isolated),
		what, have)}, text.FirstParts(which, 10)...)
	return clustering.NewNotice("ISOLATED_VERTICES", append(message,
		text.Plain("): each is assigned to the cluster of its seed, else to that of most of its must-linked points, "+
			"else to the largest%s", remedy))...)
}

// AddEdges adds edges to the affinity and to its degrees.
func (s *Setup) AddEdges(ctx context.Context, edges []dataset.Edge) error {
	if s.p.Objective == ObjectiveNormalizedCut {
		weights := slices.Clone(s.matrix.weights)
		for _, e := range edges {
			weights[e.Source] += e.Weight
			weights[e.Target] += e.Weight
		}
		s.matrix.weights = weights
		s.matrix.setIsolated()
	}
	sparse, err := sparsePart(s.p.n, s.matrix.constraints, s.p.Matrix.Grid, nil, edges)
	if err != nil {
		return err
	}
	return s.server.setOperands(ctx, s.matrix.rowWeights(), sparse)
}

// Graph returns the graph that is clustered, or nil if the data is not one.
func (p *Problem) Graph() *dataset.Graph { return p.graph }

// Pieces returns the connected parts of the graph. Edges that are 0 on the grid do not count. If together is not nil,
// points in the same must-link component count as connected.
func (p *Problem) Pieces(together *constraint.Components) component.Pieces {
	return component.Find(p.graph, together, p.FromUnit(p.Matrix.Grid.Spacing()/2))
}
