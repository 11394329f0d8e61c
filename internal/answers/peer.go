package answers

import (
	_ "embed" // the peers' program
	"math"
	"os/exec"
	"slices"

	"github.com/cleave-project/cleave/internal/catalog"
)

// peerScript runs one peer on one set and writes its labels.
//
//go:embed peer.py
var peerScript []byte

// peer is another program's algorithm, by its own defaults.
type peer struct {
	name        string
	kinds       []string // of data
	largest     int      // the most points that it is given
	constraints bool     // it learns from constraints
	alone       bool     // it answers without them
	once        bool     // it draws nothing at random
	about       string
}

var peers = []peer{
	{"sk-kmeans", []string{catalog.Points, catalog.SparsePoints}, math.MaxInt, false, true, false, "k-means, 10 starts"},
	{"sk-spectral-rbf", []string{catalog.Points}, 5000, false, true, false, "spectral clustering, gaussian affinity of the median width"},
	{"sk-spectral-nn", []string{catalog.Points}, 25_000, false, true, false, "spectral clustering of nearest neighbors"},
	{"sk-ward", []string{catalog.Points, catalog.SparsePoints}, 12_000, false, true, true, "hierarchical clustering by Ward's method"},
	{"sk-spectral-graph", []string{catalog.Graph}, 30_000, true, true, false, "spectral clustering of the graph, constraints written into its weights"},
	{"sk-seeded", []string{catalog.Points, catalog.SparsePoints}, math.MaxInt, true, false, false, "k-means that starts from must-linked groups and keeps them whole"},
}

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

// findPython finds a Python that has what the peers need, or none.
func findPython(candidates []string) string {
	for _, candidate := range candidates {
		if exec.Command(candidate, "-c", "import numpy, scipy, sklearn").Run() == nil {
			return candidate
		}
	}
	return ""
}
