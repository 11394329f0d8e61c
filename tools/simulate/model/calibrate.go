package model

import (
	"context"
	"math"
	"math/rand/v2"
	"time"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/labeling"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/numeric/metric"
	"github.com/cleave-project/cleave/internal/numeric/vector"
	"github.com/cleave-project/cleave/internal/partition"
)

const (
	// rounds is how often each operation is timed. The fastest counts.
	rounds = 5
	// movedEvery is how many points there are for each one that moves.
	movedEvery = 20
)

// shard is what a worker does in an iteration, on some tiles.
type shard struct {
	assign func(tiles []int, step uint64) error
	update func(tiles []int, step uint64, moves []labeling.Move) error
	load   func(tiles []int, step uint64, labels []int32) error
}

// measure times a shard of rows with all tiles and with one of them, to tell what a worker takes for its own rows from
// what it takes for the moves of others. entries says that moves cost time in each row.
func (s shard) measure(rows, k int, entries bool) (Cost, error) {
	labels := make([]int32, rows)
	for i := range labels {
		labels[i] = int32(i % k)
	}
	var moves []labeling.Move
	for i := 0; i < rows; i += movedEvery {
		moves = append(moves, labeling.Move{Point: int32(i), From: labels[i], To: (labels[i] + 1) % int32(k)})
	}
	all := partition.AllTiles(rows)
	share := 1 / float64(len(all))
	var step uint64
	times := func(tiles []int) (assign, update float64, err error) {
		assign = math.Inf(1)
		update = math.Inf(1)
		for range rounds {
			step += 2
			if err := s.load(tiles, step, labels); err != nil {
				return 0, 0, err
			}
			began := time.Now()
			if err := s.assign(tiles, step); err != nil {
				return 0, 0, err
			}
			assign = min(assign, time.Since(began).Seconds())
			began = time.Now()
			if err := s.update(tiles, step, moves); err != nil {
				return 0, 0, err
			}
			update = min(update, time.Since(began).Seconds())
		}
		return assign, update, nil
	}
	assign, updateAll, err := times(all)
	if err != nil {
		return Cost{}, err
	}
	_, updateOne, err := times(all[:1])
	if err != nil {
		return Cost{}, err
	}
	own := max(0, (updateAll-updateOne)/(1-share)) / float64(len(moves)) // for each move, of all rows
	c := Cost{Row: assign / float64(rows), Move: max(0, updateAll/float64(len(moves))-own), OwnMove: own}
	if entries {
		c.Entry, c.OwnMove = own/float64(rows), 0
	}
	return c, nil
}

// Graph measures kernel k-means on a graph with this number of neighbors of each vertex.
func Graph(ctx context.Context, rows, neighbors, k int) (Cost, error) {
	rng := rand.New(rand.NewPCG(1, 2))
	edges := make([]dataset.Edge, 0, rows*neighbors/2)
	for i := range rows {
		for range neighbors / 2 {
			edges = append(edges, dataset.Edge{Source: int32(i), Target: int32(rng.IntN(rows)), Weight: 1})
		}
	}
	g, err := dataset.NewGraph(rows, edges)
	if err != nil {
		return Cost{}, err
	}
	return matrix(ctx, kernel.MatrixSpec{Function: kernel.Adjacency, Rows: rows}, g, k, false)
}

// Dense measures kernel k-means on a stored matrix.
func Dense(ctx context.Context, rows, columns, k int) (Cost, error) {
	points, err := points(rows, columns)
	if err != nil {
		return Cost{}, err
	}
	return matrix(ctx, kernel.MatrixSpec{Function: kernel.Gaussian, Rho: math.Sqrt(float64(columns)), Rows: rows,
		Columns: columns}, points, k, true)
}

func matrix(ctx context.Context, spec kernel.MatrixSpec, data dataset.Dataset, k int, entries bool) (Cost, error) {
	bound, err := kernel.FindBounds(spec, data)
	if err != nil {
		return Cost{}, err
	}
	spec.Grid = kernel.GridFor(bound.RowSum)
	source, err := kernel.NewSource(spec, data, nil)
	if err != nil {
		return Cost{}, err
	}
	s := kernel.NewShard(source, 1)
	if err := s.Build(ctx, partition.AllTiles(spec.Rows), true); err != nil {
		return Cost{}, err
	}
	weights := clustering.Ones(spec.Rows)
	if err := s.SetOperands(kernel.Operands{K: k, Weights: weights,
		Sparse: &kernel.Sparse{RowStart: make([]int64, spec.Rows+1)}}); err != nil {
		return Cost{}, err
	}
	stats := kernel.ClusterStats{Weight: make([]float64, k), SelfAffinity: make([]float64, k), Count: make([]int32, k)}
	for c := range k {
		stats.Weight[c], stats.Count[c] = float64(spec.Rows)/float64(k), int32(spec.Rows/k)
	}
	return shard{
		load: func(tiles []int, step uint64, labels []int32) error {
			_, err := s.Load(ctx, tiles, step, labels)
			return err
		},
		assign: func(tiles []int, step uint64) error {
			_, err := s.Assign(ctx, tiles, step, []kernel.ClusterStats{stats})
			return err
		},
		update: func(tiles []int, step uint64, moves []labeling.Move) error {
			_, err := s.Update(ctx, tiles, step, moves)
			return err
		},
	}.measure(spec.Rows, k, entries)
}

// Vectors measures k-means on rows of this width. An iteration assigns all rows and sums their distortions twice.
func Vectors(ctx context.Context, rows, width, k int) (Cost, error) {
	data, err := points(rows, width)
	if err != nil {
		return Cost{}, err
	}
	spec, err := vector.NewRowSpec(data, vector.Plain)
	if err != nil {
		return Cost{}, err
	}
	source, err := vector.NewSource(spec, data)
	if err != nil {
		return Cost{}, err
	}
	s := vector.NewShard(source, 1)
	if err := s.Build(ctx, partition.AllTiles(rows)); err != nil {
		return Cost{}, err
	}
	query := func(kind vector.ScatterKind, shift float64) []vector.Query {
		m := &vector.Model{Distortion: metric.SquaredEuclidean, Clusters: k, Centroids: make([]float64, k*width)}
		for at := range m.Centroids {
			m.Centroids[at] = data.Values[at] + shift
		}
		return []vector.Query{{Model: m, Kind: kind}}
	}
	return shard{
		load: func(_ []int, step uint64, labels []int32) error { return s.Load(step, k, labels) },
		assign: func(tiles []int, step uint64) error {
			if _, err := s.Assign(ctx, tiles, step, query(0, 0)); err != nil {
				return err
			}
			for _, shift := range []float64{0, 0.1} { // in the model of the assignment, and in that of the new means
				if _, err := s.Scatter(ctx, tiles, step, query(vector.Total, shift)); err != nil {
					return err
				}
			}
			return nil
		},
		update: func(tiles []int, step uint64, moves []labeling.Move) error {
			_, err := s.Update(ctx, tiles, step, moves)
			return err
		},
	}.measure(rows, k, false)
}

func points(rows, columns int) (*dataset.Points, error) {
	rng := rand.New(rand.NewPCG(3, 4))
	values := make([]float64, rows*columns)
	for at := range values {
		values[at] = rng.NormFloat64()
	}
	return dataset.NewPoints(rows, columns, values)
}
