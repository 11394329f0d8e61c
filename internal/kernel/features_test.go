package kernel

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/partition"
)

func featureProblem(t testing.TB, rng *rand.Rand, function Function) (*FeatureSpec, *dataset.Points, []float64) {
	t.Helper()
	n := 1 + rng.IntN(700)
	d := 1 + rng.IntN(20)
	points := &dataset.Points{N: n, D: d, Values: make([]float64, n*d)}
	for at := range points.Values {
		points.Values[at] = rng.NormFloat64()
	}
	f := &FeatureSpec{Matrix: MatrixSpec{Function: function, Rows: n, Columns: d, Rho: 2, Gamma: 0.5, Coef0: 1,
		Degree: 2, Grid: -40}}
	for i := range int32(n) {
		if rng.IntN(3) == 0 || len(f.Landmarks) == 0 && int(i) == n-1 {
			f.Landmarks = append(f.Landmarks, i)
		}
	}
	f.Rank = 1 + rng.IntN(min(len(f.Landmarks), 40))
	for range len(f.Landmarks) * f.Rank {
		f.Projection = append(f.Projection, rng.NormFloat64())
	}
	square, err := Square(f.Matrix, points)
	if err != nil {
		t.Fatal(err)
	}
	return f, points, square
}

// A feature is the chain of fused multiply-adds over the entries of the matrix in the order of the landmarks, to the
// bit, whichever routines compute it and whichever rows are computed with it. It is within its bound.
func TestFeaturesAreChains(t *testing.T) {
	for round, all := uint64(0), availableRoutines(); round < 12; round++ {
		for _, function := range []Function{Gaussian, Laplacian, Polynomial, Cosine, Linear, Sigmoid} {
			rng := rand.New(rand.NewPCG(round, uint64(function)))
			f, points, square := featureProblem(t, rng, function)
			largest := 0.0
			for _, v := range square {
				largest = max(largest, math.Abs(v))
			}
			bounds := f.Bounds(largest)
			n := points.N
			for _, routines := range all {
				features, err := NewFeatures(f, points)
				if err != nil {
					t.Fatal(err)
				}
				features.source.routines = routines
				features.makeBundles()
				from := rng.IntN(n)
				rows := partition.Range{From: from, To: min(n, from+1+rng.IntN(FeatureRows))}
				got := make([]float64, f.Rank*FeatureRows)
				if err := features.Compute(got, rows); err != nil {
					t.Fatal(err)
				}
				for r := range rows.Len() {
					for c := range f.Rank {
						want := 0.0
						for at, j := range f.Landmarks {
							want = math.FMA(square[(from+r)*n+int(j)], f.Projection[at*f.Rank+c], want)
						}
						if v := got[c*FeatureRows+r]; v != want || math.Abs(v) > bounds[c] {
							t.Fatalf("%v, %s: feature %d of row %d is %v, want %v within %v", function, routines.name,
								c, from+r, v, want, bounds[c])
						}
					}
				}
			}
		}
	}
}

func TestSquareIsTheMatrixAndTraceItsDiagonal(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	f, points, square := featureProblem(t, rng, Gaussian)
	trace, err := Trace(f.Matrix, points)
	if err != nil || math.Abs(trace-float64(points.N)) > 1e-9*trace {
		t.Errorf("the trace of a gaussian kernel of %d points is %v, %v", points.N, trace, err)
	}
	for i := range points.N {
		for j := range i {
			if square[i*points.N+j] != square[j*points.N+i] {
				t.Fatalf("entries %d, %d: %v and %v", i, j, square[i*points.N+j], square[j*points.N+i])
			}
		}
	}
}

func TestFeaturesOfOtherPointsAreRefused(t *testing.T) {
	rng := rand.New(rand.NewPCG(2, 2))
	good, points, _ := featureProblem(t, rng, Gaussian)
	for name, spoil := range map[string]func(f *FeatureSpec){
		"no landmarks": func(f *FeatureSpec) { f.Landmarks = nil },
		"a landmark too high": func(f *FeatureSpec) {
			f.Landmarks = []int32{int32(points.N)}
			f.Projection = []float64{1}
			f.Rank = 1
		},
		"descending": func(f *FeatureSpec) {
			f.Landmarks = []int32{1, 0}
			f.Projection = []float64{1, 1}
			f.Rank = 1
		},
		"too few values": func(f *FeatureSpec) { f.Projection = f.Projection[1:] },
		"not a number":   func(f *FeatureSpec) { f.Projection = append([]float64{math.NaN()}, f.Projection[1:]...) },
		"a graph":        func(f *FeatureSpec) { f.Matrix.Function = Adjacency },
		"other columns":  func(f *FeatureSpec) { f.Matrix.Columns++ },
		"more rows":      func(f *FeatureSpec) { f.Matrix.Rows++ },
	} {
		bad := *good
		spoil(&bad)
		if _, err := NewFeatures(&bad, points); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
}
