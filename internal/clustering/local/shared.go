package local

import (
	"context"
	"sync"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/auto"
	"github.com/cleave-project/cleave/internal/clustering/spectral"
	"github.com/cleave-project/cleave/internal/data/dataset"
)

// Shared holds what jobs on the same data have in common if they differ only in k, constraints and seeds. It is not
// safe for concurrent use.
type Shared struct {
	Auto  *auto.Shared
	Cut   *spectral.Shared
	graph *dataset.Graph // nearest-neighbor graph; nil until it is computed
}

// NewShared returns an empty Shared for jobs of at most maxK clusters.
func NewShared(maxK int) *Shared {
	return &Shared{Auto: auto.NewShared(maxK), Cut: spectral.NewShared(maxK)}
}

// neighborGraph returns the nearest-neighbor graph and computes it only once. s may be nil.
func (s *Shared) neighborGraph(find func() (*dataset.Graph, error)) (_ *dataset.Graph, err error) {
	if s == nil {
		return find()
	}
	if s.graph == nil {
		s.graph, err = find()
	}
	return s.graph, err
}

// Parts runs jobs on parts of the data of a job with a range of k. Jobs on the same part share what they can.
type Parts struct {
	maxK int
	mu   sync.Mutex
	of   map[int]*Shared
}

// NewParts returns Parts for jobs of at most maxK clusters.
func NewParts(maxK int) *Parts { return &Parts{maxK: maxK, of: map[int]*Shared{}} }

// Small implements krange.Solver. Jobs on the same part must not run concurrently.
func (p *Parts) Small(ctx context.Context, part int, data dataset.Dataset, spec clustering.Spec, threads int) (*clustering.Result, error) {
	p.mu.Lock()
	shared := p.of[part]
	if shared == nil {
		shared = NewShared(p.maxK)
		p.of[part] = shared
	}
	p.mu.Unlock()
	if spec.Neighbors > 0 {
		return solveNeighbors(ctx, data, spec, threads, shared, clustering.NopObserver{})
	}
	return solveOne(ctx, data, spec, threads, shared, clustering.NopObserver{})
}
