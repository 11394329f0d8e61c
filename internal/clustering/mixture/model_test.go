package mixture

import (
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/numeric/eigen"
	"github.com/cleave-project/cleave/internal/refusal"
)

// anyFit returns a fit to random rows, some of whose columns have few values or a single one, and which rows are in
// constraints. It returns nil if there is no mixture.
func anyFit(t *rapid.T) (*Problem, *Found, []bool) {
	rng := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
	n := rapid.IntRange(20, 120).Draw(t, "n")
	d := rapid.IntRange(1, 4).Draw(t, "d")
	k := rapid.IntRange(1, 4).Draw(t, "k")
	p := &Problem{
		Points: &dataset.Points{N: n, D: d, Values: make([]float64, n*d)}, Few: make([]bool, d), K: k,
		Labels:     make([]int32, n),
		Iterations: rapid.IntRange(1, 20).Draw(t, "iterations"), Threads: rapid.IntRange(1, 3).Draw(t, "threads"),
	}
	kinds := rapid.SliceOfN(rapid.SampledFrom([]string{"smooth", "smooth", "few", "constant"}), d, d).Draw(t, "columns")
	for i := range p.Labels {
		p.Labels[i] = int32(i % k)
		for column, kind := range kinds {
			v := float64(i%k) + float64(1+i%k)*rng.NormFloat64()
			switch kind {
			case "few":
				v = float64(rng.IntN(2))
			case "constant":
				v = 7
			}
			p.Few[column] = kind == "few"
			p.Points.Values[i*d+column] = v
		}
	}
	var all []constraint.Constraint
	constrained := make([]bool, n)
	for range rapid.IntRange(0, 6).Draw(t, "constraints") {
		c := constraint.Constraint{I: int32(rng.IntN(n / 2)), J: int32(n/2 + rng.IntN(n/2)), Kind: constraint.MustLink,
			Weight: 1}
		if rng.IntN(2) == 0 {
			c.Kind = constraint.CannotLink
			p.CannotLinks = append(p.CannotLinks, c)
		}
		constrained[c.I], constrained[c.J] = true, true
		all = append(all, c)
	}
	set, err := constraint.NewSet(n, all, constraint.UnitWeight)
	if err != nil {
		t.Fatal(err)
	}
	p.Components = set.Components()
	found, err := Fit(t.Context(), p)
	if err != nil {
		t.Fatal(err)
	}
	return p, found, constrained
}

// Rows without constraints get the labels of the fit again, by the mixture and by one made of its values.
func TestScoreGivesTheLabelsOfTheFit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, found, constrained := anyFit(t)
		if found == nil {
			return
		}
		again, err := New(found.Mixture.Shares(), p.Points.D, found.Mixture.Values())
		if err != nil || !reflect.DeepEqual(again, found.Mixture) {
			t.Fatalf("%+v comes back as %+v, %v", found.Mixture, again, err)
		}
		one, err := again.Score(t.Context(), p.Points, nil, 1)
		if err != nil {
			t.Fatal(err)
		}
		for i, label := range one.Labels {
			if label != found.Labels[i] && !constrained[i] {
				t.Fatalf("row %d gets label %d, in the fit %d", i, label, found.Labels[i])
			}
			if one.Posterior[i] < 1/float64(p.K)-1e-9 || one.Posterior[i] > 1 || one.Own[i] > one.Next[i]+1e-9 {
				t.Fatalf("row %d is most likely in cluster %d, with probability %v and distances %v and %v", i, label,
					one.Posterior[i], one.Own[i], one.Next[i])
			}
		}
		if three, err := again.Score(t.Context(), p.Points, nil, 3); err != nil || !reflect.DeepEqual(one, three) {
			t.Fatalf("three threads score otherwise than one: %v", err)
		}
	})
}

// logDensity returns the logarithm of the density of x - mean, up to a constant, by elimination in the covariance.
func logDensity(covariance [][]float64, difference []float64) float64 {
	n, sum := len(difference), 0.0
	rows := make([][]float64, n)
	for a := range rows {
		rows[a] = append(slices.Clone(covariance[a]), difference[a])
	}
	for a := range rows {
		pivot := rows[a][a]
		sum -= (math.Log(pivot) + rows[a][n]*rows[a][n]/pivot) / 2
		for b := a + 1; b < n; b++ {
			factor := rows[b][a] / pivot
			for column := range rows[b] {
				rows[b][column] -= factor * rows[a][column]
			}
		}
	}
	return sum
}

// Posteriors are those of Bayes' rule with full covariance matrices.
func TestPosteriorsFollowBayes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p, found, _ := anyFit(t)
		if found == nil {
			return
		}
		d, k, m := p.Points.D, p.K, found.Mixture
		values := m.Values()
		means, variances, triangles := values[:k*d], values[k*d:][:d], values[(k+1)*d:]
		scores, err := m.Score(t.Context(), p.Points, found.Labels, 1)
		if err != nil {
			t.Fatal(err)
		}
		for i := range p.Points.N {
			likelihood := make([]float64, k)
			sum := 0.0
			for c := range k {
				covariance := eigen.Columns(d, d)
				difference := make([]float64, d)
				for a := range d {
					difference[a] = p.Points.Row(i)[a] - means[c*d+a]
					for b := range d {
						for f := range d {
							covariance[a][b] += triangles[c*d*d+a*d+f] * triangles[c*d*d+b*d+f]
						}
					}
					if covariance[a][a] += variances[a]; covariance[a][a] == 0 { // not compared
						covariance[a][a], difference[a] = 1, 0
					}
				}
				likelihood[c] = m.Shares()[c] * math.Exp(logDensity(covariance, difference))
				sum += likelihood[c]
			}
			if want := likelihood[found.Labels[i]] / sum; sum > 1e-200 && math.Abs(scores.Posterior[i]-want) > 1e-6 {
				t.Fatalf("row %d is in cluster %d with probability %v, want %v", i, found.Labels[i],
					scores.Posterior[i], want)
			}
		}
	})
}

// two returns the shares and values of two clusters: of column 0, which is smooth, of column 1, which has few values,
// and of column 2, which is not compared.
func two() (shares, values []float64) {
	return []float64{0.25, 0.75}, []float64{
		-1, 0, 7,
		4, 1, 7,
		0, 0.25, 0,
		1, 0, 0, 0, 0, 0, 0, 0, 0,
		2, 0, 0, 0, 0, 0, 0, 0, 0,
	}
}

func TestRenumberedClusters(t *testing.T) {
	shares, values := two()
	m, err := New(shares, 3, values)
	if err != nil {
		t.Fatal(err)
	}
	points := &dataset.Points{N: 3, D: 3, Values: []float64{-1, 0, 0, 5, 1, 0, 1.5, 0, 1e9}}
	before, err := m.Score(t.Context(), points, nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	after, err := m.Renumbered([]int32{1, 0}).Score(t.Context(), points, nil, 1)
	if err != nil || !slices.Equal(before.Own, after.Own) || !slices.Equal(before.Next, after.Next) ||
		!slices.Equal(before.Posterior, after.Posterior) {
		t.Errorf("%+v are %+v with other numbers, %v", before, after, err)
	}
	if !slices.Equal(before.Labels[:2], []int32{0, 1}) || !slices.Equal(after.Labels[:2], []int32{1, 0}) {
		t.Errorf("labels %v and %v", before.Labels, after.Labels)
	}
}

func TestNewRefuses(t *testing.T) {
	for name, spoil := range map[string]func(shares, values []float64) ([]float64, []float64){
		"no clusters":     func(_, v []float64) ([]float64, []float64) { return nil, v },
		"too few values":  func(s, v []float64) ([]float64, []float64) { return s, v[:len(v)-1] },
		"too many values": func(s, v []float64) ([]float64, []float64) { return s, append(v, 0, 0, 0) },
		"a share of 0":    func(_, v []float64) ([]float64, []float64) { return []float64{0, 1}, v },
		"shares above 1":  func(_, v []float64) ([]float64, []float64) { return []float64{0.5, 0.75}, v },
		"a share that is NaN": func(_, v []float64) ([]float64, []float64) {
			return []float64{math.NaN(), 0.75}, v
		},
		"an infinite mean": func(s, v []float64) ([]float64, []float64) {
			v[0] = math.Inf(1)
			return s, v
		},
		"a negative variance": func(s, v []float64) ([]float64, []float64) { v[7] = -1; return s, v },
		"no smooth column": func(s, v []float64) ([]float64, []float64) {
			v[9], v[18] = 0, 0
			return s, v
		},
		"a diagonal of 0":               func(s, v []float64) ([]float64, []float64) { v[18] = 0; return s, v },
		"a negative diagonal":           func(s, v []float64) ([]float64, []float64) { v[18] = -2; return s, v },
		"a column of two kinds":         func(s, v []float64) ([]float64, []float64) { v[6] = 1; return s, v },
		"another column in one":         func(s, v []float64) ([]float64, []float64) { v[26] = 1; return s, v },
		"an entry above the diagonal":   func(s, v []float64) ([]float64, []float64) { v[10] = 1; return s, v },
		"an entry of few values":        func(s, v []float64) ([]float64, []float64) { v[12] = 1; return s, v },
		"an entry that is not a number": func(s, v []float64) ([]float64, []float64) { v[9] = math.NaN(); return s, v },
	} {
		shares, values := spoil(two())
		if m, err := New(shares, 3, values); err == nil {
			t.Errorf("%s: got %+v", name, m)
		}
	}
}

func TestScoreRefuses(t *testing.T) {
	shares, values := two()
	m, err := New(shares, 3, values)
	if err != nil {
		t.Fatal(err)
	}
	for reason, points := range map[string]*dataset.Points{
		"SIZE_MISMATCH": {N: 1, D: 2, Values: []float64{1, 2}},
		"TOO_FAR":       {N: 2, D: 3, Values: []float64{1, 0, 0, 1e200, 0, 0}},
	} {
		if _, err := m.Score(t.Context(), points, nil, 1); !fault.Is(refusal.Of(err), reason) {
			t.Errorf("got %v, want %s", err, reason)
		}
	}
}
