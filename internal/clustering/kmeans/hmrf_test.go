package kmeans

import (
	"context"
	"reflect"
	"slices"
	"testing"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/inference"
	"github.com/cleave-project/cleave/internal/numeric/eigen"
	"github.com/cleave-project/cleave/internal/numeric/metric"
	"github.com/cleave-project/cleave/internal/numeric/vector"
	"github.com/cleave-project/cleave/internal/text"
	"github.com/cleave-project/cleave/test/clusteringtest"
)

// The warning about groups that an engine gave up on refers to a row, whose name the reader of the table knows.
func TestFallbackNamesARow(t *testing.T) {
	m := &hmrf{}
	m.members = [][]int32{{2, 4}, {7, 9}}
	m.warnFallback([]inference.Fallback{{Engine: inference.LP, To: inference.BP, Point: 1, Points: 40,
		Cause: inference.OverWorkLimit}})
	m.warnFallback([]inference.Fallback{{Point: 0}})
	const want = "lp gave up on 1 group of linked points, which bp assigned instead; the first has 40 points, around " +
		"row 7 (over the work limit)"
	if len(m.notices) != 1 || m.notices[0].Message != want || !slices.Contains(m.notices[0].Parts, text.Row(7)) {
		t.Errorf("%+v", m.notices)
	}
}

// interrupted is an executor whose context ends as soon as constrained points have been assigned a number of times.
type interrupted struct {
	Executor
	left   int
	cancel func()
}

func (x *interrupted) Measure() Measurer { return &interruptedMeasurer{x.Executor.Measure(), x} }

type interruptedMeasurer struct {
	Measurer
	of *interrupted
}

func (m *interruptedMeasurer) Distances(ctx context.Context, queries []vector.Query) ([][]float64, error) {
	m.of.left--
	return m.Measurer.Distances(ctx, queries)
}

func (m *interruptedMeasurer) Scatter(ctx context.Context, queries []vector.Query) ([][]float64, error) {
	if m.of.left == 0 {
		m.of.cancel()
		return nil, ctx.Err()
	}
	return m.Measurer.Scatter(ctx, queries)
}

// The lower bound is one of the objective, also of a run that only starts. A run that is canceled within an iteration
// reports the inference of the last complete one.
func TestLowerBoundIsThatOfTheResult(t *testing.T) {
	rng := clusteringtest.NewRand(3)
	data := clusteringtest.Blobs(t, rng, 60, 3, 2)
	spec := clustering.Spec{
		K: 3, Supervision: clustering.Supervision{Constraints: clusteringtest.RandomConstraints(rng, 60, 3, 30)},
		Algorithm: &Options{
			Algorithm: MPCKmeans, Inference: inference.LP,
		},
	}
	run := func(iterations, interruptAt int) *clustering.Result {
		spec.MaxIterations = iterations
		p, err := Prepare(data, spec)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		local, err := NewLocal(ctx, p, data, 1)
		if err != nil {
			t.Fatal(err)
		}
		result, err := Run(ctx, p, &interrupted{local, interruptAt, cancel}, clustering.NopObserver{})
		if err != nil {
			t.Fatal(err)
		}
		return result
	}
	start := run(0, -1)
	if bound := *start.Inference.LPValue; bound > start.Objective+1e-9 || bound < start.Objective/2 {
		t.Errorf("the lower bound of the start is %g, its objective %g", bound, start.Objective)
	}
	for at := 2; at <= 3; at++ {
		got := run(100, at)
		want := run(got.Iterations, -1)
		if got.StopReason != clustering.StopCanceled || got.Iterations != at-1 ||
			!reflect.DeepEqual(got.Inference, want.Inference) {
			t.Errorf("canceled after %d iterations: %+v with bound %g, want %+v with bound %g",
				got.Iterations, got.Inference, *got.Inference.LPValue, want.Inference, *want.Inference.LPValue)
		}
	}
}

// The ranges of the features are those of all rows, and reading the rows does not allocate memory for each of them.
func TestRangesOfFeatures(t *testing.T) {
	const n, d = 5000, 3
	rng := clusteringtest.NewRand(1)
	data := clusteringtest.Blobs(t, rng, n, d, 2)
	p, err := Prepare(data, clustering.Spec{
		K: 2, Algorithm: &Options{Algorithm: MPCKmeans, Penalty: metric.Bilenko2004},
		Supervision: clustering.Supervision{Constraints: clusteringtest.RandomConstraints(rng, n, 2, 10)},
	})
	if err != nil {
		t.Fatal(err)
	}
	var ranged *Problem
	allocations := testing.AllocsPerRun(1, func() { ranged, err = p.begin(t.Context(), nil) })
	if err != nil || allocations > n/10 {
		t.Errorf("%g allocations for %d rows, %v", allocations, n, err)
	}
	rows := eigen.Columns(n, d) // each feature's values
	for i := range n {
		row := make([]float64, d)
		if err := p.row(row, int32(i)); err != nil {
			t.Fatal(err)
		}
		for f, v := range row {
			rows[f][i] = v
		}
	}
	for f, values := range rows {
		if want := slices.Max(values) - slices.Min(values); ranged.ranges[f] != want {
			t.Errorf("the range of feature %d is %g, want %g", f, ranged.ranges[f], want)
		}
	}
}
