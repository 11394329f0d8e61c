package vector

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/partition"
)

// some returns a fetcher of rows.
func some(points *dataset.Points) RowFetcher {
	return func(_ context.Context, from, to int) (*dataset.Points, error) {
		return dataset.NewPoints(to-from, points.D, slices.Clone(points.Values[from*points.D:to*points.D]))
	}
}

// Tiles of rows that are fetched have the bits of tiles of the whole data set, for every preparation and for features.
func TestFetchedRowsHaveTheSameBits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		n, d := rapid.IntRange(1, 700).Draw(t, "n"), rapid.IntRange(1, 9).Draw(t, "d")
		points := &dataset.Points{N: n, D: d, Values: make([]float64, n*d)}
		for at := range points.Values {
			points.Values[at] = random.Float64() + 0.01
		}
		var spec *RowSpec
		if rapid.Bool().Draw(t, "features") {
			spec = randomFeatures(t, random, points)
		} else {
			preparation := rapid.SampledFrom([]Preparation{Plain, Unit, Probability, NonNegative}).Draw(t, "preparation")
			made, err := NewRowSpec(points, preparation)
			if err != nil {
				t.Fatal(err)
			}
			spec = made
		}
		whole, err := NewSource(spec, points)
		if err != nil {
			t.Fatal(err)
		}
		fetching, err := NewFetchingSource(spec, some(points))
		if err != nil {
			t.Fatal(err)
		}
		for number := range partition.TileCount(n) {
			want, err := whole.buildTile(context.Background(), number)
			if err != nil {
				t.Fatal(err)
			}
			got, err := fetching.buildTile(context.Background(), number)
			if err != nil {
				t.Fatal(err)
			}
			for at, v := range want.packed {
				if math.Float64bits(v) != math.Float64bits(got.packed[at]) {
					t.Fatalf("value %d of tile %d is %v instead of %v", at, number, got.packed[at], v)
				}
			}
		}
	})
}

// randomFeatures returns the spec of features with some of the points as landmarks.
func randomFeatures(t *rapid.T, random *rand.Rand, points *dataset.Points) *RowSpec {
	count := rapid.IntRange(1, min(points.N, 40)).Draw(t, "landmarks")
	f := &kernel.FeatureSpec{
		Matrix: kernel.MatrixSpec{
			Function: rapid.SampledFrom([]kernel.Function{kernel.Gaussian, kernel.Linear}).Draw(t, "kernel"),
			Rho:      0.7, Gamma: 1, Rows: points.N, Columns: points.D, Grid: -40,
		},
		Points: &dataset.Points{N: count, D: points.D},
	}
	for _, i := range random.Perm(points.N)[:count] {
		f.Landmarks = append(f.Landmarks, int32(i))
	}
	slices.Sort(f.Landmarks)
	for _, i := range f.Landmarks {
		f.Points.Values = append(f.Points.Values, points.Row(int(i))...)
	}
	f.Rank = rapid.IntRange(1, count).Draw(t, "rank")
	for range count * f.Rank {
		f.Projection = append(f.Projection, random.NormFloat64())
	}
	return NewFeatureSpec(f, 100)
}

// Errors about a row that was fetched name it by its number in the data set. What does not fit is refused.
func TestFetchedRowsThatAreWrong(t *testing.T) {
	points := &dataset.Points{N: 200, D: 2, Values: make([]float64, 400)}
	for at := range points.Values {
		points.Values[at] = 1
	}
	spec, err := NewRowSpec(points, NonNegative)
	if err != nil {
		t.Fatal(err)
	}
	points.Values[2*150] = -1
	source, err := NewFetchingSource(spec, some(points))
	if err != nil {
		t.Fatal(err)
	}
	whole, err := NewSource(spec, points)
	if err != nil {
		t.Fatal(err)
	}
	number := partition.TileOf(200, 150)
	_, got := source.buildTile(t.Context(), number)
	_, want := whole.buildTile(t.Context(), number)
	if !fault.Is(got, "NEGATIVE_VALUE") || got.Error() != want.Error() {
		t.Errorf("%v instead of %v", got, want)
	}
	for name, fetch := range map[string]RowFetcher{
		"other rows": func(context.Context, int, int) (*dataset.Points, error) { return points, nil },
		"other columns": func(_ context.Context, from, to int) (*dataset.Points, error) {
			return &dataset.Points{N: to - from, D: 1, Values: make([]float64, to-from)}, nil
		},
		"no rows": func(context.Context, int, int) (*dataset.Points, error) { return nil, errors.New("none") },
	} {
		source.fetch = fetch
		if _, err := source.buildTile(t.Context(), 0); err == nil {
			t.Errorf("%s make a tile", name)
		}
	}
	features := &RowSpec{Rows: 200, Columns: 1, Grids: []int32{-20}, Features: &kernel.FeatureSpec{Matrix: kernel.MatrixSpec{Rows: 200, Columns: 2}, Rank: 1}}
	if _, err := NewFetchingSource(features, some(points)); err == nil {
		t.Error("features without landmarks are taken")
	}
	if _, err := NewFetchingSource(&RowSpec{Rows: 200, Columns: 2}, some(points)); err == nil {
		t.Error("a spec without grids is taken")
	}
}
