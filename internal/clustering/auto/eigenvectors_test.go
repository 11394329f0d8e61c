package auto

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/embedding"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/numeric/eigen"
	"github.com/cleave-project/cleave/test/clusteringtest"
)

// dense is a matrix that multiplies naively.
type dense [][]float64

func (m dense) Multiply(_ context.Context, x [][]float64) ([][]float64, error) {
	products := make([][]float64, len(x))
	for v := range x {
		products[v] = make([]float64, len(m))
		for i, row := range m {
			for j, entry := range row {
				products[v][i] += entry * x[v][j]
			}
		}
	}
	return products, nil
}

func (m dense) symmetric() *mat.SymDense { return mat.NewSymDense(len(m), slices.Concat(m...)) }

func newDense(n int) dense {
	m := make(dense, n)
	for i := range m {
		m[i] = make([]float64, n)
	}
	return m
}

func denseOf(g *dataset.Graph) dense {
	m := newDense(g.N)
	for i := range g.N {
		neighbors, weights := g.Row(i)
		for at, j := range neighbors {
			m[i][j] += weights[at]
		}
	}
	return m
}

// oddGraph has loops, vertices without edges, and now and then no edges at all.
func oddGraph(t *testing.T, rng *rand.Rand, n int) *dataset.Graph {
	t.Helper()
	var edges []dataset.Edge
	for range rng.IntN(2) * rng.IntN(4*n) {
		edges = append(edges, dataset.Edge{Source: int32(rng.IntN(n)), Target: int32(rng.IntN(n)),
			Weight: rng.Float64()})
	}
	g, err := dataset.NewGraph(n, edges)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func mustLinks(t *testing.T, rng *rand.Rand, n, count int) *constraint.Set {
	t.Helper()
	var cs []constraint.Constraint
	for range count {
		cs = append(cs, clusteringtest.MustLink(int32(rng.IntN(n)), int32(rng.IntN(n))))
	}
	set, err := constraint.NewSet(n, cs, constraint.UnitWeight)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// naiveContraction is H (P A P' less what joins vertices of one block) H, by its definition.
func naiveContraction(a dense, keep []bool, components *constraint.Components) (dense, []int32) {
	n := len(a)
	number := map[int32]int32{}
	block := make([]int32, len(a))
	count := 0
	for i := range n {
		block[i] = -1
		if keep[i] {
			if _, known := number[components.Of(int32(i))]; !known {
				number[components.Of(int32(i))] = int32(count)
				count++
			}
			block[i] = number[components.Of(int32(i))]
		}
	}
	b := newDense(count)
	for i := range n {
		for j := range n {
			if keep[i] && keep[j] && (i == j || block[i] != block[j]) {
				b[block[i]][block[j]] += a[i][j]
			}
		}
	}
	degrees := make([]float64, count)
	mean := 0.0
	for i := range b {
		for _, w := range b[i] {
			degrees[i] += w
			mean += w / float64(count)
		}
	}
	for i := range b {
		for j := range b {
			if b[i][j] != 0 {
				b[i][j] /= math.Sqrt((degrees[i] + 0.01*mean) * (degrees[j] + 0.01*mean))
			}
		}
	}
	return b, block
}

func TestContractionAgainstItsDefinition(t *testing.T) {
	for seed := range uint64(200) {
		rng := clusteringtest.NewRand(seed)
		n := 1 + rng.IntN(30)
		g := oddGraph(t, rng, n)
		keep := make([]bool, n)
		set := mustLinks(t, rng, n, rng.IntN(n))
		for i := range keep {
			keep[i] = rng.IntN(5) > 0
		}
		keep[rng.IntN(n)] = true
		adjacency := denseOf(g)
		want, block := naiveContraction(adjacency, keep, set.Components())
		c := newContraction(g, adjacency, keep, set.Components())
		if c.Rows() != len(want) || !slices.Equal(c.block, block) {
			t.Fatalf("seed %d: %d blocks %v, want %d %v", seed, c.Rows(), c.block, len(want), block)
		}
		x := [][]float64{make([]float64, len(want)), make([]float64, len(want))}
		for _, column := range x {
			for i := range column {
				column[i] = rng.NormFloat64()
			}
		}
		got, err := c.Multiply(t.Context(), x)
		if err != nil {
			t.Fatal(err)
		}
		products, _ := want.Multiply(t.Context(), x)
		for v := range x {
			for i := range want {
				if math.Abs(got[v][i]-products[v][i]) > 1e-12 {
					t.Fatalf("seed %d: product %d has %g in row %d, want %g", seed, v, got[v][i], i, products[v][i])
				}
			}
		}
		entries := c.entries(g)
		filled := newDense(len(want))
		for i := range want {
			for at := entries.Begin[i]; at < entries.Begin[i+1]; at++ {
				filled[i][entries.Column[at]] += entries.Value[at]
			}
		}
		sameMatrix(t, "the entries", filled, want, 1e-12)
		values, _ := eigen.DenseEigenvalues(context.Background(), want.symmetric())
		if most := max(math.Abs(values[0]), math.Abs(values[len(values)-1])); most > entries.Bound+1e-12 {
			t.Fatalf("seed %d: an eigenvalue of %g, bound %g", seed, most, entries.Bound)
		}
	}
}

// testSpaces can find eigenvectors.
func testSpaces(n, k int) *spaces {
	none, err := constraint.NewSet(n, nil, constraint.UnitWeight)
	if err != nil {
		panic(err)
	}
	return &spaces{
		p: &Problem{
			spec: clustering.Spec{K: k, Seed: 1, Algorithm: &Options{}}, n: n,
			neighbors: DefaultNeighbors, folds: DefaultFolds, given: none, none: none,
		},
		threads: 1, reporter: embedding.NewReporter(clustering.NopObserver{}),
	}
}

// gramOf are the products of all rows, which is what is known of coordinates up to a rotation.
func gramOf(values []float64, columns int) dense {
	g := newDense(len(values) / columns)
	for i := range g {
		for j := range g {
			for f := range columns {
				g[i][j] += values[i*columns+f] * values[j*columns+f]
			}
		}
	}
	return g
}

func sameMatrix(t *testing.T, what string, got, want dense, tolerance float64) {
	t.Helper()
	for i := range want {
		for j := range want[i] {
			if math.Abs(got[i][j]-want[i][j]) > tolerance {
				t.Fatalf("%s: entry %d, %d is %g, want %g", what, i, j, got[i][j], want[i][j])
			}
		}
	}
}

// The coordinates are those of the leading eigenvectors of the dense matrix, rows scaled to length 1, and those of a
// block are equal.
func TestEigenvectorsAgainstDenseOnes(t *testing.T) {
	for seed := range uint64(20) {
		rng := clusteringtest.NewRand(seed)
		n := 60 + rng.IntN(60)
		k := 2 + rng.IntN(3)
		g := clusteringtest.RandomGraph(t, rng, n, k)
		set := mustLinks(t, rng, n, rng.IntN(15))
		r := testSpaces(n, k)
		s := &space{graph: g, adjacency: denseOf(g)}
		e, err := r.eigenvectors(t.Context(), s, set, nil, eigen.Options{Tolerance: 1e-12})
		if err != nil {
			t.Fatal(err)
		}
		keep, _ := r.includedVertices(g, set)
		matrix, block := naiveContraction(denseOf(g), keep, set.Components())
		_, vectors := eigen.DenseEigenpairs(matrix.symmetric())
		if len(e.kept) != n || e.columns != k {
			t.Fatalf("seed %d: %d of %d vertices are kept in %d columns", seed, len(e.kept), n, e.columns)
		}
		var want []float64
		for i := range n {
			length := 0.0
			for j := range k {
				length = math.Hypot(length, vectors.At(int(block[i]), j))
			}
			for j := range k {
				want = append(want, vectors.At(int(block[i]), j)/length)
			}
		}
		sameMatrix(t, "eigenvectors", gramOf(e.values, k), gramOf(want, k), 1e-6)
	}
}

// Pieces that are small beside a cluster stay out, unless too few vertices are left.
func TestSmallPiecesStayOut(t *testing.T) {
	var edges []dataset.Edge
	for i := range int32(40) {
		edges = append(edges, dataset.Edge{Source: i, Target: (i + 1) % 40, Weight: 1},
			dataset.Edge{Source: i, Target: (i + 7) % 40, Weight: 1})
	}
	g, err := dataset.NewGraph(43, append(edges, dataset.Edge{Source: 40, Target: 41, Weight: 1}))
	if err != nil {
		t.Fatal(err)
	}
	none := mustLinks(t, clusteringtest.NewRand(1), 43, 0)
	if keep, kept := testSpaces(43, 2).includedVertices(g, none); slices.Index(keep, false) != 40 ||
		slices.Contains(keep[40:], true) || kept != 40 {
		t.Errorf("two clusters: kept are %v", keep)
	}
	if keep, kept := testSpaces(43, 43).includedVertices(g, none); slices.Contains(keep, false) || kept != 43 {
		t.Errorf("43 clusters: kept are %v", keep)
	}
}

// The principal components of a linear kernel are those of the points.
func TestPrincipalComponentsOfALinearKernel(t *testing.T) {
	for seed := range uint64(20) {
		rng := clusteringtest.NewRand(seed)
		n := 20 + rng.IntN(40)
		d := 1 + rng.IntN(6)
		k := 1 + rng.IntN(4)
		points := clusteringtest.Blobs(t, rng, n, d, max(2, k))
		mean := make([]float64, d)
		for i := range n {
			for f, v := range points.Row(i) {
				mean[f] += v / float64(n)
			}
		}
		linear := newDense(n)
		centeredRows := newDense(n)
		for i := range n {
			for j := range n {
				for f := range d {
					linear[i][j] += points.Row(i)[f] * points.Row(j)[f]
					centeredRows[i][j] += (points.Row(i)[f] - mean[f]) * (points.Row(j)[f] - mean[f])
				}
			}
		}
		r := testSpaces(n, k)
		e, err := r.principalComponents(t.Context(), linear)
		if err != nil {
			t.Fatal(err)
		}
		if e.columns != k || len(e.kept) != n {
			t.Fatalf("seed %d: %d columns of %d points", seed, e.columns, len(e.kept))
		}
		values, vectors := eigen.DenseEigenpairs(centeredRows.symmetric())
		var want []float64
		for i := range n {
			for j := range k {
				want = append(want, vectors.At(i, j)*math.Sqrt(max(0, values[j])))
			}
		}
		if d > k && values[k-1]-values[k] < 0.2*values[0] {
			continue // directions that are nearly as good as each other
		}
		sameMatrix(t, "components", gramOf(e.values, k), gramOf(want, k), 1e-4*values[0])
	}
}

func TestNormalizedCutAgainstItsDefinition(t *testing.T) {
	for seed := range uint64(100) {
		rng := clusteringtest.NewRand(seed)
		n := 1 + rng.IntN(30)
		k := 1 + rng.IntN(5)
		g := oddGraph(t, rng, n)
		labels := clusteringtest.RandomLabels(rng, n, k)
		a := denseOf(g)
		want := 0.0
		for c := range int32(k) {
			inside, outside := 0.0, 0.0
			for i := range n {
				for j := range n {
					switch {
					case labels[i] == c && labels[j] == c:
						inside += a[i][j]
					case labels[i] == c:
						outside += a[i][j]
					}
				}
			}
			if inside+outside > 0 {
				want += outside / (inside + outside)
			}
		}
		if got := normalizedCut(g, labels, k); math.Abs(got-want) > 1e-12 {
			t.Errorf("seed %d: %g, want %g", seed, got, want)
		}
	}
}
