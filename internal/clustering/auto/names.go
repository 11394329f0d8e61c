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

// ofNeighbors tells whether a space is eigenvectors of a graph of nearest neighbors.
func ofNeighbors(name clustering.Space) bool {
	return name == clustering.SpaceNeighbors || name == clustering.SpaceStandardizedNeighbors
}

// Scale is what is done to the columns of dense points in a space.
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

// Units are those of the rows in a space; nil: as they are given.
func (p *Problem) Units(space clustering.Space) (*dataset.Units, error) {
	units, _, err := clustering.UnitsOf(p.data, p.Scale(space))
	return units, err
}

// Spaces are those that are tried, in this order.
func (p *Problem) Spaces() []clustering.Space {
	if p.supervised() {
		return p.names
	}
	return p.names[:min(2, len(p.names))]
}

// supervised tells whether there is anything that ways can be compared by.
func (p *Problem) supervised() bool { return p.given.Len()+len(p.spec.Seeds) > 0 }

// Neighbors is how many neighbors of each row are looked for.
func (p *Problem) Neighbors() int { return p.neighbors }

// Rows is the problem of k-means on the rows of points in the units of a space, of which a plan can be made.
func (p *Problem) Rows(space clustering.Space) (*kmeans.Problem, error) {
	return kmeans.Prepare(p.data, p.kmeansSpec(p.Scale(space)))
}

// Fitted returns about how many known rows a classifier is fitted to at most, and 0 where there is none: only dense points with
// seeds or with pairs of both kinds have one.
func (p *Problem) Fitted() int {
	if _, dense := p.data.(*dataset.Points); !dense {
		return 0
	}
	known := len(p.spec.Seeds) + 2*p.given.Len()
	if known < 2*p.spec.K { // pairs that tell k groups have at least as many rows
		known = len(p.spec.Seeds)
	}
	return min(known, p.mostFitted(), p.n)
}

// mostFitted is how many known rows a classifier is fitted to at most.
func (p *Problem) mostFitted() int { return max(leastFitted, min(maxFitted, maxEntries/p.n)) }

// Fits is about how many runs of k-means there are in a space of rows. Where starts race there is one, and none from a start
// of its own in the others.
func (p *Problem) Fits(rows *kmeans.Problem) int {
	starts, inFold := p.starts(), foldStarts
	if rows.FromSample {
		starts, inFold = 1, 0
	}
	if !p.supervised() {
		return starts
	}
	soft, hard := inFold+1, inFold+2
	return 2*starts + p.folds*(soft+hard)
}

// Eigensolver describes the searches for eigenvectors, which are made in this process: of a given matrix, or of the
// graphs of neighbors, which are here too.
func (p *Problem) Eigensolver() *planning.Eigensolver {
	e := &planning.Eigensolver{Pairs: p.spec.K, Columns: p.spec.K, Restarts: embedding.DefaultRestarts}
	if s := p.Supervision(); p.supervised() {
		// One search for cuts, or as many as there are folds side by side: what takes more.
		wide := span.Size(p.n, p.spec.K, len(s.Pairs))
		if e.Searches = min(p.folds, p.searches()); eigen.SearchColumns(wide, false) > e.Searches*eigen.SearchColumns(e.Pairs, false) {
			e.Pairs, e.Searches = wide, 1
		}
	}
	for _, name := range p.Spaces() {
		if ofNeighbors(name) { // a row is in its own list, and in those of as many others on average
			e.SparseEntries += 2 * int64(p.n) * int64(neighbor.Count(p.n, p.neighbors))
		}
	}
	return e
}
