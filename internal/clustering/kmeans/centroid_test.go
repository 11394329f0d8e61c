package kmeans

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/inference"
	"github.com/cleave-project/cleave/internal/numeric/metric"
	"github.com/cleave-project/cleave/test/clusteringtest"
)

// testCase is one small problem.
type testCase struct {
	name string
	data dataset.Dataset
	spec clustering.Spec
}

// allCases are all algorithms with all their distortions, penalties, metrics and engines.
func allCases(t testing.TB, seed uint64) []testCase {
	rng := rand.New(rand.NewPCG(seed, 77))
	n := 24 + rng.IntN(30)
	d := 1 + rng.IntN(4)
	k := 2 + rng.IntN(3)
	data := clusteringtest.Blobs(t, rng, n, d, k)
	positive := make([]float64, len(data.Values))
	for at, v := range data.Values {
		positive[at] = math.Abs(v) * float64(rng.IntN(4)) // some are 0
	}
	for i := range n {
		positive[i*d] += 0.1
	}
	spread, err := dataset.NewPoints(n, d, positive)
	if err != nil {
		t.Fatal(err)
	}
	almostEqual := make([]float64, len(positive))
	for at, v := range positive {
		almostEqual[at] = 300 + v
	}
	flat, err := dataset.NewPoints(n, d, almostEqual)
	if err != nil {
		t.Fatal(err)
	}
	constraints := clusteringtest.RandomConstraints(rng, n, k, rng.IntN(2*n))
	if seed%3 == 0 {
		for at := range constraints {
			constraints[at].Weight = 3 * rng.Float64()
			constraints[at].Weighted = true
		}
	}
	var cases []testCase
	add := func(name string, data dataset.Dataset, spec clustering.Spec) {
		spec.K, spec.Seed, spec.MaxIterations = k, seed, 30
		cases = append(cases, testCase{name, data, spec})
	}
	for _, start := range []clustering.Start{clustering.StartDefault, clustering.StartRandom} {
		add("kmeans", data, clustering.Spec{
			Initialization: clustering.Initialization{Start: start}, Algorithm: &Options{Algorithm: Kmeans},
		})
	}
	add("spherical kmeans", spread, clustering.Spec{Algorithm: &Options{Algorithm: Kmeans, Distortion: metric.Cosine}})
	var seeds []constraint.Seed
	for range 1 + rng.IntN(2*k) {
		if s := (constraint.Seed{Index: int32(rng.IntN(n)), Label: int32(rng.IntN(k))}); !slices.ContainsFunc(seeds,
			func(o constraint.Seed) bool { return o.Index == s.Index }) {
			seeds = append(seeds, s)
		}
	}
	soft := slices.Clone(seeds)
	for at := range soft {
		soft[at].Probability = 0.25 + rng.Float64()/2
	}
	soft = append(soft, constraint.Seed{Index: soft[0].Index, Label: (soft[0].Label + 1) % int32(k), Probability: 0.5})
	for _, algorithm := range []Algorithm{SeededKmeans, ConstrainedKmeans} {
		add(algorithm.String(), data, clustering.Spec{
			Supervision: clustering.Supervision{Seeds: seeds}, Algorithm: &Options{Algorithm: algorithm},
		})
		add(algorithm.String()+" soft", data, clustering.Spec{
			Supervision: clustering.Supervision{Seeds: soft}, Algorithm: &Options{Algorithm: algorithm},
		})
		add(algorithm.String()+" spherical", spread, clustering.Spec{
			Supervision: clustering.Supervision{Seeds: seeds},
			Algorithm:   &Options{Algorithm: algorithm, Distortion: metric.Cosine},
		})
	}
	for _, start := range []clustering.Start{clustering.StartDefault, clustering.StartKmeansPlusPlus} {
		add("cop", data, clustering.Spec{
			Initialization: clustering.Initialization{Start: start},
			Supervision:    clustering.Supervision{Constraints: constraints}, Algorithm: &Options{Algorithm: CopKmeans},
		})
	}
	for _, engine := range []inference.Engine{inference.ICM, inference.BP, inference.LP, inference.Exact} {
		add(fmt.Sprint("pc ", engine), data, clustering.Spec{
			Supervision: clustering.Supervision{Constraints: constraints},
			Algorithm:   &Options{Algorithm: PCKmeans, Inference: engine},
		})
	}
	for _, form := range []metric.Form{metric.Identity, metric.Diagonal, metric.Full} {
		add(fmt.Sprint("m ", form), data, clustering.Spec{
			Supervision: clustering.Supervision{Constraints: constraints},
			Algorithm:   &Options{Algorithm: MKmeans, Metric: form},
		})
		for _, penalty := range []metric.PenaltyKind{metric.Potts, metric.Basu2003, metric.Bilenko2004} {
			for _, algorithm := range []Algorithm{MPCKmeans, HMRFKmeans} {
				start := []clustering.Start{clustering.StartDefault, clustering.StartWeightedFarthestFirst,
					clustering.StartKmeansPlusPlus}[rng.IntN(3)]
				engine := []inference.Engine{inference.ICM, inference.BP, inference.LP}[rng.IntN(3)]
				add(fmt.Sprint(algorithm, " ", form, " ", penalty, " ", engine), data,
					clustering.Spec{Initialization: clustering.Initialization{Start: start},
						Supervision: clustering.Supervision{Constraints: constraints},
						Algorithm:   &Options{Algorithm: algorithm, Metric: form, Penalty: penalty, Inference: engine}})
			}
		}
	}
	for _, distortion := range []metric.Distortion{metric.Cosine, metric.KL, metric.IDivergence} {
		for _, penalty := range []metric.PenaltyKind{metric.Potts, metric.Basu2003, metric.Bilenko2004} {
			add(fmt.Sprint("hmrf ", distortion, " ", penalty), spread,
				clustering.Spec{Supervision: clustering.Supervision{Constraints: constraints},
					Algorithm: &Options{Algorithm: HMRFKmeans, Distortion: distortion, Penalty: penalty}})
		}
		add(fmt.Sprint("hmrf ", distortion, " from perturbed means"), flat,
			clustering.Spec{Supervision: clustering.Supervision{Constraints: constraints[:min(2, len(constraints))]},
				Algorithm: &Options{Algorithm: HMRFKmeans, Distortion: distortion}})
	}
	return cases
}

// After every step the reported objective agrees to 1e-9 with an independent evaluation of the raw data, and it
// never rises: for every method, penalty, metric, distortion and engine.
func TestObjectiveIsWhatItSaysAndNeverRises(t *testing.T) {
	ctx := context.Background()
	steps, infeasible := 0, 0
	for seed := range uint64(25) {
		for _, c := range allCases(t, seed) {
			name := fmt.Sprintf("seed %d, %s", seed, c.name)
			p, err := Prepare(c.data, c.spec)
			if err != nil {
				if optionsOf(c.spec).Algorithm == CopKmeans {
					infeasible++
					continue
				}
				t.Fatalf("%s: %v", name, err)
			}
			if p, err = p.begin(ctx, nil); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			x, err := NewLocal(ctx, p, c.data, 2)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			e := newEvaluator(t, c.data, p)
			last := math.Inf(1)
			f := checkedSetup{setup: setup{newServer(x, 1), p},
				check: func(m clustering.Stepper, report clustering.Report) {
					if report.Entry == nil {
						return
					}
					steps++
					r := &clustering.Result{}
					m.FillResult(r)
					value := report.Entry.Objective
					want := e.objective(m.Labels(), r.Model.Centroids, r.Model.Metric)
					if p.options.Distortion == metric.Cosine && !p.options.Algorithm.hasParts() {
						want = float64(p.n) - want
						value = want - (want - value) // maximized
					}
					scale := math.Abs(want) + math.Abs(r.Model.Metric.LogDet())
					if math.Abs(value-want) > 1e-9*scale+1e-12 {
						t.Errorf("%s, iteration %d: reported %.15g, evaluated %.15g", name, report.Entry.Iteration,
							value, want)
					}
					if now := m.Value(); now > last+1e-9*math.Abs(last)+1e-12 {
						t.Errorf("%s, iteration %d: rose from %.15g to %.15g", name, report.Entry.Iteration, last, now)
					}
					last = m.Value()
				}}
			result, err := clustering.Run(ctx, f, clustering.NopObserver{})
			switch {
			case err != nil && optionsOf(c.spec).Algorithm == CopKmeans:
				infeasible++
			case err != nil:
				t.Fatalf("%s: %v", name, err)
			case slices.Contains(result.Labels, -1):
				t.Fatalf("%s: a point has no label", name)
			}
		}
	}
	t.Logf("%d steps; %d of the hard problems had no solution", steps, infeasible)
}

// checkedSetup is a setup whose methods are checked after every step.
type checkedSetup struct {
	setup
	check func(m clustering.Stepper, report clustering.Report)
}

func (f checkedSetup) Begin(context.Context, clustering.Observer) (clustering.Setup, error) {
	return f, nil
}

func (f checkedSetup) Runs() clustering.Runs {
	return clustering.Runs{K: f.p.spec.K, Restarts: 1, MaxIterations: 30, Keep: true}
}

func (f checkedSetup) NewStepper(restart int, l *clustering.Lane, o clustering.Observer) clustering.Stepper {
	return checkedMethod{f.setup.NewStepper(restart, l, o), f.check}
}

type checkedMethod struct {
	clustering.Stepper
	check func(m clustering.Stepper, report clustering.Report)
}

func (m checkedMethod) Step(ctx context.Context) (clustering.Report, error) {
	report, err := m.Stepper.Step(ctx)
	if err == nil {
		m.check(m.Stepper, report)
	}
	return report, err
}

func optionsOf(spec clustering.Spec) *Options { return spec.Algorithm.(*Options) }
