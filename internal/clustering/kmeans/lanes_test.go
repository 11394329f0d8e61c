package kmeans

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/labeling"
	"github.com/cleave-project/cleave/internal/numeric/metric"
	"github.com/cleave-project/cleave/internal/numeric/vector"
	"github.com/cleave-project/cleave/test/clusteringtest"
)

// log is everything an observer hears, in order.
type log struct{ lines []string }

func (l *log) Observe(e clustering.Event) {
	l.lines = append(l.lines, fmt.Sprintf("%T %s", e, clusteringtest.Bits(e)))
}

// solution is a result, or why there is none, and what was heard.
type solution struct {
	result *clustering.Result
	err    error
	heard  log
}

// solveAlone runs a problem with a number of lanes.
func solveAlone(t *testing.T, p *Problem, data dataset.Dataset, lanes int) solution {
	t.Helper()
	alone := *p
	alone.MaxLanes = lanes
	x, err := NewLocal(t.Context(), &alone, data, 2)
	if err != nil {
		t.Fatal(err)
	}
	if want := min(lanes, p.Restarts()); x.Clusters().Lanes != want {
		t.Fatalf("%d lanes, want %d", x.Clusters().Lanes, want)
	}
	var s solution
	s.result, s.err = Run(t.Context(), &alone, x, &s.heard)
	return s
}

// laneRun is a run of one restart that does no more than use its lane. It is a job, its setup, and its stepper.
type laneRun struct {
	server *server
	lane   *lane
	use    func(x *lane) error
}

func inLane(t *testing.T, data dataset.Dataset, use func(x *lane) error) {
	t.Helper()
	p, err := Prepare(data, clustering.Spec{K: 2, MaxIterations: 100, Algorithm: &Options{Algorithm: Kmeans}})
	if err != nil {
		t.Fatal(err)
	}
	x, err := NewLocal(t.Context(), p, data, 1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := clustering.Run(t.Context(), &laneRun{server: newServer(x, 1), use: use}, &log{}); err != nil {
		t.Fatal(err)
	}
}

func (r *laneRun) Notices() []clustering.Notice { return nil }

func (r *laneRun) Begin(context.Context, clustering.Observer) (clustering.Setup, error) {
	return r, nil
}

func (r *laneRun) Runs() clustering.Runs { return clustering.Runs{K: 2, Restarts: 1} }

func (r *laneRun) NewStepper(_ int, l *clustering.Lane, _ clustering.Observer) clustering.Stepper {
	r.lane = &lane{to: l, server: r.server}
	return r
}

func (r *laneRun) Init(context.Context) (clustering.Report, error) {
	return clustering.Report{}, r.use(r.lane)
}

func (r *laneRun) Step(context.Context) (clustering.Report, error) { return clustering.Report{}, nil }

func (r *laneRun) Labels() []int32 { return []int32{0} }

func (r *laneRun) Value() float64 { return 0 }

func (r *laneRun) FillResult(*clustering.Result) {}

// The executor may make a step before the restart asks for it. Whatever the restart asks for instead, it is answered by
// the labels that the restart knows.
func TestOperationsDoNotSeeTheStepAhead(t *testing.T) {
	for name, ask := range map[string]func(x *lane, m *vector.Model) (any, error){
		"update": func(x *lane, _ *vector.Model) (any, error) {
			return x.Update([]labeling.Move{{Point: 0, From: 1, To: 0}})
		},
		"assign":   func(x *lane, m *vector.Model) (any, error) { return x.Assign(m, nil) },
		"scatter":  func(x *lane, m *vector.Model) (any, error) { return x.Scatter(m, vector.Total) },
		"farthest": func(x *lane, m *vector.Model) (any, error) { return x.Farthest(m, nil, []int32{3, 3}) },
		"nearest":  func(x *lane, m *vector.Model) (any, error) { return x.Nearest(m) },
		"the step": func(x *lane, m *vector.Model) (any, error) { return x.Step(m, nil) },
		"another step": func(x *lane, m *vector.Model) (any, error) {
			return x.Step(&vector.Model{Distortion: m.Distortion, Clusters: 2, Centroids: []float64{-6, 5}}, nil)
		},
		"a step of fewer points": func(x *lane, m *vector.Model) (any, error) { return x.Step(m, []int32{1}) },
		"load": func(x *lane, _ *vector.Model) (any, error) {
			return x.Load([]int32{0, 0, 0, 1, 1, 1})
		},
	} {
		var answers [2]any
		for ahead := range 2 {
			inLane(t, line(t, 0, 1, 2, 10, 11, 12), func(x *lane) error {
				// Rows are prepared: their mean, 6, is subtracted.
				m := &vector.Model{Distortion: metric.SquaredEuclidean, Clusters: 2, Centroids: []float64{-5, 5}}
				if _, err := x.Load([]int32{1, 1, 0, 0, 1, 1}); err != nil {
					return err
				}
				if ahead == 1 {
					before, err := x.DistortionBeforeStep(m, nil)
					if err != nil || before != 121+100+1+81+0+1 {
						t.Errorf("the distortion is %v, %v", before, err)
					}
				}
				var err error
				if answers[ahead], err = ask(x, m); err != nil {
					return err
				}
				return nil
			})
		}
		if !reflect.DeepEqual(answers[0], answers[1]) {
			t.Errorf("%s: %+v, and after a step ahead %+v", name, answers[0], answers[1])
		}
	}
}

// Restarts side by side have the results, bit for bit, and the events, word for word, of restarts one by one, whatever
// the algorithm; and so have problems side by side.
func TestRestartsAndProblemsSideBySideEqualThoseAlone(t *testing.T) {
	laterWon := false
	for seed := range uint64(4) {
		type rows struct {
			data        dataset.Dataset
			preparation vector.Preparation
		}
		problems, alone := map[rows][]*Problem{}, map[rows][]solution{}
		rng := clusteringtest.NewRand(seed)
		for _, c := range allCases(t, seed) {
			c.spec.Restarts = 1 + rng.IntN(7)
			p, err := Prepare(c.data, c.spec)
			if err != nil {
				continue // hard constraints that nothing satisfies
			}
			want := solveAlone(t, p, c.data, 1)
			for _, lanes := range []int{2, 3, 16} {
				if got := solveAlone(t, p, c.data, lanes); want.err == nil && !reflect.DeepEqual(got, want) ||
					(want.err == nil) != (got.err == nil) {
					t.Fatalf("seed %d, %s, %d lanes: %+v, want %+v", seed, c.name, lanes, got, want)
				}
			}
			if want.err != nil {
				continue
			}
			laterWon = laterWon || want.result.Restart > 0
			of := rows{c.data, p.Vectors.Preparation}
			if first := problems[of]; len(first) > 0 {
				if p, err = first[0].WithSpec(c.spec); err != nil {
					t.Fatal(err)
				}
			}
			problems[of], alone[of] = append(problems[of], p), append(alone[of], want)
		}
		for of, group := range problems {
			x, err := NewLocal(t.Context(), group[0], of.data, 2, group[1:]...)
			if err != nil {
				t.Fatal(err)
			}
			for range 2 { // an executor can be used again
				heard := make([]log, len(group))
				results, err := RunAll(t.Context(), group, x, func(p int) clustering.Observer { return &heard[p] })
				if err != nil {
					t.Fatal(err)
				}
				for p, want := range alone[of] {
					if !reflect.DeepEqual(results[p], want.result) || !slices.Equal(heard[p].lines, want.heard.lines) {
						t.Fatalf("seed %d, problem %d of %d: %+v, want %+v", seed, p, len(group),
							results[p], want.result)
					}
				}
			}
		}
	}
	if !laterWon {
		t.Error("the first restart always wins: the cases are too easy")
	}
}

// fragile is an executor whose steps fail after the first few.
type fragile struct {
	Executor
	left int
	fail func() error
}

func (f *fragile) Step(ctx context.Context, queries []vector.Query) (*Step, error) {
	if f.left--; f.left < 0 {
		return nil, f.fail()
	}
	return f.Executor.Step(ctx, queries)
}

// An executor that fails ends the run with its error; a context that ends leaves the best so far. What the observer
// heard until then is how the whole run begins.
func TestRestartsSideBySideEndEarly(t *testing.T) {
	data := clusteringtest.Blobs(t, clusteringtest.NewRand(3), 300, 3, 3)
	p, err := Prepare(data, clustering.Spec{K: 3, Restarts: 6, MaxIterations: 100,
		Algorithm: &Options{Algorithm: Kmeans}})
	if err != nil {
		t.Fatal(err)
	}
	whole := solveAlone(t, p, data, 6)
	broken := errors.New("broken")
	for after := range 6 {
		for _, cancels := range []bool{false, true} {
			ctx, cancel := context.WithCancel(t.Context())
			local, err := NewLocal(ctx, p, data, 1)
			if err != nil {
				t.Fatal(err)
			}
			x := &fragile{Executor: local, left: after, fail: func() error {
				if cancels {
					cancel()
					return ctx.Err()
				}
				return broken
			}}
			heard := &log{}
			result, err := Run(ctx, p, x, heard)
			cancel()
			if begins := whole.heard.lines[:min(len(heard.lines), len(whole.heard.lines))]; !slices.Equal(heard.lines,
				begins) {
				t.Errorf("after %d steps, canceled %v: heard\n%v\ninstead of\n%v", after, cancels, heard.lines, begins)
			}
			switch {
			case !cancels && !errors.Is(err, broken):
				t.Errorf("after %d steps: %v instead of the executor's error", after, err)
			case cancels && after < 2 && !errors.Is(err, context.Canceled):
				t.Errorf("canceled before the first iteration was measured: %v, %v", result, err)
			case cancels && after >= 2 && (err != nil || result.StopReason != clustering.StopCanceled ||
				len(result.Labels) != 300):
				t.Errorf("canceled after %d steps: %+v, %v", after, result, err)
			}
		}
	}
}

// Problems that do not fit each other or the executor are refused.
func TestProblemsOfOtherRowsAreRefused(t *testing.T) {
	data := clusteringtest.Blobs(t, clusteringtest.NewRand(3), 60, 3, 3)
	other := clusteringtest.Blobs(t, clusteringtest.NewRand(4), 60, 3, 3)
	problem := func(data dataset.Dataset, k int) *Problem {
		p, err := Prepare(data, clustering.Spec{K: k, MaxIterations: 10, Algorithm: &Options{Algorithm: Kmeans}})
		if err != nil {
			t.Fatal(err)
		}
		return p
	}
	p := problem(data, 3)
	x, err := NewLocal(t.Context(), p, data, 1)
	if err != nil {
		t.Fatal(err)
	}
	for name, problems := range map[string][]*Problem{"other rows": {p, problem(other, 3)},
		"another k": {p, problem(data, 2)}} {
		if _, err := RunAll(t.Context(), problems, x, func(int) clustering.Observer {
			return clustering.NopObserver{}
		}); err == nil {
			t.Errorf("%s were accepted", name)
		}
	}
	if _, err := p.WithSpec(clustering.Spec{K: 3, Algorithm: &Options{Algorithm: Kmeans, Distortion: 2}}); err == nil {
		t.Error("another distortion was accepted")
	}
}

// counter counts the operations of an executor by name.
type counter struct {
	Executor
	count map[string]int
}

func (c *counter) Step(ctx context.Context, queries []vector.Query) (*Step, error) {
	c.count["step"]++
	return c.Executor.Step(ctx, queries)
}

func (c *counter) Assign(ctx context.Context, queries []vector.Query) ([]labeling.Move, error) {
	c.count["assign"]++
	return c.Executor.Assign(ctx, queries)
}

func (c *counter) Update(ctx context.Context, moves []labeling.Move) error {
	c.count["update"]++
	return c.Executor.Update(ctx, moves)
}

func (c *counter) Measure() Measurer { return scatterCounter{c.Executor.Measure(), c.count} }

// scatterCounter counts the scatters of an executor.
type scatterCounter struct {
	Measurer
	count map[string]int
}

func (c scatterCounter) Scatter(ctx context.Context, queries []vector.Query) ([][]float64, error) {
	c.count["scatter"]++
	return c.Measurer.Scatter(ctx, queries)
}

// An iteration with constraints is a step and the distances of the constrained points. Only where some of these moved
// it also updates them and measures again.
func TestOperationsOfConstrainedIterations(t *testing.T) {
	data := clusteringtest.Blobs(t, clusteringtest.NewRand(3), 600, 3, 3)
	iterations := 0
	for _, algorithm := range []Algorithm{PCKmeans, MPCKmeans} {
		p, err := Prepare(data, clustering.Spec{
			K: 6, Restarts: 1, MaxIterations: 100, Algorithm: &Options{Algorithm: algorithm},
			Supervision: clustering.Supervision{Constraints: []constraint.Constraint{
				{I: 0, J: 1, Kind: constraint.MustLink}, {I: 2, J: 3, Kind: constraint.CannotLink},
			}},
		})
		if err != nil {
			t.Fatal(err)
		}
		local, err := NewLocal(t.Context(), p, data, 1)
		if err != nil {
			t.Fatal(err)
		}
		x := &counter{local, map[string]int{}}
		result, err := Run(t.Context(), p, x, &log{})
		if err != nil {
			t.Fatal(err)
		}
		ran := len(result.History)
		iterations += ran
		metrics := 0 // scatters that learn a metric
		if algorithm == MPCKmeans {
			metrics = ran
		}
		if c := x.count; c["assign"] > 0 || c["step"] > ran+1 || c["update"] > ran/2 ||
			c["scatter"] > c["update"]+metrics {
			t.Errorf("%v: %d iterations took %v", algorithm, ran, c)
		}
	}
	if iterations < 10 {
		t.Errorf("only %d iterations", iterations)
	}
}
