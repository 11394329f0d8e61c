package multilevel

import (
	"context"
	"math/rand/v2"
)

const (
	// balance is how much small clusters are held back by, as a share of the mean cluster (see labeling.value), until the labels of the
	// graph itself are refined, by Q alone.
	balance = 0.07
	// The coarsest graph has about coarseVertices for each cluster, leastVertices at least: enough to choose from, few enough for
	// many starts.
	coarseVertices = 15
	leastVertices  = 30
	// heaviestShare is what a merged vertex weighs at most, in mean weights of the coarsest graph's vertices.
	heaviestShare = 1.5
	// A level has at most leastShrinking of the vertices of the one before; otherwise that was the last one.
	leastShrinking = 0.95
	// Merged vertices are made of two. Where a graph has more than manyEntries, of up to manyMerged: then there are fewer levels, each
	// of which takes about as much memory as the graph.
	manyEntries = 1 << 24
	manyMerged  = 8
)

// Options say how a graph is clustered.
type Options struct {
	K       int
	Threads int
	// Together are numbers of vertices, 0..Groups-1: those with the same one are merged before all others. Nil: none are.
	Together []int32
	Groups   int
	Level    func(Level) // hears how far it is; nil: nobody does
}

// Level is a level that is about to be refined; the last one is 0.
type Level struct{ Level, Levels, Vertices int }

// Cluster finds labels 0..k-1 of the vertices. They do not depend on the number of threads.
func Cluster(ctx context.Context, g *Graph, o Options, rng *rand.Rand) ([]int32, error) {
	r := newRefiner(o.K, max(1, o.Threads))
	levels, maps, err := r.coarsen(ctx, g, o, rng)
	if err != nil {
		return nil, err
	}
	report := func(level int) {
		if o.Level != nil {
			o.Level(Level{level, len(levels), levels[level].Rows()})
		}
	}
	last := len(levels) - 1
	report(last)
	best, err := r.cluster(ctx, levels[last], balance, rng)
	if err != nil {
		return nil, err
	}
	for level := last - 1; level >= 0; level-- {
		levels[level+1] = nil
		report(level)
		labels := make([]int32, len(maps[level]))
		for v, to := range maps[level] {
			labels[v] = best.labels[to]
		}
		best = newLabeling(levels[level], o.K, labels, balance)
		if err := r.improve(ctx, best); err != nil {
			return nil, err
		}
	}
	free := newLabeling(g, o.K, best.labels, 0)
	if err := r.improve(ctx, free); err != nil {
		return nil, err
	}
	return free.labels, nil
}

// coarsen makes graphs of fewer and fewer vertices, the first of them the graph itself, and the maps from each to the next.
func (r *refiner) coarsen(ctx context.Context, g *Graph, o Options, rng *rand.Rand) (levels []*Graph, maps [][]int32, err error) {
	least := max(leastVertices, coarseVertices*o.K)
	heaviest := heaviestShare * g.mass() / float64(least)
	levels = []*Graph{g}
	merge := func(into []int32, count int) error {
		next, err := contract(ctx, levels[len(levels)-1], into, count, r.pool, r.threads)
		levels, maps = append(levels, next), append(maps, into)
		return err
	}
	if o.Together != nil && o.Groups >= o.K {
		if err := merge(o.Together, o.Groups); err != nil {
			return nil, nil, err
		}
	}
	for {
		last := levels[len(levels)-1]
		if last.Rows() <= least {
			return levels, maps, nil
		}
		largest := int32(2)
		if last.Entries() > manyEntries {
			largest = manyMerged
		}
		into, count := match(last, largest, heaviest, rng)
		if count < o.K || float64(count) > leastShrinking*float64(last.Rows()) {
			return levels, maps, nil
		}
		if err := merge(into, count); err != nil {
			return nil, nil, err
		}
	}
}
