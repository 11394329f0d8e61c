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
	"github.com/cleave-project/cleave/internal/refusal"
)

// some returns a fetcher of rows.
func some(points *dataset.Points) RowFetcher {
	return func(_ context.Context, rows partition.Range) (dataset.Dataset, error) {
		return dataset.NewPoints(rows.Len(), points.D, slices.Clone(points.Values[rows.From*points.D:rows.To*points.D]))
	}
}

// someSparse returns a fetcher of sparse rows.
func someSparse(points *dataset.SparsePoints) RowFetcher {
	return func(_ context.Context, rows partition.Range) (dataset.Dataset, error) {
		starts := slices.Clone(points.RowStart[rows.From : rows.To+1])
		from, to := starts[0], starts[rows.Len()]
		for at := range starts {
			starts[at] -= from
		}
		return dataset.NewSparsePoints(rows.Len(), points.D, starts, slices.Clone(points.Column[from:to]),
			slices.Clone(points.Value[from:to]))
	}
}

// Tiles of sparse rows that are fetched have the bits of tiles of the whole data set, for every preparation, and take
// the memory that is planned for them.
func TestFetchedSparseRowsHaveTheSameBits(t *testing.T) {
	rapid.Check(t, func(draw *rapid.T) {
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(draw, "seed"), 1))
		n := rapid.IntRange(1, 700).Draw(draw, "n")
		d := rapid.IntRange(1, 9).Draw(draw, "d")
		values := make([]float64, n*d)
		for at := range values {
			if at%d == 0 || random.IntN(3) == 0 {
				values[at] = random.Float64() + 0.01
			}
		}
		points := sparsePoints(t, n, d, values)
		spec, err := NewRowSpec(points, rapid.SampledFrom([]Preparation{Plain, Unit, Probability, NonNegative}).Draw(
			draw, "preparation"))
		if err != nil {
			t.Fatal(err)
		}
		whole, err := NewSource(spec, points)
		if err != nil {
			t.Fatal(err)
		}
		fetching, err := NewFetchingSource(spec, true, someSparse(points))
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
			if !slices.Equal(want.starts, got.starts) || !slices.Equal(want.columns, got.columns) ||
				!equalBits(want.values, got.values) || !equalBits(want.backgrounds, got.backgrounds) {
				t.Fatalf("tile %d differs", number)
			}
			entries := int64(len(got.values))
			if planned := SparseTileBytes(got.rows.Len(), entries, spec.HasBackground()) +
				ColumnBytes(entries); planned != got.bytes() {
				t.Fatalf("tile %d takes %d bytes, planned are %d", number, got.bytes(), planned)
			}
		}
	})
}

func equalBits(a, b []float64) bool {
	return slices.EqualFunc(a, b, func(v, w float64) bool { return math.Float64bits(v) == math.Float64bits(w) })
}

// Tiles of rows that are fetched have the bits of tiles of the whole data set, for every preparation and for features.
func TestFetchedRowsHaveTheSameBits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
		n := rapid.IntRange(1, 700).Draw(t, "n")
		d := rapid.IntRange(1, 9).Draw(t, "d")
		points := &dataset.Points{N: n, D: d, Values: make([]float64, n*d)}
		for at := range points.Values {
			points.Values[at] = random.Float64() + 0.01
		}
		var spec *RowSpec
		if rapid.Bool().Draw(t, "features") {
			spec = randomFeatures(t, random, points)
		} else {
			preparation := rapid.SampledFrom([]Preparation{Plain, Unit, Probability, NonNegative}).Draw(t,
				"preparation")
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
		fetching, err := NewFetchingSource(spec, false, some(points))
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
			if !equalBits(want.packed, got.packed) {
				t.Fatalf("tile %d differs", number)
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
	source, err := NewFetchingSource(spec, false, some(points))
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
	if !fault.Is(refusal.Of(got), "NEGATIVE_VALUE") || got.Error() != want.Error() {
		t.Errorf("%v instead of %v", got, want)
	}
	for name, fetch := range map[string]RowFetcher{
		"other rows": func(context.Context, partition.Range) (dataset.Dataset, error) { return points, nil },
		"other columns": func(_ context.Context, rows partition.Range) (dataset.Dataset, error) {
			return &dataset.Points{N: rows.Len(), D: 1, Values: make([]float64, rows.Len())}, nil
		},
		"sparse rows": func(_ context.Context, rows partition.Range) (dataset.Dataset, error) {
			return &dataset.SparsePoints{N: rows.Len(), D: 2, RowStart: make([]int64, rows.Len()+1)}, nil
		},
		"no rows": func(context.Context, partition.Range) (dataset.Dataset, error) { return nil, errors.New("none") },
	} {
		source.fetch = fetch
		if _, err := source.buildTile(t.Context(), 0); err == nil {
			t.Errorf("%s make a tile", name)
		}
	}
	features := &RowSpec{Rows: 200, Columns: 1, Grids: []int32{-20},
		Features: &kernel.FeatureSpec{Matrix: kernel.MatrixSpec{Rows: 200, Columns: 2}, Rank: 1}}
	if _, err := NewFetchingSource(features, false, some(points)); err == nil {
		t.Error("features without landmarks are taken")
	}
	if _, err := NewFetchingSource(&RowSpec{Rows: 200, Columns: 2}, false, some(points)); err == nil {
		t.Error("a spec without grids is taken")
	}
	if _, err := NewFetchingSource(&RowSpec{Rows: 200, Columns: 2, Grids: spec.Grids, Mean: []float64{1, 1}}, true,
		some(points)); err == nil {
		t.Error("sparse points with a mean are taken")
	}
}
