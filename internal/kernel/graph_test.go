package kernel

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/labeling"
	"github.com/cleave-project/cleave/internal/partition"
)

// graphCase is a random graph with everything that makes ties: loops, few distinct weights, constraints, and
// vertices without neighbors.
type graphCase struct {
	*problem
	shard  *Shard
	tiles  []int
	labels []int32
	step   uint64
}

func newGraphCase(t testing.TB, seed uint64) *graphCase {
	t.Helper()
	rng := rand.New(rand.NewPCG(seed, 77))
	n := 1 + rng.IntN(150)
	k := 1 + rng.IntN(n)
	if rng.IntN(2) == 0 {
		k = 1 + rng.IntN(min(n, 6))
	}
	coarse := rng.IntN(2) == 0
	value := func() float64 {
		if coarse {
			return float64(rng.IntN(4)) - 1 // also 0 and negative
		}
		return rng.NormFloat64()
	}
	var edges []dataset.Edge
	for range rng.IntN(5*n + 1) {
		source := rng.IntN(n)
		target := rng.IntN(n)
		if rng.IntN(4) == 0 {
			target = 0 // a hub
		}
		edges = append(edges, dataset.Edge{Source: int32(source), Target: int32(target), Weight: value()})
	}
	g, err := dataset.NewGraph(n, edges)
	if err != nil {
		t.Fatal(err)
	}
	spec := MatrixSpec{Function: Adjacency, Rows: n, Grid: GridFor(40 * float64(n))}
	source, err := NewSource(spec, g, nil)
	if err != nil {
		t.Fatal(err)
	}
	links := map[[2]int32]float64{}
	for range rng.IntN(n + 1) {
		i := int32(rng.IntN(n))
		j := int32(rng.IntN(n))
		v := spec.Grid.Round(value())
		links[[2]int32{i, j}], links[[2]int32{j, i}] = v, v
	}
	p := &problem{source: source, n: n, k: k, rng: rng}
	p.operands = Operands{K: k, Weights: make([]float64, n), Sparse: sparseOf(n, links)}
	for i := range p.operands.Weights {
		p.operands.Weights[i] = 1
		if !coarse {
			p.operands.Weights[i] += rng.Float64()
		}
	}
	c := &graphCase{problem: p, shard: p.shard(t, 1+rng.IntN(3)), tiles: partition.AllTiles(n), step: 1}
	c.labels = p.labels()
	if rng.IntN(2) == 0 { // many empty clusters
		for i := range c.labels {
			c.labels[i] = min(c.labels[i], int32(rng.IntN(3)))
		}
	}
	if _, err := c.shard.Load(context.Background(), c.tiles, c.step, c.labels); err != nil {
		t.Fatal(err)
	}
	return c
}

func sparseOf(n int, entries map[[2]int32]float64) *Sparse {
	keys := make([][2]int32, 0, len(entries))
	for key := range entries {
		keys = append(keys, key)
	}
	slices.SortFunc(keys, func(a, b [2]int32) int { return slices.Compare(a[:], b[:]) })
	s := &Sparse{RowStart: make([]int64, n+1)}
	for _, key := range keys {
		s.RowStart[key[0]+1]++
		s.Column = append(s.Column, key[1])
		s.Value = append(s.Value, entries[key])
	}
	for i := range n {
		s.RowStart[i+1] += s.RowStart[i]
	}
	return s
}

// move changes the labels of some vertices: a few, or most.
func (c *graphCase) move(t testing.TB) {
	t.Helper()
	share := []float64{0.01, 0.05, 0.9}[c.rng.IntN(3)]
	var moves []labeling.Move
	for i, from := range c.labels {
		if c.rng.Float64() < share {
			to := int32(c.rng.IntN(c.k+1)) - 1
			moves = append(moves, labeling.Move{Point: int32(i), From: from, To: to})
			c.labels[i] = to
		}
	}
	c.rng.Shuffle(len(moves), func(a, b int) { moves[a], moves[b] = moves[b], moves[a] })
	if _, err := c.shard.Update(context.Background(), c.tiles, c.step, moves); err != nil {
		t.Fatal(err)
	}
	c.step++
}

// dense computes the sums of all clusters by their definition, in the layout of dense tiles.
func (c *graphCase) dense(number int) *denseSums {
	rows := partition.Tile(c.n, number)
	portable := portable()
	s := &denseSums{rows: rows, stride: padded(rows.Len()), sparse: c.operands.Sparse, routines: &portable}
	s.values = make([]float64, s.stride*c.k)
	for r := range rows.Len() {
		neighbors, weights := c.source.graph.Row(rows.From + r)
		for at, j := range neighbors {
			s.add(r, c.labels[j], weights[at])
		}
		partners, values := c.operands.Sparse.Row(rows.From + r)
		for at, j := range partners {
			s.add(r, c.labels[j], values[at])
		}
	}
	return s
}

func (c *graphCase) stats() ClusterStats {
	stats := ClusterStats{Weight: make([]float64, c.k), SelfAffinity: make([]float64, c.k), Count: make([]int32, c.k)}
	if c.rng.IntN(2) == 0 {
		stats.Sigma = float64(c.rng.IntN(9) - 4)
	}
	for number := range c.tiles {
		sums := c.dense(number)
		rows := partition.Tile(c.n, number)
		for i := rows.From; i < rows.To; i++ {
			if l := c.labels[i]; l >= 0 {
				stats.Count[l]++
				stats.Weight[l] += c.operands.Weights[i]
				stats.SelfAffinity[l] += sums.of(i-rows.From, l)
			}
		}
	}
	return stats
}

// denseRule applies the rule of Assign to all k clusters, once written out row by row, and once by the code
// for dense tiles. It also finds the farthest point.
func (c *graphCase) denseRule(t *testing.T,
	stats ClusterStats) (written, layout []labeling.Move, farthest labeling.Candidate) {
	t.Helper()
	diagonal, err := c.shard.Diagonal(context.Background(), c.tiles)
	if err != nil {
		t.Fatal(err)
	}
	square := make([]float64, c.k)
	largest := 0.0
	for l, s := range stats.Weight {
		if stats.Count[l] > 0 {
			square[l] = (stats.SelfAffinity[l] + float64(stats.Sigma*s)) / (s * s)
			largest = max(largest, math.Abs(square[l]))
		}
	}
	var terms clusterTerms
	terms.set(stats)
	for number := range c.tiles {
		rows := partition.Tile(c.n, number)
		sums := c.dense(number)
		layout = sums.assign(layout, &workspace{assignment: assignment{
			terms: &terms, rows: rows, labels: c.labels[rows.From:rows.To],
			weights: c.operands.Weights[rows.From:rows.To], diagonal: diagonal[rows.From:rows.To],
		}})
		for i := rows.From; i < rows.To; i++ {
			a, own := c.operands.Weights[i], c.labels[i]
			shiftedDiagonal := diagonal[i] + float64(stats.Sigma*a)
			distance := func(l int32) float64 {
				sum := sums.of(i-rows.From, l)
				if l == own {
					sum += float64(stats.Sigma * a)
				}
				return square[l] - 2*sum/float64(a*stats.Weight[l])
			}
			least := math.Inf(1)
			for l, count := range stats.Count {
				if count > 0 {
					least = min(least, distance(int32(l)))
				}
			}
			limit := least + 1e-11*(math.Abs(shiftedDiagonal)/float64(a*a)+largest)
			if own >= 0 && stats.Count[own] >= 2 {
				d := a * (shiftedDiagonal/float64(a*a) + distance(own))
				farthest = farthest.Farther(labeling.Candidate{Found: true, Point: int32(i), Distance: d})
			}
			if own >= 0 && distance(own) <= limit {
				continue
			}
			for l, count := range stats.Count {
				if count > 0 && distance(int32(l)) <= limit {
					written = append(written, labeling.Move{Point: int32(i), From: own, To: int32(l)})
					break
				}
			}
		}
	}
	return written, layout, farthest
}

// After any moves the sparse sums are those of the definition, and Assign and Farthest answer as the rule over
// all k clusters does.
func TestGraphEqualsDenseRule(t *testing.T) {
	ctx := context.Background()
	moved, others := 0, 0
	for seed := range uint64(150) {
		c := newGraphCase(t, seed)
		for range 4 {
			c.checkSums(t, seed)
			stats := c.stats()
			want, layout, farthest := c.denseRule(t, stats)
			if !slices.Equal(layout, want) {
				t.Fatalf("seed %d: the dense layout moves %v, want %v", seed, layout, want)
			}
			got, err := c.shard.Assign(ctx, c.tiles, c.step, []ClusterStats{stats})
			if err != nil || !slices.Equal(got, want) {
				t.Fatalf("seed %d: n = %d, k = %d: moves %v, %v; want %v", seed, c.n, c.k, got, err, want)
			}
			if far, err := c.shard.Farthest(ctx, c.tiles, c.step, []ClusterStats{stats}); err != nil ||
				far[0] != farthest {
				t.Fatalf("seed %d: farthest %v, %v; want %v", seed, far, err, farthest)
			}
			for _, m := range got {
				if moved++; c.shard.tiles[partition.TileOf(c.n, int(m.Point))].sums.of(
					int(m.Point)%partition.TileRows(c.n), m.To) == 0 {
					others++
				}
			}
			c.move(t)
		}
	}
	if moved < 5_000 || others < 1_000 {
		t.Errorf("only %d moves, %d of them to clusters without a neighbor: the test is too tame", moved, others)
	}
}

// checkSums compares the sparse sums with the definition, and their rows with those of a fresh shard.
func (c *graphCase) checkSums(t *testing.T, seed uint64) {
	t.Helper()
	fresh := c.problem.shard(t, 1)
	want, err := fresh.Load(context.Background(), c.tiles, 1, c.labels)
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.shard.Load(context.Background(), c.tiles, c.step, c.labels) // changes nothing, only answers again
	if err != nil || !slices.Equal(got, want) {
		t.Fatalf("seed %d: self-affinities differ: %v", seed, err)
	}
	for number := range c.tiles {
		sums, freshSums, dense := c.shard.tiles[number].sums.(*graphSums), fresh.tiles[number].sums.(*graphSums),
			c.dense(number)
		for r := range sums.used {
			if got, want := byCluster(sums.row(r)), byCluster(freshSums.row(r)); !slices.Equal(got, want) {
				t.Fatalf("seed %d: row %d of tile %d is %v, in a fresh shard %v", seed, r, number, got, want)
			}
			for cluster := range int32(c.k) {
				if sums.of(r, cluster) != dense.of(r, cluster) {
					t.Fatalf("seed %d: sum of row %d of tile %d and cluster %d is %v, want %v",
						seed, r, number, cluster, sums.of(r, cluster), dense.of(r, cluster))
				}
			}
		}
	}
}

func byCluster(row []adjacency) []adjacency {
	return slices.SortedFunc(slices.Values(row), func(a, b adjacency) int { return int(a.cluster) - int(b.cluster) })
}

// An update without moves changes nothing, and neither do moves from a cluster to itself.
func TestGraphUpdateWithoutMoves(t *testing.T) {
	for seed := range uint64(20) {
		c := newGraphCase(t, seed)
		for _, moves := range [][]labeling.Move{nil, {}, {{Point: 0, From: c.labels[0], To: c.labels[0]}}} {
			if _, err := c.shard.Update(context.Background(), c.tiles, c.step, moves); err != nil {
				t.Fatal(err)
			}
			c.step++
			c.checkSums(t, seed)
		}
	}
}

// Without labels there is no cluster to move to.
func TestGraphWithoutLabels(t *testing.T) {
	c := newGraphCase(t, 5)
	for i := range c.labels {
		c.labels[i] = -1
	}
	if _, err := c.shard.Load(context.Background(), c.tiles, c.step+1, c.labels); err != nil {
		t.Fatal(err)
	}
	c.step++
	c.checkSums(t, 5)
	if moves, err := c.shard.Assign(context.Background(), c.tiles, c.step, []ClusterStats{c.stats()}); err != nil ||
		len(moves) > 0 {
		t.Errorf("moves %v, %v", moves, err)
	}
}

// Tiles that lag behind, as after a lost answer, are brought to the step; the others stay at it.
func TestGraphTilesMayLagBehind(t *testing.T) {
	ctx := context.Background()
	for seed := range uint64(40) {
		c := newGraphCase(t, seed)
		moves := []labeling.Move{}
		for i, from := range c.labels {
			if c.rng.IntN(6) == 0 {
				c.labels[i] = int32(c.rng.IntN(c.k))
				moves = append(moves, labeling.Move{Point: int32(i), From: from, To: c.labels[i]})
			}
		}
		half := c.tiles[:len(c.tiles)/2]
		if _, err := c.shard.Update(ctx, half, c.step, moves); err != nil {
			t.Fatal(err)
		}
		if _, err := c.shard.Update(ctx, c.tiles, c.step, moves); err != nil {
			t.Fatal(err)
		}
		c.step++
		c.checkSums(t, seed)
	}
}

// Moves that do not match the labels are an error and do not change them.
func TestGraphRefusesMismatchedMoves(t *testing.T) {
	ctx := context.Background()
	c := newGraphCase(t, 3)
	before := slices.Clone(c.shard.labels)
	from, to := c.labels[0], (c.labels[0]+2)%int32(c.k+1)-1
	twice := []labeling.Move{{Point: 0, From: from, To: to}, {Point: 0, From: from, To: to}}
	if _, err := c.shard.Update(ctx, c.tiles, c.step, twice); err == nil {
		t.Error("a point moved twice")
	}
	if !slices.Equal(c.shard.labels, before) {
		t.Error("the labels changed")
	}
	thereAndBack := []labeling.Move{{Point: 0, From: from, To: to}, {Point: 0, From: to, To: from}}
	if _, err := c.shard.Update(ctx, c.tiles, c.step, thereAndBack); err == nil {
		t.Error("a point moved there and back")
	}
	// The first tile gets good moves; then the others are told something else.
	good := []labeling.Move{{Point: 0, From: from, To: to}}
	if _, err := c.shard.Update(ctx, c.tiles[:1], c.step, good); err != nil {
		t.Fatal(err)
	}
	for _, bad := range []labeling.Move{{Point: 0, From: to, To: from}, {Point: int32(c.n), From: from, To: to},
		{Point: 0, From: int32(c.k), To: to}} {
		if _, err := c.shard.Update(ctx, c.tiles, c.step, []labeling.Move{bad}); err == nil {
			t.Errorf("other tiles were told %v, the first one %v", bad, good)
		}
	}
	full := &plan{labels: c.shard.labels, moves: []labeling.Move{{Point: 0, From: 0, To: 0}}}
	sums := c.shard.tiles[0].sums.(*graphSums)
	for r := range sums.used {
		absent := int32(0)
		for find(sums.row(r), absent) < len(sums.row(r)) {
			absent++
		}
		if int(absent) == c.k {
			continue
		}
		full.moves[0] = labeling.Move{From: absent, To: 0}
		if err := sums.applyChanges(full, []rowChange{{weight: 1, row: int32(r)}},
			c.shard.workspaces.borrow()); !errors.Is(err, errMovesMismatch) {
			t.Errorf("row %d lost a contributor that it does not have: %v", r, err)
		}
		return
	}
	t.Error("every row is adjacent to every cluster")
}

// The memory of sums is proportional to the edges, not to k.
func TestGraphSumsTakeMemoryByEdges(t *testing.T) {
	const n, k = 4000, 4000
	source, operands := benchmarkGraph(t, n, 10, k)
	s := NewShard(source, 2)
	labels := make([]int32, n)
	for i := range labels {
		labels[i] = int32(i)
	}
	tiles := partition.AllTiles(n)
	if err := s.Build(context.Background(), tiles, true); err != nil {
		t.Fatal(err)
	}
	setOperands(t, s, operands)
	if _, err := s.Load(context.Background(), tiles, 1, labels); err != nil {
		t.Fatal(err)
	}
	edges := int64(len(source.graph.Column))
	if bytes := tileBytes(s); bytes < 16*edges || bytes > 16*edges+24*n+64*int64(len(tiles)) {
		t.Errorf("%d bytes for %d entries of %d rows", bytes, edges, n)
	}
}

// Of the clusters that are not adjacent to a row, the lowest within a limit is found whatever the order of the squares.
func TestLowestWithinLooksAtAllClusters(t *testing.T) {
	rng := rand.New(rand.NewPCG(4, 4))
	var terms clusterTerms
	for range 2000 {
		stats := ClusterStats{}
		place := make([]int32, rng.IntN(40))
		for c := range place {
			place[c] = int32(rng.IntN(2))
			stats.Weight, stats.SelfAffinity, stats.Count = append(stats.Weight, 1), append(stats.SelfAffinity,
				float64(rng.IntN(6))), append(stats.Count, int32(rng.IntN(4)))
		}
		terms.set(stats)
		terms.sortBySquare()
		for _, limit := range []float64{-1, 0, 1, 2.5, 6, math.Inf(1), math.NaN()} {
			want := int32(-1)
			for c := int32(len(place)) - 1; c >= 0; c-- {
				if place[c] == 0 && stats.Count[c] > 0 && stats.SelfAffinity[c] <= limit {
					want = c
				}
			}
			if got := lowestWithin(nil, 0, &assignment{terms: &terms}, place, limit); got != want {
				t.Fatalf("squares %v, places %v, within %v: %d, want %d", terms.square, place, limit, got, want)
			}
		}
	}
}
