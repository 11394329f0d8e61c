package auto

import (
	"context"
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
func (ss *spaces) newAnswer(labels []int32, result *clustering.Result, rate rater) *answer {
	if len(result.Runs) == 0 {
		result.Runs = []clustering.Labeling{clustering.NewLabeling(labels, ss.p.spec.K)}
	}
	return &answer{labels: labels, result: result, rate: rate}
}

// newRater returns the rater of labels that were found in the coordinates of a space, or else in its graph or its rows.
func (ss *spaces) newRater(s *space) rater {
	switch {
	case s.plain != nil:
		return s.plain.rater(ss.p.n, ss.p.spec.K)
	case s.graph != nil:
		return func(_ context.Context, result *clustering.Result) error {
			own, next := edgeShares(s.graph, result.Labels, ss.p.spec.K)
			result.SetDistances(clustering.MeasureEdgeShare, own, next)
			return nil
		}
	}
	return func(ctx context.Context, result *clustering.Result) error {
		return kmeans.Score(ctx, s.rows.problem, s.rows.x, result)
	}
}

// neighborGraph returns the units of a space and the nearest-neighbor graph in them, which it computes on the first
// call.
func (ss *spaces) neighborGraph(ctx context.Context, name clustering.Space) (*dataset.Units, *dataset.Graph, error) {
	units, err := ss.p.Units(name)
	if err != nil {
		return nil, nil, err
	}
	graph, err := ss.shared.graph(name, func() (*dataset.Graph, error) {
		count := neighbor.Count(ss.p.n, ss.p.neighbors)
		nearest, err := knn.Remember(ctx, ss.p.n, count, func(ctx context.Context) ([]int32, error) {
			return ss.executors.Neighbors(ctx, units, ss.p.neighbors)
		})
		if err != nil {
			return nil, err
		}
		return neighbor.Graph(ss.p.n, count, nearest)
	})
	return units, graph, err
}

// openRows opens the rows of the data.
func (ss *spaces) openRows(ctx context.Context, s *space) error {
	problem, err := ss.p.Rows(s.name)
	if err != nil {
		return err
	}
	x, release, err := ss.executors.Rows(ctx, problem)
	if err != nil {
		return err
	}
	ss.releases = append(ss.releases, release)
	found, err := kmeans.Run(ctx, problem, x, clustering.NopObserver{})
	if err != nil {
		return err
	}
	s.rows = &rows{problem, x, found}
	s.unconstrained = ss.newAnswer(found.Labels, found, ss.newRater(s))
	return nil
}

// openGraph opens the space of eigenvectors of a graph.
func (ss *spaces) openGraph(
	ctx context.Context, s *space, g *dataset.Graph, adjacency embedding.Multiplier,
) (err error) {
	s.graph = g
	s.adjacency = &oneAtATime{Multiplier: adjacency}
	options := ss.reporter.SolverOptions(eigenTolerance)
	s.plain, err = ss.eigenvectors(ctx, s, ss.p.none, ss.shared, options)
	if err != nil {
		return err
	}
	return ss.clusterCoordinates(ctx, s)
}

// clusterCoordinates finds the answer of a space without constraints in its coordinates.
func (ss *spaces) clusterCoordinates(ctx context.Context, s *space) (err error) {
	s.rows, err = ss.localRows(ctx, s.plain)
	if err != nil {
		return err
	}
	s.unconstrained = ss.expand(s, s.plain, s.rows.unconstrained, ss.p.none)
	return nil
}

// openComponents opens the k leading principal components of a kernel matrix, whose distances approximate those of the
// kernel as closely as k columns can.
func (ss *spaces) openComponents(ctx context.Context, s *space) (err error) {
	matrix, release, err := ss.executors.Matrix(ctx)
	if err != nil {
		return err
	}
	defer release()
	s.plain, err = ss.principalComponents(ctx, matrix)
	if err != nil {
		return err
	}
	return ss.clusterCoordinates(ctx, s)
}

// expand labels all points: those without coordinates are attached to clusters. A point without any connection counts
// as a row of zeros, which is nearest to the shortest centroid, that of the loosest cluster. There is no model, because
// centroids are not in the coordinates of the data.
func (ss *spaces) expand(s *space, at *coordinates, found *clustering.Result, set *constraint.Set) *answer {
	all := clustering.Unassigned(ss.p.n)
	for row, point := range at.kept {
		all[point] = found.Labels[row]
	}
	component.AttachTo(all, ss.p.spec.K, s.graph, set, at.loosest(found.Labels, ss.p.spec.K))
	result := *found
	result.Model = nil
	result.Units = s.units
	result.Runs = clustering.LabelingsAmong(ss.p.n, at.kept, found.Runs)
	return ss.newAnswer(all, &result, at.rater(ss.p.n, ss.p.spec.K))
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
func (ss *spaces) principalComponents(ctx context.Context, matrix embedding.Multiplier) (*coordinates, error) {
	count := min(ss.p.spec.K, ss.p.n)
	pairs, err := eigen.Largest(ctx, centered{matrix, ss.p.n}, count, ss.p.spec.Source(clustering.StreamEigen),
		ss.reporter.SolverOptions(eigenTolerance))
	if err != nil {
		return nil, err
	}
	for j, vector := range pairs.Vectors {
		length := math.Sqrt(max(0, pairs.Values[j]))
		for i := range vector {
			vector[i] *= length
		}
	}
	return &coordinates{
		columns: count,
		values:  embedding.New(pairs.Vectors, false).Values,
		kept:    choose.All[int32](ss.p.n),
	}, nil
}
