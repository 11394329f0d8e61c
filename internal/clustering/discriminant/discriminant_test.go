package discriminant

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"

	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/numeric/choose"
)

// classes are points of k normal distributions with the given centers apart, and who belongs where.
func classes(rng *rand.Rand, n, d, k int, apart float64) (*dataset.Points, []int32) {
	p := &dataset.Points{N: n, D: d, Values: make([]float64, n*d)}
	of := make([]int32, n)
	for i := range n {
		of[i] = int32(i % k)
		for f := range d {
			p.Values[i*d+f] = rng.NormFloat64()
			if f == i%k%d {
				p.Values[i*d+f] += apart * float64(1+i%k/d)
			}
		}
	}
	return p, of
}

func ones(n int) []float64 { return slices.Repeat([]float64{1}, n) }

// score is f of a new point, by the definition.
func score(r Rule, known *dataset.Points, coefficients []float64, k int, x []float64) []float64 {
	f := make([]float64, k)
	for j := range known.N {
		square, product := 0.0, 0.0
		for at, v := range known.Row(j) {
			square += (v - x[at]) * (v - x[at])
			product += v * x[at]
		}
		value := r.Gamma*product + 1
		switch r.Function {
		case kernel.Gaussian:
			value = math.Exp(-square / (2 * r.Rho * r.Rho))
		case kernel.Laplacian:
			value = math.Exp(-math.Sqrt(square) / r.Rho)
		}
		for c := range k {
			f[c] += value * coefficients[j*k+c]
		}
	}
	return f
}

// The error of a rule is that of rules which are fitted without one point after the other, with the same weights.
func TestLeaveOneOutIsThatOfRefits(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
		m := rapid.IntRange(6, 20).Draw(t, "points")
		k := rapid.IntRange(2, 3).Draw(t, "classes")
		points, of := classes(rng, m, 3, k, 2)
		trust := ones(m)
		for i := range trust {
			trust[i] = 0.5 + rng.Float64()/2
		}
		for _, r := range []Rule{
			{Function: kernel.Polynomial, Gamma: 0.3, Penalty: 0.1}, {Function: kernel.Gaussian, Rho: 2, Penalty: 0.5},
			{Function: kernel.Laplacian, Rho: 1, Penalty: 0.01},
		} {
			matrix, err := r.matrix(points)
			if err != nil {
				t.Fatal(err)
			}
			got := leaveOneOut(matrix, of, trust, k, r.Penalty)
			want := refits(t, r, matrix, of, trust, k)
			if math.Abs(got-want) > 1e-6*max(1, want) {
				t.Fatalf("%v: %v, not %v", r, got, want)
			}
		}
	})
}

// refits leaves out every point by giving it hardly any weight: the others keep theirs.
func refits(t *rapid.T, r Rule, matrix *mat.SymDense, of []int32, trust []float64, k int) float64 {
	m := len(of)
	sums := make([]float64, k)
	for i, g := range of {
		sums[g] += trust[i]
	}
	errors := make([]float64, k)
	for left := range m {
		// K + penalty W^-1 without the point, solved by elimination.
		var rows []int
		for i := range m {
			if i != left {
				rows = append(rows, i)
			}
		}
		system := make([][]float64, len(rows))
		for at, i := range rows {
			for _, j := range rows {
				system[at] = append(system[at], matrix.At(i, j))
			}
			system[at][at] += r.Penalty * float64(k) * sums[of[i]] / (float64(m) * trust[i])
			for c := range k {
				target := -1 / float64(k)
				if int(of[i]) == c {
					target++
				}
				system[at] = append(system[at], target)
			}
		}
		eliminate(system)
		square := 0.0
		for c := range k {
			f := 0.0
			for at, i := range rows {
				f += matrix.At(left, i) * system[at][len(rows)+c]
			}
			target := -1 / float64(k)
			if int(of[left]) == c {
				target++
			}
			square += (target - f) * (target - f)
		}
		errors[of[left]] += trust[left] * square / sums[of[left]]
	}
	mean := 0.0
	for _, e := range errors {
		mean += e / float64(k)
	}
	return mean
}

// eliminate solves a system by elimination with pivots.
func eliminate(rows [][]float64) {
	for c := range rows {
		pivot := c
		for i := c; i < len(rows); i++ {
			if math.Abs(rows[i][c]) > math.Abs(rows[pivot][c]) {
				pivot = i
			}
		}
		rows[c], rows[pivot] = rows[pivot], rows[c]
		for i := range rows {
			if i == c {
				continue
			}
			factor := rows[i][c] / rows[c][c]
			for j := c; j < len(rows[i]); j++ {
				rows[i][j] -= factor * rows[c][j]
			}
		}
	}
	for c := range rows {
		for j := len(rows); j < len(rows[c]); j++ {
			rows[c][j] /= rows[c][c]
		}
	}
}

// A chosen rule tells new points of well separated classes, also where one class has few known points.
func TestChosenRuleTellsClassesApart(t *testing.T) {
	for seed := range uint64(5) {
		rng := rand.New(rand.NewPCG(seed, 1))
		points, of := classes(rng, 400, 4, 3, 6)
		var some []int32
		for i := range int32(400) {
			if of[i] > 0 && i < 60 || of[i] == 0 && i < 12 { // 4 of the first class, 20 of the others
				some = append(some, i)
			}
		}
		taken, err := dataset.Take(points, some)
		if err != nil {
			t.Fatal(err)
		}
		known, own := taken.(*dataset.Points), choose.At(of, some)
		r, err := Choose(context.Background(), known, own, ones(len(some)), 3)
		if err != nil {
			t.Fatal(err)
		}
		coefficients, err := r.Fit(known, own, ones(len(some)), 3)
		if err != nil {
			t.Fatal(err)
		}
		wrong := 0
		for i := range points.N {
			f := score(r, known, coefficients, 3, points.Row(i))
			if f[of[i]] < slices.Max(f) {
				wrong++
			}
			if sum := f[0] + f[1] + f[2]; math.Abs(sum) > 1e-3 {
				t.Fatalf("the scores add up to %v", sum)
			}
		}
		if wrong > 8 {
			t.Errorf("seed %d: %d of 400 are wrong by %v", seed, wrong, r)
		}
	}
}

// A sample has as many of each class as there are, up to the same share.
func TestSampleSharesBetweenClasses(t *testing.T) {
	var of []int32
	for i := range 1000 {
		switch {
		case i < 5:
			of = append(of, 2)
		case i%10 == 0:
			of = append(of, 1)
		default:
			of = append(of, 0)
		}
	}
	chosen := Sample(of, 3, 105)
	count := [3]int{}
	for _, i := range chosen {
		count[of[i]]++
	}
	if count != [3]int{50, 50, 5} || !slices.IsSorted(chosen) || len(slices.Compact(slices.Clone(chosen))) != 105 {
		t.Errorf("%v of the classes", count)
	}
	if all := Sample(of[:100], 3, 105); len(all) != 100 {
		t.Errorf("%d of 100", len(all))
	}
}

// Points that all coincide have no distances; a rule is still found.
func TestPointsThatCoincide(t *testing.T) {
	points := &dataset.Points{N: 4, D: 2, Values: make([]float64, 8)}
	r, err := Choose(context.Background(), points, []int32{0, 1, 0, 1}, ones(4), 2)
	if err != nil || math.IsNaN(r.Error) || math.IsInf(r.Error, 0) {
		t.Errorf("%+v, %v", r, err)
	}
}
