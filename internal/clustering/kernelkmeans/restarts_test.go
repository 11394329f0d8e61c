package kernelkmeans

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/labeling"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/test/clusteringtest"
)

// Restarts that share their sweeps have the results, bit for bit, and the events, word for word, of restarts that
// run one by one.
func TestRestartsSideBySideEqualRestartsOneByOne(t *testing.T) {
	shifted, filled := false, false
	for seed := range uint64(10) {
		rng := clusteringtest.NewRand(seed)
		var data dataset.Dataset = clusteringtest.Blobs(t, rng, 200+rng.IntN(100), 3, 4)
		spec := clustering.Spec{
			K: 2 + rng.IntN(3), Seed: seed, Restarts: 3 + rng.IntN(8), MaxIterations: 4 + rng.IntN(40),
			Initialization: clustering.Initialization{Start: []clustering.Start{
				clustering.StartRandom, clustering.StartKmeansPlusPlus,
			}[seed%2]}, Algorithm: &Options{Function: kernel.Gaussian, Rho: 2},
		}
		if seed%5 == 3 { // not positive semidefinite: steps are undone, and the shift is found on the way
			spec.Algorithm = &Options{Function: kernel.Sigmoid, Gamma: new(0.3), Coef0: new(-1.0)}
		}
		optionsOf(spec).LocalSearch = int(seed%3) * 10
		spec.Supervision.Constraints = clusteringtest.RandomConstraints(rng, data.Rows(), spec.K, int(seed)*4)
		run := func(maxLanes int) (*clustering.Result, *log) {
			problem, err := Prepare(data, spec)
			if err != nil {
				t.Fatal(err)
			}
			problem.MaxLanes = maxLanes
			if want := min(maxLanes, spec.Restarts, data.Rows()/(rowsPerLaneK*spec.K)); problem.Lanes() != want {
				t.Fatalf("%d lanes, want %d", problem.Lanes(), want)
			}
			x, err := NewLocal(context.Background(), problem, data, 2)
			if err != nil {
				t.Fatal(err)
			}
			heard := &log{}
			result, err := Run(context.Background(), problem, x, heard)
			if err != nil {
				t.Fatal(err)
			}
			return result, heard
		}
		want, wantHeard := run(1)
		for _, lanes := range []int{2, 3, 5} {
			got, heard := run(min(lanes, spec.Restarts, data.Rows()/(rowsPerLaneK*spec.K)))
			if !reflect.DeepEqual(got, want) {
				t.Errorf("seed %d, %d lanes: restart %d with %v, want %d with %v", seed, lanes, got.Restart,
					got.Objective, want.Restart, want.Objective)
			}
			if !reflect.DeepEqual(heard, wantHeard) {
				t.Errorf("seed %d, %d lanes: heard\n%v\nwant\n%v", seed, lanes, heard.lines, wantHeard.lines)
			}
		}
		shifted = shifted || len(want.Kernel.Shifts) > 0
		filled = filled || want.Restart > 0
	}
	if !shifted || !filled {
		t.Errorf("a shift was found: %v; a later restart won: %v: the cases are too easy", shifted, filled)
	}
}

// log is everything an observer hears, in order.
type log struct{ lines []string }

func (l *log) Observe(e clustering.Event) {
	l.lines = append(l.lines, fmt.Sprintf("%T %s", e, clusteringtest.Bits(e)))
}

// An executor that fails ends the run with its error; a context that ends leaves the best so far. What the observer
// heard until then is how the whole run begins, so that an interrupted job can repeat its events.
func TestRestartsSideBySideEndEarly(t *testing.T) {
	data := clusteringtest.Blobs(t, clusteringtest.NewRand(3), 300, 3, 3)
	spec := clustering.Spec{
		K: 3, Restarts: 6, Initialization: clustering.Initialization{Start: clustering.StartRandom}, MaxIterations: 100,
		Algorithm: &Options{Function: kernel.Gaussian, Rho: 2, LocalSearch: 10},
	}
	broken := errors.New("broken")
	whole := &log{}
	{
		problem, err := Prepare(data, spec)
		if err != nil {
			t.Fatal(err)
		}
		local, err := NewLocal(context.Background(), problem, data, 1)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Run(context.Background(), problem, local, whole); err != nil {
			t.Fatal(err)
		}
	}
	for _, after := range []int{0, 1, 2, 3, 5, 6} {
		for _, cancels := range []bool{false, true} {
			problem, err := Prepare(data, spec)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(context.Background())
			local, err := NewLocal(ctx, problem, data, 1)
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
			result, err := Run(ctx, problem, x, heard)
			cancel()
			if !slices.Equal(heard.lines, whole.lines[:min(len(heard.lines), len(whole.lines))]) {
				t.Errorf("after %d sweeps, canceled %v: heard\n%v\nwhich is not how\n%v\nbegins", after, cancels,
					heard.lines, whole.lines)
			}
			switch {
			case !cancels && !errors.Is(err, broken):
				t.Errorf("after %d sweeps: %v instead of the executor's error", after, err)
			case cancels && after == 0 && !errors.Is(err, context.Canceled):
				t.Errorf("canceled before there were labels: %v, %v", result, err)
			case cancels && after > 0 && (err != nil || result.StopReason != clustering.StopCanceled ||
				len(result.Labels) != 300):
				t.Errorf("canceled after %d sweeps: %+v, %v", after, result, err)
			}
		}
	}
}

// fragile is an executor whose sweeps fail after the first few.
type fragile struct {
	Executor
	left int
	fail func() error
}

func (f *fragile) Load(ctx context.Context, labels []int32) ([]kernel.Int128, error) {
	if f.left--; f.left < 0 {
		return nil, f.fail()
	}
	return f.Executor.Load(ctx, labels)
}

func (f *fragile) Update(ctx context.Context, moves []labeling.Move) ([]kernel.Int128, error) {
	if f.left--; f.left < 0 {
		return nil, f.fail()
	}
	return f.Executor.Update(ctx, moves)
}
