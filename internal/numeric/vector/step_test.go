package vector

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/labeling"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/numeric/metric"
	"github.com/cleave-project/cleave/internal/partition"
)

// fourOperations does what Step does with the operations that it consists of.
func fourOperations(t *testing.T, s *Shard, tiles []int, step uint64, queries []Query) *Stepped {
	t.Helper()
	ctx := context.Background()
	totals := slices.Clone(queries)
	for q := range totals {
		totals[q].Kind = Total
	}
	var want Stepped
	var errs [4]error
	want.Before, errs[0] = s.Scatter(ctx, tiles, step, totals)
	want.Moves, errs[1] = s.Assign(ctx, tiles, step, queries)
	want.Changes, errs[2] = s.Update(ctx, tiles, step, SortedMoves(s.clusters, want.Moves))
	want.After, errs[3] = s.Scatter(ctx, tiles, step+1, totals)
	if err := errors.Join(errs[:]...); err != nil {
		t.Fatal(err)
	}
	return &want
}

func sameStep(t *testing.T, what string, want, got *Stepped) {
	t.Helper()
	if !slices.Equal(want.Moves, got.Moves) {
		t.Fatalf("%s: moves %v instead of %v", what, got.Moves, want.Moves)
	}
	sameBits(t, what+": changes", want.Changes, got.Changes)
	for q := range want.Before {
		sameBits(t, what+": before", want.Before[q], got.Before[q])
		sameBits(t, what+": after", want.After[q], got.After[q])
	}
}

func TestSortedMoves(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 34))
	for range 500 {
		clusters := 1 + rng.IntN(4)
		lanes := 1 + rng.IntN(4)
		points := 1 + rng.IntN(30)
		var moves []labeling.Move
		for lane := range lanes {
			for _, point := range rng.Perm(points)[:rng.IntN(points+1)] {
				m := labeling.Move{Point: int32(point), From: labeling.None,
					To: int32(lane*clusters + rng.IntN(clusters))}
				if rng.IntN(4) > 0 {
					m.From = int32(lane*clusters + rng.IntN(clusters))
				}
				moves = append(moves, m)
			}
		}
		want := slices.Clone(moves)
		slices.SortFunc(want, func(a, b labeling.Move) int {
			return cmp.Or(cmp.Compare(int(a.To)/clusters, int(b.To)/clusters), cmp.Compare(a.Point, b.Point))
		})
		switch rng.IntN(3) {
		case 0:
			rng.Shuffle(len(moves), func(i, j int) { moves[i], moves[j] = moves[j], moves[i] })
		case 1:
			moves = slices.Clone(want)
		}
		given := slices.Clone(moves)
		if got := SortedMoves(clusters, moves); !slices.Equal(got, want) || !slices.Equal(moves, given) {
			t.Fatalf("%d clusters: moves %v of %v, instead of %v", clusters, got, given, want)
		}
	}
}

// A step is the four operations that it consists of, also if it is repeated, if it runs on some tiles after others,
// and if a tile is loaded while others are a step ahead.
func TestStepIsFourOperations(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 32))
	ctx := context.Background()
	for _, w := range ways {
		for round := range 10 {
			n := 60 + rng.IntN(300)
			d := 1 + rng.IntN(6)
			k := 2 + rng.IntN(6)
			lanes := 1 + rng.IntN(3)
			values := table(rng, n, d, w.preparation)
			var data dataset.Dataset = densePoints(t, n, d, values)
			if round%3 == 2 {
				data = sparsePoints(t, n, d, values)
			}
			source := newSource(t, data, w.preparation)
			all := partition.AllTiles(n)
			rows := naiveRows(n, d, values, w.preparation, source.spec.Mean)
			var labels []int32
			for lane := range lanes {
				for _, c := range randomLabels(rng, n, k) {
					if c >= 0 {
						c += int32(lane * k)
					}
					labels = append(labels, c)
				}
			}
			one := built(t, source, 2)
			other := built(t, source, 1)
			step := uint64(1)
			for _, s := range []*Shard{one, other} {
				if err := s.Load(step, k, labels); err != nil {
					t.Fatal(err)
				}
			}
			for range 6 {
				var queries []Query
				for lane := range lanes {
					if lane == 0 || rng.IntN(2) == 0 {
						model := randomModel(rng, source.spec, rows, w.distortion, metric.Identity, k)
						queries = append(queries, Query{Lane: lane, Model: model, Points: []int32{3, int32(n - 1)}})
					}
				}
				what := fmt.Sprintf("%s, step %d", w, step)
				cut := rng.IntN(len(all))
				for _, part := range [][]int{all[:cut], all[cut:]} {
					if len(part) == 0 {
						continue
					}
					if rng.IntN(2) == 0 { // it is rebuilt, and loaded at the step before
						one.Drop(part)
						if err := one.Build(ctx, part); err != nil {
							t.Fatal(err)
						}
						if _, err := one.Step(ctx, part, step, queries); !errors.Is(err, kernel.ErrNotReady) {
							t.Fatalf("a step of tiles without labels: %v", err)
						}
						if err := one.LoadTiles(part, step, k, labels); err != nil {
							t.Fatal(err)
						}
					}
					want := fourOperations(t, other, part, step, queries)
					for range 1 + rng.IntN(2) {
						got, err := one.Step(ctx, part, step, queries)
						if err != nil {
							t.Fatal(err)
						}
						sameStep(t, what, want, got)
					}
				}
				labels = slices.Clone(other.labels)
				if !slices.Equal(one.labels, labels) {
					t.Fatalf("%s: labels differ", what)
				}
				step++
			}
		}
	}
}

// A step is undone only while nothing else has changed the labels.
func TestAnOldStepIsNotRepeated(t *testing.T) {
	rng := rand.New(rand.NewPCG(33, 34))
	const n, d, k = 100, 2, 3
	ctx := context.Background()
	all := partition.AllTiles(n)
	values := table(rng, n, d, Plain)
	source := newSource(t, densePoints(t, n, d, values), Plain)
	model := randomModel(rng, source.spec, naiveRows(n, d, values, Plain, source.spec.Mean), metric.SquaredEuclidean,
		metric.Identity, k)
	queries := []Query{{Model: model}}
	none := slices.Repeat([]int32{-1}, n)
	for name, change := range map[string]func(s *Shard) error{
		"update": func(s *Shard) error { _, err := s.Update(ctx, all, 2, []labeling.Move{}); return err },
		"load":   func(s *Shard) error { return s.Load(5, k, none) },
		"assign": func(s *Shard) error { _, err := s.Assign(ctx, all, 2, queries); return err },
		"step":   func(s *Shard) error { _, err := s.Step(ctx, all, 2, queries); return err },
	} {
		s := built(t, source, 1)
		if err := s.Load(1, k, none); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Step(ctx, all, 1, queries); err != nil {
			t.Fatal(err)
		}
		if err := change(s); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Step(ctx, all, 1, queries); !errors.Is(err, kernel.ErrNotReady) {
			t.Errorf("a step was repeated after %s: %v", name, err)
		}
	}
}
