package kernel

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cleave-project/cleave/internal/data/labeling"
	"github.com/cleave-project/cleave/internal/partition"
)

// Lanes are independent: every lane has the answers of a shard with that lane only, stored or not.
func TestEveryLaneIsAShardOfItsOwn(t *testing.T) {
	ctx := context.Background()
	const lanes = 4
	for seed := range uint64(12) {
		rng := rand.New(rand.NewPCG(seed, 1))
		p := newProblem(t, rng, 60+rng.IntN(90), 2+rng.IntN(5), []Function{Gaussian, Linear, Polynomial}[seed%3])
		tiles := partition.AllTiles(p.n)
		k := int32(p.k)
		together := NewShard(p.source, 2)
		if err := together.Build(ctx, tiles, seed%2 == 0); err != nil {
			t.Fatal(err)
		}
		several := p.operands
		several.Lanes = lanes
		setOperands(t, together, several)
		alone := make([]*Shard, lanes)
		labels := make([][]int32, lanes)
		var all []int32
		for lane := range alone {
			alone[lane], labels[lane] = p.shard(t, 1), p.labels()
			for _, c := range labels[lane] {
				all = append(all, compound(c, int32(lane), k))
			}
		}
		want := make([][]Int128, lanes)
		for lane := range alone {
			want[lane] = must(alone[lane].Load(ctx, tiles, 1, labels[lane]))
		}
		if got := must(together.Load(ctx, tiles, 1, all)); !slices.Equal(got, slices.Concat(want...)) {
			t.Fatalf("seed %d: load differs", seed)
		}
		for step := uint64(1); step < 8; step++ {
			var moves []labeling.Move
			for lane := range alone {
				own := randomMoves(rng, labels[lane], p.k, rng.Float64()*rng.Float64()*float64(rng.IntN(2)))
				want[lane] = must(alone[lane].Update(ctx, tiles, step, own))
				for _, m := range own {
					moves = append(moves, labeling.Move{Point: m.Point, From: compound(m.From, int32(lane), k),
						To: compound(m.To, int32(lane), k)})
				}
			}
			if step%2 == 0 { // some tiles first, as after the loss of a worker
				must(together.Update(ctx, tiles[:len(tiles)/2], step, moves))
			}
			if got := must(together.Update(ctx, tiles, step, moves)); !slices.Equal(got, slices.Concat(want...)) {
				t.Fatalf("seed %d, step %d: update differs", seed, step)
			}
			var asked []ClusterStats
			var nearer []labeling.Move
			var far []labeling.Candidate
			for lane := range lanes {
				if rng.IntN(3) > 0 {
					stats := randomStats(rng, p.k)
					own := must(alone[lane].Assign(ctx, tiles, step+1, []ClusterStats{stats}))
					far = append(far, must(alone[lane].Farthest(ctx, tiles, step+1, []ClusterStats{stats}))...)
					for _, m := range own {
						nearer = append(nearer, labeling.Move{Point: m.Point, From: compound(m.From, int32(lane), k),
							To: compound(m.To, int32(lane), k)})
					}
					stats.Lane = lane
					asked = append(asked, stats)
				}
			}
			got := must(together.Assign(ctx, tiles, step+1, asked))
			slices.SortStableFunc(got, func(a, b labeling.Move) int { return int(a.To/k) - int(b.To/k) })
			if !slices.Equal(got, nearer) {
				t.Fatalf("seed %d, step %d: assign differs", seed, step)
			}
			if got := must(together.Farthest(ctx, tiles, step+1, asked)); !slices.Equal(got, far) {
				t.Fatalf("seed %d, step %d: farthest differs: %v, want %v", seed, step, got, far)
			}
		}
	}
}

func compound(c, lane, k int32) int32 {
	if c < 0 {
		return c
	}
	return lane*k + c
}

// randomMoves moves some of the points, and changes the labels accordingly.
func randomMoves(rng *rand.Rand, labels []int32, k int, share float64) []labeling.Move {
	var moves []labeling.Move
	for i, from := range labels {
		if to := int32(rng.IntN(k+1)) - 1; rng.Float64() < share && to != from {
			moves = append(moves, labeling.Move{Point: int32(i), From: from, To: to})
			labels[i] = to
		}
	}
	return moves
}

// randomStats are not those of any labels, which the formulas do not need.
func randomStats(rng *rand.Rand, k int) ClusterStats {
	s := ClusterStats{Sigma: float64(rng.IntN(2)) * rng.Float64(), Weight: make([]float64, k),
		SelfAffinity: make([]float64, k), Count: make([]int32, k)}
	for c := range k {
		s.Weight[c], s.SelfAffinity[c], s.Count[c] = 1+rng.Float64(), rng.Float64(), int32(rng.IntN(4))
	}
	return s
}

// Labels, moves and stats that do not fit the lanes are refused and change nothing.
func TestLanesThatDoNotFitAreRefused(t *testing.T) {
	ctx := context.Background()
	p := newProblem(t, rand.New(rand.NewPCG(1, 2)), 40, 3, Gaussian)
	s := p.shard(t, 1)
	tiles := partition.AllTiles(p.n)
	p.operands.Lanes = 2
	setOperands(t, s, p.operands)
	labels := make([]int32, 2*p.n)
	if _, err := s.Load(ctx, tiles, 1, labels); err == nil {
		t.Error("labels of the first lane are taken for the second")
	}
	for i := range p.n {
		labels[p.n+i] = 3
	}
	if _, err := s.Load(ctx, tiles, 1, labels[:p.n]); err == nil {
		t.Error("one lane of two is taken")
	}
	if _, err := s.Load(ctx, tiles, 1, labels); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []labeling.Move{
		{From: 0, To: 4}, {From: -1, To: -1}, {From: 1, To: 0}, {From: 3, To: 6}, {Point: int32(p.n), From: 0, To: 1},
	} {
		if _, err := s.Update(ctx, tiles, 1, []labeling.Move{bad}); err == nil {
			t.Errorf("the move %v is taken", bad)
		}
	}
	stats := randomStats(p.rng, 3)
	stats.Lane = 2
	if _, err := s.Assign(ctx, tiles, 1, []ClusterStats{stats}); err == nil {
		t.Error("a third lane is asked about")
	}
	graph := newProblem(t, rand.New(rand.NewPCG(1, 2)), 40, 3, Adjacency)
	graph.operands.Lanes = 2
	if err := NewShard(graph.source, 1).SetOperands(graph.operands); err == nil {
		t.Error("a graph has two lanes")
	}
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}
