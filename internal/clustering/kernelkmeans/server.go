package kernelkmeans

import (
	"context"
	"slices"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/data/labeling"
	"github.com/cleave-project/cleave/internal/kernel"
)

// server runs the operations of restarts on the executor. All operands and labels of the executor are set here.
type server struct {
	p      *Problem
	x      Executor
	lanes  int
	loaded []int32 // the executor's labels, lane after lane; nil if there are none

	assign    clustering.Operation[kernel.ClusterStats, []labeling.Move]
	farthest  clustering.Operation[kernel.ClusterStats, labeling.Candidate]
	gains     clustering.Operation[kernel.ClusterStats, []float64]
	block     clustering.Operation[[]int32, BlockSums]
	columnSum clustering.Operation[[]int32, []float64]
	change    clustering.Operation[clustering.Change, []kernel.Int128]
}

// The ranks of the operations. Those that do not read the matrix come first. Loads and updates, which are one operation
// because one sweep does both, come last, so that the sweeps of restarts at different points of an iteration are
// combined.
const (
	rankAssign = iota
	rankFarthest
	rankGains
	rankBlock
	rankColumnSum
	rankChange
)

func newServer(p *Problem, x Executor, lanes int) *server {
	s := &server{p: p, x: x, lanes: lanes}
	s.assign.Rank, s.assign.Answer = rankAssign, s.answerAssign
	s.farthest.Rank, s.farthest.Answer = rankFarthest, s.answerFarthest
	s.gains.Rank, s.gains.Answer = rankGains, s.answerGains
	s.block.Rank, s.block.Answer = rankBlock, s.answerBlock
	s.columnSum.Rank, s.columnSum.Answer = rankColumnSum, s.answerColumnSum
	s.change.Rank, s.change.Answer = rankChange, s.makeChanges
	return s
}

func (s *server) answerAssign(ctx context.Context, lanes []int, stats []kernel.ClusterStats) ([][]labeling.Move,
	error) {
	moves, err := s.x.Assign(ctx, inLanes(lanes, stats))
	return clustering.SplitMoves(s.shape(), lanes, moves), err
}

func (s *server) answerFarthest(ctx context.Context, lanes []int, stats []kernel.ClusterStats) ([]labeling.Candidate,
	error) {
	return s.x.Farthest(ctx, inLanes(lanes, stats))
}

func (s *server) answerGains(ctx context.Context, lanes []int, stats []kernel.ClusterStats) ([][]float64, error) {
	return s.x.Measure().Gains(ctx, inLanes(lanes, stats), s.p.Candidates())
}

func (s *server) answerBlock(ctx context.Context, lanes []int, points [][]int32) ([]BlockSums, error) {
	blocks := make([]kernel.Block, len(points))
	for i := range blocks {
		blocks[i] = kernel.Block{Lane: lanes[i], Points: points[i]}
	}
	return s.x.Measure().Blocks(ctx, blocks)
}

func (s *server) answerColumnSum(ctx context.Context, _ []int, lists [][]int32) ([][]float64, error) {
	return s.x.Matrix().ColumnSums(ctx, lists)
}

// inLanes sets the lanes of statistics.
func inLanes(lanes []int, stats []kernel.ClusterStats) []kernel.ClusterStats {
	for i := range stats {
		stats[i].Lane = lanes[i]
	}
	return stats
}

// setOperands sets the operands of the executor, which then has no labels.
func (s *server) setOperands(ctx context.Context, weights []float64, sparse *kernel.Sparse) error {
	s.loaded = nil
	return s.x.Matrix().SetOperands(ctx, kernel.Operands{K: s.p.spec.K, Lanes: s.lanes, Weights: weights,
		Sparse: sparse})
}

// makeChanges changes the labels of several lanes and returns their self-affinities. The first time it loads the labels
// of all lanes.
func (s *server) makeChanges(ctx context.Context, lanes []int, changes []clustering.Change) ([][]kernel.Int128, error) {
	self, err := s.sweep(ctx, lanes, changes)
	if err != nil {
		return nil, err
	}
	k := s.p.spec.K
	split := make([][]kernel.Int128, len(lanes))
	for i, lane := range lanes {
		split[i] = slices.Clone(self[lane*k : (lane+1)*k])
	}
	return split, nil
}

// sweep makes changes and returns the self-affinities of all lanes.
func (s *server) sweep(ctx context.Context, lanes []int, changes []clustering.Change) ([]kernel.Int128, error) {
	shape := s.shape()
	if s.loaded == nil {
		labels := clustering.Unassigned(s.lanes * s.p.n)
		if err := shape.Apply(labels, clustering.JoinChanges(shape, labels, lanes, changes)); err != nil {
			return nil, err
		}
		self, err := s.x.Load(ctx, labels)
		if err == nil {
			s.loaded = labels
		}
		return self, err
	}
	moves := clustering.JoinChanges(shape, s.loaded, lanes, changes)
	self, err := s.x.Update(ctx, moves)
	if err == nil {
		err = shape.Apply(s.loaded, moves)
	}
	return self, err
}

// load sets the labels of one lane and returns the self-affinities of its clusters. Those of other lanes stay.
func (s *server) load(ctx context.Context, lane int, labels []int32) ([]kernel.Int128, error) {
	self, err := s.makeChanges(ctx, []int{lane}, []clustering.Change{{Labels: labels}})
	if err != nil {
		return nil, err
	}
	return self[0], nil
}

func (s *server) shape() labeling.Shape {
	return labeling.Shape{Points: s.p.n, Clusters: s.p.spec.K, Lanes: s.lanes}
}
