package kmeans

import (
	"context"
	"slices"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/inference"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/numeric/metric"
)

// blocks are the must-link components that PC-KMeans assigns as one with Options.Contract. The cost of a block is the
// sum over its points, and a cannot-link between two blocks counts for all pairs of their points, as if every implied
// constraint were listed. Since none is listed, components may have any size. A cannot-link within a block contradicts
// its must-links and is ignored.
type blocks struct {
	points  []int32 // points of all blocks, ascending
	of      []int32 // block of each entry of points
	members [][]int32
	pairs   []constraint.Pair // cannot-links between the first points of two blocks
	between [][2]int32        // the blocks of each pair
}

func newBlocks(set *constraint.Set) *blocks {
	b, components := &blocks{}, set.Components()
	number := map[int32]int32{} // number of each component that is a block
	for _, pair := range set.Pairs() {
		for _, point := range []int32{pair.I, pair.J} {
			component := components.Of(point)
			if _, known := number[component]; !known {
				number[component] = int32(len(b.members))
				b.members = append(b.members, components.Members(component))
				b.points = append(b.points, components.Members(component)...)
			}
		}
	}
	slices.Sort(b.points)
	b.of = make([]int32, len(b.points))
	for at, point := range b.points {
		b.of[at] = number[components.Of(point)]
	}
	type links struct {
		at, count int
	}
	known := map[[2]int32]*links{}
	for _, pair := range set.Pairs() {
		i, j := number[components.Of(pair.I)], number[components.Of(pair.J)]
		if pair.Kind != constraint.CannotLink || i == j {
			continue
		}
		key := [2]int32{min(i, j), max(i, j)}
		if known[key] == nil {
			known[key] = &links{at: len(b.pairs)}
			b.between = append(b.between, key)
			b.pairs = append(b.pairs, constraint.Pair{I: b.members[key[0]][0], J: b.members[key[1]][0], Kind: constraint.CannotLink})
		}
		l := known[key]
		l.count++
		b.pairs[l.at].Weight += (pair.Weight - b.pairs[l.at].Weight) / float64(l.count) // running mean
	}
	for at, key := range b.between {
		b.pairs[at].Weight *= float64(len(b.members[key[0]]) * len(b.members[key[1]]))
	}
	return b
}

func (b *blocks) links() []metric.Link {
	links := make([]metric.Link, len(b.pairs))
	for at, pair := range b.pairs {
		links[at] = metric.Link{Kind: pair.Kind, Weight: pair.Weight}
	}
	return links
}

// inferBlocks assigns the blocks jointly, given the distances of their points to every centroid.
func (m *hmrf) inferBlocks(ctx context.Context, distances []float64) ([]kernel.Move, error) {
	k, count := m.p.spec.K, len(m.blocks.members)
	costs := make([]float64, count*k)
	for at, block := range m.blocks.of {
		for c := range k {
			costs[int(block)*k+c] += distances[at*k+c]
		}
	}
	if m.energy == nil {
		pairs := make([]inference.Pair, len(m.pairs))
		for at, key := range m.blocks.between {
			pairs[at] = inference.Pair{I: key[0], J: key[1], Cost: m.pairs[at].Weight}
		}
		m.energy = inference.NewRepeated(k, pairs)
	}
	current := make([]int32, count)
	for block, members := range m.blocks.members {
		// If the start split the block or left it without a label, it begins where it costs least.
		current[block] = m.labels[members[0]]
		for _, point := range members {
			if m.labels[point] != current[block] {
				current[block] = -1
			}
		}
		if current[block] < 0 {
			current[block] = nearest(costs[block*k : (block+1)*k])
		}
	}
	result, err := m.energy.Solve(ctx, m.p.options.Inference, costs, current, m.rng, inference.Options{})
	if err != nil {
		return nil, err
	}
	m.lastInference = clustering.Inference{Engine: m.p.options.Inference, Exact: result.Exact, Fallbacks: len(result.Fallbacks), Rounds: result.Rounds}
	return m.movesTo(m.points, func(at int) int32 { return result.Labels[m.blocks.of[at]] }), nil
}
