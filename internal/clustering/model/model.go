// Package model contains what a run learns that assigns new points to clusters: centroids, landmarks, decision trees or
// a mixture. Package predict assigns them.
package model

import (
	"math"

	"github.com/cleave-project/cleave/internal/clustering/forest"
	"github.com/cleave-project/cleave/internal/clustering/mixture"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/numeric/metric"
)

// Model assigns new points to clusters. Centroids are in the coordinates of the data or of its rows as prepared by the
// distortion: unit vectors for cosines, probabilities for KL. Distances are measured after points and centroids are
// converted to Units. With a Mixture, distances are its own, and centroids only show its means.
type Model struct {
	Distortion metric.Distortion
	K, D       int
	Centroids  []float64 // k x d, row by row
	Metric     *metric.Metric
	Units      *dataset.Units   // nil if columns are compared unchanged
	Landmarks  *Landmarks       // nil if centroids are means of points; otherwise they are means of features
	Mixture    *mixture.Mixture // in Units; nil if clusters have no covariances
	Forest     *Forest          // its scores are added to the features of Landmarks; nil if there is none
}

// Forest is a forest of decision trees, whose scores have a weight.
type Forest struct {
	Trees  *forest.Forest
	Weight float64
}

// Score returns what is added to the score of one of k groups if a share of the trees assigns a row to it. The scores
// of all groups sum to 0.
func (f *Forest) Score(share float64, k int) float64 {
	return float64(f.Weight * (share - 1/float64(k)))
}

// Columns returns the number of columns that points must have to be assigned.
func (m *Model) Columns() int {
	if m.Landmarks != nil {
		return m.Landmarks.Points.D
	}
	return m.D
}

// Landmarks converts points to features, of which centroids are means.
type Landmarks struct {
	Matrix     kernel.MatrixSpec // the kernel: its function, parameters and grid
	Centered   bool              // subtract the mean of the landmarks from points, after conversion to the units
	Points     *dataset.Points   // the landmarks, in the coordinates of the data
	Projection []float64         // Model.D values per landmark; see kernel.FeatureSpec
}

// IdealScores returns the k scores that a row of each of k classes should have: they add up to 0, and its own one is 1
// more than the others.
func IdealScores(k int) []float64 {
	scores := make([]float64, k*k)
	for i := range scores {
		scores[i] = -1 / float64(k)
		if i%(k+1) == 0 {
			scores[i]++
		}
	}
	return scores
}

// ClassScores computes the scores f of a row from its squared distances d from the IdealScores of each class.
// Both sum to 0, so f_c is half the difference of the mean of d and d_c.
func ClassScores(distances, scores []float64) {
	mean := 0.0
	for _, d := range distances {
		mean += d / float64(len(distances))
	}
	for c, d := range distances {
		scores[c] = (mean - d) / 2
	}
}

// FromIdealScores returns the squared distances of scores from the indicator of a row's own class and of the nearest
// other one.
func FromIdealScores(scores []float64, own int) (ownDistance, nextDistance float64) {
	square := 0.0
	for _, s := range scores {
		square += float64(s * s)
	}
	nextDistance = math.Inf(1)
	for c, s := range scores {
		if distance := square - float64(2*s) + 1; c == own {
			ownDistance = distance
		} else {
			nextDistance = min(nextDistance, distance)
		}
	}
	return ownDistance, nextDistance
}
