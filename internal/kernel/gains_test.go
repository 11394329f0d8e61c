package kernel

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cleave-project/cleave/internal/partition"
)

// matrix returns M, row by row.
func (p *problem) matrix(t testing.TB, s *Shard) [][]float64 {
	t.Helper()
	m := make([][]float64, p.n)
	for i := range m { // a column is a row
		m[i] = must(columnSum(s, partition.AllTiles(p.n), []int32{int32(i)}))
	}
	return m
}

// exactStats are the statistics of labels by their definitions.
func (p *problem) exactStats(m [][]float64, labels []int32) ClusterStats {
	stats := ClusterStats{Weight: make([]float64, p.k), SelfAffinity: make([]float64, p.k), Count: make([]int32, p.k)}
	for i, c := range labels {
		if c < 0 {
			continue
		}
		stats.Weight[c] += p.operands.Weights[i]
		stats.Count[c]++
		for j, d := range labels {
			if d == c {
				stats.SelfAffinity[c] += m[i][j]
			}
		}
	}
	return stats
}

// association is sum_c Q_c/s_c.
func (p *problem) association(m [][]float64, labels []int32) float64 {
	sum := 0.0
	stats := p.exactStats(m, labels)
	for c, count := range stats.Count {
		if count > 0 {
			sum += stats.SelfAffinity[c] / stats.Weight[c]
		}
	}
	return sum
}

// A gain is the most by which the association of all labels, computed anew, rises when that row moves.
func TestGainsAreThoseOfTheObjective(t *testing.T) {
	ctx := context.Background()
	for seed := range uint64(24) {
		rng := rand.New(rand.NewPCG(seed, 5))
		p := newProblem(t, rng, 5+rng.IntN(40), 1+rng.IntN(6), []Function{Gaussian, Linear, Adjacency}[seed%3])
		s := p.shard(t, 2)
		tiles := partition.AllTiles(p.n)
		labels := p.labels()
		if seed%4 == 0 { // few clusters, so that some are empty
			for i := range labels {
				labels[i] = min(labels[i], 1)
			}
		}
		m := p.matrix(t, s)
		must(s.Load(ctx, tiles, 1, labels))
		stats := p.exactStats(m, labels)
		gains := must(s.Gains(ctx, tiles, 1, []ClusterStats{stats}))[0]
		before := p.association(m, labels)
		for i, from := range labels {
			want := math.Inf(-1)
			for to := range int32(p.k) {
				if from >= 0 && to != from && stats.Count[from] > 1 && stats.Count[to] > 0 {
					labels[i] = to
					want = max(want, p.association(m, labels)-before)
				}
			}
			labels[i] = from
			if !(gains[i] == want || math.Abs(gains[i]-want) < 1e-9*(1+math.Abs(before))) {
				t.Fatalf("seed %d, row %d of cluster %d gains %g, not %g", seed, i, from, gains[i], want)
			}
		}
	}
}

// A graph gives the bits of the same matrix made dense: clusters that a vertex does not touch are not forgotten.
func TestGraphGainsEqualDenseOnes(t *testing.T) {
	ctx := context.Background()
	for seed := range uint64(150) {
		c := newGraphCase(t, seed)
		for range 3 {
			stats := c.stats()
			var terms gainTerms
			terms.set(stats)
			got := must(c.shard.Gains(ctx, c.tiles, c.step, []ClusterStats{stats}))[0]
			for number := range c.tiles {
				sums := c.dense(number)
				tile := c.shard.tiles[number]
				w := &workspace{assignment: c.shard.assignment(tile, 0)}
				want := make([]float64, tile.rows.Len())
				sums.joining(want, &terms, w)
				for r := range want {
					want[r] -= terms.leaving(c.labels[tile.rows.From+r], tile.own[r], tile.diagonal[r], w.weights[r])
				}
				if !slices.Equal(got[tile.rows.From:tile.rows.To], want) {
					t.Fatalf("seed %d, tile %d: gains %v, of the dense matrix %v", seed, number,
						got[tile.rows.From:tile.rows.To], want)
				}
			}
			c.move(t)
		}
	}
}

// Gains and blocks of a lane have the bits of a shard with that lane only, whatever is stored, and of any tiles.
func TestGainsAndBlocksOfLanesTilesAndStorage(t *testing.T) {
	ctx := context.Background()
	const lanes = 3
	for seed := range uint64(12) {
		rng := rand.New(rand.NewPCG(seed, 6))
		function := []Function{Gaussian, Polynomial, Adjacency}[seed%3]
		p := newProblem(t, rng, 150+rng.IntN(200), 2+rng.IntN(5), function)
		if seed%2 == 0 {
			p.source.spec.HalfScale = p.bounds.HalfScale()
		}
		tiles := partition.AllTiles(p.n)
		several := p.operands
		if function != Adjacency {
			several.Lanes = lanes
		}
		stored := NewShard(p.source, 2)
		free := NewShard(p.source, 3)
		if err := stored.Build(ctx, tiles, true); err != nil {
			panic(err)
		}
		if err := free.Build(ctx, tiles, false); err != nil {
			panic(err)
		}
		setOperands(t, stored, several)
		setOperands(t, free, several)
		var all []int32
		var stats []ClusterStats
		var blocks []Block
		var wantGains, wantBlocks [][]float64
		for lane := range several.lanes() {
			alone := p.shard(t, 1)
			labels := p.labels()
			m := p.matrix(t, alone)
			must(alone.Load(ctx, tiles, 1, labels))
			own := randomStats(rng, p.k)
			wantGains = append(wantGains, must(alone.Gains(ctx, tiles, 1, []ClusterStats{own}))[0])
			block := Block{Lane: lane}
			for i := range int32(p.n) {
				if rng.IntN(4) == 0 {
					block.Points = append(block.Points, i)
				}
			}
			var values []float64
			for _, i := range block.Points {
				sums := make([]float64, p.k)
				for j, c := range labels {
					if c >= 0 {
						sums[c] += m[i][j]
					}
				}
				values = append(values, sums...)
				for _, j := range block.Points {
					values = append(values, m[i][j])
				}
			}
			wantBlocks = append(wantBlocks, values)
			for _, c := range labels {
				all = append(all, compound(c, int32(lane), int32(p.k)))
			}
			own.Lane = lane
			stats = append(stats, own)
			blocks = append(blocks, block)
		}
		for _, s := range []*Shard{stored, free} {
			must(s.Load(ctx, tiles, 1, all))
			for lane, gains := range must(s.Gains(ctx, tiles, 1, stats)) {
				if !slices.Equal(gains, wantGains[lane]) {
					t.Fatalf("seed %d, lane %d: gains differ", seed, lane)
				}
			}
			part := tiles[len(tiles)/2:]
			for lane, values := range must(s.Blocks(ctx, tiles, 1, blocks)) {
				if !slices.Equal(values, wantBlocks[lane]) {
					t.Fatalf("seed %d, lane %d: blocks differ", seed, lane)
				}
				rest := must(s.Blocks(ctx, part, 1, blocks))[lane]
				if !slices.Equal(rest, values[len(values)-len(rest):]) {
					t.Fatalf("seed %d, lane %d: blocks of some tiles differ", seed, lane)
				}
			}
		}
	}
}

func TestBadBlocksAreRefused(t *testing.T) {
	ctx := context.Background()
	p := newProblem(t, rand.New(rand.NewPCG(1, 2)), 40, 3, Gaussian)
	s := p.shard(t, 1)
	tiles := partition.AllTiles(p.n)
	if _, err := s.Blocks(ctx, tiles, 1, nil); err == nil {
		t.Error("blocks before labels")
	}
	must(s.Load(ctx, tiles, 1, p.labels()))
	for _, bad := range []Block{
		{Lane: 1}, {Lane: -1}, {Points: []int32{-1}}, {Points: []int32{40}}, {Points: []int32{3, 3}},
		{Points: []int32{3, 2}}, {Points: make([]int32, MaxBlock+1)},
	} {
		if _, err := s.Blocks(ctx, tiles, 1, []Block{bad}); err == nil {
			t.Errorf("%v is taken", bad)
		}
	}
}
