package picture

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/numeric/eigen"
	"github.com/cleave-project/cleave/internal/numeric/elementary"
)

// naivePrincipal finds the two largest eigenpairs of the covariance matrix, formed by definition,
// by the power method with deflation.
func naivePrincipal(p *dataset.Points) (mean []float64, loadings [2][]float64, shares [2]float64) {
	d := p.D
	mean = make([]float64, d)
	for i := range p.N {
		for j, v := range p.Row(i) {
			mean[j] += v / float64(p.N)
		}
	}
	covariance := zeroVectors(d, d)
	total := 0.0
	for a := range d {
		for b := range d {
			for i := range p.N {
				covariance[a][b] += (p.Row(i)[a] - mean[a]) * (p.Row(i)[b] - mean[b]) / float64(p.N-1)
			}
		}
		total += covariance[a][a]
	}
	for c := range loadings {
		v := make([]float64, d)
		for j := range v {
			v[j] = 1 / float64(j+1)
		}
		lambda := 0.0
		for range 20000 {
			next := make([]float64, d)
			for a := range d {
				next[a] = elementary.Dot(covariance[a], v)
			}
			lambda = norm(next)
			for a := range d {
				v[a] = next[a] / lambda
			}
		}
		for a := range d {
			for b := range d {
				covariance[a][b] -= lambda * v[a] * v[b]
			}
		}
		largest := 0
		for a := range d {
			if math.Abs(v[a]) > math.Abs(v[largest]) {
				largest = a
			}
		}
		if v[largest] < 0 {
			for a := range v {
				v[a] = -v[a]
			}
		}
		loadings[c], shares[c] = v, lambda/total
	}
	return mean, loadings, shares
}

func TestProjectEqualsNaivePCA(t *testing.T) {
	r := generator()
	for _, d := range []int{3, 5, 16} {
		points, _ := gaussians(r, 120, d, 3, 2)
		xy, _, axes := Project(points, nil)
		mean, loadings, shares := naivePrincipal(points)
		for i := range points.N {
			for c, loading := range loadings {
				want := 0.0
				for j, v := range points.Row(i) {
					want += (v - mean[j]) * loading[j]
				}
				if math.Abs(xy[i][c]-want) > 1e-8 {
					t.Fatalf("d=%d: point %d has coordinate %d %v, want %v", d, i, c, xy[i][c], want)
				}
			}
		}
		for c, share := range shares {
			p := principalComponents(points)
			if math.Abs(p.shares[c]-share) > 1e-9 || !strings.Contains(axes[c], "% of variance") {
				t.Errorf("d=%d: axis %q with share %v, want %v", d, axes[c], p.shares[c], share)
			}
		}
	}
}

// A projection is affine: it takes the mean of points to the mean of their coordinates.
func TestMeansAreProjectedToMeans(t *testing.T) {
	r := generator()
	for _, d := range []int{1, 2, 3, 7} {
		points, labels := gaussians(r, 90, d, 3, 2)
		means, err := dataset.NewPoints(3, d, make([]float64, 3*d))
		if err != nil {
			t.Fatal(err)
		}
		sizes := clusterEntries(labels, 3, nil, nil)
		for i, c := range labels {
			for j, v := range points.Row(i) {
				means.Row(int(c))[j] += v / float64(sizes[c].Size)
			}
		}
		xy, centers, _ := Project(points, means)
		want := make([][2]float64, 3)
		for i, c := range labels {
			for axis := range 2 {
				want[c][axis] += xy[i][axis] / float64(sizes[c].Size)
			}
		}
		for c := range want {
			if d == 1 {
				want[c][1] = 0.5 // the second coordinate has no meaning
			}
			if math.Abs(centers[c][0]-want[c][0]) > 1e-8 || math.Abs(centers[c][1]-want[c][1]) > 1e-8 {
				t.Errorf("d=%d: the mean of cluster %d is at %v, its points have their mean at %v", d, c,
					centers[c], want[c])
			}
		}
	}
}

func TestWideDataWithoutTheCovarianceMatrix(t *testing.T) {
	points, _ := gaussians(generator(), 60, maxDenseColumns+100, 3, 1)
	iterated := principalComponents(points) // too wide for the dense path
	centered := zeroVectors(points.N, points.D)
	for i := range centered {
		iterated.center(centered[i], points.Row(i))
	}
	// X'X has the eigenvalues of XX', which is small here, and the eigenvectors X'u.
	gram := mat.NewSymDense(points.N, nil)
	total := 0.0
	for a := range points.N {
		for b := range a + 1 {
			gram.SetSym(b, a, elementary.Dot(centered[a], centered[b]))
		}
		total += gram.At(a, a)
	}
	values, vectors := eigen.DenseEigenpairs(gram)
	for c, loading := range iterated.loadings {
		exact := make([]float64, points.D)
		for i, row := range centered {
			addScaled(exact, vectors.At(i, c)/math.Sqrt(values[c]), row)
		}
		if agreement := math.Abs(elementary.Dot(exact, loading)); agreement < 1-1e-6 {
			t.Errorf("component %d: agreement %v", c, agreement)
		}
		if math.Abs(iterated.shares[c]-values[c]/total) > 1e-8 {
			t.Errorf("component %d: share %v, want %v", c, iterated.shares[c], values[c]/total)
		}
	}
}

func TestProjectFewColumns(t *testing.T) {
	one := &dataset.Points{N: 4, D: 1, Values: []float64{5, 5, -1, 2}}
	xy, _, axes := Project(one, nil)
	if axes != [2]string{"x0", ""} {
		t.Errorf("axes %q", axes)
	}
	seen := map[float64]bool{}
	for i, p := range xy {
		if p[0] != one.Values[i] || p[1] < 0 || p[1] >= 1 || seen[p[1]] {
			t.Errorf("point %d at %v", i, p)
		}
		seen[p[1]] = true
	}
	two := &dataset.Points{N: 2, D: 2, Values: []float64{1, 2, 3, 4}}
	xy, _, axes = Project(two, nil)
	if axes != [2]string{"x0", "x1"} || xy[1] != [2]float64{3, 4} {
		t.Errorf("%q %v", axes, xy)
	}
}

func TestProjectDegenerateData(t *testing.T) {
	const huge = math.MaxFloat64
	for name, rows := range map[string][][]float64{
		"one point": {{1, 2, 3}},
		"identical": {{1e9, 2, 3}, {1e9, 2, 3}, {1e9, 2, 3}},
		"a line":    {{0, 0, 0}, {1, 1, 1}, {2, 2, 2}},
		"huge":      {{huge, huge, huge}, {-huge, -huge, -huge}, {0, 0, huge}},
		"tiny":      {{5e-324, 0, 0}, {0, 5e-324, 0}, {0, 0, 0}},
		"zero":      {{0, 0, 0}, {0, 0, 0}},
	} {
		var values []float64
		for _, row := range rows {
			values = append(values, row...)
		}
		xy, _, _ := Project(&dataset.Points{N: len(rows), D: 3, Values: values}, nil)
		allFinite(t, name, xy)
		if name == "a line" && (math.Abs(xy[0][1]) > 1e-12 || math.Abs(xy[2][0]-math.Sqrt(3)) > 1e-12) {
			t.Errorf("a line is projected to %v", xy)
		}
	}
}

func allFinite(t *testing.T, what string, xy [][2]float64) {
	t.Helper()
	for i, p := range xy {
		if !isFinite(p[0]) || !isFinite(p[1]) {
			t.Fatalf("%s: point %d at %v", what, i, p)
		}
	}
}

func TestProjectSamplesManyRows(t *testing.T) {
	points, truth := gaussians(generator(), maxPCARows+500, 6, 2, 5)
	xy, _, _ := Project(points, nil)
	if len(xy) != points.N {
		t.Fatalf("%d points projected", len(xy))
	}
	var means [2]float64
	for i, label := range truth {
		means[label] += xy[i][0] / float64(points.N/2)
	}
	if math.Abs(means[0]-means[1]) < 5 {
		t.Errorf("the first component does not part the clusters: %v", means)
	}
}

func TestCanonicalSign(t *testing.T) {
	for _, c := range []struct {
		v    []float64
		want float64
	}{
		{[]float64{0.1, -3, 2}, -1},
		{[]float64{1, -1 - 1e-12}, 1}, // equal but for rounding: the first decides
		{[]float64{-1, 1 + 1e-12}, -1},
		{[]float64{0, 0}, 1},
	} {
		if got := canonicalSign(c.v); got != c.want {
			t.Errorf("sign of %v is %v", c.v, got)
		}
	}
}

func linearKernel(p *dataset.Points, factor float64) *dataset.Kernel {
	k := &dataset.Kernel{N: p.N, Values: make([]float64, p.N*p.N)}
	for i := range p.N {
		for j := range p.N {
			k.Values[i*p.N+j] = factor * elementary.Dot(p.Row(i), p.Row(j))
		}
	}
	return k
}

func TestLinearKernelPCAIsPCA(t *testing.T) {
	points, _ := gaussians(generator(), 80, 4, 3, 3)
	want, _, _ := Project(points, nil)
	have, axes := ProjectKernel(linearKernel(points, 1))
	for c := range 2 {
		sign := math.Copysign(1, have[0][c]*want[0][c])
		for i := range want {
			if math.Abs(sign*have[i][c]-want[i][c]) > 1e-6 {
				t.Fatalf("point %d: %v, want %v up to sign", i, have[i], want[i])
			}
		}
	}
	if !strings.HasPrefix(axes[0], "kernel component 1 (") {
		t.Errorf("axes %q", axes)
	}
}

// Two-dimensional data has a kernel of rank two: projecting onto landmarks is exact, so all distances stay.
func TestLandmarksKeepDistances(t *testing.T) {
	points, _ := gaussians(generator(), maxLandmarks+200, 2, 3, 3)
	xy, _ := ProjectKernel(linearKernel(points, 1e-3))
	r := rand.New(rand.NewPCG(1, 1))
	for range 500 {
		i := r.IntN(points.N)
		j := r.IntN(points.N)
		a := points.Row(i)
		b := points.Row(j)
		want := math.Hypot(a[0]-b[0], a[1]-b[1]) * math.Sqrt(1e-3)
		have := math.Hypot(xy[i][0]-xy[j][0], xy[i][1]-xy[j][1])
		if math.Abs(have-want) > 1e-6 {
			t.Fatalf("points %d and %d are %v apart, want %v", i, j, have, want)
		}
	}
}

func TestProjectKernelDegenerate(t *testing.T) {
	const huge = math.MaxFloat64
	for name, k := range map[string]*dataset.Kernel{
		"one":       {N: 1, Values: []float64{2}},
		"zero":      {N: 3, Values: make([]float64, 9)},
		"constant":  {N: 2, Values: []float64{1, 1, 1, 1}},
		"negative":  {N: 2, Values: []float64{-1, 0, 0, -2}},
		"huge":      {N: 2, Values: []float64{huge, -huge, -huge, huge}},
		"tiny":      {N: 2, Values: []float64{5e-324, 0, 0, 5e-324}},
		"identity":  {N: 3, Values: []float64{1, 0, 0, 0, 1, 0, 0, 0, 1}},
		"one value": {N: 3, Values: []float64{4, 0, 0, 0, 0, 0, 0, 0, 0}},
	} {
		xy, axes := ProjectKernel(k)
		allFinite(t, name, xy)
		if len(xy) != k.N || strings.Contains(axes[0]+axes[1], "NaN") {
			t.Errorf("%s: %d points, axes %q", name, len(xy), axes)
		}
	}
}

// The largest eigenvalues are wanted, even if a negative one has a larger absolute value.
func TestLeadingEigenpairsAreAlgebraicallyLargest(t *testing.T) {
	diagonal := []float64{3, -50, 0.5, 7, 1, -2, 0.1, 0.2, 0.3, -0.5}
	values, vectors := leadingEigenpairs(len(diagonal), 500, func(dst, src [][]float64) {
		for v, in := range src {
			for i, x := range in {
				dst[v][i] = diagonal[i] * x
			}
		}
	})
	if math.Abs(values[0]-7) > 1e-6 || math.Abs(values[1]-3) > 1e-6 {
		t.Errorf("eigenvalues %v", values)
	}
	if math.Abs(vectors[0][3]) < 1-1e-4 || math.Abs(vectors[1][0]) < 1-1e-4 {
		t.Errorf("eigenvectors %v", vectors)
	}
}
