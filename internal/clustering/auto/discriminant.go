package auto

import (
	"context"
	"fmt"
	"slices"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/discriminant"
	"github.com/cleave-project/cleave/internal/clustering/forest"
	"github.com/cleave-project/cleave/internal/clustering/heldout"
	"github.com/cleave-project/cleave/internal/clustering/kmeans"
	"github.com/cleave-project/cleave/internal/clustering/model"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/numeric/choose"
	"github.com/cleave-project/cleave/internal/numeric/eigen"
	"github.com/cleave-project/cleave/internal/numeric/metric"
	"github.com/cleave-project/cleave/internal/numeric/vector"
	"github.com/cleave-project/cleave/internal/parallel"
	"github.com/cleave-project/cleave/internal/partition"
	"github.com/cleave-project/cleave/internal/snapshot"
)

// Classifiers. 19 sets with 5 and 20 % of the labels; docs/design/tuning.md compares other members and shares.
const (
	// A classifier is fitted to at most maxFitted known rows. If that would compute more than maxEntries kernel
	// values, which takes a few seconds, it is fitted to fewer rows, but at least to minFitted, and to one of each
	// class.
	maxFitted  = 2000
	minFitted  = 256
	maxEntries = 1 << 29
	// maxVoted is the maximum number of rows x fitted rows for which confidences are computed, by one classifier for
	// each fold.
	maxVoted = 1 << 27
	// maxValue is the largest magnitude, in the units of the space, that a classifier accepts: squares must fit in
	// float32.
	maxValue = 1e15
	// The scores of a row are forestWeight times those of forestTrees trees, plus the rest times those of the
	// discriminant, plus clusterShare times the shares of the classes in its cluster, plus spreadShare times the shares
	// of those that reach it.
	forestTrees  = 100
	forestWeight = 0.5
	clusterShare = 0.15
	spreadShare  = 0.25
)

// classifier is a discriminant and a forest fitted to known rows.
type classifier struct {
	rule         discriminant.Rule
	rows         []int32         // the rows it was fitted to, ascending
	raw, scaled  *dataset.Points // those rows in the coordinates of the data, and in the units of the space
	classes      []int32         // the classes of those rows, ascending
	coefficients []float64       // one per row and class, scaled by the weight of the discriminant
	forest       *model.Forest
	clusters     []int32     // of all rows, in an answer without constraints
	shares       [][]float64 // by cluster, the share of each class among its known rows
	reach        [][]float64 // how much of each class reaches every row; nil without a neighbor graph
}

// blend adds three votes to the scores of a row: its trees, the classes in its cluster, and the classes that spread to
// it. There is one score per class of the classifier. The values of the row are in the coordinates of the data. The
// slice shares is overwritten; it has the length of scores.
func (c *classifier) blend(row int32, values, scores, shares []float64) {
	c.forest.Trees.Score(values, shares)
	for i, share := range shares {
		scores[i] += c.forest.Score(share, len(scores))
	}
	for i, class := range c.classes {
		scores[i] += float64(clusterShare * c.shares[c.clusters[row]][class])
	}
	if c.reach == nil {
		return
	}
	total := 0.0
	for _, class := range c.classes {
		total += c.reach[class][row]
	}
	if total > 0 {
		for i, class := range c.classes {
			scores[i] += float64(spreadShare * (c.reach[class][row] / total))
		}
	}
}

// fitDiscriminant labels rows by a discriminant and a forest fitted to the known rows. It adds votes from the clusters
// of the baseline and from classes spread over the neighbor graph in the same units, if there is one. Clusters and
// graph help when few rows are known, the classifiers when many are; trees help when few columns or jumps matter. In a
// fold, only rows with supervision are labeled.
func (f *fitter) fitDiscriminant(ctx context.Context, s *space, t task) (*answer, error) {
	known, err := f.p.knownWithout(t.fold)
	if err != nil {
		return nil, err
	}
	if known == nil { // too little supervision is left
		return s.unconstrained, nil
	}
	units, err := f.p.Units(s.name)
	if err != nil {
		return nil, err
	}
	c, err := f.newClassifier(ctx, s, known, t.fold, units)
	if err != nil {
		return nil, err
	}
	if t.fold != heldout.None {
		labels, err := f.classifySome(ctx, c, units)
		return &answer{labels: labels}, err
	}
	a, err := f.classifyAll(ctx, c, known, units)
	if err != nil || f.p.n*len(c.rows) > maxVoted {
		return a, err
	}
	for fold := range f.p.folds {
		if err := f.classifyFold(ctx, s, a, fold, units); err != nil {
			return nil, err
		}
	}
	return a, nil
}

// classifyFold labels all rows without the supervision of a fold and adds the labels to the runs of an answer, from
// which confidences are computed.
func (f *fitter) classifyFold(ctx context.Context, s *space, a *answer, fold int, units *dataset.Units) error {
	known, err := f.p.knownWithout(fold)
	if err != nil || known == nil {
		return err
	}
	c, err := f.newClassifier(ctx, s, known, fold, units)
	if err != nil || len(c.classes) < f.p.spec.K {
		return err
	}
	found, err := f.classifyAll(ctx, c, known, units)
	if err == nil {
		a.result.Runs = append(a.result.Runs, clustering.NewLabeling(found.labels, f.p.spec.K))
	}
	return err
}

// spreadClasses sets how much of each class reaches every row in the neighbor graph in the units of s, if there is one.
func (f *fitter) spreadClasses(ctx context.Context, s *space, c *classifier, known *discriminant.Known) error {
	near := clustering.SpaceNeighbors
	if s.name == clustering.SpaceStandardized {
		near = clustering.SpaceStandardizedNeighbors
	}
	if !slices.Contains(f.p.spaces, near) {
		return nil
	}
	_, graph, err := f.spaces.neighborGraph(snapshot.Within(ctx, near.String()), near)
	if err == nil {
		tolerance := spreadTolerance
		if len(known.Rows) >= fromManySeeds {
			tolerance = roughSpreadTolerance
		}
		c.reach, err = f.reach(ctx, graph, known, tolerance)
	}
	return err
}

// classShares returns the share of each class among the known rows of a cluster. The shares of a cluster without known
// rows are 0.
func classShares(clusters []int32, known *discriminant.Known, k int) [][]float64 {
	shares := eigen.Columns(k, k)
	total := make([]float64, k)
	for i, row := range known.Rows {
		c := clusters[row]
		shares[c][known.Classes[i]] += known.Weights[i]
		total[c] += known.Weights[i]
	}
	for c := range shares {
		for g := range shares[c] {
			if total[c] > 0 {
				shares[c][g] /= total[c]
			}
		}
	}
	return shares
}

// fittedLimit returns the maximum number of known rows that a classifier is fitted to, at least one for each class.
func (p *Problem) fittedLimit() int { return max(minFitted, p.spec.K, min(maxFitted, maxEntries/p.n)) }

// newClassifier fits a classifier to the rows that are known without a fold, in the units of s.
func (f *fitter) newClassifier(
	ctx context.Context, s *space, known *discriminant.Known, fold int, units *dataset.Units,
) (*classifier, error) {
	fitted := known
	if most := f.p.fittedLimit(); len(known.Rows) > most {
		sampled := discriminant.Sample(known.Classes, f.p.spec.K, most)
		fitted = &discriminant.Known{
			Rows:    choose.At(known.Rows, sampled),
			Classes: choose.At(known.Classes, sampled),
			Weights: choose.At(known.Weights, sampled),
		}
	}
	c := &classifier{rows: fitted.Rows}
	var err error
	c.raw, c.scaled, err = f.take(c.rows, units)
	if err != nil {
		return nil, err
	}
	c.classes = slices.Compact(slices.Sorted(slices.Values(fitted.Classes)))
	index := make([]int32, len(fitted.Classes)) // of the class of each row in c.classes
	for i, class := range fitted.Classes {
		place, _ := slices.BinarySearch(c.classes, class)
		index[i] = int32(place)
	}
	c.rule, err = discriminant.Choose(ctx, c.scaled, index, fitted.Weights, len(c.classes))
	if err != nil {
		return nil, err
	}
	c.coefficients, err = c.rule.Fit(c.scaled, index, fitted.Weights, len(c.classes))
	if err != nil {
		return nil, err
	}
	for i := range c.coefficients {
		c.coefficients[i] *= 1 - forestWeight
	}
	if f.forests[fold] == nil { // the same in all units
		trees, err := forest.Fit(ctx, c.raw, index, fitted.Weights, len(c.classes), forestTrees,
			f.p.spec.Random(clustering.StreamForest), f.spaces.threads)
		if err != nil {
			return nil, err
		}
		f.forests[fold] = &model.Forest{Trees: trees, Weight: forestWeight}
	}
	c.forest = f.forests[fold]
	c.clusters = f.labels
	if c.clusters == nil {
		c.clusters = s.unconstrained.labels
	}
	c.shares = classShares(c.clusters, known, f.p.spec.K)
	return c, f.spreadClasses(ctx, s, c, known)
}

// take returns some rows of the data, in its own coordinates and in the given units.
func (f *fitter) take(rows []int32, units *dataset.Units) (raw, scaled *dataset.Points, err error) {
	taken, err := dataset.Take(f.p.data, rows)
	if err != nil {
		return nil, nil, err
	}
	converted, err := units.Apply(taken)
	if err != nil {
		return nil, nil, err
	}
	return taken.(*dataset.Points), converted.(*dataset.Points), nil
}

// features describes the scores of points, one per class. The slice fitted holds the indices of c.rows among the
// points, and c.scaled the same rows in the units of the points. The second value is a bound on the kernel values.
func (c *classifier) features(points dataset.Dataset, fitted []int32) (*kernel.FeatureSpec, float64, error) {
	matrix, bounds, err := c.rule.MatrixSpec(points, c.scaled)
	spec := &kernel.FeatureSpec{
		Matrix:     matrix,
		Landmarks:  fitted,
		Rank:       len(c.classes),
		Projection: c.coefficients,
		Points:     c.scaled,
	}
	return spec, bounds.Entry, err
}

// classifySome labels the rows with supervision, in this process. All other rows get label 0.
func (f *fitter) classifySome(ctx context.Context, c *classifier, units *dataset.Units) ([]int32, error) {
	wanted := slices.Clone(c.rows)
	for _, pair := range f.p.supervision.Pairs {
		wanted = append(wanted, pair.I, pair.J)
	}
	slices.Sort(wanted)
	wanted = slices.Compact(wanted)
	raw, scaled, err := f.take(wanted, units)
	if err != nil {
		return nil, err
	}
	fitted := make([]int32, len(c.rows))
	for i, row := range c.rows {
		place, _ := slices.BinarySearch(wanted, row)
		fitted[i] = int32(place)
	}
	spec, _, err := c.features(scaled, fitted)
	if err != nil {
		return nil, err
	}
	features, err := kernel.NewFeatures(spec, scaled)
	if err != nil {
		return nil, err
	}
	labels := make([]int32, f.p.n)
	blocks := (len(wanted) + kernel.FeatureRows - 1) / kernel.FeatureRows
	err = parallel.Run(ctx, f.spaces.threads, blocks, func(block int) error {
		rows := partition.Range{From: block * kernel.FeatureRows, To: min((block+1)*kernel.FeatureRows, len(wanted))}
		scores := make([]float64, len(c.classes)*kernel.FeatureRows)
		if err := features.Compute(scores, rows); err != nil {
			return err
		}
		ofRow := make([]float64, len(c.classes))
		shares := make([]float64, len(c.classes))
		for i := range rows.Len() {
			for class := range ofRow {
				ofRow[class] = scores[class*kernel.FeatureRows+i]
			}
			row := wanted[rows.From+i]
			c.blend(row, raw.Row(rows.From+i), ofRow, shares)
			labels[row] = c.classes[choose.Largest(ofRow)]
		}
		return nil
	})
	return labels, err
}

// classifyAll labels all rows, wherever they are stored. Known rows keep their class.
func (f *fitter) classifyAll(
	ctx context.Context, c *classifier, known *discriminant.Known, units *dataset.Units,
) (*answer, error) {
	distances, scorer, err := f.fromIdealScores(ctx, c, units)
	if err != nil {
		return nil, err
	}
	k := f.p.spec.K
	raw := f.p.data.(*dataset.Points)
	labels := make([]int32, f.p.n)
	own := make([]float64, f.p.n)
	next := make([]float64, f.p.n)
	enforceable := f.p.enforceable()
	fixed := f.p.fixedLabels(known)
	err = parallel.Run(ctx, f.spaces.threads, partition.TileCount(f.p.n), func(tile int) error {
		rows := partition.Tile(f.p.n, tile)
		scores := make([]float64, k)
		shares := make([]float64, k)
		for i := rows.From; i < rows.To; i++ {
			model.ClassScores(distances[i*k:(i+1)*k], scores)
			c.blend(int32(i), raw.Row(i), scores, shares)
			labels[i] = int32(choose.Largest(scores))
			if class, isFixed := fixed[int32(i)]; isFixed {
				labels[i] = class
			}
			own[i], next[i] = model.FromIdealScores(scores, int(labels[i]))
			copy(enforceable[int32(i)], scores)
		}
		return ctx.Err()
	})
	if err != nil {
		return nil, err
	}
	a := f.spaces.newAnswer(labels, &clustering.Result{
		StopReason:    clustering.StopConverged,
		ObjectiveName: "leave-one-out-error",
		Objective:     c.rule.Error,
		Units:         units,
		Model:         scorer,
	}, f.byScores(labels, own, next, enforceable))
	a.note = fmt.Sprintf("%s and %d decision trees, fitted to %d known rows", c.rule, forestTrees, len(c.rows))
	return a, nil
}

// byScores returns the rater of labels, which are classes, by the distances of rows from their own class and from the
// nearest other one, and by the scores of rows whose label may be enforced.
func (f *fitter) byScores(labels []int32, own, next []float64, enforceable map[int32][]float64) rater {
	return func(_ context.Context, result *clustering.Result) error {
		numbers := f.p.numbers(labels)
		own := slices.Clone(own)
		next := slices.Clone(next)
		for i, scores := range enforceable {
			own[i], next[i] = model.FromIdealScores(scores, slices.Index(numbers, result.Labels[i]))
		}
		result.SetDistances(clustering.MeasureClassScores, own, next)
		return nil
	}
}

// enforceable returns room for the scores of the rows with supervision.
func (p *Problem) enforceable() map[int32][]float64 {
	scores := make(map[int32][]float64)
	for _, c := range p.supervision.Constraints {
		scores[c.I] = nil
		scores[c.J] = nil
	}
	for _, s := range p.supervision.Seeds {
		scores[s.Point] = nil
	}
	for row := range scores {
		scores[row] = make([]float64, p.spec.K)
	}
	return scores
}

// fixedLabels returns the classes of known rows that keep them in the answer.
func (p *Problem) fixedLabels(known *discriminant.Known) map[int32]int32 {
	classes := make(map[int32]int32)
	for i, row := range known.Rows {
		if known.Weights[i] == 1 && p.options.Enforce != EnforceNever {
			classes[row] = known.Classes[i]
		}
	}
	return classes
}

// fromIdealScores returns the distances of all rows from the scores that each class should have. The scores of a row
// are its features in a problem of k-means, so workers compute them, and they follow from these distances. The model
// predicts new rows in the same way.
func (f *fitter) fromIdealScores(
	ctx context.Context, c *classifier, units *dataset.Units,
) ([]float64, *model.Model, error) {
	all, err := units.Apply(f.p.data)
	if err != nil {
		return nil, nil, err
	}
	features, entry, err := c.features(all, c.rows)
	if err != nil {
		return nil, nil, err
	}
	k := f.p.spec.K
	spec := f.p.kmeansSpec(clustering.ScaleNone)
	spec.Restarts = 1
	problem, err := kmeans.NewProblem(all, vector.NewFeatureSpec(features, entry), units, spec)
	if err != nil {
		return nil, nil, err
	}
	x, release, err := f.spaces.executors.Rows(ctx, problem)
	if err != nil {
		return nil, nil, err
	}
	defer release()
	ideal := &vector.Model{Distortion: metric.SquaredEuclidean, Clusters: k, Centroids: model.IdealScores(k)}
	distances, err := x.Measure().Distances(ctx, []vector.Query{{Model: ideal, Points: choose.All[int32](f.p.n)}})
	if err != nil {
		return nil, nil, err
	}
	return distances[0], &model.Model{
		Distortion: metric.SquaredEuclidean,
		K:          k,
		D:          k,
		Centroids:  ideal.Centroids,
		Metric:     metric.NewIdentity(k),
		Units:      units,
		Landmarks: &model.Landmarks{
			Matrix:     features.Matrix,
			Centered:   features.Matrix.Mean != nil,
			Points:     c.raw,
			Projection: c.coefficients,
		},
		Forest: c.forest,
	}, nil
}
