package auto

import (
	"fmt"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/embedding"
	"github.com/cleave-project/cleave/internal/clustering/kmeans"
	"github.com/cleave-project/cleave/internal/clustering/span"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/numeric/eigen"
	"github.com/cleave-project/cleave/internal/numeric/neighbor"
	"github.com/cleave-project/cleave/internal/planning"
)

// listSpaces returns the spaces of the data. Without constraints, one of the first two is used.
func (p *Problem) listSpaces() []clustering.Space {
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

// Spaces returns the spaces that are tried, in order.
func (p *Problem) Spaces() []clustering.Space {
	if p.supervised() {
		return p.spaces
	}
	return p.spaces[:min(2, len(p.spaces))]
}

// supervised reports whether there are constraints or seeds.
func (p *Problem) supervised() bool { return p.given.Len()+len(p.spec.Seeds) > 0 }

func defaultNeighbors(data dataset.Dataset) int {
	if _, sparse := data.(*dataset.SparsePoints); sparse {
		return DefaultSparseNeighbors
	}
	return DefaultNeighbors
}

// Neighbors returns the number of neighbors of each row in the nearest-neighbor graph.
func (p *Problem) Neighbors() int { return p.neighbors }

// Rows returns the problem of k-means on the rows of points in the units of a space.
func (p *Problem) Rows(space clustering.Space) (*kmeans.Problem, error) {
	return kmeans.Prepare(p.data, p.kmeansSpec(p.Scale(space)))
}

// Fitted returns about how many known rows a classifier is fitted to, 0 if there is none. Only dense points with seeds
// or with pairs of both kinds have one.
func (p *Problem) Fitted() int {
	if _, dense := p.data.(*dataset.Points); !dense {
		return 0
	}
	known := len(p.spec.Seeds) + 2*p.given.Len()
	if known < 2*p.spec.K { // k groups from pairs have at least two rows each
		known = len(p.spec.Seeds)
	}
	return min(known, p.mostFitted(), p.n)
}

// mostFitted returns the maximum number of known rows that a classifier is fitted to.
func (p *Problem) mostFitted() int { return max(leastFitted, min(maxFitted, maxEntries/p.n)) }

// Fits returns about how many runs of k-means there are in a space of rows. If starts race on a sample, a fit is a
// single run on all rows.
func (p *Problem) Fits(rows *kmeans.Problem) int {
	starts, inFold := p.starts(), foldStarts
	if rows.FromSample {
		starts, inFold = 1, 0
	}
	if !p.supervised() || p.discriminants {
		return starts
	}
	soft, hard := inFold+1, inFold+2
	return 2*starts + p.folds*(soft+hard)
}

// Eigensolver returns the plan of the eigensolvers, which run in this process for given matrices and neighbor graphs. Spreading
// beside discriminants takes about as much as a search for k eigenvectors.
func (p *Problem) Eigensolver() *planning.Eigensolver {
	e := &planning.Eigensolver{Pairs: p.spec.K, Columns: p.spec.K, Restarts: embedding.DefaultRestarts}
	if p.supervised() && !p.discriminants {
		// Either one search for cuts or as many concurrent ones as there are folds, whichever takes more.
		wide := span.Size(p.n, p.spec.K, len(p.supervision.Pairs))
		if e.Searches = min(p.folds, p.searches()); eigen.SearchColumns(wide, false) > e.Searches*eigen.SearchColumns(e.Pairs, false) {
			e.Pairs, e.Searches = wide, 1
		}
	}
	for _, name := range p.Spaces() {
		if ofNeighbors(name) { // its neighbors, and on average as many rows that have it as a neighbor
			e.SparseEntries += 2 * int64(p.n) * int64(neighbor.Count(p.n, p.neighbors))
		}
	}
	return e
}
