package vector

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/numeric/metric"
	"github.com/cleave-project/cleave/internal/partition"
)

// The two nearest are those of all distances, to the last bit, in any tiles.
func TestTheTwoNearestOfAllDistances(t *testing.T) {
	ctx := t.Context()
	for seed := range uint64(48) {
		rng := rand.New(rand.NewPCG(seed, 1))
		n := 1 + rng.IntN(90)
		d := 1 + rng.IntN(9)
		k := 1 + rng.IntN(20)
		distortion := []metric.Distortion{metric.SquaredEuclidean, metric.Cosine}[seed%2]
		points := &dataset.Points{N: n, D: d, Values: make([]float64, n*d)}
		for at := range points.Values {
			points.Values[at] = math.Round(4*rng.Float64()) + 0.25 // so that some are equally near
		}
		preparation := Plain
		if distortion == metric.Cosine {
			preparation = Unit
		}
		spec, err := NewRowSpec(points, preparation)
		if err != nil {
			t.Fatal(err)
		}
		source, err := NewSource(spec, points)
		if err != nil {
			t.Fatal(err)
		}
		s := NewShard(source, 2)
		tiles := partition.AllTiles(n)
		if err := s.Build(ctx, tiles); err != nil {
			t.Fatal(err)
		}
		m := &Model{Distortion: distortion, Clusters: k, Centroids: make([]float64, k*d), Absent: make([]bool, k)}
		for at := range m.Centroids {
			m.Centroids[at] = math.Round(4*rng.Float64()) / 4
		}
		m.Absent[rng.IntN(k)] = k > 1
		if seed%4 == 2 {
			for range d {
				m.Metric = append(m.Metric, rng.Float64())
			}
		}
		all := make([]int32, n)
		for i := range all {
			all[i] = int32(i)
		}
		distances, err := s.Distances(ctx, tiles, one(m, all))
		if err != nil {
			t.Fatal(err)
		}
		found, err := s.NearestTwo(ctx, tiles, one(m, nil))
		if err != nil {
			t.Fatal(err)
		}
		for i := range n {
			first := math.Inf(1)
			second := math.Inf(1)
			number := 0
			for c, v := range distances[0][i*k : (i+1)*k] {
				if v < first {
					first, second, number = v, first, c
				} else if v < second {
					second = v
				}
			}
			got := found[0][PerNearestTwo*i:][:PerNearestTwo]
			if got[0] != float64(number) || got[1] != first || got[2] != second {
				t.Fatalf("seed %d, row %d: %v, of all distances %v", seed, i, got, distances[0][i*k:(i+1)*k])
			}
		}
	}
}
