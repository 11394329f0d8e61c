package krange

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/auto"
	"github.com/cleave-project/cleave/internal/clustering/kmeans"
	"github.com/cleave-project/cleave/internal/clustering/spectral"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/dataset"
)

// slowParts takes a second for each part and counts how many run at the same time.
type slowParts struct {
	Solver
	running, most, threads atomic.Int32
}

func (s *slowParts) Small(_ context.Context, _ int, data dataset.Dataset, _ clustering.Spec,
	threads int) (*clustering.Result, error) {
	s.most.Store(max(s.most.Load(), s.running.Add(1)))
	time.Sleep(time.Second)
	s.running.Add(-1)
	s.threads.Store(int32(threads))
	return &clustering.Result{Labels: make([]int32, data.Rows())}, nil
}

// The plan of a job has the memory of one cut, or one search, of a large graph. Its parts take turns, each on all
// threads.
func TestPartsOfLargeGraphsTakeTurns(t *testing.T) {
	pairs := []constraint.Constraint{{I: 0, J: 1, Kind: constraint.MustLink}}
	for name, c := range map[string]struct {
		data      dataset.Dataset
		spec      clustering.Spec
		want, own int32
	}{
		"rows":    {&dataset.Points{N: 1 << 20, D: 1}, clustering.Spec{Algorithm: &auto.Options{}}, 4, 1},
		"a graph": {&dataset.Graph{N: 1 << 20}, clustering.Spec{Algorithm: &auto.Options{}}, 4, 1},
		"a large graph": {&dataset.Graph{N: 9, Column: make([]int32, 1<<22+1)},
			clustering.Spec{Algorithm: &auto.Options{}}, 1, 4},
		"eigenvectors":       {&dataset.Graph{N: 1 << 20}, clustering.Spec{Algorithm: &spectral.Options{}}, 1, 4},
		"a few eigenvectors": {&dataset.Graph{N: 1 << 10}, clustering.Spec{Algorithm: &spectral.Options{}}, 4, 1},
		"supervision": {
			&dataset.Graph{N: 1 << 20},
			clustering.Spec{Algorithm: &auto.Options{}, Supervision: clustering.Supervision{Constraints: pairs}}, 1, 4,
		},
		"negative weights": {&dataset.Graph{N: 1 << 20, Weight: []float64{-1}},
			clustering.Spec{Algorithm: &auto.Options{}}, 1, 4},
	} {
		synctest.Test(t, func(t *testing.T) {
			s := &slowParts{}
			r := &run{origin: Job{Data: c.data}, solver: s, threads: 4}
			for range 8 {
				r.parts = append(r.parts, part{data: &dataset.Graph{N: 3}})
			}
			c.spec.K = 2
			if _, err := r.strengths(t.Context(), c.spec, make([]int32, 3)); err != nil {
				t.Fatal(err)
			}
			if s.most.Load() != c.want || s.threads.Load() != c.own {
				t.Errorf("%s: %d at a time on %d threads each, want %d on %d", name, s.most.Load(), s.threads.Load(),
					c.want, c.own)
			}
		})
	}
}

// endingSolver ends the context at its count-th job.
type endingSolver struct {
	end   context.CancelFunc
	count int
}

func (s *endingSolver) Solve(ctx context.Context, spec clustering.Spec,
	_ clustering.Observer) (*clustering.Result, error) {
	if s.count--; s.count == 0 {
		s.end()
	}
	labels := make([]int32, 100)
	for i := range labels {
		labels[i] = int32(i % spec.K)
	}
	return &clustering.Result{Labels: labels, Objective: 7}, nil
}

func (s *endingSolver) Small(ctx context.Context, _ int, data dataset.Dataset, _ clustering.Spec,
	_ int) (*clustering.Result, error) {
	if s.count--; s.count == 0 {
		s.end()
		return nil, ctx.Err()
	}
	return &clustering.Result{Labels: make([]int32, data.Rows())}, nil
}

// A run that ends before the first number of clusters has all of its scores has the labels of that number, and says why
// nothing is known about it.
func TestARangeThatEndsBeforeItIsScored(t *testing.T) {
	points := &dataset.Points{N: 100, D: 1, Values: make([]float64, 100)}
	var pairs []constraint.Constraint
	for i := range int32(60) {
		pairs = append(pairs, constraint.Constraint{I: i, J: (i + 1 + i%2) % 100, Kind: constraint.Kind(1 + i%2)})
	}
	for name, c := range map[string]struct {
		constraints []constraint.Constraint
		count       int
	}{"while it clusters": {nil, 1}, "while it clusters parts": {nil, 3}, "while it holds out folds": {pairs, 3}} {
		ctx, cancel := context.WithCancel(t.Context())
		job := Job{
			points,
			clustering.Spec{
				K: 2, MaxK: 4, Supervision: clustering.Supervision{Constraints: c.constraints},
				Algorithm: &kmeans.Options{Algorithm: kmeans.Kmeans},
			},
		}
		result, err := Run(ctx, job, job, &endingSolver{cancel, c.count}, 1, clustering.NopObserver{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		h := result.KSelection
		if len(result.Labels) != 100 || result.StopReason != clustering.StopCanceled || h.Proposed != 2 ||
			len(h.Labels) != 1 || h.Scores[0].Objective != 7 {
			t.Errorf("%s: %d labels, stopped by %v, proposed %d, scores %+v", name, len(result.Labels),
				result.StopReason, h.Proposed, h.Scores)
		}
		if want := "the run ended before any number of clusters was scored"; h.Confidence != clustering.Unsure ||
			h.Reason != want {
			t.Errorf("%s: %v, because %s", name, h.Confidence, h.Reason)
		}
	}
}
