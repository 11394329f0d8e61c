package synth

import (
	"cmp"
	"math"
	"math/rand/v2"

	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/fault"
)

// Blocks draws a graph of n vertices in k blocks from the stochastic block model: every pair of
// vertices is an edge of weight 1 independently, with one probability inside a block and another
// across, such that a vertex has about `inside` neighbors in its block and `outside` beyond.
// A vertex that would have no edge gets one to another vertex of its block, because a normalized cut is
// not defined for vertices of degree 0. The edges are distinct. Time and memory grow with n and the
// number of edges.
func Blocks(n, k int, inside, outside float64, rng *rand.Rand) ([]dataset.Edge, []int32, error) {
	if err := checkBlocks(n, k, inside, outside); err != nil {
		return nil, nil, err
	}
	truth := roundRobin(n, k)
	g := &blockGraph{degree: make([]int32, n)}
	for block := range k {
		size := blockSize(n, k, block)
		eachRandomPair(size, inside/float64(size-1), rng, func(i, j int) {
			g.addEdge(int32(i*k+block), int32(j*k+block)) // as roundRobin numbers the members
		})
	}
	if k > 1 {
		// Drawing from all pairs and dropping those within a block is the same as drawing across.
		eachRandomPair(n, outside/(float64(n)-float64(n)/float64(k)), rng, func(i, j int) {
			if i%k != j%k {
				g.addEdge(int32(i), int32(j))
			}
		})
	}
	for i := range n {
		if g.degree[i] == 0 {
			g.addEdge(int32(i), randomPartner(n, k, i, rng))
		}
	}
	return g.edges, truth, nil
}

// blockGraph collects edges and counts those of each vertex.
type blockGraph struct {
	edges  []dataset.Edge
	degree []int32
}

func (g *blockGraph) addEdge(i, j int32) {
	g.edges = append(g.edges, dataset.Edge{Source: min(i, j), Target: max(i, j), Weight: 1})
	g.degree[i]++
	g.degree[j]++
}

// randomPartner returns another vertex of i's block, or any other vertex if i is alone in its block.
func randomPartner(n, k, i int, rng *rand.Rand) int32 {
	if size := blockSize(n, k, i%k); size > 1 {
		return int32(randomExcept(i/k, size, rng)*k + i%k)
	}
	return int32(randomExcept(i, n, rng))
}

// randomExcept draws uniformly from the numbers 0 to size-1, except for the given one.
func randomExcept(one, size int, rng *rand.Rand) int {
	other := rng.IntN(size - 1)
	if other >= one {
		other++
	}
	return other
}

// blockSize returns the number of vertices i < n with i mod k = block.
func blockSize(n, k, block int) int { return (n - block + k - 1) / k }

// eachRandomPair yields each pair j < i < n with the given probability. It jumps from one drawn pair to
// the next by a geometrically distributed distance (Batagelj and Brandes 2005), so that pairs that are
// not drawn take no time.
func eachRandomPair(n int, probability float64, rng *rand.Rand, yield func(i, j int)) {
	if !(probability > 0) {
		return
	}
	logMiss := math.Log1p(-min(probability, 1)) // -Inf at 1: every jump is 0
	for i, j := 1, -1; i < n; {
		jump := math.Log1p(-rng.Float64()) / logMiss
		if jump >= float64(n)*float64(n) {
			return
		}
		for j += 1 + int(jump); j >= i && i < n; i++ {
			j -= i
		}
		if i < n {
			yield(i, j)
		}
	}
}

// checkBlocks returns an error if no graph has these sizes and degrees.
func checkBlocks(n, k int, inside, outside float64) error {
	if err := cmp.Or(checkSizes(n, k), checkNumber("degree inside", inside),
		checkNumber("degree outside", outside)); err != nil {
		return err
	}
	smallest := n / k
	if inside > float64(smallest-1) {
		return fault.Invalid("BAD_DEGREE",
			"the degree inside is %v, but the smallest block has %d vertices; use at most %d", inside,
			smallest, smallest-1)
	}
	largest := blockSize(n, k, 0)
	if outside > float64(n-largest) {
		return fault.Invalid("BAD_DEGREE",
			"the degree outside is %v, but the largest block has %d of %d vertices; use at most %d", outside, largest,
			n, n-largest)
	}
	return nil
}
