package auto

import (
	"context"
	"slices"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/numeric/eigen"
)

// Shared is what problems on the same data that differ in k have in common, run one after the other: graphs of neighbors, and
// eigenvectors of graphs, of which a smaller k takes the first.
type Shared struct {
	maxK   int
	graphs map[clustering.Space]*dataset.Graph
	eigen  map[clustering.Space]*sharedEigen
}

// sharedEigen are the eigenvectors of a graph without some vertices.
type sharedEigen struct {
	keep  []bool
	pairs eigen.Eigenpairs
}

// NewShared is for problems of at most so many clusters.
func NewShared(maxK int) *Shared {
	return &Shared{maxK: maxK, graphs: map[clustering.Space]*dataset.Graph{}, eigen: map[clustering.Space]*sharedEigen{}}
}

// Share makes a problem use, and add to, what others have found.
func (p *Problem) Share(s *Shared) { p.shared = s }

// graph is the graph of neighbors of a space, made once.
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

// largest are the leading eigenvectors of the graph of a space with those vertices that are kept, found once for all k.
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
