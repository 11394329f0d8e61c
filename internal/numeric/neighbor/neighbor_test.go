package neighbor

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/refusal"
)

// naive finds neighbors by comparing a row with every other.
func naive(n, count int, own int32, distance func(j int) float64) []int32 {
	type candidate struct {
		distance float64
		row      int32
	}
	var all []candidate
	for j := range n {
		if d := distance(j); int32(j) != own && !math.IsNaN(d) {
			all = append(all, candidate{d, int32(j)})
		}
	}
	slices.SortStableFunc(all, func(a, b candidate) int {
		switch {
		case a.distance < b.distance:
			return -1
		case a.distance > b.distance:
			return 1
		}
		return int(a.row - b.row)
	})
	out := make([]int32, 0, count)
	for _, c := range all[:min(count, len(all))] {
		out = append(out, c.row)
	}
	for len(out) < count {
		out = append(out, None)
	}
	return out
}

func squared(x, y []float64) float64 {
	sum := 0.0
	for f := range x {
		sum = math.FMA(x[f]-y[f], x[f]-y[f], sum)
	}
	return sum
}

// drawPoints draws points with all that makes neighbors hard to tell: duplicates, ties, columns that do not vary, large
// offsets, values that overflow when squared.
func drawPoints(t *rapid.T, n, d int) *dataset.Points {
	random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
	values := make([]float64, n*d)
	style := make([]int, d)
	for f := range style {
		style[f] = rapid.IntRange(0, 5).Draw(t, "style")
	}
	for i := range n {
		row := values[i*d : (i+1)*d]
		for f := range row {
			switch style[f] {
			case 0:
				row[f] = random.NormFloat64()
			case 1:
				row[f] = float64(random.IntN(3))
			case 2:
				row[f] = 7
			case 3:
				row[f] = 1e12 + random.Float64()
			case 4:
				row[f] = float64(10*random.IntN(4)) + 0.1*random.NormFloat64()
			case 5:
				row[f] = random.NormFloat64() * 1e-160
			}
		}
		if i > 0 && random.IntN(8) == 0 {
			copy(row, values[random.IntN(i)*d:][:d])
		}
		if random.IntN(200) == 0 {
			row[random.IntN(d)] = math.Copysign(1.5e308, random.NormFloat64())
		}
	}
	points, err := dataset.NewPoints(n, d, values)
	if err != nil {
		t.Fatal(err)
	}
	return points
}

func TestNeighborsOfPointsAreTheNaiveOnes(t *testing.T) {
	ctx := context.Background()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 400).Draw(t, "n")
		d := rapid.SampledFrom([]int{1, 2, 3, 8, 17, 63, 64, 65, 200}).Draw(t, "d")
		count := rapid.IntRange(1, 20).Draw(t, "count")
		threads := rapid.IntRange(1, 3).Draw(t, "threads")
		data := drawPoints(t, n, d)
		search := newPointSearch(data)
		all := Count(n, count)
		var want []int32
		for i := range n {
			want = append(want, naive(n, all, int32(i), func(j int) float64 {
				return squared(data.Row(i), data.Row(j))
			})...)
		}
		for _, routines := range availableRoutines() {
			search.routines = routines
			found, err := (&Search{n, search}).All(ctx, count, threads)
			if err != nil || !slices.Equal(found, want) {
				t.Fatalf("%s: %v, %v; want %v", routines.name, found, err, want)
			}
		}
		// Some rows alone, in any order.
		rows := rapid.SliceOfN(rapid.Int32Range(0, int32(n-1)), 0, 30).Draw(t, "rows")
		some := ok(t)((&Search{n, search}).Rows(ctx, rows, count, threads))
		for at, i := range rows {
			if !slices.Equal(some[at*all:(at+1)*all], want[int(i)*all:int(i+1)*all]) {
				t.Fatalf("row %d alone has other neighbors", i)
			}
		}
		// New rows.
		queries := drawPoints(t, rapid.IntRange(1, 70).Draw(t, "queries"), d)
		each := min(n, count)
		of := ok(t)((&Search{n, search}).Of(ctx, queries, count, threads))
		for q := range queries.N {
			want := naive(n, each, None, func(j int) float64 { return squared(queries.Row(q), data.Row(j)) })
			if !slices.Equal(of[q*each:(q+1)*each], want) {
				t.Fatalf("query %d: %v instead of %v", q, of[q*each:(q+1)*each], want)
			}
		}
	})
}

// ok returns a function that passes on a value and fails the test if there was an error.
func ok(t rapid.TB) func(v []int32, err error) []int32 {
	return func(v []int32, err error) []int32 {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func TestNeighborsInAKernelMatrix(t *testing.T) {
	ctx := context.Background()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 60).Draw(t, "n")
		count := rapid.IntRange(1, 12).Draw(t, "count")
		values := slices.Clone(drawPoints(t, n, n).Values) // any symmetric matrix, also with entries near the largest
		for i := range n {
			for j := range i {
				values[i*n+j] = values[j*n+i]
			}
		}
		kernel, err := dataset.NewKernel(n, n, values)
		if err != nil {
			t.Fatal(err)
		}
		search, err := NewSearch(kernel)
		if err != nil {
			t.Fatal(err)
		}
		got := ok(t)(search.All(ctx, count, 2))
		for i := range n {
			want := naive(n, Count(n, count), int32(i), func(j int) float64 {
				return (kernel.Row(i)[i]/2 + kernel.Row(j)[j]/2) - kernel.Row(i)[j]
			})
			if found := got[i*len(want) : (i+1)*len(want)]; !slices.Equal(found, want) {
				t.Fatalf("row %d: %v instead of %v", i, found, want)
			}
		}
		if _, err := search.Of(ctx, kernel, 1, 1); !fault.Is(refusal.Of(err), "UNSUPPORTED_DATA") {
			t.Fatalf("new rows: %v", err)
		}
	})
}

// Cosines are those of dense rows of length 1, and equal ones have one order.
func TestNeighborsOfSparsePoints(t *testing.T) {
	ctx := context.Background()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 80).Draw(t, "n")
		d := rapid.IntRange(1, 12).Draw(t, "d")
		count := rapid.IntRange(1, 12).Draw(t, "count")
		data, dense := drawSparse(t, n, d)
		cosine := func(x, y []float64) float64 {
			sum := 0.0
			for f := range x {
				sum += float64(x[f] * y[f])
			}
			if sum <= 0 {
				return math.NaN()
			}
			return -sum
		}
		search, err := NewSearch(data)
		if err != nil {
			t.Fatal(err)
		}
		all := Count(n, count)
		got := ok(t)(search.All(ctx, count, 2))
		for i := range n {
			want := naive(n, all, int32(i), func(j int) float64 { return cosine(dense[i], dense[j]) })
			if found := got[i*all : (i+1)*all]; !slices.Equal(found, want) {
				t.Fatalf("row %d: %v instead of %v", i, found, want)
			}
		}
		each := min(n, count)
		queries, rows := drawSparse(t, rapid.IntRange(1, 20).Draw(t, "queries"), d)
		of := ok(t)(search.Of(ctx, queries, count, 2))
		for q := range rows {
			want := naive(n, each, None, func(j int) float64 { return cosine(rows[q], dense[j]) })
			if found := of[q*each : (q+1)*each]; !slices.Equal(found, want) {
				t.Fatalf("query %d: %v instead of %v", q, found, want)
			}
		}
	})
}

// drawSparse draws sparse points, and gives their rows of length 1.
func drawSparse(t *rapid.T, n, d int) (*dataset.SparsePoints, [][]float64) {
	random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 1))
	starts := []int64{0}
	columns := []int32{}
	values := []float64{}
	dense := make([][]float64, n)
	for i := range n {
		scale := math.Ldexp(1, random.IntN(1800)-900)
		row := make([]float64, d)
		squares := 0.0
		for f := range row {
			if random.IntN(3) == 0 {
				row[f] = float64(random.IntN(9) - 2)
				columns = append(columns, int32(f))
				values = append(values, row[f]*scale)
			}
		}
		largest := 0.0
		for _, v := range row {
			largest = max(largest, math.Abs(v))
		}
		for f := range row {
			if largest > 0 {
				row[f] /= largest
				squares += float64(row[f] * row[f])
			}
		}
		for f := range row {
			if largest > 0 {
				row[f] /= math.Sqrt(squares)
			}
		}
		dense[i] = row
		starts = append(starts, int64(len(columns)))
	}
	points, err := dataset.NewSparsePoints(n, d, starts, columns, values)
	if err != nil {
		t.Fatal(err)
	}
	return points, dense
}
