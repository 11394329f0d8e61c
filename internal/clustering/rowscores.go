package clustering

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/cleave-project/cleave/internal/data/evaluate"
	"github.com/cleave-project/cleave/internal/numeric/choose"
)

// RowMeasure is what the distance of a row to a cluster measures.
type RowMeasure uint8

// The measures.
const (
	MeasureDistortion RowMeasure = iota + 1 // the distortion from the centroid
	// the squared distance from the cluster mean in the feature space of a kernel
	MeasureFeatureSpace
	MeasureEmbedding   // the squared distance from the cluster mean in an embedding
	MeasureEdgeShare   // the share of the vertex's edge weight that leads out of the cluster
	MeasureClassScores // the squared distance of the row's class scores from the ideal ones
)

// RowScores says, for every row, how well it fits its cluster and how certain its label is. A value is NaN if the row
// has none.
type RowScores struct {
	Measure RowMeasure // 0 if there are no distances
	// Distance is the distance to the row's own cluster. Margin is the distance to the nearest other cluster minus
	// Distance; it is negative if the row is nearer to another cluster, as constraints may require.
	Distance, Margin []float64
	// Runs is the number of labelings that were compared, including the result; 0 if there was nothing to compare.
	Runs int
	// Posterior tells whether Confidence is the probability of the row's cluster by a mixture of Gaussians, given the
	// row alone. If so, Runs is 0.
	Posterior bool
	// Confidence is, among the labelings that label the row, the share that put it in its cluster; or see Posterior.
	// It is nil if there is neither.
	Confidence []float64
}

// Prediction holds labels of new points, and their distances to clusters if there is a model.
type Prediction struct {
	Labels []int32
	Rows   *RowScores // nil if there is no model
}

// SetDistances sets the distances of rows to their own clusters and to the nearest other ones. +Inf means that there is
// no such cluster. SetDistances takes ownership of own and next and overwrites them.
func (r *Result) SetDistances(measure RowMeasure, own, next []float64) {
	r.scores().setDistances(measure, own, next)
}

// setDistances stores own and next - own, in their own memory. What is infinite becomes NaN, the mark of a missing
// score.
func (s *RowScores) setDistances(measure RowMeasure, own, next []float64) {
	s.Measure, s.Distance, s.Margin = measure, own, next
	for i, distance := range own {
		if math.IsInf(distance, 0) {
			own[i] = math.NaN()
		}
		next[i] -= own[i]
		if math.IsInf(next[i], 0) {
			next[i] = math.NaN()
		}
	}
}

// Predicted returns a prediction with the distances of points to their assigned clusters and to the nearest other ones,
// which are treated as by SetDistances.
func Predicted(labels []int32, measure RowMeasure, own, next []float64) *Prediction {
	p := &Prediction{Labels: labels, Rows: &RowScores{}}
	p.Rows.setDistances(measure, own, next)
	return p
}

func (r *Result) scores() *RowScores {
	if r.Rows == nil {
		r.Rows = &RowScores{}
	}
	return r.Rows
}

// Vote sets the confidence of each row by comparing the labels with those of all runs, and drops r.Runs. With fewer
// than two runs it sets none.
func (r *Result) Vote() {
	runs := r.Runs
	r.Runs = nil
	if len(runs) < 2 {
		return
	}
	s := r.scores()
	s.Runs = len(runs)
	s.Confidence = confidence(r.Labels, len(r.ClusterSizes), runs)
}

// confidence returns, for each row, the share of runs that agree with its label, among the runs that label it; NaN if
// none does. The clusters of a run are matched one to one with those of the answer by their common rows.
func confidence(answer []int32, k int, runs []Labeling) []float64 {
	agree := make([]int32, len(answer))
	voted := make([]int32, len(answer))
	for _, run := range runs {
		if run.rows() != len(answer) { // from the snapshot of another run
			continue
		}
		if run.small != nil {
			tally(answer, k, run.small, noSmallLabel, agree, voted)
		} else {
			tally(answer, k, run.large, -1, agree, voted)
		}
	}
	share := make([]float64, len(answer))
	for i := range share {
		share[i] = math.NaN()
		if voted[i] > 0 {
			share[i] = float64(agree[i]) / float64(voted[i])
		}
	}
	return share
}

// tally adds the votes of one run: voted counts the rows that it labels, agree those that it puts in their clusters.
func tally[L uint8 | int32](answer []int32, k int, run []L, none L, agree, voted []int32) {
	common := newOverlap(k)
	for i, c := range run {
		switch to := answer[i]; {
		case c == none || to < 0:
		case common.dense != nil:
			common.dense[int(c)*k+int(to)]++
		default:
			common.sparse[[2]int32{int32(c), to}]++
		}
	}
	same := common.match()
	for i, c := range run {
		if c == none {
			continue
		}
		voted[i]++
		if same[c] == answer[i] {
			agree[i]++
		}
	}
}

// Distances returns, for every row, the squared distance from the mean of its own cluster and from the nearest mean of
// another cluster, +Inf if there is none. Only the rows in kept, which is ascending, have coordinates; the others do
// not count toward the means, and their distances are +Inf. If kept is nil, all rows have coordinates.
func (e *Embedding) Distances(labels []int32, k int, kept []int32) (own, next []float64) {
	if kept == nil {
		kept = choose.All[int32](e.Rows)
	}
	means := make([]float64, k*e.Columns)
	sizes := make([]float64, k)
	for _, i := range kept {
		c := labels[i]
		sizes[c]++
		mean := means[int(c)*e.Columns:][:e.Columns]
		for f, v := range e.row(i) {
			mean[f] += v
		}
	}
	for c, size := range sizes {
		for f := range e.Columns {
			means[c*e.Columns+f] /= max(1, size)
		}
	}
	own = slices.Repeat([]float64{math.Inf(1)}, e.Rows)
	next = slices.Repeat([]float64{math.Inf(1)}, e.Rows)
	for _, i := range kept {
		row := e.row(i)
		for c, size := range sizes {
			if size == 0 {
				continue
			}
			distance := 0.0
			for f, v := range means[c*e.Columns:][:e.Columns] {
				distance += float64((row[f] - v) * (row[f] - v))
			}
			if int32(c) == labels[i] {
				own[i] = distance
			} else {
				next[i] = min(next[i], distance)
			}
		}
	}
	return own, next
}

func (e *Embedding) row(i int32) []float64 { return e.Values[int(i)*e.Columns:][:e.Columns] }

// maxExactMatch is the largest number of clusters for which an optimal matching is computed, in O(k^3) time. Beyond it,
// the matching is greedy.
const maxExactMatch = 512

// overlap counts the rows that each pair of clusters of two labelings has in common. Exactly one of dense and sparse is
// set.
type overlap struct {
	k      int
	dense  []int32 // k x k counts, row by row
	sparse map[[2]int32]int32
}

func newOverlap(k int) *overlap {
	if k > maxExactMatch {
		return &overlap{k: k, sparse: map[[2]int32]int32{}}
	}
	return &overlap{k: k, dense: make([]int32, k*k)}
}

// match returns, for each cluster of the first labeling, a different cluster of the second, so that matched clusters
// have as many rows in common as possible. A cluster without common rows may be left unmatched, as -1.
func (o *overlap) match() []int32 {
	if o.dense == nil {
		return MatchGreedily(o.k, o.sparse)
	}
	// Usually no two clusters have their largest overlap with the same cluster. Then those overlaps are an optimal
	// matching.
	partner := make([]int32, o.k)
	taken := make([]bool, o.k)
	for a := range partner {
		row := o.dense[a*o.k : (a+1)*o.k]
		best := int32(0)
		for b, count := range row {
			if count > row[best] {
				best = int32(b)
			}
		}
		partner[a] = best
		if row[best] == 0 {
			partner[a] = -1
		} else if taken[best] {
			return o.matchExactly()
		} else {
			taken[best] = true
		}
	}
	return partner
}

// matchExactly returns the matching with the largest total overlap, in time O(k^3).
func (o *overlap) matchExactly() []int32 {
	partner := make([]int32, o.k)
	for a, b := range evaluate.Match(slices.Collect(slices.Chunk(o.dense, o.k))) {
		partner[a] = int32(b)
	}
	return partner
}

// MatchGreedily matches the pair of numbers below k that counts most, then the one that counts most among the rest, and
// so on. It returns the partner of each first number, -1 if it is left without one.
func MatchGreedily(k int, counts map[[2]int32]int32) []int32 {
	pairs := slices.SortedFunc(maps.Keys(counts), func(a, b [2]int32) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), slices.Compare(a[:], b[:]))
	})
	partner := Unassigned(k)
	taken := make([]bool, k)
	for _, pair := range pairs {
		if partner[pair[0]] < 0 && !taken[pair[1]] {
			partner[pair[0]], taken[pair[1]] = pair[1], true
		}
	}
	return partner
}
