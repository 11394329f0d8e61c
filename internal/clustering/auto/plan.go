package auto

import (
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/embedding"
	"github.com/cleave-project/cleave/internal/clustering/kmeans"
	"github.com/cleave-project/cleave/internal/clustering/span"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/numeric/eigen"
	"github.com/cleave-project/cleave/internal/numeric/neighbor"
)

// What a problem will take, for the plan of its job. No answer depends on it.

// searchBytes bounds the memory of fits that run at the same time. A fit to whitened rows holds whitenedCopies copies
// of the rows.
const (
	searchBytes    = 1 << 28
	whitenedCopies = 4
)

// Spaces returns the spaces that are tried, in order.
func (p *Problem) Spaces() []clustering.Space {
	if p.supervised() {
		return p.spaces
	}
	return p.spaces[:min(2, len(p.spaces))]
}

// Neighbors returns the number of neighbors of each row in the nearest-neighbor graph.
func (p *Problem) Neighbors() int { return p.neighbors }

// Fitted returns about how many known rows a classifier is fitted to, 0 if there is none. Only dense points with seeds
// or with pairs of both kinds have one.
func (p *Problem) Fitted() int {
	if _, dense := p.data.(*dataset.Points); !dense {
		return 0
	}
	known := len(p.spec.Supervision.Seeds) + 2*p.given.Len()
	if known < 2*p.spec.K { // k classes from pairs have at least two rows each
		known = len(p.spec.Supervision.Seeds)
	}
	return min(known, p.fittedLimit(), p.n)
}

// Fits returns about how many runs of k-means there are in a space of rows. If starts race on a sample, a fit is a
// single run on all rows.
func (p *Problem) Fits(rows *kmeans.Problem) int {
	starts := p.starts()
	inFold := foldStarts
	if rows.RaceRows() > 0 {
		starts = 1
		inFold = 0
	}
	if !p.supervised() || p.regime == manySeeds {
		return starts
	}
	soft := inFold + 1
	hard := inFold + 2
	return 2*starts + p.folds*(soft+hard)
}

// Search is what the searches for eigenvectors of given matrices and neighbor graphs take. They run in this process.
type Search struct {
	Pairs    int   // eigenpairs wanted
	AtOnce   int   // concurrent searches
	Entries  int64 // of the neighbor graphs
	Restarts int   // of k-means on the eigenvectors
}

// Search returns what the searches for eigenvectors take on so many threads. Spreading beside discriminants takes about
// as much as a search for k eigenvectors.
func (p *Problem) Search(threads int) Search {
	s := Search{Pairs: p.spec.K, AtOnce: 1, Restarts: embedding.DefaultRestarts}
	if p.supervised() && p.regime != manySeeds {
		// Either one search for cuts or as many concurrent ones as there are folds, whichever takes more.
		wide := span.Size(p.n, p.spec.K, len(p.supervision.Pairs))
		s.AtOnce = min(p.folds, threads, p.searches())
		if eigen.SearchColumns(wide, false) > s.AtOnce*eigen.SearchColumns(s.Pairs, false) {
			s.Pairs = wide
			s.AtOnce = 1
		}
	}
	for _, name := range p.Spaces() {
		if ofNeighbors(name) { // its neighbors, and on average as many rows that have it as a neighbor
			s.Entries += 2 * int64(p.n) * int64(neighbor.Count(p.n, p.neighbors))
		}
	}
	return s
}

// Cuts returns how many cuts there are of the graph itself, 0 if it is not cut.
func (p *Problem) Cuts() int {
	switch {
	case p.spaces[0] != clustering.SpaceLevels:
		return 0
	case p.supervised():
		return 2*p.folds + 3 // two per fit, and one without constraints
	}
	return 1
}

// searches returns the number of fits that memory allows at the same time in this process: eigensolvers, or k-means on
// whitened rows. The answer does not depend on it.
func (p *Problem) searches() int {
	columns := eigen.SearchColumns(p.spec.K, false)
	if points, dense := p.data.(*dataset.Points); dense && points.D <= maxWhitenedColumns {
		columns = max(columns, whitenedCopies*points.D)
	}
	return max(1, searchBytes/(8*p.n*columns))
}
