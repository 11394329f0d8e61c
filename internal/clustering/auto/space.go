package auto

import (
	"context"
	"fmt"
	"math"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/component"
	"github.com/cleave-project/cleave/internal/clustering/embedding"
	"github.com/cleave-project/cleave/internal/clustering/kmeans"
	"github.com/cleave-project/cleave/internal/clustering/knn"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/numeric/choose"
	"github.com/cleave-project/cleave/internal/numeric/eigen"
	"github.com/cleave-project/cleave/internal/numeric/neighbor"
	"github.com/cleave-project/cleave/internal/partition"
	"github.com/cleave-project/cleave/internal/snapshot"
)

// space is a representation of the data: rows, eigenvectors of a graph, or the graph itself.
type space struct {
	name          clustering.Space
	units         *dataset.Units // the units that neighbors were found in; nil if unchanged
	graph         *dataset.Graph // nil for a space of rows
	adjacency     embedding.Multiplier
	plain         *coordinates // nil if the space is the rows of the data
	span          *eigenspan   // nil until needed
	rows          *rows        // the rows of the data or of plain
	unconstrained *answer      // the answer without constraints
}

// answer holds the labels of all points and the run that found them. Of an answer to a fold, only the labels count.
type answer struct {
	labels []int32
	result *clustering.Result
	rate   rater
	note   string // a description for the user; "" if there is none
}

// rater measures how far every row is from its cluster in a result and from the next one. The labels of the result are
// those of an answer, except those that supervision has changed.
type rater func(ctx context.Context, result *clustering.Result) error

// newAnswer returns an answer whose labels are among the runs of its result, which confidences compare.
func (r *run) newAnswer(labels []int32, result *clustering.Result, rate rater) *answer {
	if len(result.Runs) == 0 {
		result.Runs = []clustering.Labeling{clustering.NewLabeling(labels, r.spec.K)}
	}
	return &answer{labels: labels, result: result, rate: rate}
}

// newRater returns the rater of labels that were found in the coordinates of a space, or else in its graph or its rows.
func (r *run) newRater(s *space) rater {
	switch {
	case s.plain != nil:
		return s.plain.rater(r.n, r.spec.K)
	case s.graph != nil:
		return func(_ context.Context, result *clustering.Result) error {
			own, next := edgeShares(s.graph, result.Labels, r.spec.K)
			result.SetDistances(clustering.MeasureEdgeShare, own, next)
			return nil
		}
	}
	return func(ctx context.Context, result *clustering.Result) error {
		return kmeans.Score(ctx, s.rows.problem, s.rows.x, result)
	}
}

// open returns a space. It creates it on the first call.
func (r *run) open(ctx context.Context, name clustering.Space) (*space, error) {
	if s, opened := r.opened[name]; opened {
		return s, nil
	}
	s, err := r.newSpace(snapshot.Within(ctx, name.String()), name)
	if err != nil {
		return nil, err
	}
	r.opened[name] = s
	return s, nil
}

// newSpace opens a space: it makes the points, the graph or the matrix that its methods compare points by.
func (r *run) newSpace(ctx context.Context, name clustering.Space) (*space, error) {
	s := &space{name: name}
	switch name {
	case clustering.SpaceRows, clustering.SpaceStandardized:
		if _, given := r.data.(*dataset.Kernel); given {
			return s, r.openComponents(ctx, s)
		}
		return s, r.openRows(ctx, s)
	case clustering.SpaceMixture:
		return s, r.openMixture(ctx, s)
	case clustering.SpaceLevels:
		return s, r.openLevels(ctx, s, r.data.(*dataset.Graph))
	case clustering.SpaceGraph:
		adjacency, release, err := r.executors.Matrix(ctx)
		if err != nil {
			return nil, err
		}
		r.releases = append(r.releases, release)
		return s, r.openGraph(ctx, s, r.data.(*dataset.Graph), adjacency)
	case clustering.SpaceNeighbors, clustering.SpaceStandardizedNeighbors:
		units, graph, err := r.neighborGraph(ctx, name)
		if err != nil {
			return nil, err
		}
		// The graph is in this process, and products with its few edges take little of the time of the eigensolver.
		adjacency, err := NewMatrix(ctx, graph, r.threads)
		if err != nil {
			return nil, err
		}
		s.units = units
		return s, r.openGraph(ctx, s, graph, adjacency)
	}
	return nil, fmt.Errorf("auto: there is no space %d", name)
}

// neighborGraph returns the units of a space and the nearest-neighbor graph in them, which it computes on the first
// call.
func (r *run) neighborGraph(ctx context.Context, name clustering.Space) (*dataset.Units, *dataset.Graph, error) {
	units, err := r.Units(name)
	if err != nil {
		return nil, nil, err
	}
	graph, err := r.common.graph(name, func() (*dataset.Graph, error) {
		count := neighbor.Count(r.n, r.neighbors)
		nearest, err := knn.Remember(ctx, r.n, count, func(ctx context.Context) ([]int32, error) {
			return r.executors.Neighbors(ctx, units, r.neighbors)
		})
		if err != nil {
			return nil, err
		}
		return neighbor.Graph(r.n, count, nearest)
	})
	return units, graph, err
}

// openRows opens the rows of the data.
func (r *run) openRows(ctx context.Context, s *space) error {
	problem, err := r.Rows(s.name)
	if err != nil {
		return err
	}
	x, release, err := r.executors.Rows(ctx, problem)
	if err != nil {
		return err
	}
	r.releases = append(r.releases, release)
	found, err := kmeans.Run(ctx, problem, x, clustering.NopObserver{})
	if err != nil {
		return err
	}
	s.rows = &rows{problem, x, found}
	s.unconstrained = r.newAnswer(found.Labels, found, r.newRater(s))
	return nil
}

// openGraph opens the space of eigenvectors of a graph.
func (r *run) openGraph(ctx context.Context, s *space, g *dataset.Graph, adjacency embedding.Multiplier) (err error) {
	s.graph, s.adjacency = g, &oneAtATime{Multiplier: adjacency}
	if s.plain, err = r.eigenvectors(ctx, s, r.noConstraints, r.common, r.reporter.SolverOptions(eigenTolerance)); err != nil {
		return err
	}
	return r.clusterCoordinates(ctx, s)
}

// clusterCoordinates finds the answer of a space without constraints in its coordinates.
func (r *run) clusterCoordinates(ctx context.Context, s *space) (err error) {
	if s.rows, err = r.localRows(ctx, s.plain); err != nil {
		return err
	}
	s.unconstrained = r.expand(s, s.plain, s.rows.unconstrained, r.noConstraints)
	return nil
}

// openComponents opens the k leading principal components of a kernel matrix, whose distances approximate those of the
// kernel as closely as k columns can.
func (r *run) openComponents(ctx context.Context, s *space) (err error) {
	matrix, release, err := r.executors.Matrix(ctx)
	if err != nil {
		return err
	}
	defer release()
	if s.plain, err = r.principalComponents(ctx, matrix); err != nil {
		return err
	}
	return r.clusterCoordinates(ctx, s)
}

// expand labels all points: those without coordinates are attached to clusters. A point without any connection counts
// as a row of zeros, which is nearest to the shortest centroid, that of the loosest cluster. There is no model, because
// centroids are not in the coordinates of the data.
func (r *run) expand(s *space, at *coordinates, found *clustering.Result, set *constraint.Set) *answer {
	all := clustering.Unassigned(r.n)
	for row, point := range at.kept {
		all[point] = found.Labels[row]
	}
	component.AttachTo(all, r.spec.K, s.graph, set, at.loosest(found.Labels, r.spec.K))
	result := *found
	result.Model, result.Units, result.Runs = nil, s.units, clustering.LabelingsAmong(r.n, at.kept, found.Runs)
	return r.newAnswer(all, &result, at.rater(r.n, r.spec.K))
}

// centered is the operator C K C with C = I - 1 1'/n, the kernel matrix of points minus their mean.
type centered struct {
	matrix embedding.Multiplier
	n      int
}

// Rows implements eigen.Operator.
func (c centered) Rows() int { return c.n }

// Multiply implements eigen.Operator.
func (c centered) Multiply(ctx context.Context, columns [][]float64) ([][]float64, error) {
	shifted := make([][]float64, len(columns))
	for v, column := range columns {
		shifted[v] = lessMean(column)
	}
	products, err := c.matrix.Multiply(ctx, shifted)
	if err != nil {
		return nil, err
	}
	for v, product := range products {
		shifted[v] = lessMean(product)
	}
	return shifted, nil
}

func lessMean(values []float64) []float64 {
	mean := partition.SumByTile(len(values), func(i int) float64 { return values[i] }) / float64(len(values))
	less := make([]float64, len(values))
	for i, v := range values {
		less[i] = v - mean
	}
	return less
}

// principalComponents returns coordinates by the k leading eigenvectors of the centered kernel matrix, scaled by the
// roots of their eigenvalues. Negative eigenvalues count as 0.
func (r *run) principalComponents(ctx context.Context, matrix embedding.Multiplier) (*coordinates, error) {
	count := min(r.spec.K, r.n)
	pairs, err := eigen.Largest(ctx, centered{matrix, r.n}, count, r.spec.Random(clustering.StreamEigen), r.reporter.SolverOptions(eigenTolerance))
	if err != nil {
		return nil, err
	}
	for j, vector := range pairs.Vectors {
		length := math.Sqrt(max(0, pairs.Values[j]))
		for i := range vector {
			vector[i] *= length
		}
	}
	return &coordinates{columns: count, values: embedding.New(pairs.Vectors, false).Values, kept: choose.All[int32](r.n)}, nil
}
