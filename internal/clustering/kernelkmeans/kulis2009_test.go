package kernelkmeans

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/test/clusteringtest"
)

// cases are problems of every objective, kernel and kind of data.
func cases(t testing.TB, seed uint64) map[string]struct {
	data dataset.Dataset
	spec clustering.Spec
} {
	t.Helper()
	rng := clusteringtest.NewRand(seed)
	const n, k = 60, 3
	points := clusteringtest.Blobs(t, rng, n, 4, k)
	graph := clusteringtest.RandomGraph(t, rng, n, k)
	matrix := make([]float64, n*n)
	for i := range n {
		for j := range n {
			matrix[i*n+j] = naiveEntry(points, &Options{Function: kernel.Gaussian}, 3, i, j)
		}
	}
	given, err := dataset.NewKernel(n, n, matrix)
	if err != nil {
		t.Fatal(err)
	}
	weights := make([]float64, n)
	for i := range weights {
		weights[i] = 0.25 + rng.Float64()*2
	}
	gamma, coef0 := 0.05, 1.0
	all := map[string]struct {
		data dataset.Dataset
		spec clustering.Spec
	}{}
	add := func(name string, data dataset.Dataset, o Options) {
		for _, constraints := range []int{0, 25} {
			spec := clustering.Spec{K: k, Seed: seed, MaxIterations: 50, Algorithm: &o,
				Supervision: clustering.Supervision{Constraints: clusteringtest.RandomConstraints(rng, n,
					k, constraints)},
				Initialization: clustering.Initialization{
					Start: clustering.StartLabels, Labels: clusteringtest.RandomLabels(rng, n, k),
				}}
			all[fmt.Sprintf("%s/%d-constraints", name, constraints)] = struct {
				data dataset.Dataset
				spec clustering.Spec
			}{data, spec}
		}
	}
	add("linear", points, Options{Function: kernel.Linear})
	add("gaussian", points, Options{Function: kernel.Gaussian, Rho: 2.5})
	add("laplacian", points, Options{Function: kernel.Laplacian, Rho: 2.5})
	add("polynomial", points, Options{Function: kernel.Polynomial, Gamma: &gamma, Coef0: &coef0, Degree: 3})
	add("sigmoid", points, Options{Function: kernel.Sigmoid, Gamma: &gamma})
	add("cosine", points, Options{Function: kernel.Cosine})
	add("weighted", points, Options{Function: kernel.Gaussian, Rho: 2.5, Weights: weights})
	add("given", given, Options{})
	add("points-normalized-cut", points, Options{Objective: ObjectiveNormalizedCut, Rho: 2.5})
	add("points-ratio-cut-keep-diagonal", points, Options{Objective: ObjectiveRatioCut, Rho: 2.5, KeepDiagonal: true})
	add("given-ratio-association", given, Options{Objective: ObjectiveRatioAssociation})
	add("normalized-cut", graph, Options{})
	add("ratio-cut", graph, Options{Objective: ObjectiveRatioCut})
	add("ratio-association", graph, Options{Objective: ObjectiveRatioAssociation})
	add("graph-kernel-kmeans", graph, Options{Objective: ObjectiveKernelKmeans})
	return all
}

// Step by step the fast implementation equals the naive one: labels, and the objective to 1e-6.
func TestStepsEqualNaiveReference(t *testing.T) {
	for seed := range uint64(4) {
		for name, c := range cases(t, seed) {
			t.Run(fmt.Sprintf("%s/seed%d", name, seed), func(t *testing.T) {
				optionsOf(c.spec).OnRise = RiseIgnore
				result := solve(t, c.data, c.spec)
				r := newReference(c.data, c.spec, optionsOf(c.spec).Rho)
				r.labels = slices.Clone(c.spec.Initialization.Labels)
				r.fill()
				for _, entry := range result.History {
					if want := r.objective(); math.Abs(entry.Objective-want) > 1e-6*(1+math.Abs(want)) {
						t.Fatalf("iteration %d: objective %.12g, reference %.12g", entry.Iteration,
							entry.Objective, want)
					}
					if entry.Iteration < result.Iterations {
						r.step()
					}
				}
				if !slices.Equal(result.Labels, r.labels) {
					t.Errorf("labels differ from the reference after %d iterations", result.Iterations)
				}
			})
		}
	}
}

// With the linear kernel each step is one of plain k-means (Kulis2009 2.1): same start, same
// assignments to the nearest mean.
func TestLinearKernelIsPlainKmeans(t *testing.T) {
	rng := clusteringtest.NewRand(7)
	points := clusteringtest.Blobs(t, rng, 150, 3, 4)
	labels := clusteringtest.RandomLabels(rng, 150, 4)
	for iterations := range 12 {
		result := solve(t, points, clustering.Spec{K: 4, MaxIterations: iterations,
			Initialization: clustering.Initialization{
				Start: clustering.StartLabels, Labels: labels,
			},
			Algorithm: &Options{Function: kernel.Linear}})
		want, cost := plainKmeans(points, labels, 4, result.Iterations)
		if !slices.Equal(result.Labels, want) {
			t.Fatalf("after %d iterations the labels differ from plain k-means", iterations)
		}
		if math.Abs(result.Objective-cost) > 1e-6*cost {
			t.Fatalf("after %d iterations J = %g, plain k-means cost %g", iterations, result.Objective, cost)
		}
	}
}

func plainKmeans(points *dataset.Points, start []int32, k, iterations int) ([]int32, float64) {
	labels := slices.Clone(start)
	means := func() [][]float64 {
		sums := make([][]float64, k)
		counts := make([]float64, k)
		for c := range sums {
			sums[c] = make([]float64, points.D)
		}
		for i, c := range labels {
			counts[c]++
			for f, v := range points.Row(i) {
				sums[c][f] += v
			}
		}
		for c := range sums {
			for f := range sums[c] {
				sums[c][f] /= counts[c]
			}
		}
		return sums
	}
	distance := func(i int, mean []float64) float64 {
		d := 0.0
		for f, v := range points.Row(i) {
			d += (v - mean[f]) * (v - mean[f])
		}
		return d
	}
	for range iterations {
		centers := means()
		for i := range labels {
			best := labels[i]
			for c := range centers {
				if distance(i, centers[c]) < distance(i, centers[best]) {
					best = int32(c)
				}
			}
			labels[i] = best
		}
	}
	cost := 0.0
	centers := means()
	for i, c := range labels {
		cost += distance(i, centers[c])
	}
	return labels, cost
}

// Kulis2009 (3), (7), (8), (9) as they are printed, with constraint sums over ordered pairs, equal
// the reported values, and these equal the traces of Y' D^-1/2 (A + W) D^-1/2 Y.
func TestObjectivesEqualPaperFormsAndTraces(t *testing.T) {
	for name, c := range cases(t, 11) {
		o := optionsOf(c.spec)
		if len(o.Weights) > 0 {
			continue // the printed forms have no weights
		}
		t.Run(name, func(t *testing.T) {
			result := solve(t, c.data, c.spec)
			printed := printedObjective(c.data, c.spec, result.Labels)
			if math.Abs(result.Objective-printed) > 1e-6*(1+math.Abs(printed)) {
				t.Errorf("reported %.12g, the paper's form gives %.12g", result.Objective, printed)
			}
			r := newReference(c.data, c.spec, o.Rho)
			r.labels = result.Labels
			if trace := traceObjective(r); math.Abs(result.Objective-trace) > 1e-6*(1+math.Abs(trace)) {
				t.Errorf("reported %.12g, the trace gives %.12g", result.Objective, trace)
			}
		})
	}
}

// printedObjective evaluates the sums of links and penalties as the paper writes them.
func printedObjective(data dataset.Dataset, spec clustering.Spec, labels []int32) float64 {
	o := optionsOf(spec)
	n := data.Rows()
	plain := spec
	plain.Supervision.Constraints = nil
	options := *o
	plain.Algorithm = &options
	objective := o.Objective
	if objective == ObjectiveDefault && data.Kind() == dataset.KindGraph {
		objective = ObjectiveNormalizedCut
	}
	// The affinity alone: ratio association adds neither degrees nor weights to it.
	if objective > ObjectiveKernelKmeans {
		options.Objective = ObjectiveRatioAssociation
	}
	affinity := newReference(data, plain, o.Rho).m
	size := make([]float64, spec.K)
	degree := make([]float64, spec.K)
	within := make([]float64, spec.K)
	cut := make([]float64, spec.K)
	spread := 0.0
	for i := range n {
		c := labels[i]
		size[c]++
		for j := range n {
			degree[c] += affinity[i][j]
			if labels[j] == c {
				within[c] += affinity[i][j]
			} else {
				cut[c] += affinity[i][j]
			}
		}
		spread += affinity[i][i]
	}
	total := 0.0
	for c := range spec.K {
		if size[c] == 0 {
			continue
		}
		switch objective {
		case ObjectiveRatioAssociation:
			total += within[c] / size[c]
		case ObjectiveRatioCut:
			total += cut[c] / size[c]
		case ObjectiveNormalizedCut:
			total += cut[c] / degree[c]
		default: // sum of ||phi(x) - m_c||^2
			total -= within[c] / size[c]
		}
	}
	if objective <= ObjectiveKernelKmeans {
		total += spread
	}
	constrained := newReference(data, spec, o.Rho)
	unconstrained := newReference(data, withoutConstraints(spec), o.Rho)
	for i := range n {
		for j := range n {
			if labels[i] != labels[j] {
				continue
			}
			w := constrained.m[i][j] - unconstrained.m[i][j]
			divisor := size[labels[i]]
			if objective == ObjectiveNormalizedCut {
				divisor = degree[labels[i]]
			}
			if objective == ObjectiveRatioAssociation {
				w = -w
			}
			total -= w / divisor
		}
	}
	return total
}

func withoutConstraints(spec clustering.Spec) clustering.Spec {
	spec.Supervision.Constraints = nil
	return spec
}

// traceObjective is k' or the diagonal term, less trace(Y' diag(a)^-1/2 M diag(a)^-1/2 Y), with
// gonum's matrices.
func traceObjective(r *reference) float64 {
	s := make([]float64, r.k)
	for i, c := range r.labels {
		s[c] += r.a[i]
	}
	y := mat.NewDense(r.n, r.k, nil)
	m := mat.NewDense(r.n, r.n, nil)
	diagonal, clusters := 0.0, 0
	for c := range s {
		if s[c] != 0 {
			clusters++
		}
	}
	for i := range r.n {
		y.Set(i, int(r.labels[i]), math.Sqrt(r.a[i]/s[r.labels[i]]))
		for j := range r.n {
			m.Set(i, j, r.m[i][j]/math.Sqrt(r.a[i]*r.a[j]))
		}
		diagonal += m.At(i, i)
	}
	var my, ymy mat.Dense
	my.Mul(m, y)
	ymy.Mul(y.T(), &my)
	return r.reports(mat.Trace(&ymy), diagonal, clusters)
}
