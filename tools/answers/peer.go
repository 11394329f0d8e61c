package answers

import (
	_ "embed" // the peers' program
	"math"
	"slices"

	"github.com/cleave-project/cleave/internal/clustering/catalog"
)

// peerScript runs one peer on one set and writes its labels.
//
//go:embed peer.py
var peerScript []byte

// peer is another program's algorithm, by its own defaults.
type peer struct {
	suite       string // that asks it
	name        string
	kinds       []string // of data
	largest     int      // the most points that it is given
	constraints bool     // it learns from constraints
	alone       bool     // it answers without them
	once        bool     // it draws nothing at random
	about       string
}

var peers = []peer{
	{Constraints, "sk-kmeans", []string{catalog.Points, catalog.SparsePoints}, math.MaxInt, false, true, false,
		"k-means, 10 starts"},
	{Constraints, "sk-spectral-rbf", []string{catalog.Points}, 5000, false, true, false,
		"spectral clustering, gaussian affinity of the median width"},
	{Constraints, "sk-spectral-nn", []string{catalog.Points}, 25_000, false, true, false,
		"spectral clustering of nearest neighbors"},
	{Constraints, "sk-ward", []string{catalog.Points, catalog.SparsePoints}, 12_000, false, true, true,
		"hierarchical clustering by Ward's method"},
	{Constraints, "sk-spectral-graph", []string{catalog.Graph}, 30_000, true, true, false,
		"spectral clustering of the graph, constraints written into its weights"},
	{Constraints, "sk-seeded", []string{catalog.Points, catalog.SparsePoints}, math.MaxInt, true, false, false,
		"k-means that starts from must-linked groups and keeps them whole"},

	{Tables, pipeline, []string{Table}, math.MaxInt, false, true, false,
		"gaps filled by the median or the most frequent word, numbers standardized, words as columns of 0 and 1, and " +
			"k-means, 10 starts"},
	{Tables, "pipeline-ward", []string{Table}, 12_000, false, true, true, "the same, and Ward's method"},
	{Tables, "pipeline-mixture", []string{Table}, math.MaxInt, false, true, false,
		"the same, and a mixture of gaussians, 3 starts"},
	{Tables, "gower-medoids", []string{Table}, 6000, false, true, false, "medoids of Gower's distances, 10 starts"},

	{Labels, "spread", []string{catalog.Points, catalog.SparsePoints, Table}, 12_000, true, false, true,
		"label spreading over 10 neighbors, columns standardized"},
	{Labels, "spread-raw", []string{catalog.Points}, 12_000, true, false, true, "the same, columns as they are"},
	{Labels, "spread-graph", []string{catalog.Graph}, math.MaxInt, true, false, true, "label spreading over the graph"},
	{Labels, "neighbors-5", []string{catalog.Points, catalog.SparsePoints, Table}, math.MaxInt, true, false, true,
		"5 nearest neighbors, columns standardized"},
	{Labels, "neighbors-5-raw", []string{catalog.Points}, math.MaxInt, true, false, true,
		"the same, columns as they are"},
	{Labels, "logistic", []string{catalog.Points, catalog.SparsePoints, Table}, math.MaxInt, true, false, true,
		"logistic regression, columns standardized"},
	{Labels, "forest", []string{catalog.Points, catalog.SparsePoints, Table}, math.MaxInt, true, false, false,
		"a forest of 100 trees"},

	{Range, "silhouette", []string{Table}, 12_000, false, true, false,
		"the best silhouette of k-means on a prepared table"},
}

// pipeline is what tables are compared with first: what most people who know would do.
const pipeline = "pipeline-kmeans"

func peerNames() []string {
	var names []string
	for _, p := range peers {
		names = append(names, p.name)
	}
	return names
}

func findPeer(name string) (peer, bool) {
	at := slices.IndexFunc(peers, func(p peer) bool { return p.name == name })
	if at < 0 {
		return peer{}, false
	}
	return peers[at], true
}

func isPeer(name string) bool {
	_, is := findPeer(name)
	return is
}
