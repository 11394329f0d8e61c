package experiments

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/kmeans"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/evaluate"
)

// fold is a split of the points: supervision comes from the training half only, and only the test half is
// scored (Basu2003 4.1).
type fold struct {
	train, test []int32
	rng         *rand.Rand // for the supervision
}

// newFold returns the fold of a run. Two runs share a random split; each half is once the training half.
func newFold(n, run int) fold {
	order := rand.New(rand.NewPCG(uint64(run/2), 1)).Perm(n)
	halves := [2][]int32{}
	for at, i := range order {
		halves[at%2] = append(halves[at%2], int32(i))
	}
	train := run % 2
	f := fold{train: halves[train], test: halves[1-train], rng: rand.New(rand.NewPCG(uint64(run), 2))}
	slices.Sort(f.train)
	slices.Sort(f.test)
	return f
}

// sample draws at most size points of a set: the papers took 10 and 20 % of the large sets. Two runs
// share a sample.
func (s set) sample(size, run int) set {
	n := s.data.Rows()
	points, dense := s.data.(*dataset.Points)
	if n <= size || !dense {
		return s
	}
	chosen := rand.New(rand.NewPCG(uint64(run/2), 3)).Perm(n)[:size]
	slices.Sort(chosen)
	smaller := set{name: s.name, k: s.k}
	var values []float64
	for _, i := range chosen {
		values = append(values, points.Row(i)...)
		smaller.truth = append(smaller.truth, s.truth[i])
	}
	drawn, err := dataset.NewPoints(size, points.D, values)
	if err != nil {
		panic(err) // rows of points are points
	}
	smaller.data = drawn
	return smaller
}

// pairs returns constraints between random points of the training half, by their true classes. A longer list
// begins with a shorter one.
func (f fold) pairs(truth []int64, count int) []constraint.Constraint {
	var list []constraint.Constraint
	for len(list) < count {
		i, j := f.train[f.rng.IntN(len(f.train))], f.train[f.rng.IntN(len(f.train))]
		if i == j {
			continue
		}
		kind := constraint.CannotLink
		if truth[i] == truth[j] {
			kind = constraint.MustLink
		}
		list = append(list, constraint.Constraint{I: i, J: j, Kind: kind})
	}
	return list
}

// outcome is the result of one run and its scores.
type outcome struct {
	scores  evaluate.Scores
	seconds float64 // of the run alone
	result  *clustering.Result
}

// solve runs a spec and scores it on the test half.
func (r *runner) solve(ctx context.Context, s set, spec clustering.Spec, test []int32) (outcome, error) {
	spec.K = s.k
	if spec.MaxIterations == 0 {
		spec.MaxIterations = 100
	}
	p, err := kmeans.Prepare(s.data, spec)
	if err != nil {
		return outcome{}, err
	}
	x, err := kmeans.NewLocal(ctx, p, s.data, r.Threads)
	if err != nil {
		return outcome{}, err
	}
	begun := time.Now()
	result, err := kmeans.Run(ctx, p, x, clustering.NopObserver{})
	if err != nil {
		return outcome{}, err
	}
	o := outcome{seconds: time.Since(begun).Seconds(), result: result}
	o.scores, err = evaluate.Compare(result.Labels, s.truth, test)
	return o, err
}

// numbers are measurements, one for each run.
type numbers []float64

func (x numbers) mean() float64 {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}

// deviation returns the standard deviation of the runs.
func (x numbers) deviation() float64 {
	if len(x) < 2 {
		return 0
	}
	mean := x.mean()
	sum := 0.0
	for _, v := range x {
		sum += (v - mean) * (v - mean)
	}
	return math.Sqrt(sum / float64(len(x)-1))
}

// standardError returns the standard error of the mean difference of two series over the same runs.
func (x numbers) standardError(y numbers) float64 {
	differences := make(numbers, len(x))
	for at := range x {
		differences[at] = x[at] - y[at]
	}
	return differences.deviation() / math.Sqrt(float64(len(x)))
}
