package auto

import (
	"fmt"
	"slices"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/kmeans"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/planning"
)

// listSpaces returns the spaces of the data. Without constraints, one of the first two is used.
func (p *Problem) listSpaces() []clustering.Space {
	raw := []clustering.Space{clustering.SpaceRows, clustering.SpaceNeighbors}
	standardized := []clustering.Space{clustering.SpaceStandardized, clustering.SpaceStandardizedNeighbors}
	if g, ok := p.data.(*dataset.Graph); ok {
		return p.graphSpaces(g)
	}
	if seconds := planning.NeighborSeconds(p.data, usualThreads); seconds > longSearch {
		raw, standardized = raw[:1], standardized[:1]
		p.Warnings = append(p.Warnings, clustering.Notice{Code: "NEIGHBORS_LEFT_OUT", Message: fmt.Sprintf(
			"finding the exact neighbors of %d rows would take about %.0f s, so only methods on the rows are tried", p.n, seconds)})
	}
	switch data := p.data.(type) {
	case *dataset.SparsePoints:
		return raw[len(raw)-1:] // neighbors by cosine distance, unless finding them takes too long
	case *dataset.Points:
		switch {
		case p.spec.Scale == clustering.ScaleNone, p.spec.Scale == clustering.ScaleMinMax, p.spec.Scale == clustering.ScaleRobust:
			return raw
		case p.spec.Scale == clustering.ScaleZscore:
			return standardized
		case clustering.UnlikeUnits(data) == nil:
			return append(raw, standardized...)
		}
		return append(standardized, raw...)
	}
	return raw
}

// graphSpaces returns the spaces of a graph: the graph itself and, if there is supervision, its eigenvectors.
func (p *Problem) graphSpaces(g *dataset.Graph) []clustering.Space {
	switch {
	case hasNegativeWeight(g):
		return []clustering.Space{clustering.SpaceGraph}
	case !p.supervised():
		return []clustering.Space{clustering.SpaceLevels}
	case p.n*p.spec.K > maxEigenvalues:
		p.Warnings = append(p.Warnings, clustering.Notice{Code: "EIGENVECTORS_LEFT_OUT", Message: fmt.Sprintf(
			"%d eigenvectors of %d vertices would take long and much memory; only cuts of the graph itself are tried", p.spec.K, p.n)})
		return []clustering.Space{clustering.SpaceLevels}
	}
	return []clustering.Space{clustering.SpaceLevels, clustering.SpaceGraph}
}

func hasNegativeWeight(g *dataset.Graph) bool {
	return slices.ContainsFunc(g.Weight, func(w float64) bool { return w < 0 })
}

// ofNeighbors reports whether a space is the eigenvectors of a nearest-neighbor graph.
func ofNeighbors(name clustering.Space) bool {
	return name == clustering.SpaceNeighbors || name == clustering.SpaceStandardizedNeighbors
}

// Scale returns how the columns of dense points are scaled in a space.
func (p *Problem) Scale(space clustering.Space) clustering.Scale {
	switch {
	case space == clustering.SpaceStandardized || space == clustering.SpaceStandardizedNeighbors:
		return clustering.ScaleZscore
	case p.spec.Scale == clustering.ScaleMinMax || p.spec.Scale == clustering.ScaleRobust:
		return p.spec.Scale
	default:
		return clustering.ScaleNone
	}
}

// Units returns the units of the rows in a space, nil if unchanged.
func (p *Problem) Units(space clustering.Space) (*dataset.Units, error) {
	units, _, err := clustering.UnitsOf(p.data, p.Scale(space))
	return units, err
}

// supervised reports whether there are constraints or seeds.
func (p *Problem) supervised() bool { return p.given.Len()+len(p.spec.Supervision.Seeds) > 0 }

func defaultNeighbors(data dataset.Dataset) int {
	if _, sparse := data.(*dataset.SparsePoints); sparse {
		return defaultSparseNeighbors
	}
	return DefaultNeighbors
}

// Rows returns the problem of k-means on the rows of points in the units of a space.
func (p *Problem) Rows(space clustering.Space) (*kmeans.Problem, error) {
	return kmeans.Prepare(p.data, p.kmeansSpec(p.Scale(space)))
}
