package span

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/embedding"
	"github.com/cleave-project/cleave/internal/clustering/kmeans"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/inference"
	"github.com/cleave-project/cleave/internal/numeric/choose"
	"github.com/cleave-project/cleave/internal/numeric/eigen"
)

// maxSample is the default number of points that are labeled when finalists are compared.
const maxSample = 20_000

// compare fits every finalist to all folds but one, labels the sample, and records the share of links of that fold that
// the labels violate.
func (c *chooser) compare(ctx context.Context, finalists []*trial) error {
	c.takeSample(c.Random)
	violated := eigen.Columns(len(c.all), len(finalists)) // every link
	err := c.pool.Run(ctx, len(c.folds)*len(finalists), func(task int) error {
		fold, t := task%len(c.folds), finalists[task/len(c.folds)]
		if t.fit == nil {
			return nil
		}
		values, err := c.violatedBy(ctx, t, fold)
		if err == nil {
			scatter(violated[task/len(c.folds)], values, c.folds[fold].held)
		}
		return err
	})
	if err != nil {
		return err
	}
	for i, t := range finalists {
		share := t.Loss // of a rule of the paper
		if t.fit != nil {
			share = c.mean(violated[i])
		}
		t.Violated = &share
	}
	return nil
}

// violatedBy returns the violations in a fold by a fit to the others, which PC-KMeans improves from the best of three
// starts. A fit that is not usable violates all.
func (c *chooser) violatedBy(ctx context.Context, t *trial, fold int) ([]float64, error) {
	known, held := c.folds[fold].known, c.folds[fold].held
	f := t.fit(fold)
	if f == nil {
		return clustering.Ones(len(held)), nil
	}
	r := rounding{k: c.K, starts: 3, improved: 1, improveIterations: 10, startIterations: c.Iterations,
		seed: c.seeds[fold], threads: 1}
	pairs := choose.At(c.Pairs, known)
	for i := range pairs {
		pairs[i].I, pairs[i].J = c.place(pairs[i].I), c.place(pairs[i].J)
	}
	labels, _, err := r.run(ctx, coordinates(c.columns, f), pairs)
	if err != nil {
		return nil, err
	}
	return c.violations(func(point int) int32 { return labels[c.place(c.links.points[point])] }, held), nil
}

// takeSample takes all constrained points and as many others as fit.
func (c *chooser) takeSample(rng *rand.Rand) {
	size := cmp.Or(c.Sample, maxSample)
	if c.n <= size {
		c.columns = c.vectors
		return
	}
	taken := make([]bool, c.n)
	c.sample = slices.Clone(c.links.points)
	for _, point := range c.sample {
		taken[point] = true
	}
	for len(c.sample) < size {
		if point := rng.IntN(c.n); !taken[point] {
			taken[point] = true
			c.sample = append(c.sample, int32(point))
		}
	}
	slices.Sort(c.sample)
	c.columns = make([][]float64, len(c.vectors))
	for a, v := range c.vectors {
		c.columns[a] = make([]float64, len(c.sample))
		for i, point := range c.sample {
			c.columns[a][i] = v[point]
		}
	}
}

// place returns the index of a point in the sample.
func (c *chooser) place(point int32) int32 {
	if c.sample == nil {
		return point
	}
	at, _ := slices.BinarySearch(c.sample, point)
	return int32(at)
}

// finish fits the winner to all pairs and labels all points: PC-KMeans improves the best two starts. If the winner is
// not usable on all pairs, the coordinates without constraints win.
func (c *chooser) finish(ctx context.Context, winner, plain *trial, answer *Answer) (err error) {
	answer.Chosen = winner.CutCandidate
	if winner.fit == nil {
		answer.Labels, err = c.Paper(ctx, winner.Rule, c.Pairs)
		if err != nil || answer.Labels != nil {
			return err
		}
		return c.finish(ctx, plain, plain, answer)
	}
	f := winner.fit(allLinks)
	if f == nil {
		return c.finish(ctx, plain, plain, answer)
	}
	answer.Embedding = coordinates(c.vectors, f)
	r := rounding{
		k: c.K, starts: cmp.Or(c.Starts, embedding.DefaultRestarts), improved: 2, improveIterations: 30,
		startIterations: c.Iterations,
		seed:            c.seeds[len(c.seeds)-1], threads: c.pool.Threads(),
	}
	answer.Labels, answer.Runs, err = r.run(ctx, answer.Embedding, c.Pairs)
	return err
}

// trial is a candidate and its loss on every link when that was held out.
type trial struct {
	clustering.CutCandidate
	losses []float64
	// fit returns the factors fitted to the known links of a fold, or to all links (allLinks). It is nil for the rules
	// of the paper, whose losses are violations.
	fit func(fold int) *mat.Dense
}

func newTrial(rule clustering.CutRule, width int, losses []float64, l *links) *trial {
	return &trial{CutCandidate: clustering.CutCandidate{Rule: rule, Width: width, Loss: l.mean(losses)}, losses: losses}
}

// mean returns the mean of values, one per link, weighted by the weights of links.
func (l *links) mean(values []float64) float64 {
	sum, weights := 0.0, 0.0
	for i, v := range values {
		sum += float64(l.all[i].weight * v)
		weights += l.all[i].weight
	}
	if weights == 0 {
		return 0
	}
	return sum / weights
}

// beats reports whether the losses are smaller than those of another trial by more than two standard errors,
//
//	sum(other - loss) > 2 sqrt(m) std(other - loss)
//
// because otherwise chance among a hundred fits would decide.
func (t *trial) beats(other *trial, l *links) bool {
	m := float64(len(t.losses))
	sum := 0.0
	differences := make([]float64, len(t.losses))
	for i, v := range t.losses {
		differences[i] = float64(l.all[i].weight * (other.losses[i] - v))
		sum += differences[i]
	}
	mean, square := sum/m, 0.0
	for _, d := range differences {
		square += float64((d - mean) * (d - mean))
	}
	return sum > 2*math.Sqrt(m)*math.Sqrt(square/m)
}

// better reports whether its labels violated fewer held-out links. If equally many, the loss decides.
func (t *trial) better(other *trial) bool {
	if *t.Violated != *other.Violated {
		return *t.Violated < *other.Violated
	}
	return t.Loss < other.Loss
}

// violations returns 1 for each of some links that the labels violate, otherwise 0. Labels are indexed as links.points.
func (l *links) violations(labels func(point int) int32, subset []int) []float64 {
	values := make([]float64, len(subset))
	for i, which := range subset {
		pair := l.all[which]
		if (labels(pair.i) == labels(pair.j)) != pair.must {
			values[i] = 1
		}
	}
	return values
}

// rounding turns coordinates into labels. Several starts of k-means, which ignores the pairs, are ranked by their
// inertia plus the weights of violated pairs; PC-KMeans, which has that objective, improves the best.
type rounding struct {
	k                 int
	starts            int
	improved          int // how many of the best starts PC-KMeans improves
	improveIterations int // of PC-KMeans
	startIterations   int // of k-means; 0 means embedding.DefaultIterations
	seed              uint64
	threads           int
}

// run labels the rows of coordinates. The points of pairs are row numbers. It also returns the final labels of all
// starts.
func (r rounding) run(ctx context.Context, rows *clustering.Embedding,
	pairs []constraint.Pair) (labels []int32, runs []clustering.Labeling, err error) {
	points, err := dataset.NewPoints(rows.Rows, rows.Columns, rows.Values)
	if err != nil {
		return nil, nil, err
	}
	var found []*clustering.Result
	for start := range r.starts {
		one, err := r.cluster(ctx, points, clustering.Spec{
			Seed: r.seed + uint64(start), MaxIterations: cmp.Or(r.startIterations, embedding.DefaultIterations),
			Algorithm: &kmeans.Options{Algorithm: kmeans.Kmeans},
		})
		if err != nil {
			return nil, nil, err
		}
		for _, p := range pairs {
			if p.Violates(one.Labels) {
				one.Objective += p.Weight
			}
		}
		found = append(found, one)
	}
	byObjective := func(a, b *clustering.Result) int { return cmp.Compare(a.Objective, b.Objective) }
	slices.SortStableFunc(found, byObjective)
	best := found[:min(r.improved, len(found))]
	links := make([]constraint.Constraint, len(pairs))
	for i, p := range pairs {
		links[i] = p.Constraint()
	}
	for i, one := range best {
		best[i], err = r.cluster(ctx, points, clustering.Spec{
			Seed: r.seed, MaxIterations: r.improveIterations, Initialization: clustering.Initialization{
				Start: clustering.StartLabels, Labels: one.Labels,
			}, Supervision: clustering.Supervision{Constraints: links},
			Algorithm: &kmeans.Options{Algorithm: kmeans.PCKmeans, Inference: inference.ICM},
		})
		if err != nil {
			return nil, nil, err
		}
	}
	for _, one := range found {
		runs = append(runs, clustering.NewLabeling(one.Labels, r.k))
	}
	return slices.MinFunc(best, byObjective).Labels, runs, nil
}

// cluster runs k-means on rows of coordinates.
func (r rounding) cluster(ctx context.Context, points *dataset.Points,
	spec clustering.Spec) (*clustering.Result, error) {
	spec.K = r.k
	return kmeans.Solve(ctx, points, spec, r.threads)
}
