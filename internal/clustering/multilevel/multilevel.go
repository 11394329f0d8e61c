package multilevel

import (
	"context"
	"math/rand/v2"
	"slices"

	"github.com/cleave-project/cleave/internal/numeric/choose"
	"github.com/cleave-project/cleave/internal/snapshot"
)

const (
	// balance is the balance of labeling.value, relative to the mean cluster. The final refinement on the graph itself
	// uses Q alone.
	balance = 0.07
	// CoarseVertices is the approximate number of vertices of the coarsest graph per cluster: enough to choose from,
	// but few enough for many starts.
	CoarseVertices = 15
	// MinVertices is the minimum number of vertices of the coarsest graph.
	MinVertices = 30
	// heaviestShare bounds the weight of a merged vertex, relative to the mean weight of the coarsest graph's vertices.
	heaviestShare = 1.5
	// maxKeptShare is the share of vertices that a level may keep. If it keeps more, coarsening ends.
	maxKeptShare = 0.95
	// maxDescents is the number of descents, as long as they read no more than descentWork entries of the graph.
	maxDescents = 4
	descentWork = 1 << 18
	// ManyEntries is the number of entries above which up to manyMerged vertices are merged at a time instead of two.
	// That saves levels, each of which takes about as much memory as the graph.
	ManyEntries = 1 << 24
	// SideBySideEntries is the largest number of entries of a graph that is clustered several times at once: the levels
	// of larger ones take too much memory. No answer depends on it.
	SideBySideEntries = 1 << 22
	manyMerged        = 8
)

// Options controls how a graph is clustered.
type Options struct {
	K       int
	Threads int
	// Together, if not nil, numbers the vertices 0..Groups-1. Those with the same number are merged first.
	Together []int32
	Groups   int
	// Labels, if not nil, are improved: only vertices with the same label are merged.
	Labels []int32
	// Brief asks for a single descent with little local search, for labels that are only compared with others.
	Brief bool
	Level func(Level) // called before each level is refined; may be nil
}

// Level describes a level that is about to be refined. Levels count down to 0.
type Level struct{ Level, Levels, Vertices int }

// Found holds labels, and one step for each level, the coarsest first, followed by one for the final refinement.
type Found struct {
	Labels []int32
	Steps  []Step
}

// Step is the value Q of the labels of a level, and how many of its vertices moved.
type Step struct {
	Value float64
	Moved int
}

// Cluster finds labels 0..k-1 of the vertices: the best of several descents, each of which merges vertices differently.
// They do not depend on the number of threads. Progress and result are part of the context's snapshot. The caller's
// source does not advance.
func Cluster(ctx context.Context, g *Graph, o Options, source rand.PCG) (Found, error) {
	first := &progress{piece: snapshot.Open(ctx, "cut"), report: o.Level}
	if s := first.restore(first.piece.Result(), []*Graph{g}, o.K); s != nil {
		return s.found, nil
	}
	rng := rand.New(&source)
	r := newRefiner(o.K, max(1, o.Threads))
	var best *labeling
	var steps []Step
	descents := max(1, min(maxDescents, descentWork/max(1, g.Entries())))
	if o.Brief {
		r.chainWork, descents = briefWork, 1
	}
	first.alone = descents == 1
	for descent := range descents {
		p := first
		if descent > 0 {
			p = &progress{} // only the first descent is reported
		}
		found, trace, err := r.descend(ctx, g, o, rng, p)
		if err != nil {
			return Found{}, err
		}
		if best == nil || found.value() > best.value() {
			best, steps = found, trace
		}
	}
	found := Found{best.labels, steps}
	first.finish(found)
	return found, nil
}

// descend coarsens the graph and refines labels on the way back.
func (r *refiner) descend(ctx context.Context, g *Graph, o Options, rng *rand.Rand,
	p *progress) (found *labeling, steps []Step, err error) {
	levels, maps, labels, err := r.coarsen(ctx, g, o, rng)
	if err != nil {
		return nil, nil, err
	}
	report := func(level int) { p.level(Level{level, len(levels), levels[level].Rows()}) }
	last := len(levels) - 1
	var best *labeling
	if s := p.restore(p.piece.State(), levels, o.K); s != nil {
		last, steps = s.level, s.found.Steps
		best = newLabeling(levels[last], o.K, s.found.Labels, balance)
		clear(levels[last+1:])
	} else {
		report(last)
		if labels != nil {
			best = newLabeling(levels[last], o.K, labels, balance)
			if err = best.occupy(ctx, r.links); err == nil {
				err = r.improve(ctx, best)
			}
		} else {
			best, err = r.cluster(ctx, levels[last], balance, rng)
		}
		if err != nil {
			return nil, nil, err
		}
		steps = append(steps, Step{best.association(), levels[last].Rows()})
	}
	for level := last - 1; level >= 0; level-- {
		p.keep(level+1, Found{best.labels, steps})
		levels[level+1] = nil
		report(level)
		best = newLabeling(levels[level], o.K, choose.At(best.labels, maps[level]), balance)
		before := slices.Clone(best.labels)
		if err := best.occupy(ctx, r.links); err != nil { // there may be fewer merged vertices than clusters
			return nil, nil, err
		}
		if err := r.improve(ctx, best); err != nil {
			return nil, nil, err
		}
		steps = append(steps, Step{best.association(), moved(before, best.labels)})
	}
	p.keep(0, Found{best.labels, steps})
	before := slices.Clone(best.labels)
	final := newLabeling(g, o.K, best.labels, 0)
	if err := r.improve(ctx, final); err != nil {
		return nil, nil, err
	}
	return final, append(steps, Step{final.association(), moved(before, final.labels)}), nil
}

// moved returns how many labels differ.
func moved(before, after []int32) int {
	count := 0
	for v, c := range after {
		if before[v] != c {
			count++
		}
	}
	return count
}

// Value returns Q of the labels minus the penalties.
func Value(g *Graph, k int, labels []int32) float64 { return newLabeling(g, k, labels, 0).value() }

// coarsen returns graphs of fewer and fewer vertices, starting with g itself, the map from each to the next, and, if
// labels are given, those of the last graph.
func (r *refiner) coarsen(ctx context.Context, g *Graph, o Options,
	rng *rand.Rand) (levels []*Graph, maps [][]int32, labels []int32, err error) {
	least := max(MinVertices, CoarseVertices*o.K)
	heaviest := heaviestShare * g.mass() / float64(least)
	levels = []*Graph{g}
	labels = slices.Clone(o.Labels)
	merge := func(into []int32, count int) error {
		last := levels[len(levels)-1]
		next, err := contract(ctx, last, into, count, r.pool)
		if err != nil {
			return err
		}
		if labels != nil {
			labels = merged(last, labels, o.K, into, count)
		}
		levels = append(levels, next)
		maps = append(maps, into)
		return nil
	}
	if o.Together != nil {
		if err := merge(o.Together, o.Groups); err != nil {
			return nil, nil, nil, err
		}
	}
	for {
		last := levels[len(levels)-1]
		if last.Rows() <= least {
			return levels, maps, labels, nil
		}
		largest := int32(2)
		if last.Entries() > ManyEntries {
			largest = manyMerged
		}
		into, count := match(last, labels, largest, heaviest, rng)
		if count < o.K || float64(count) > maxKeptShare*float64(last.Rows()) {
			return levels, maps, labels, nil
		}
		if err := merge(into, count); err != nil {
			return nil, nil, nil, err
		}
	}
}

// merged returns the labels of merged vertices: for each, the label with the most weight among its members, the first
// of equals.
func merged(g *Graph, labels []int32, k int, into []int32, count int) []int32 {
	members, start := group(into, count)
	result := make([]int32, count)
	weight := make([]float64, k)
	for v := range count {
		own := members[start[v]:start[v+1]]
		best := labels[own[0]]
		for _, i := range own {
			weight[labels[i]] += g.Mass[i]
			if weight[labels[i]] > weight[best] {
				best = labels[i]
			}
		}
		for _, i := range own {
			weight[labels[i]] = 0
		}
		result[v] = best
	}
	return result
}
