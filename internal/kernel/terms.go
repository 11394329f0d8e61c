package kernel

import (
	"cmp"
	"math"
	"slices"
)

// tieTolerance: distances this close, relative to the terms they are made of, are equal.
const tieTolerance = 1e-11

// clusterTerms are the parts of Kulis2009 (1) that belong to a cluster alone.
type clusterTerms struct {
	sigma     float64
	weight    []float64 // s_c
	square    []float64 // (Q_c + sigma s_c) / s_c^2; empty clusters are infinitely far
	nonEmpty  []int32   // the clusters that are not empty, ascending
	maxSquare float64   // max_c |square|
	// What a cluster's square alone tells, for rows whose sums for most clusters are 0.
	bySquare   []int32 // the clusters of filled by square, then index
	squareTree minTree // of the squares of filled
}

// set takes over the stats; it reuses what an earlier set allocated.
func (terms *clusterTerms) set(stats Stats) {
	terms.sigma, terms.weight = stats.Sigma, stats.Weight
	terms.square, terms.nonEmpty, terms.maxSquare = resized(terms.square, len(stats.Weight)), terms.nonEmpty[:0], 0
	for c, weight := range stats.Weight {
		if stats.Count[c] == 0 {
			terms.square[c] = math.Inf(1)
			continue
		}
		terms.square[c] = (stats.SelfAffinity[c] + float64(stats.Sigma*weight)) / (weight * weight)
		terms.maxSquare = max(terms.maxSquare, math.Abs(terms.square[c]))
		terms.nonEmpty = append(terms.nonEmpty, int32(c))
	}
}

// sort makes order and least.
func (terms *clusterTerms) sortBySquare() {
	terms.bySquare = append(terms.bySquare[:0], terms.nonEmpty...)
	slices.SortFunc(terms.bySquare, func(a, b int32) int {
		return cmp.Or(cmp.Compare(terms.square[a], terms.square[b]), cmp.Compare(a, b))
	})
	terms.squareTree.set(len(terms.nonEmpty), func(at int) float64 { return terms.square[terms.nonEmpty[at]] })
}

// distancePart is d_ic without its first term, which is the same for every cluster.
func (terms *clusterTerms) distancePart(c int32, sum, a float64) float64 {
	return terms.square[c] - 2*sum/float64(a*terms.weight[c])
}

// shifted is S_ic + sigma a_i for the point's own cluster, S_ic for the others.
func (terms *clusterTerms) shifted(sum, a float64) float64 { return sum + float64(terms.sigma*a) }

// minima is a list of values that finds the next one within a limit in logarithmic time: a binary
// tree over the list, every node the least value below it. Node 1 is the root, 2i and 2i+1 are the
// children of i, and the list lies in the second half.
type minTree struct {
	nodes []float64
	size  int
}

func (m *minTree) set(size int, value func(at int) float64) {
	leaves := 1
	for leaves < size {
		leaves *= 2
	}
	m.nodes, m.size = resized(m.nodes, 2*leaves), size
	for at := range leaves {
		m.nodes[leaves+at] = math.Inf(1)
		if at < size {
			m.nodes[leaves+at] = value(at)
		}
	}
	for node := leaves - 1; node > 0; node-- {
		m.nodes[node] = min(m.nodes[2*node], m.nodes[2*node+1])
	}
}

// within is the first place at or after from whose value is at most limit, or the list's size.
func (m *minTree) firstAtMost(from int, limit float64) int {
	leaves := len(m.nodes) / 2
	if from >= m.size {
		return m.size
	}
	node := leaves + from
	for !(m.nodes[node] <= limit) { // on to the next subtree to the right
		for node%2 == 1 {
			node /= 2
		}
		if node == 0 {
			return m.size
		}
		node++
	}
	for node < leaves {
		if node *= 2; !(m.nodes[node] <= limit) {
			node++
		}
	}
	return min(node-leaves, m.size)
}
