package clustering

import "math"

// RowMeasure is what distances of rows to clusters are.
type RowMeasure uint8

// The measures.
const (
	MeasureDistortion   RowMeasure = iota + 1 // the distortion from the centroid
	MeasureFeatureSpace                       // the squared distance from the mean of the cluster in the feature space of a kernel
	MeasureEmbedding                          // the squared distance from the mean of the cluster in an embedding
	MeasureEdgeShare                          // the share of a vertex's edge weights that leads out of the cluster
	MeasureGroupScores                        // the squared distance of the scores for each group from those that the group should have
)

// RowScores say of every row how well it fits its cluster, and how sure its label is. A value that a row does not have
// is NaN.
type RowScores struct {
	Measure RowMeasure // 0: there are no distances
	// Distance is that to the row's own cluster, and Margin is how much farther the nearest other cluster is: below 0 where
	// the row is nearer to another one, as constraints may keep it.
	Distance, Margin []float64
	// Runs is how many labelings were compared, the answer among them, and Confidence the share of those that label the row
	// which put it with its cluster; nil: there is none but the answer.
	Runs       int
	Confidence []float64
}

// Prediction is the labels of points that a run has not seen, and their distances to clusters where these have centroids.
type Prediction struct {
	Labels []int32
	Rows   *RowScores // nil: there are no centroids
}

// SetDistances sets what is known of the distances of rows to their own clusters and to the nearest other ones. Infinite
// ones are to clusters that there are not.
func (r *Result) SetDistances(measure RowMeasure, own, next []float64) {
	r.scores().setDistances(measure, own, next)
}

func (s *RowScores) setDistances(measure RowMeasure, own, next []float64) {
	s.Measure, s.Distance, s.Margin = measure, own, next
	for i, distance := range own {
		if math.IsInf(distance, 0) {
			own[i] = math.NaN()
		}
		if next[i] -= own[i]; math.IsInf(next[i], 0) {
			next[i] = math.NaN()
		}
	}
}

// Predicted is a prediction with the distances to the clusters that points got and to the nearest others.
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

// Vote compares the labels with those of all runs, which are then forgotten.
func (r *Result) Vote() {
	runs := r.Runs
	r.Runs = nil
	if len(runs) < 2 {
		return
	}
	s := r.scores()
	s.Runs, s.Confidence = len(runs), confidence(r.Labels, len(r.ClusterSizes), runs)
}

// confidence is, for each row, the share of runs that agree with its label among those that label it. The clusters of a
// run are those of the answer that they have most rows in common with, each of another one.
func confidence(answer []int32, k int, runs []Labeling) []float64 {
	agree, voted := make([]int32, len(answer)), make([]int32, len(answer))
	for _, run := range runs {
		if run.rows() != len(answer) { // of no run of this job
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

// tally counts the votes of one run.
func tally[L uint8 | int32](answer []int32, k int, run []L, none L, agree, voted []int32) {
	common := newOverlap(k)
	for i, c := range run {
		switch to := answer[i]; {
		case c == none || to < 0:
		case common.dense != nil:
			common.dense[int(c)*k+int(to)]++
		default:
			common.some[[2]int32{int32(c), to}]++
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
