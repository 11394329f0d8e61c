package vector

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/labeling"
	"github.com/cleave-project/cleave/internal/numeric/metric"
	"github.com/cleave-project/cleave/internal/partition"
)

// Jobs that share a shard, each in a lane, get the answers that they get alone.
func TestLanesAreIndependent(t *testing.T) {
	rng := rand.New(rand.NewPCG(21, 22))
	for _, w := range ways {
		for round := range 12 {
			n := 20 + rng.IntN(300)
			d := 1 + rng.IntN(9)
			k := 1 + rng.IntN(9)
			values := table(rng, n, d, w.preparation)
			var data dataset.Dataset = densePoints(t, n, d, values)
			if round%3 == 2 {
				data = sparsePoints(t, n, d, values)
			}
			source := newSource(t, data, w.preparation)
			rows := naiveRows(n, d, values, w.preparation, source.spec.Mean)
			all := partition.AllTiles(n)
			jobs := make([]*job, 1+rng.IntN(5))
			for lane := range jobs {
				form := metric.Identity
				if w.distortion == metric.SquaredEuclidean {
					form += metric.Form(rng.IntN(3))
				}
				jobs[lane] = randomJob(rng, n, k, randomModel(rng, source.spec, rows, w.distortion, form, k))
			}
			cut := rng.IntN(len(all) + 1)
			parts := [][]int{all[:cut], all[cut:]}
			shards := []*Shard{built(t, source, 3, append([]int{}, parts[0]...)...),
				built(t, source, 1, append([]int{}, parts[1]...)...)}
			got := performAll(t, jobs, shards, parts)
			for lane, j := range jobs {
				want := perform(t, j, []*Shard{built(t, source, 1)}, [][]int{all})
				want.same(t, fmt.Sprintf("%s, lane %d of %d", w, lane, len(jobs)), &got[lane])
			}
		}
	}
}

// Distances that tiles remember are those that a new shard computes, whatever happened to labels and models since.
func TestRememberedDistancesAreRight(t *testing.T) {
	rng := rand.New(rand.NewPCG(23, 24))
	const n, d, k, lanes = 150, 3, 4, 3
	ctx := context.Background()
	all := partition.AllTiles(n)
	for _, sparse := range []bool{false, true} {
		values := table(rng, n, d, Plain)
		var data dataset.Dataset = densePoints(t, n, d, values)
		if sparse {
			data = sparsePoints(t, n, d, values)
		}
		source := newSource(t, data, Plain)
		rows := naiveRows(n, d, values, Plain, source.spec.Mean)
		var models []*Model
		for at := range 5 {
			models = append(models, randomModel(rng, source.spec, rows, metric.SquaredEuclidean,
				metric.Identity+metric.Form(at%3), k))
		}
		var labels []int32
		load := func() {
			labels = nil
			for lane := range lanes {
				for _, c := range randomLabels(rng, n, k) {
					if c >= 0 {
						c += int32(lane * k)
					}
					labels = append(labels, c)
				}
			}
		}
		load()
		s := built(t, source, 2)
		step := uint64(1)
		if err := s.Load(step, k, labels); err != nil {
			t.Fatal(err)
		}
		for range 200 {
			var queries []Query
			for lane := range lanes {
				if rng.IntN(2) == 0 {
					queries = append(queries, Query{Lane: lane, Model: models[rng.IntN(len(models))], Kind: Total,
						Counts: []int32{2, 2, 2, 2}})
				}
			}
			fresh := built(t, source, 1)
			if err := fresh.Load(1, k, labels); err != nil {
				t.Fatal(err)
			}
			switch event := rng.IntN(12); {
			case event < 5:
				want, err := fresh.Scatter(ctx, all, 1, queries)
				got, failed := s.Scatter(ctx, all, step, queries)
				if err != nil || failed != nil {
					t.Fatal(err, failed)
				}
				for q := range queries {
					sameBits(t, "scatter", want[q], got[q])
				}
			case event < 7:
				want, err := fresh.Farthest(ctx, all, 1, queries)
				if got, failed := s.Farthest(ctx, all, step, queries); err != nil || failed != nil ||
					!slices.Equal(got, want) {
					t.Fatalf("%v instead of %v: %v, %v", got, want, err, failed)
				}
			case event < 10:
				var moves []labeling.Move
				for at, from := range labels {
					if to := int32(at/n*k + rng.IntN(k)); rng.IntN(30) == 0 && to != from {
						moves = append(moves, labeling.Move{Point: int32(at % n), From: from, To: to})
						labels[at] = to
					}
				}
				for _, some := range [][]int{all[:3], all[3:]} {
					if _, err := s.Update(ctx, some, step, moves); err != nil {
						t.Fatal(err)
					}
				}
				step++
			case event < 11:
				s.Drop(all[2:5])
				if err := s.Build(ctx, all); err != nil {
					t.Fatal(err)
				}
				if err := s.Load(step, k, labels); err != nil {
					t.Fatal(err)
				}
			default:
				load()
				step += 2
				if err := s.Load(step, k, labels); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}
