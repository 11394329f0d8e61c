package kernel

import (
	"cmp"
	"math"
	"slices"
)

// tieTolerance is how close two distances must be to count as equal, relative to the terms that they are
// computed from.
const tieTolerance = 1e-11

// clusterTerms are the parts of Kulis2009 (1) that depend on the cluster only.
type clusterTerms struct {
	sigma     float64
	weight    []float64 // s_c
	square    []float64 // (Q_c + sigma s_c) / s_c^2; infinite for empty clusters
	nonEmpty  []int32   // the clusters that are not empty, ascending
	maxSquare float64   // max_c |square|
	// For graphs, where the sums of a row are 0 for most clusters, so that their squares alone decide:
	bySquare   []int32 // the non-empty clusters, by square, then by number
	squareTree minTree // over the squares of nonEmpty
}

// set computes the terms from stats. It reuses its buffers.
func (terms *clusterTerms) set(stats ClusterStats) {
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

// sortBySquare makes bySquare and squareTree.
func (terms *clusterTerms) sortBySquare() {
	terms.bySquare = append(terms.bySquare[:0], terms.nonEmpty...)
	slices.SortFunc(terms.bySquare, func(a, b int32) int {
		return cmp.Or(cmp.Compare(terms.square[a], terms.square[b]), cmp.Compare(a, b))
	})
	terms.squareTree.set(len(terms.nonEmpty), func(at int) float64 { return terms.square[terms.nonEmpty[at]] })
}

// distancePart is d_ic without its first term M_ii/a_i^2, which is the same for every cluster.
func (terms *clusterTerms) distancePart(c int32, sum, a float64) float64 {
	return terms.square[c] - 2*sum/float64(a*terms.weight[c])
}

// shifted adds the diagonal shift to the sum of a point's own cluster: S_ic + sigma a_i.
func (terms *clusterTerms) shifted(sum, a float64) float64 { return sum + float64(terms.sigma*a) }

// minTree is a list of values that finds the next one up to a limit in logarithmic time. It is a binary tree
// over the list, in which every node is the least value below it. Node 1 is the root, 2i and 2i+1 are the
// children of i, and the leaves are the second half.
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

// firstAtMost returns the first index at or after from whose value is at most limit, or the list's size.
func (m *minTree) firstAtMost(from int, limit float64) int {
	leaves := len(m.nodes) / 2
	if from >= m.size {
		return m.size
	}
	node := leaves + from
	for !(m.nodes[node] <= limit) { // go on to the next subtree on the right
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
