package fleet_test

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"github.com/cleave-project/cleave/internal/clustering/kernelkmeans"
	"github.com/cleave-project/cleave/internal/data/labeling"
	"github.com/cleave-project/cleave/internal/fleet"
	"github.com/cleave-project/cleave/internal/kernel"
)

// sequence runs the same random operations on an executor and on a local shard, and compares every bit.
// Between operations it calls disturb, which may do anything to the cluster.
type sequence struct {
	*testing.T
	ctx     context.Context
	remote  *fleet.Executor
	local   *problem
	random  *rand.Rand
	k       int
	lanes   int
	weights []float64
	labels  []int32
	sums    []kernel.Int128
}

func newSequence(c *cluster, e *fleet.Executor, p *problem, seed uint64) *sequence {
	return &sequence{T: c.T, ctx: c.ctx, remote: e, local: p, random: rand.New(rand.NewPCG(seed, 3))}
}

func (s *sequence) run(ops int, disturb func(op int)) {
	s.Helper()
	s.setOperands()
	s.load()
	for op := range ops {
		disturb(op)
		s.randomOp()
	}
	s.assign() // at the end, operations that read every sum
	s.gains()
	s.blocks()
}

// until runs operations until a condition holds.
func (s *sequence) until(condition func() bool) {
	s.Helper()
	for !condition() {
		if s.ctx.Err() != nil {
			s.Fatal("the condition never holds")
		}
		s.randomOp()
	}
}

func (s *sequence) randomOp() {
	s.Helper()
	switch r := s.random.IntN(20); {
	case r < 1:
		s.setOperands()
		s.load()
	case r < 3:
		s.load()
	case r < 9:
		s.update()
	case r < 14:
		s.assign()
	case r < 15:
		s.farthest()
	case r < 16:
		s.gains()
		s.blocks()
	case r < 17:
		s.comparePerRow("degrees", s.remote.Degrees, s.local.shard.Degrees)
		s.comparePerRow("maxima", s.remote.Maxima, s.local.shard.Maxima)
	case r < 18:
		s.comparePerRow("diagonal", s.remote.Diagonal, s.local.shard.Diagonal)
	case r < 19:
		lists := make([][]int32, s.random.IntN(4))
		for list := range lists {
			for range s.random.IntN(s.local.spec.Rows) {
				lists[list] = append(lists[list], int32(s.random.IntN(s.local.spec.Rows)))
			}
		}
		want, err := s.local.shard.ColumnSums(s.ctx, s.local.tiles, lists)
		if err != nil {
			s.Fatalf("column sums: %v", err)
		}
		got, err := s.remote.ColumnSums(s.ctx, lists)
		s.wantSame("column sums", got, want, err)
	default:
		x := make([][]float64, 1+s.random.IntN(3))
		for v := range x {
			for range s.local.spec.Rows {
				x[v] = append(x[v], s.random.NormFloat64())
			}
		}
		want, err := s.local.shard.Multiply(s.ctx, s.local.tiles, x)
		if err != nil {
			s.Fatalf("multiply: %v", err)
		}
		got, err := s.remote.Multiply(s.ctx, x)
		s.wantSame("multiply", got, want, err)
	}
}

func (s *sequence) comparePerRow(name string, remote func(context.Context) ([]float64, error),
	local func(context.Context, []int) ([]float64, error)) {
	s.Helper()
	got, err := remote(s.ctx)
	if err != nil {
		s.Fatalf("%s: %v", name, err)
	}
	want, err := local(s.ctx, s.local.tiles)
	if err != nil {
		s.Fatalf("%s: %v", name, err)
	}
	if !slices.Equal(got, want) {
		s.Fatalf("%s differs", name)
	}
}

// setOperands draws random weights and a random sparse symmetric part.
func (s *sequence) setOperands() {
	s.Helper()
	n, spacing := s.local.spec.Rows, s.local.spec.Grid.Spacing()
	s.k, s.lanes = 2+s.random.IntN(5), 1+s.random.IntN(s.local.maxLanes())
	s.weights = make([]float64, n)
	entries := make([]map[int32]float64, n)
	for i := range n {
		s.weights[i] = 1 + s.random.Float64()
		entries[i] = map[int32]float64{}
	}
	for range n / 4 {
		i := s.random.IntN(n)
		j := s.random.IntN(n)
		v := float64(s.random.IntN(1000)-500) * spacing
		entries[i][int32(j)], entries[j][int32(i)] = v, v
	}
	sparse := &kernel.Sparse{RowStart: []int64{0}}
	for i := range n {
		var columns []int32
		for j := range entries[i] {
			columns = append(columns, j)
		}
		slices.Sort(columns)
		for _, j := range columns {
			sparse.Column = append(sparse.Column, j)
			sparse.Value = append(sparse.Value, entries[i][j])
		}
		sparse.RowStart = append(sparse.RowStart, int64(len(sparse.Column)))
	}
	a := kernel.Operands{K: s.k, Lanes: s.lanes, Weights: s.weights, Sparse: sparse}
	if err := s.local.shard.SetOperands(a); err != nil {
		s.Fatalf("set operands: %v", err)
	}
	if err := s.remote.SetOperands(s.ctx, a); err != nil {
		s.Fatalf("set operands: %v", err)
	}
}

func (s *sequence) load() {
	s.Helper()
	s.labels = make([]int32, s.lanes*s.local.spec.Rows)
	for at := range s.labels {
		s.labels[at] = s.cluster(at / s.local.spec.Rows)
	}
	s.local.step++
	want, err := s.local.shard.Load(s.ctx, s.local.tiles, s.local.step, s.labels)
	if err != nil {
		s.Fatalf("load: %v", err)
	}
	got, err := s.remote.Load(s.ctx, s.labels)
	s.wantSame("load", got, want, err)
	s.sums = want
}

// cluster draws a cluster of a lane, or -1.
func (s *sequence) cluster(lane int) int32 {
	if c := s.random.IntN(s.k+1) - 1; c >= 0 {
		return int32(lane*s.k + c)
	}
	return -1
}

func (s *sequence) update() {
	s.Helper()
	var moves []labeling.Move
	n := s.local.spec.Rows
	for lane := range s.lanes {
		share := s.random.Float64() // of the points that move
		for i, from := range s.labels[lane*n : (lane+1)*n] {
			if to := s.cluster(lane); to != from && s.random.Float64() < share {
				moves = append(moves, labeling.Move{Point: int32(i), From: from, To: to})
			}
		}
	}
	s.move(moves)
}

func (s *sequence) move(moves []labeling.Move) {
	s.Helper()
	for _, m := range moves {
		s.labels[int(max(m.From, m.To))/s.k*s.local.spec.Rows+int(m.Point)] = m.To
	}
	want, err := s.local.shard.Update(s.ctx, s.local.tiles, s.local.step, moves)
	if err != nil {
		s.Fatalf("update: %v", err)
	}
	s.local.step++
	got, err := s.remote.Update(s.ctx, moves)
	s.wantSame("update", got, want, err)
	s.sums = want
}

// stats computes the statistics of a random subset of the lanes.
func (s *sequence) stats() []kernel.ClusterStats {
	var all []kernel.ClusterStats
	n := s.local.spec.Rows
	for lane := range s.lanes {
		if s.lanes > 1 && s.random.IntN(3) == 0 {
			continue
		}
		stats := kernel.ClusterStats{Lane: lane, Weight: make([]float64, s.k), SelfAffinity: make([]float64, s.k),
			Count: make([]int32, s.k)}
		for i, label := range s.labels[lane*n : (lane+1)*n] {
			if c := int(label) - lane*s.k; label >= 0 {
				stats.Weight[c] += s.weights[i]
				stats.Count[c]++
			}
		}
		for c := range s.k {
			stats.SelfAffinity[c] = s.local.spec.Grid.Value(s.sums[lane*s.k+c])
		}
		all = append(all, stats)
	}
	return all
}

func (s *sequence) assign() {
	s.Helper()
	stats := s.stats()
	want, err := s.local.shard.Assign(s.ctx, s.local.tiles, s.local.step, stats)
	if err != nil {
		s.Fatalf("assign: %v", err)
	}
	got, err := s.remote.Assign(s.ctx, stats)
	s.wantSame("assign", got, want, err)
	if s.random.IntN(2) == 0 {
		s.move(want)
	}
}

func (s *sequence) farthest() {
	s.Helper()
	stats := s.stats()
	want, err := s.local.shard.Farthest(s.ctx, s.local.tiles, s.local.step, stats)
	if err != nil {
		s.Fatalf("farthest: %v", err)
	}
	got, err := s.remote.Farthest(s.ctx, stats)
	s.wantSame("farthest", got, want, err)
}

func (s *sequence) gains() {
	s.Helper()
	stats := s.stats()
	want, err := s.local.shard.Gains(s.ctx, s.local.tiles, s.local.step, stats)
	if err != nil {
		s.Fatalf("gains: %v", err)
	}
	needed := 1 + s.random.IntN(s.local.spec.Rows+10)
	got, err := s.remote.Gains(s.ctx, stats, needed)
	s.wantSame("gains", len(got), len(want), err)
	for at := range got {
		s.checkLargest(got[at], want[at], needed)
	}
	if want, err = s.local.shard.Fits(s.ctx, s.local.tiles, s.local.step, stats); err != nil {
		s.Fatalf("fits: %v", err)
	}
	fits, err := s.remote.Fits(s.ctx, stats)
	s.wantSame("fits", fits, kernelkmeans.NewFits(want), err)
}

// checkLargest checks that the largest values are right, and that the others are right or -Inf.
func (s *sequence) checkLargest(got, want []float64, needed int) {
	s.Helper()
	places := make([]int, len(want))
	for i := range places {
		places[i] = i
	}
	slices.SortStableFunc(places, func(a, b int) int { return cmp.Compare(want[b], want[a]) })
	for rank, i := range places {
		if got[i] != want[i] && (rank < needed || !math.IsInf(got[i], -1)) {
			s.Fatalf("the gain of row %d is %v instead of %v, which is number %d of %d", i, got[i], want[i],
				rank+1, needed)
		}
	}
}

// blocks asks for random points of a random subset of the lanes.
func (s *sequence) blocks() {
	s.Helper()
	var blocks []kernel.Block
	for lane := range s.lanes {
		block := kernel.Block{Lane: lane}
		share := min(1, maxBlock/float64(s.local.spec.Rows)) * s.random.Float64()
		for i := range int32(s.local.spec.Rows) {
			if s.random.Float64() < share && len(block.Points) < maxBlock {
				block.Points = append(block.Points, i)
			}
		}
		if s.random.IntN(3) > 0 {
			blocks = append(blocks, block)
		}
	}
	want, err := s.local.shard.Blocks(s.ctx, s.local.tiles, s.local.step, blocks)
	if err != nil {
		s.Fatalf("blocks: %v", err)
	}
	got, err := s.remote.Blocks(s.ctx, blocks)
	s.wantSame("blocks", got, kernelkmeans.NewBlockSums(s.k, blocks, want), err)
}

func (s *sequence) wantSame(name string, got, want any, err error) {
	s.Helper()
	if err != nil {
		s.Fatalf("%s: %v", name, err)
	}
	if !reflect.DeepEqual(got, want) &&
		!(reflect.ValueOf(got).Kind() == reflect.Slice && reflect.ValueOf(got).Len() == 0 &&
			reflect.ValueOf(want).Len() == 0) {
		s.Fatalf("%s: got %v, want %v", name, got, want)
	}
}
