package kmeans

import (
	"slices"

	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/numeric/metric"
)

// groups are disjoint sets of points, each of which is assigned as one.
type groups struct {
	members [][]int32 // points of each group, ascending
	points  []int32   // points of all groups, ascending
	group   []int32   // group of each entry of points
	single  bool      // whether each group is one point, in the order of points
}

// newGroups makes a group of each of the given must-link components, and returns the number of each component's group.
func newGroups(all *constraint.Components, components []int32) (g groups, number map[int32]int32) {
	number = make(map[int32]int32, len(components))
	for i, c := range components {
		number[c] = int32(i)
		g.members = append(g.members, all.Members(c))
		g.points = append(g.points, all.Members(c)...)
	}
	slices.Sort(g.points)
	g.group = make([]int32, len(g.points))
	for i, point := range g.points {
		g.group[i] = number[all.Of(point)]
	}
	return g, number
}

// singletons makes a group of each of the given points, which must ascend.
func singletons(points []int32) groups {
	g := groups{members: make([][]int32, len(points)), points: points, group: make([]int32, len(points)), single: true}
	for i := range points {
		g.members[i], g.group[i] = points[i:i+1], int32(i)
	}
	return g
}

// costs returns the sums of the distances of each group's points to each of k centroids, given those of all points.
func (g *groups) costs(distances []float64, k int) []float64 {
	if g.single {
		return distances
	}
	costs := make([]float64, len(g.members)*k)
	for i, group := range g.group {
		for c := range k {
			costs[int(group)*k+c] += distances[i*k+c]
		}
	}
	return costs
}

// blocks are the must-link components that PC-KMeans assigns as one with Options.Contract. The cost of a block is the
// sum over its points, and a cannot-link between two blocks counts for all pairs of their points, as if every implied
// constraint were listed. Since none is listed, components may have any size. A cannot-link within a block contradicts
// its must-links and is ignored.
type blocks struct {
	groups
	pairs []constraint.Pair // cannot-links between the first points of two blocks
}

// newBlocks makes a block of each must-link component that has constraints. Several cannot-links between two blocks
// become one, with their mean weight times the number of pairs of points.
func newBlocks(set *constraint.Set) *blocks {
	all := set.Components()
	var components []int32 // in the order of the pairs
	seen := map[int32]bool{}
	for _, pair := range set.Pairs() {
		for _, c := range []int32{all.Of(pair.I), all.Of(pair.J)} {
			if !seen[c] {
				seen[c] = true
				components = append(components, c)
			}
		}
	}
	g, number := newGroups(all, components)
	b := &blocks{groups: g}
	type links struct {
		at, count, points int
	}
	known := map[[2]int32]*links{}
	for _, pair := range set.Pairs() {
		i, j := number[all.Of(pair.I)], number[all.Of(pair.J)]
		if pair.Kind != constraint.CannotLink || i == j {
			continue
		}
		key := [2]int32{min(i, j), max(i, j)}
		if known[key] == nil {
			known[key] = &links{at: len(b.pairs), points: len(b.members[i]) * len(b.members[j])}
			b.pairs = append(b.pairs, constraint.Pair{I: b.members[key[0]][0], J: b.members[key[1]][0],
				Kind: constraint.CannotLink})
		}
		l := known[key]
		l.count++
		b.pairs[l.at].Weight += (pair.Weight - b.pairs[l.at].Weight) / float64(l.count) // running mean
	}
	for _, l := range known {
		b.pairs[l.at].Weight *= float64(l.points)
	}
	return b
}

func (b *blocks) links() []metric.Link {
	links := make([]metric.Link, len(b.pairs))
	for i, pair := range b.pairs {
		links[i] = metric.Link{MustLink: pair.Kind == constraint.MustLink, Weight: pair.Weight}
	}
	return links
}
