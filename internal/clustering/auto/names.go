package auto

import (
	"fmt"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/centroid"
	"github.com/cleave-project/cleave/internal/dataset"
	"github.com/cleave-project/cleave/internal/planning"
)

const (
	// longSearch is how many seconds a search for neighbors may take, on usualThreads threads. What is tried must not
	// depend on the workers that are there.
	longSearch   = 60
	usualThreads = 2
)

// spaceNames are the spaces of the data. Without constraints one of the first two is taken.
func (p *Problem) spaceNames() []clustering.Space {
	raw := []clustering.Space{clustering.SpaceRows, clustering.SpaceNeighbors}
	standardized := []clustering.Space{clustering.SpaceStandardized, clustering.SpaceStandardizedNeighbors}
	if g, is := p.data.(*dataset.Graph); is {
		return p.graphSpaces(g)
	}
	if seconds := planning.NeighborSeconds(p.data, usualThreads); seconds > longSearch {
		raw, standardized = raw[:1], standardized[:1]
		p.Warnings = append(p.Warnings, clustering.Notice{Code: "NEIGHBORS_LEFT_OUT", Message: fmt.Sprintf(
			"the exact neighbors of %d rows would take about %.0f s; only k-means on the rows is tried", p.n, seconds)})
	}
	switch data := p.data.(type) {
	case *dataset.SparsePoints:
		return raw[len(raw)-1:] // the neighbors, by cosines, unless they take too long
	case *dataset.Points:
		switch {
		case p.spec.Scale == clustering.ScaleNone:
			return raw
		case p.spec.Scale == clustering.ScaleZscore:
			return standardized
		case dataset.EvenlySpread(data):
			return append(raw, standardized...)
		}
		return append(standardized, raw...)
	}
	return raw
}

// ofNeighbors tells whether a space is eigenvectors of a graph of nearest neighbors.
func ofNeighbors(name clustering.Space) bool {
	return name == clustering.SpaceNeighbors || name == clustering.SpaceStandardizedNeighbors
}

// Rows is the problem of k-means on the rows of points in the units that come first, which a plan can be made of.
func (p *Problem) Rows() (*centroid.Problem, error) {
	scale := clustering.ScaleNone
	if p.names[0] == clustering.SpaceStandardized {
		scale = clustering.ScaleZscore
	}
	return centroid.Prepare(p.data, p.kmeansSpec(scale))
}
