package kernel

import (
	"context"
	"math/rand/v2"
	"testing"

	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/labeling"
	"github.com/cleave-project/cleave/internal/partition"
)

// benchmarkGraph is a graph of n vertices in k communities, with most edges inside them, and with the weights of
// the normalized cut.
func benchmarkGraph(t testing.TB, n, edgesPerVertex, k int) (*Source, Operands) {
	t.Helper()
	rng := rand.New(rand.NewPCG(9, 9))
	edges := make([]dataset.Edge, 0, n*edgesPerVertex)
	for i := range n {
		for range edgesPerVertex {
			j := rng.IntN(n)
			if size := n / k; size > 1 && rng.IntN(10) < 7 {
				j = min(i%k+k*rng.IntN(size), n-1) // community i mod k
			}
			edges = append(edges, dataset.Edge{Source: int32(i), Target: int32(j), Weight: 1})
		}
	}
	g, err := dataset.NewGraph(n, edges)
	if err != nil {
		t.Fatal(err)
	}
	spec := MatrixSpec{Function: Adjacency, Rows: n}
	bound, err := FindBounds(spec, g)
	if err != nil {
		t.Fatal(err)
	}
	spec.Grid = GridFor(bound.RowSum)
	source, err := NewSource(spec, g, nil)
	if err != nil {
		t.Fatal(err)
	}
	weights := make([]float64, n)
	for i := range weights {
		_, entries := source.graph.Row(i)
		for _, v := range entries {
			weights[i] += v
		}
	}
	return source, Operands{K: k, Weights: weights, Sparse: &Sparse{RowStart: make([]int64, n+1)}}
}

// graphBenchmark is a loaded shard of 200,000 vertices and 2,000,000 edges.
type graphBenchmark struct {
	*Shard
	labels []int32
	tiles  []int
	self   []Int128
	rng    *rand.Rand
}

const benchmarkClusters = 100

func newGraphBenchmark(b *testing.B) *graphBenchmark {
	b.Helper()
	const n = 200_000
	source, operands := benchmarkGraph(b, n, 10, benchmarkClusters)
	g := &graphBenchmark{Shard: NewShard(source, 2), labels: make([]int32, n), tiles: partition.AllTiles(n),
		rng: rand.New(rand.NewPCG(3, 3))}
	if err := g.Build(context.Background(), g.tiles, true); err != nil {
		b.Fatal(err)
	}
	setOperands(b, g.Shard, operands)
	for i := range g.labels {
		g.labels[i] = int32(g.rng.IntN(benchmarkClusters))
	}
	g.load(b, 1)
	b.ReportAllocs()
	return g
}

func (g *graphBenchmark) load(b *testing.B, step uint64) {
	self, err := g.Load(context.Background(), g.tiles, step, g.labels)
	if err != nil {
		b.Fatal(err)
	}
	g.self = self
}

// movesAndReverse returns moves of a share of the vertices, and the moves back.
func (g *graphBenchmark) movesAndReverse(share float64) (moves [2][]labeling.Move) {
	for i, from := range g.labels {
		if g.rng.Float64() < share {
			to := (from + 1 + int32(g.rng.IntN(benchmarkClusters-1))) % benchmarkClusters
			moves[0] = append(moves[0], labeling.Move{Point: int32(i), From: from, To: to})
			moves[1] = append(moves[1], labeling.Move{Point: int32(i), From: to, To: from})
		}
	}
	return moves
}

func BenchmarkGraphFull(b *testing.B) {
	g := newGraphBenchmark(b)
	b.SetBytes(12 * int64(len(g.source.graph.Column)))
	for step := uint64(2); b.Loop(); step++ {
		g.load(b, step)
	}
}

func BenchmarkGraphDelta(b *testing.B) {
	for name, share := range map[string]float64{"1vertex": 5e-6, "1percent": 0.01, "10percent": 0.1, "20percent": 0.2} {
		b.Run(name, func(b *testing.B) {
			g := newGraphBenchmark(b)
			moves := g.movesAndReverse(share)
			b.ReportMetric(float64(len(moves[0])), "moves")
			for step := uint64(1); b.Loop(); step++ {
				if _, err := g.Update(context.Background(), g.tiles, step, moves[(step+1)%2]); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkGraphAssign(b *testing.B) {
	g := newGraphBenchmark(b)
	stats := ClusterStats{Weight: make([]float64, benchmarkClusters), SelfAffinity: make([]float64, benchmarkClusters),
		Count: make([]int32, benchmarkClusters)}
	for i, c := range g.labels {
		stats.Count[c]++
		stats.Weight[c] += g.operands.Weights[i]
	}
	for c := range stats.SelfAffinity {
		stats.SelfAffinity[c] = g.source.spec.Grid.Value(g.self[c])
	}
	for b.Loop() {
		if _, err := g.Assign(context.Background(), g.tiles, 1, []ClusterStats{stats}); err != nil {
			b.Fatal(err)
		}
	}
}
