package vector

import (
	"context"
	"fmt"

	"github.com/cleave-project/cleave/internal/dataset"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/labeling"
)

// Load sets the labels of all n points, and returns the exact sums of the clusters over the given tiles: Width
// values for each cluster. There may be more clusters than points, when a model is applied to a few new ones.
func (s *Shard) Load(ctx context.Context, numbers []int, step uint64, clusters int, labels []int32) ([]float64, error) {
	tiles, err := s.tilesOf(numbers)
	if err != nil {
		return nil, err
	}
	if clusters < 1 || clusters > dataset.MaxRows {
		return nil, fmt.Errorf("vector: labels of %d clusters", clusters)
	}
	if err := s.shape(clusters).CheckLabels(labels); err != nil {
		return nil, fmt.Errorf("vector: %w", err)
	}
	if !s.loaded || s.labelsStep != step || s.clusters != clusters {
		s.labels = append(s.labels[:0], labels...)
		s.clusters, s.labelsStep, s.loaded = clusters, step, true
	}
	return s.sum(ctx, tiles, step)
}

// Update brings the labels from step to step+1 by the points that moved, and returns the sums over the given
// tiles. Labels that are at step+1 already are not changed again.
func (s *Shard) Update(ctx context.Context, numbers []int, step uint64, moves []labeling.Move) ([]float64, error) {
	tiles, err := s.tilesOf(numbers)
	if err != nil {
		return nil, err
	}
	if !s.loaded || (s.labelsStep != step && s.labelsStep != step+1) {
		return nil, kernel.ErrNotReady
	}
	for _, t := range tiles {
		if !t.loaded || (t.step != step && t.step != step+1) {
			return nil, kernel.ErrNotReady
		}
	}
	if s.labelsStep == step {
		if err := s.shape(s.clusters).Apply(s.labels, moves); err != nil {
			return nil, fmt.Errorf("vector: %w", err)
		}
		s.labelsStep = step + 1
	} else if err := s.shape(s.clusters).CheckApplied(s.labels, moves); err != nil {
		return nil, fmt.Errorf("vector: %w", err)
	}
	return s.sum(ctx, tiles, step+1)
}

// shape says which labels and moves fit.
func (s *Shard) shape(clusters int) labeling.Shape {
	return labeling.Shape{Points: s.source.Rows(), Clusters: clusters, Lanes: 1}
}

// sum adds up the points of each cluster, which is exact and so independent of the order.
func (s *Shard) sum(ctx context.Context, tiles []*tile, step uint64) ([]float64, error) {
	width := s.source.spec.Width()
	size, entries := s.clusters*width, 0
	for _, t := range tiles {
		entries += len(t.packed) + len(t.values)
		t.step, t.loaded = step, true
	}
	for _, w := range s.workspaces.idle {
		w.sums = w.sums[:0]
	}
	// Each thread has its own sums, which must be added up in the end. That pays only for threads that add more
	// values than there are sums.
	threads := min(s.threads, 1+entries/size)
	err := s.perTile(ctx, threads, tiles, func(_ int, t *tile, w *workspace) {
		if len(w.sums) == 0 {
			w.sums = resized(w.sums, size+width) // with an extra place for rows without a cluster
			clear(w.sums)
		}
		if t.packed != nil {
			t.addDense(w.sums, s.labelsOf(t))
			return
		}
		for r, c := range s.labelsOf(t) {
			if c >= 0 {
				w.row(r).addTo(w.sums[int(c)*width:][:width])
			}
		}
	})
	if err != nil {
		return nil, err
	}
	total := make([]float64, size)
	for _, w := range s.workspaces.idle {
		for at, v := range w.sums[:min(size, len(w.sums))] {
			total[at] += v
		}
	}
	return total, nil
}
