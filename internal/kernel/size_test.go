package kernel

import (
	"context"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cleave-project/cleave/internal/data/labeling"
	"github.com/cleave-project/cleave/internal/partition"
)

// workedShard is a shard that was asked for everything, with moves of all points.
func workedShard(t *testing.T, p *problem, stored bool, lanes, threads int) *Shard {
	t.Helper()
	ctx := context.Background()
	tiles := partition.AllTiles(p.n)
	s := NewShard(p.source, threads)
	if err := s.Build(ctx, tiles, stored); err != nil {
		panic(err)
	}
	p.operands.Lanes = lanes
	setOperands(t, s, p.operands)
	labels := make([]int32, lanes*p.n)
	stats := make([]ClusterStats, lanes)
	var moves []labeling.Move
	for at := range labels {
		lane := at / p.n
		labels[at] = int32(lane * p.k)
		if at%p.n%9 == 0 {
			moves = append(moves, labeling.Move{Point: int32(at % p.n), From: labels[at], To: labels[at] + 1})
		}
		// Every point is as far as can be from its cluster, so that all of them move.
		stats[lane] = ClusterStats{Lane: lane, Weight: make([]float64, p.k), SelfAffinity: make([]float64, p.k),
			Count: make([]int32, p.k)}
		for c := range p.k {
			stats[lane].Weight[c], stats[lane].Count[c] = 1, 2
		}
		stats[lane].SelfAffinity[0] = 1e9
	}
	must(s.Load(ctx, tiles, 1, labels))
	must(s.Assign(ctx, tiles, 1, stats))
	must(s.Farthest(ctx, tiles, 1, stats))
	must(s.Update(ctx, tiles, 1, moves))
	return s
}

// entryBytes returns the memory of a tile's own entries. Those of a graph belong to the source.
func entryBytes(base matrix) int64 {
	if dense, ok := base.(*denseTile); ok {
		return 4*int64(len(dense.entries)) + 2*int64(len(dense.half))
	}
	return 0
}

func sumBytes(sums rowSums) int64 {
	switch s := sums.(type) {
	case *denseSums:
		return 8 * int64(len(s.values))
	case *graphSums:
		return 16*int64(len(s.entries)) + 8*int64(len(s.start)) + 4*int64(len(s.used))
	}
	return 0 // before the first sweep
}

// tileBytes returns the memory of the tiles of a shard, without what they share.
func tileBytes(s *Shard) (total int64) {
	for _, t := range s.tiles {
		total += entryBytes(t.base) + sumBytes(t.sums) + 8*int64(cap(t.own)+cap(t.diagonal)) + 12*int64(cap(t.moves))
	}
	return total
}

// The formula of a tile is what its entries and sums take, and covers the rest of it.
func TestTileSizeIsWhatTilesTake(t *testing.T) {
	for _, c := range []struct {
		function     Function
		n, lanes     int
		half, stored bool
	}{
		{Gaussian, 1100, 1, false, true}, {Gaussian, 1100, 3, false, false}, {Linear, 300, 2, true, true},
		{Adjacency, 1100, 1, false, true},
	} {
		p := newProblem(t, rand.New(rand.NewPCG(3, 9)), c.n, 5, c.function)
		if c.half {
			p.source.spec.HalfScale = p.bounds.HalfScale()
		}
		s := workedShard(t, p, c.stored, c.lanes, 2)
		for number, tile := range s.tiles {
			size := p.source.spec.TileSize(number, p.k, c.lanes)
			planned := size.Bytes(c.stored)
			rest := 8*int64(cap(tile.diagonal)+cap(tile.own)) + 12*int64(cap(tile.moves))
			exact := entryBytes(tile.base) + sumBytes(tile.sums)
			if c.function == Adjacency {
				rest += 8*int64(len(tile.sums.(*graphSums).start)-1) + 4*int64(len(tile.sums.(*graphSums).used))
				exact = 0 // the sums of all tiles are part of SharedBytes
			}
			if len(tile.moves) != c.lanes*tile.rows.Len() {
				t.Fatalf("%+v: %d moves of %d rows in %d lanes: nothing is tested", c, len(tile.moves),
					tile.rows.Len(), c.lanes)
			}
			if tile.stride == tile.rows.Len() && planned < exact+rest ||
				planned > exact+int64(tile.stride)*int64(tileRowBytes+c.lanes*tileLaneRowBytes) {
				t.Errorf("%+v: tile %d takes %d bytes for entries and sums and %d beside them; planned are %d", c,
					number, exact, rest, planned)
			}
		}
	}
}

// The formulas of what tiles share and of what threads work with are what is allocated.
func TestSharedAndThreadBytes(t *testing.T) {
	const n, k, lanes = 32 * columnsPerFill, 5, 2 // so that the last columns of a sweep are as many as all others
	p := newProblem(t, rand.New(rand.NewPCG(3, 9)), n, k, Gaussian)
	p.source.spec.Scale = p.operands.Weights
	s := workedShard(t, p, false, lanes, 1)
	spec, points := &p.source.spec, p.source.points
	shared := 4*len(points.values) + 8*len(points.norms) + 4*len(p.source.columns) +
		8*len(spec.Scale) + 8*len(p.operands.Weights) + 8*(len(p.operands.Sparse.RowStart)-1)
	if got := spec.SharedBytes(k, 0); got != int64(shared) {
		t.Errorf("%d bytes are planned for what tiles share; they take %d", got, shared)
	}
	must(s.Load(context.Background(), partition.AllTiles(n), 9, slices.Clone(s.labels)))
	w := s.workspaces.Idle[0]
	maker := w.dense.maker
	clusters := 16*len(w.self) + 4*len(w.place)
	fill := 8*(len(maker.rows.values)+len(maker.columns.values)+len(maker.products)+len(maker.norms)+maker.tile.Len()) +
		4*len(w.dense.values)
	if got := spec.ThreadBytes(k, lanes) - k*lanes*threadClusterBytes; got != int64(fill) ||
		clusters > k*lanes*threadClusterBytes {
		t.Errorf("%d bytes are planned for a thread's columns, %d for its clusters; they take %d and %d", got,
			k*lanes*threadClusterBytes, fill, clusters)
	}
	vectors := make([][]float64, 3)
	for v := range vectors {
		vectors[v] = make([]float64, n)
	}
	must(s.Multiply(context.Background(), partition.AllTiles(n), vectors))
	if got, want := 8*(len(s.bundleValues)+len(s.products)), len(vectors)*n*ProductRowBytes; got != want {
		t.Errorf("%d bytes are planned for products; they take %d", want, got)
	}
}

// The formula of a graph is what its weights take, and covers the sums of all tiles and the changes.
func TestSharedBytesOfGraphs(t *testing.T) {
	for _, k := range []int{2, 40} {
		p := newProblem(t, rand.New(rand.NewPCG(3, 9)), 1100, k, Adjacency)
		s := workedShard(t, p, true, 1, 2)
		entries := int64(len(p.source.graph.Weight) + len(p.operands.Sparse.Column))
		sums := int64(0)
		for _, tile := range s.tiles {
			sums += graphSumBytes * int64(len(tile.sums.(*graphSums).entries))
		}
		planned := p.source.spec.SharedBytes(k, entries) - sharedRowBytes*int64(p.n)
		weights := 8 * int64(len(p.source.graph.Weight))
		if taken := weights + sums + 16*int64(len(s.changes.list)); planned < taken || planned > 2*taken {
			t.Errorf("k = %d: %d bytes are planned; weights take %d, sums %d, %d changes 16 each", k, planned, weights,
				sums, len(s.changes.list))
		}
	}
}
