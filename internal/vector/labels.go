package vector

import (
	"context"
	"fmt"
	"slices"

	"github.com/cleave-project/cleave/internal/dataset"
	"github.com/cleave-project/cleave/internal/kernel"
)

// Load sets the labels of all n points (-1: none), below clusters (of which there may be more than
// points, when a model meets a few new ones), and returns the exact sums of the
// clusters over the given tiles: Width values for each cluster.
func (s *Shard) Load(ctx context.Context, numbers []int, step uint64, clusters int, labels []int32) ([]float64, error) {
	tiles, err := s.tilesOf(numbers)
	if err != nil {
		return nil, err
	}
	if err := s.checkLabels(clusters, labels); err != nil {
		return nil, err
	}
	if !s.loaded || s.labelsStep != step || s.clusters != clusters {
		s.labels = append(s.labels[:0], labels...)
		s.clusters, s.labelsStep, s.loaded = clusters, step, true
	}
	return s.sum(ctx, tiles, step)
}

// Update changes the labels from step to step+1 by the points that moved, and returns the sums over
// the given tiles. Where that was done already it only answers again.
func (s *Shard) Update(ctx context.Context, numbers []int, step uint64, moves []kernel.Move) ([]float64, error) {
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
		if err := s.applyMoves(moves); err != nil {
			return nil, err
		}
		s.labelsStep = step + 1
	} else if err := s.checkApplied(moves); err != nil {
		return nil, err
	}
	return s.sum(ctx, tiles, step+1)
}

func (s *Shard) checkLabels(clusters int, labels []int32) error {
	if n := s.source.Rows(); clusters < 1 || clusters > dataset.MaxRows || len(labels) != n {
		return fmt.Errorf("vector: %d labels of %d clusters for %d rows", len(labels), clusters, n)
	}
	for i, c := range labels {
		if c < -1 || int(c) >= clusters {
			return fmt.Errorf("vector: row %d has label %d of %d clusters", i, c, clusters)
		}
	}
	return nil
}

// applyMoves changes the labels, all of them or none. A point moves once.
func (s *Shard) applyMoves(moves []kernel.Move) error {
	undo := func(done []kernel.Move) {
		for _, m := range slices.Backward(done) {
			s.labels[m.Point] = m.From
		}
	}
	for at, m := range moves {
		if !s.valid(m) || s.labels[m.Point] != m.From {
			undo(moves[:at])
			return misfit(m)
		}
		s.labels[m.Point] = m.To
	}
	err := s.checkApplied(moves)
	if err != nil {
		undo(moves)
	}
	return err
}

// checkApplied makes sure that the labels are those that the moves lead to.
func (s *Shard) checkApplied(moves []kernel.Move) error {
	for _, m := range moves {
		if !s.valid(m) || s.labels[m.Point] != m.To {
			return misfit(m)
		}
	}
	return nil
}

func (s *Shard) valid(m kernel.Move) bool {
	k := int32(s.clusters)
	return m.Point >= 0 && int(m.Point) < s.source.Rows() && m.From >= -1 && m.From < k && m.To >= -1 && m.To < k
}

func misfit(m kernel.Move) error {
	return fmt.Errorf("vector: move of point %d from %d to %d does not fit the labels", m.Point, m.From, m.To)
}

// sum adds up the points of each cluster: exact, and so the same in any order.
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
	// Each thread has sums of its own, which pays only where it adds more than they have values.
	threads := min(s.threads, 1+entries/size)
	err := s.perTile(ctx, threads, tiles, func(_ int, t *tile, w *workspace) {
		if len(w.sums) == 0 {
			w.sums = resized(w.sums, size+width) // and a place for rows without a cluster
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
