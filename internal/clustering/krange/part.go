package krange

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/multilevel"
	"github.com/cleave-project/cleave/internal/data/constraint"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/invalid"
	"github.com/cleave-project/cleave/internal/numeric/choose"
	"github.com/cleave-project/cleave/internal/numeric/eigen"
	"github.com/cleave-project/cleave/internal/parallel"
	"github.com/cleave-project/cleave/internal/snapshot"
)

const (
	// maxParts is the number of parts of the data that are clustered for each k. There are someParts if parts have
	// more than fewRows rows, because then they differ less, and for graphs; and fewParts for graphs of more than
	// manyEntries entries, whose parts take about as long as the whole.
	maxParts    = 20
	someParts   = 8
	fewParts    = 4
	fewRows     = 250
	manyEntries = 100_000
	// maxRows limits the rows of a part, which is otherwise half of the data.
	maxRows = 1500
	// keptEdges is the share of the edges of a graph in a part, which has all vertices.
	keptEdges = 0.8
	// partRestarts is the maximum number of restarts on a part.
	partRestarts = 4
	// searchBytes limits the memory of concurrent searches for eigenvectors of parts.
	searchBytes = 1 << 28
)

// part is a sample of the data: some rows of points, or all vertices of a graph with some of its edges.
type part struct {
	data dataset.Dataset
	rows []int32 // ascending; nil means all
}

// newParts draws the parts, which are the same for every k.
func newParts(data dataset.Dataset, spec clustering.Spec) ([]part, error) {
	rng := spec.Random(clustering.StreamParts)
	all := make([]part, countParts(data))
	for i := range all {
		var err error
		if g, ok := data.(*dataset.Graph); ok {
			all[i].data, err = someEdges(g, rng)
		} else {
			all[i].rows = choose.Random[int32](data.Rows(), partRows(data.Rows()), rng)
			all[i].data, err = dataset.Take(data, all[i].rows)
		}
		if err != nil {
			return nil, err
		}
	}
	return all, nil
}

// countParts returns the number of parts.
func countParts(data dataset.Dataset) int {
	g, ok := data.(*dataset.Graph)
	switch {
	case ok && len(g.Column) > manyEntries:
		return fewParts
	case ok || data.Rows() > 2*fewRows:
		return someParts
	}
	return maxParts
}

// PartBytes returns the memory of the parts of a data set of the given size, with some columns of eigenvectors each.
func PartBytes(data dataset.Dataset, bytes int64, columns int) int64 {
	rows := data.Rows()
	share := keptEdges
	if _, ok := data.(*dataset.Graph); !ok {
		rows = partRows(data.Rows())
		share = float64(rows) / float64(max(1, data.Rows()))
	}
	return int64(countParts(data)) * (int64(share*float64(bytes)) + 8*int64(rows)*int64(columns))
}

// partRows returns the number of rows of a part.
func partRows(n int) int { return min(maxRows, max(1, n/2)) }

// partsOf describes the parts to the user.
func partsOf(data dataset.Dataset) string {
	if _, ok := data.(*dataset.Graph); ok {
		return "four fifths of the edges"
	}
	if data.Rows() > 2*maxRows {
		return fmt.Sprintf("%d of the rows", maxRows)
	}
	return "half of the data"
}

// someEdges draws a part of the edges of a graph. It keeps all loops.
func someEdges(g *dataset.Graph, rng *rand.Rand) (*dataset.Graph, error) {
	var edges dataset.Edges
	for i := range g.N {
		neighbors, weights := g.Row(i)
		for at, j := range neighbors {
			if int(j) == i || int(j) > i && rng.Float64() < keptEdges {
				edges.Append(int32(i), j, weights[at])
			}
		}
	}
	return dataset.GraphOf(g.N, []dataset.Edges{edges})
}

// spec returns the spec of a job of n rows on the part.
func (p part) spec(spec clustering.Spec, n int) clustering.Spec {
	byChance := p.rows != nil && (spec.Choose || spec.Algorithm.Name() == "auto")
	if spec.Restarts > partRestarts || spec.Restarts == 0 && byChance { // ignored by algorithms without restarts
		spec.Restarts = partRestarts
	}
	spec.Algorithm = spec.Algorithm.OnPart(n, p.rows)
	if p.rows != nil {
		spec.Supervision.Constraints = constraint.Among(n, p.rows, spec.Supervision.Constraints)
		spec.Supervision.Seeds = constraint.Among(n, p.rows, spec.Supervision.Seeds)
	}
	return spec
}

// stability returns how well the clusters are found again in parts of the data, as a mean over the parts. It returns
// nil if a part cannot be clustered.
func (r *run) stability(ctx context.Context, spec clustering.Spec, labels []int32) (*float64, error) {
	values, err := snapshot.Once(ctx, "stability", (*snapshot.Writer).Floats, (*snapshot.Reader).Floats,
		func(ctx context.Context) ([]float64, error) { return r.strengths(snapshot.Without(ctx), spec, labels) })
	if err != nil {
		return nil, err
	}
	return meanStability(values), nil
}

// meanStability returns the mean over all parts, nil if one could not be clustered.
func meanStability(strengths []float64) *float64 {
	mean := 0.0
	for _, v := range strengths {
		if v < 0 {
			return nil
		}
		mean += v / float64(len(strengths))
	}
	return &mean
}

// partsAtOnce returns how many parts are clustered at the same time. Parts of rows are small. A part of a graph has all
// of its vertices, and the plan of the job has the memory of one cut or one search for eigenvectors, so large ones are
// clustered one after another.
func (r *run) partsAtOnce(spec clustering.Spec) int {
	atOnce := r.threads
	if g, ok := r.origin.Data.(*dataset.Graph); ok && len(g.Column) > multilevel.SideBySideEntries {
		atOnce = 1
	} else if ok && spec.Algorithm.SearchesEigenvectors(g, spec) {
		atOnce = min(atOnce, max(1, searchBytes/(8*g.N*eigen.SearchColumns(spec.K, false))))
	}
	return min(atOnce, len(r.parts))
}

// strengths returns the prediction strength of the labels in each part, -1 if it cannot be clustered.
func (r *run) strengths(ctx context.Context, spec clustering.Spec, labels []int32) ([]float64, error) {
	values := make([]float64, len(r.parts))
	atOnce := r.partsAtOnce(spec)
	err := parallel.Run(ctx, atOnce, len(r.parts), func(at int) error {
		p := r.parts[at]
		values[at] = -1
		if p.data.Rows() < spec.K {
			return nil
		}
		found, err := r.solver.Small(ctx, r.firstPart+at, p.data, p.spec(spec, len(labels)), r.threads/atOnce)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		// For example, an algorithm needs constraints and the part has none.
		if _, is := errors.AsType[*invalid.Error](err); is {
			return nil
		}
		f, ok := errors.AsType[*fault.Error](err)
		if ok && (f.Kind == fault.InvalidArgument || f.Kind == fault.FailedPrecondition) {
			return nil
		}
		if err != nil {
			return err
		}
		of := labels
		if p.rows != nil {
			of = choose.At(labels, p.rows)
		}
		values[at] = strength(of, found.Labels, spec.K)
		return nil
	})
	return values, err
}

// strength returns how well two labelings of the same points reproduce each other's clusters. It is the share of pairs
// of a cluster that are together in the other labeling, for the worst cluster of each labeling, averaged over both. It
// is the prediction strength of Tibshirani and Walther (2005), between two answers instead of an answer and a
// prediction. Points with labels below 0 are ignored.
func strength(a, b []int32, k int) float64 {
	return (leastKept(a, b, k) + leastKept(b, a, k)) / 2
}

// leastKept returns the smallest share, over clusters, of pairs that another labeling keeps together.
func leastKept(of, in []int32, k int) float64 {
	counts := map[[2]int32]int64{}
	sizes := make([]int64, k)
	together := make([]int64, k)
	for i, c := range of {
		if c >= 0 && in[i] >= 0 {
			pair := [2]int32{c, in[i]}
			together[c] += 2 * counts[pair] // the row makes an ordered pair, in both orders, with each of these
			counts[pair]++
			sizes[c]++
		}
	}
	least := 1.0
	for c, size := range sizes {
		if size >= 2 {
			least = min(least, float64(together[c])/float64(size*(size-1)))
		}
	}
	return least
}

const (
	// beyondCloud is how much more stable two clusters must be than those of a cloud without clusters.
	beyondCloud = 0.05
	// cloudTerms is the number of rows that are summed to a row of a cloud.
	cloudTerms = 32
)

// compareWithCloud marks a proposal of two clusters as unsure if they are hardly more stable than the halves of a
// single normal distribution with the covariance of the data, because an elongated cloud is always cut across its
// length. Three or more clusters of a cloud are not stable.
func (r *run) compareWithCloud(ctx context.Context, h *clustering.KSelection, part string) error {
	points, dense := r.origin.Data.(*dataset.Points)
	if h.Proposed != 2 || h.Confidence == clustering.Unsure || r.folds != nil || !dense || ctx.Err() != nil {
		return nil
	}
	two := h.Scores[2-h.Min]
	found, err := snapshot.Once(snapshot.Within(ctx, "cloud"), "stability",
		(*snapshot.Writer).Floats, (*snapshot.Reader).Floats,
		func(ctx context.Context) ([]float64, error) { return r.cloudStability(snapshot.Without(ctx), points) })
	if err != nil || len(found) == 0 || stabilityOf(two) >= found[0]+beyondCloud {
		return err
	}
	h.Confidence = clustering.Unsure
	h.Reason = fmt.Sprintf("%s, but so do the halves of a cloud of the same shape without clusters (%.2f): "+
		"there may be no clusters", reappears(two, part), found[0])
	return nil
}

// cloudStability returns the stability of two clusters of a cloud, or nothing if the cloud cannot be clustered.
func (r *run) cloudStability(ctx context.Context, points *dataset.Points) ([]float64, error) {
	spec := withK(r.origin.Spec, 2)
	spec.Supervision.Constraints, spec.Supervision.Seeds = nil, nil
	rng := spec.Random(clustering.StreamCloud)
	data := cloud(points, min(points.N, 2*maxRows), rng)
	cloud := &run{origin: Job{data, spec}, solver: r.solver, threads: r.threads, firstPart: len(r.parts) + 1}
	whole, err := r.solver.Small(ctx, len(r.parts), data, spec, r.threads)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, nil //nolint:nilerr // for example, weights are those of the rows of the data
	}
	cloud.parts, err = newParts(data, spec)
	if err != nil {
		return nil, err
	}
	values, err := cloud.strengths(ctx, spec, whole.Labels)
	if err != nil {
		return nil, err
	}
	if mean := meanStability(values); mean != nil {
		return []float64{*mean}, nil
	}
	return nil, nil
}

// cloud draws rows from a normal distribution with the mean and covariance of points. Each is a sum of centered rows
// with random signs.
func cloud(p *dataset.Points, rows int, rng *rand.Rand) *dataset.Points {
	mean := make([]float64, p.D)
	for i := range p.N {
		for f, v := range p.Row(i) {
			mean[f] += v / float64(p.N)
		}
	}
	drawn := &dataset.Points{N: rows, D: p.D, Values: make([]float64, rows*p.D)}
	scale := 1 / math.Sqrt(cloudTerms)
	for i := range rows {
		row := drawn.Row(i)
		for range cloudTerms {
			sign := float64(1 - 2*rng.IntN(2))
			for f, v := range p.Row(rng.IntN(p.N)) {
				row[f] += float64(sign * (v - mean[f]))
			}
		}
		for f := range row {
			row[f] = mean[f] + float64(scale*row[f])
		}
	}
	return drawn
}
