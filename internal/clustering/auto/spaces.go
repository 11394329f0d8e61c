package auto

import (
	"context"
	"fmt"
	"slices"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/embedding"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/parallel"
	"github.com/cleave-project/cleave/internal/snapshot"
)

// spaces holds the representations of the data, each with its answer without supervision. They are opened when they are
// needed first. One goroutine owns it; fits that run concurrently only read it, except for what has a lock of its own.
type spaces struct {
	p         *Problem
	executors Executors
	threads   int
	journal   *journal
	reporter  *embedding.Reporter
	opened    map[clustering.Space]*space
	shared    *Shared  // graphs and eigenvectors of all k, or of this run alone
	releases  []func() // release the executors that are in use
}

func newSpaces(ctx context.Context, p *Problem, x Executors, o clustering.Observer) *spaces {
	shared := p.shared
	if shared == nil {
		shared = NewShared(p.spec.K)
	}
	return &spaces{
		p:         p,
		executors: x,
		threads:   parallel.Threads(ctx),
		journal:   &journal{o: o},
		reporter:  embedding.NewReporter(o),
		opened:    map[clustering.Space]*space{},
		shared:    shared,
	}
}

// release releases the executors of all spaces.
func (ss *spaces) release() {
	for _, release := range ss.releases {
		release()
	}
}

// open returns a space. It creates it on the first call.
func (ss *spaces) open(ctx context.Context, name clustering.Space) (*space, error) {
	if s, opened := ss.opened[name]; opened {
		return s, nil
	}
	s, err := ss.newSpace(snapshot.Within(ctx, name.String()), name)
	if err != nil {
		return nil, err
	}
	ss.opened[name] = s
	return s, nil
}

// newSpace makes the points, the graph or the matrix that the methods of a space compare points by.
func (ss *spaces) newSpace(ctx context.Context, name clustering.Space) (*space, error) {
	s := &space{name: name}
	switch name {
	case clustering.SpaceRows, clustering.SpaceStandardized:
		if _, given := ss.p.data.(*dataset.Kernel); given {
			return s, ss.openComponents(ctx, s)
		}
		return s, ss.openRows(ctx, s)
	case clustering.SpaceMixture:
		return s, ss.openMixture(ctx, s)
	case clustering.SpaceLevels:
		return s, ss.openLevels(ctx, s, ss.p.data.(*dataset.Graph))
	case clustering.SpaceGraph:
		adjacency, release, err := ss.executors.Matrix(ctx)
		if err != nil {
			return nil, err
		}
		ss.releases = append(ss.releases, release)
		return s, ss.openGraph(ctx, s, ss.p.data.(*dataset.Graph), adjacency)
	case clustering.SpaceNeighbors, clustering.SpaceStandardizedNeighbors:
		units, graph, err := ss.neighborGraph(ctx, name)
		if err != nil {
			return nil, err
		}
		// The graph is in this process, and products with its few edges take little of the time of the eigensolver.
		adjacency, err := NewMatrix(ctx, graph, ss.threads)
		if err != nil {
			return nil, err
		}
		s.units = units
		return s, ss.openGraph(ctx, s, graph, adjacency)
	}
	return nil, fmt.Errorf("auto: there is no space %d", name)
}

// listSpaces returns the spaces of the data in order, and notices of those that are left out. The baseline is in one of
// the first two spaces, or in a mixture.
func (p *Problem) listSpaces() ([]clustering.Space, []clustering.Notice) {
	if g, ok := p.data.(*dataset.Graph); ok {
		return p.graphSpaces(g)
	}
	raw := []clustering.Space{clustering.SpaceRows, clustering.SpaceNeighbors}
	standardized := []clustering.Space{clustering.SpaceStandardized, clustering.SpaceStandardizedNeighbors}
	if _, sparse := p.data.(*dataset.SparsePoints); sparse {
		raw = []clustering.Space{clustering.SpaceNeighbors} // by cosine distance; k-means only without neighbors
	}
	var notices []clustering.Notice
	if seconds := searchSeconds(p.data); seconds > longSearch {
		raw = []clustering.Space{clustering.SpaceRows}
		standardized = []clustering.Space{clustering.SpaceStandardized}
		notices = append(notices, notice("NEIGHBORS_LEFT_OUT", "finding the exact neighbors of %d rows would take "+
			"about %.0f s, so only methods on the rows are tried", p.n, seconds))
	}
	points, dense := p.points()
	switch {
	case !dense,
		p.spec.Scale == clustering.ScaleNone,
		p.spec.Scale == clustering.ScaleMinMax,
		p.spec.Scale == clustering.ScaleRobust:
		return raw, notices
	case p.spec.Scale == clustering.ScaleZscore:
		return standardized, notices
	case clustering.UnlikeUnits(points) == nil:
		return append(raw, standardized...), notices
	}
	return append(standardized, raw...), notices
}

// graphSpaces returns the spaces of a graph: the graph itself and, if there is supervision, its eigenvectors.
func (p *Problem) graphSpaces(g *dataset.Graph) ([]clustering.Space, []clustering.Notice) {
	switch {
	case hasNegativeWeight(g):
		return []clustering.Space{clustering.SpaceGraph}, nil
	case !p.supervised():
		return []clustering.Space{clustering.SpaceLevels}, nil
	case p.n*p.spec.K > maxEigenvalues:
		return []clustering.Space{clustering.SpaceLevels}, []clustering.Notice{notice("EIGENVECTORS_LEFT_OUT",
			"%d eigenvectors of %d vertices would take long and much memory; only cuts of the graph itself are tried",
			p.spec.K, p.n)}
	}
	return []clustering.Space{clustering.SpaceLevels, clustering.SpaceGraph}, nil
}

func hasNegativeWeight(g *dataset.Graph) bool {
	return slices.ContainsFunc(g.Weight, func(w float64) bool { return w < 0 })
}

// ofNeighbors reports whether a space is the eigenvectors of a nearest-neighbor graph.
func ofNeighbors(name clustering.Space) bool {
	return name == clustering.SpaceNeighbors || name == clustering.SpaceStandardizedNeighbors
}

// ofVectors reports whether a space is the eigenvectors of a graph.
func ofVectors(name clustering.Space) bool { return name == clustering.SpaceGraph || ofNeighbors(name) }

func defaultNeighbors(data dataset.Dataset) int {
	if _, sparse := data.(*dataset.SparsePoints); sparse {
		return defaultSparseNeighbors
	}
	return DefaultNeighbors
}
