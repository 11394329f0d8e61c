package report

import (
	"path/filepath"
	"slices"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/numeric/metric"
	"github.com/cleave-project/cleave/internal/text"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// byClassifier tells whether a classifier that was fitted to known rows predicted the groups of the others. The features of its
// model are the scores of a row, one for each group, and its centroids are the scores that the rows of a group should have.
func byClassifier(r *cleavev1.Result) bool {
	return r.GetChoice().GetChosen().GetUse() == cleavev1.Use_USE_DISCRIMINANT
}

// loadClassifier reads a classifier from a folder, and the names of the columns.
func loadClassifier(folder string, head *cleavev1.ModelHead, names []string) (*clustering.Model, []string, error) {
	k, of := int(head.GetK()), head.GetLandmarks()
	if k < 1 || head.GetColumns() != head.GetK() || head.GetK() > of.GetCount() || head.GetMetric() != cleavev1.Metric_METRIC_IDENTITY {
		return nil, nil, fault.Invalid("BAD_MODEL", "%s: this is no classifier of %s that was fitted to %s", filepath.Join(folder, ResultFile),
			text.Plural(k, "group"), text.Plural(int(of.GetCount()), "row"))
	}
	landmarks, header, err := loadLandmarks(folder, of, k, names)
	if err != nil {
		return nil, nil, err
	}
	m := &clustering.Model{K: k, D: k, Distortion: metric.SquaredEuclidean, Metric: metric.NewIdentity(k), Centroids: groupIndicators(k), Landmarks: landmarks}
	if head.GetScaled() {
		m.Units, err = loadUnits(filepath.Join(folder, unitsFile), m.Columns(), names)
	}
	return m, header, err
}

// groupIndicators are the scores that the rows of k groups should have: they add up to 0, and the own one is 1 more than the others.
func groupIndicators(k int) []float64 {
	scores := make([]float64, k*k)
	for at := range scores {
		if scores[at] = -1 / float64(k); at%(k+1) == 0 {
			scores[at]++
		}
	}
	return scores
}

// byCluster is the projection of a classifier with its columns, which are groups, in the order of the clusters. The centroids of a
// cluster tell its group.
func byCluster(m *clustering.Model) []float64 {
	group := make([]int, m.K)
	for cluster := range group {
		scores := m.Centroids[cluster*m.D : (cluster+1)*m.D]
		group[cluster] = slices.Index(scores, slices.Max(scores))
	}
	var ordered []float64
	for row := range slices.Chunk(m.Landmarks.Projection, m.D) {
		for _, g := range group {
			ordered = append(ordered, row[g])
		}
	}
	return ordered
}

// columnMeans are the means of the columns in each cluster, in the coordinates of the data; nil where not all points are at hand.
func (r *Report) columnMeans(s Scene) []float64 {
	points, dense := s.Data.(*dataset.Points)
	if !dense || s.Sample != nil || points.N != len(r.Labels) || points.D != r.Model.Columns() {
		return nil
	}
	means, sizes := make([]float64, r.Model.K*points.D), make([]float64, r.Model.K)
	for i, label := range r.Labels {
		sizes[label]++
		of := means[int(label)*points.D : (int(label)+1)*points.D]
		for j, v := range points.Row(i) {
			of[j] += v
		}
	}
	for at := range means {
		means[at] /= max(1, sizes[at/points.D])
	}
	return means
}
