package multilevel

import (
	"context"
	"math/rand/v2"
	"slices"

	"github.com/cleave-project/cleave/internal/snapshot"
)

const (
	// balance is how much small clusters are held back by, as a share of the mean cluster (see labeling.value), until the labels of the
	// graph itself are refined, by Q alone.
	balance = 0.07
	// CoarseVertices is about how many vertices the coarsest graph has for each cluster: enough to choose from, few enough
	// for many starts.
	CoarseVertices = 15
	// LeastVertices is how many it has at least.
	LeastVertices = 30
	// heaviestShare is what a merged vertex weighs at most, in mean weights of the coarsest graph's vertices.
	heaviestShare = 1.5
	// A level has at most leastShrinking of the vertices of the one before; otherwise that was the last one.
	leastShrinking = 0.95
	// maxDescents is how many descents there are, where they read no more than descentWork entries of the graph.
	maxDescents = 4
	descentWork = 1 << 18
	// ManyEntries is from how many entries on vertices are merged in groups of up to manyMerged instead of pairs: then there are
	// fewer levels, each of which takes about as much memory as the graph.
	ManyEntries = 1 << 24
	manyMerged  = 8
)

// Options say how a graph is clustered.
type Options struct {
	K       int
	Threads int
	// Together are numbers of vertices, 0..Groups-1: those with the same one are merged before all others. Nil: none are.
	Together []int32
	Groups   int
	// Labels are labels to improve on, which only vertices of the same one are merged by. Nil: there are none.
	Labels []int32
	// Brief is one descent with little local search, for labels that are only compared with others.
	Brief bool
	Level func(Level) // hears how far it is; nil: nobody does
}

// Level is a level that is about to be refined; the last one is 0.
type Level struct{ Level, Levels, Vertices int }

// Found is labels, and how they were found: one step for each level, the coarsest first, and one for the labels themselves.
type Found struct {
	Labels []int32
	Steps  []Step
}

// Step is the value Q of the labels of a level, and how many of its vertices moved.
type Step struct {
	Value float64
	Moved int
}

// Cluster finds labels 0..k-1 of the vertices: of several descents, from other merged vertices each, the best. They do not depend on the
// number of threads. It is remembered, as the cut of the work of the context; a cut that an earlier process made draws no numbers.
func Cluster(ctx context.Context, g *Graph, o Options, rng *rand.Rand) (Found, error) {
	m := &memory{piece: snapshot.Open(ctx, "cut"), tell: o.Level}
	if found := m.result(g.Rows(), o.K); found != nil {
		return *found, nil
	}
	r := newRefiner(o.K, max(1, o.Threads))
	if o.Brief {
		r.chainWork = briefWork
	}
	var best *labeling
	var steps []Step
	descents := max(1, min(maxDescents, descentWork/max(1, g.Entries())))
	if o.Brief {
		descents = 1
	}
	for descent := range descents {
		told := m
		if descent > 0 {
			told = &memory{} // of the first alone
		}
		found, trace, err := r.descend(ctx, g, o, rng, told, descents == 1)
		if err != nil {
			return Found{}, err
		}
		if best == nil || found.value() > best.value() {
			best, steps = found, trace
		}
	}
	found := Found{best.labels, steps}
	m.finish(found)
	return found, nil
}

// descend goes from the graph to a coarse one and back.
func (r *refiner) descend(ctx context.Context, g *Graph, o Options, rng *rand.Rand, m *memory, alone bool) (found *labeling, steps []Step, err error) {
	levels, maps, labels, err := r.coarsen(ctx, g, o, rng)
	if err != nil {
		return nil, nil, err
	}
	report := func(level int) { m.level(Level{level, len(levels), levels[level].Rows()}) }
	last := len(levels) - 1
	var best *labeling
	if s := m.state(levels, o.K); s != nil {
		last, steps = s.level, s.steps
		best = newLabeling(levels[last], o.K, s.labels, balance)
		clear(levels[last+1:])
	} else {
		report(last)
		if labels != nil {
			best = newLabeling(levels[last], o.K, labels, balance)
			best.occupy(r.links)
			err = r.improve(ctx, best)
		} else {
			best, err = r.cluster(ctx, levels[last], balance, rng)
		}
		if err != nil {
			return nil, nil, err
		}
		steps = append(steps, Step{best.association(), levels[last].Rows()})
	}
	for level := last - 1; level >= 0; level-- {
		if alone {
			m.keep(level+1, best.labels, steps)
		}
		levels[level+1] = nil
		report(level)
		best = newLabeling(levels[level], o.K, expand(best.labels, maps[level]), balance)
		before := slices.Clone(best.labels)
		best.occupy(r.links) // where there were fewer merged vertices than clusters
		if err := r.improve(ctx, best); err != nil {
			return nil, nil, err
		}
		steps = append(steps, Step{best.association(), moved(before, best.labels)})
	}
	if alone {
		m.keep(0, best.labels, steps)
	}
	before := slices.Clone(best.labels)
	free := newLabeling(g, o.K, best.labels, 0)
	if err := r.improve(ctx, free); err != nil {
		return nil, nil, err
	}
	return free, append(steps, Step{free.association(), moved(before, free.labels)}), nil
}

// moved is how many labels differ.
func moved(before, after []int32) int {
	count := 0
	for v, c := range after {
		if before[v] != c {
			count++
		}
	}
	return count
}

// expand gives vertices the labels of what they were merged into.
func expand(labels, into []int32) []int32 {
	fine := make([]int32, len(into))
	for v, to := range into {
		fine[v] = labels[to]
	}
	return fine
}

// Value is Q of labels, less the penalties.
func Value(g *Graph, k int, labels []int32) float64 { return newLabeling(g, k, labels, 0).value() }

// coarsen makes graphs of fewer and fewer vertices, the first of them the graph itself, the maps from each to the next, and of
// given labels those of the last one.
func (r *refiner) coarsen(ctx context.Context, g *Graph, o Options, rng *rand.Rand) (levels []*Graph, maps [][]int32, labels []int32, err error) {
	least := max(LeastVertices, CoarseVertices*o.K)
	heaviest := heaviestShare * g.mass() / float64(least)
	levels, labels = []*Graph{g}, slices.Clone(o.Labels)
	merge := func(into []int32, count int) error {
		last := levels[len(levels)-1]
		next, err := contract(ctx, last, into, count, r.pool, r.threads)
		if labels != nil {
			labels = merged(last, labels, o.K, into, count)
		}
		levels, maps = append(levels, next), append(maps, into)
		return err
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
		if count < o.K || float64(count) > leastShrinking*float64(last.Rows()) {
			return levels, maps, labels, nil
		}
		if err := merge(into, count); err != nil {
			return nil, nil, nil, err
		}
	}
}

// merged are the labels of merged vertices: of each, the one that most of its weight has; of equal ones the first.
func merged(g *Graph, labels []int32, k int, into []int32, count int) []int32 {
	members, start := group(into, count)
	result, weight := make([]int32, count), make([]float64, k)
	for v := range count {
		own := members[start[v]:start[v+1]]
		best := labels[own[0]]
		for _, i := range own {
			if weight[labels[i]] += g.Mass[i]; weight[labels[i]] > weight[best] {
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
