package auto

import (
	"context"
	"slices"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/numeric/eigen"
)

// Shared holds what problems on the same data with different k have in common: neighbor graphs and their eigenvectors,
// of which a smaller k uses the first. The problems must run one after another.
type Shared struct {
	maxK   int
	graphs map[clustering.Space]*dataset.Graph
	eigen  map[clustering.Space]*sharedEigen
}

// sharedEigen holds the eigenvectors of a graph restricted to the kept vertices.
type sharedEigen struct {
	keep  []bool
	pairs eigen.Eigenpairs
}

// NewShared returns a Shared for problems of at most maxK clusters.
func NewShared(maxK int) *Shared {
	return &Shared{maxK: maxK, graphs: map[clustering.Space]*dataset.Graph{}, eigen: map[clustering.Space]*sharedEigen{}}
}

// Share makes p reuse, and add to, the results of other problems. It must be called before Run.
func (p *Problem) Share(s *Shared) { p.shared = s }

// graph returns the neighbor graph of a space. It calls find on the first call. A nil s shares nothing.
func (s *Shared) graph(name clustering.Space, find func() (*dataset.Graph, error)) (*dataset.Graph, error) {
	if s == nil {
		return find()
	}
	if g := s.graphs[name]; g != nil {
		return g, nil
	}
	g, err := find()
	if err == nil {
		s.graphs[name] = g
	}
	return g, err
}

// largest returns the leading eigenvectors of the graph of a space, restricted to the kept vertices. It calls search,
// for the largest k, on the first call.
func (s *Shared) largest(ctx context.Context, name clustering.Space, keep []bool, c *contraction, count int, search func(ctx context.Context, count int) (eigen.Eigenpairs, error)) (eigen.Eigenpairs, error) {
	if s == nil {
		return search(ctx, count)
	}
	found := s.eigen[name]
	if found == nil || len(found.pairs.Vectors) < count || !slices.Equal(found.keep, keep) {
		pairs, err := search(ctx, min(s.maxK, c.Rows()))
		if err != nil {
			return pairs, err
		}
		found = &sharedEigen{keep, pairs}
		s.eigen[name] = found
	}
	first := found.pairs
	first.Values, first.Vectors = first.Values[:count], first.Vectors[:count]
	return first, nil
}
