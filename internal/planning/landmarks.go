package planning

import (
	"fmt"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/landmark"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/text"
)

// Features describes rows that consist of kernel values between points and landmarks.
type Features struct {
	Function  kernel.Function
	Columns   int // columns of the points
	Landmarks int
}

// featureWork returns the time of one thread for the features of some rows, in nanoseconds.
func (v *Vectors) featureWork(rows float64) float64 {
	if v.Features == nil {
		return 0
	}
	entry := entryNanoseconds(kernel.MatrixSpec{Function: v.Features.Function, Columns: v.Features.Columns})
	return rows * float64(v.Features.Landmarks) * (entry + featureValue*float64(v.Columns))
}

// sampleStarts is how many runs on the sample the search for a start takes. Improving the best of the starts takes
// about as long as finding them.
const sampleStarts = 2 * clustering.DefaultRestarts

// landmarkWork returns the coordinator's time for landmarks in nanoseconds: eigenvectors of their matrix, starts on a
// sample and, if there are few points, the run with the matrix.
func (w vectorJob) landmarkWork() float64 {
	if w.Vectors.Features == nil {
		return 0
	}
	m, rows := float64(w.Vectors.Features.Landmarks), float64(min(landmark.SampleRows, w.Rows()))
	exact := 0.0
	if n := float64(w.Rows()); n <= landmark.ExactRows {
		exact = n * n * exactEntry
	}
	return exact + m*m*m*eigenValue + sampleStarts*iterations*rows*float64(w.Vectors.Columns)*float64(w.K)*scoreValue
}

// landmarkBytes returns the coordinator's memory for landmarks: their matrix, its copy and its eigenvectors, and the
// sample with its features, of which k-means has another copy. If there are few points, it includes their matrix, and
// as much for sums.
func (w vectorJob) landmarkBytes() int64 {
	if w.Vectors.Features == nil {
		return 0
	}
	m, rows := int64(w.Vectors.Features.Landmarks), int64(min(landmark.SampleRows, w.Rows()))
	if n := int64(w.Rows()); n <= landmark.ExactRows {
		return gcFactor * 8 * (max(4*m*m, n*n) + n*int64(2*w.Vectors.Columns))
	}
	return gcFactor * 8 * (4*m*m + (rows+m)*int64(2*w.Vectors.Columns+2*w.Vectors.Features.Columns))
}

// What plans propose instead of a matrix that takes longer than longRun seconds.
const (
	proposedLandmarks = 1000
	proposedRank      = 128
	longRun           = 300
)

// landmarkable reports whether the proposed landmarks could take the place of the matrix.
func (w Workload) landmarkable() bool {
	return w.Matrix != nil && w.Matrix.Landmarkable && w.K <= proposedLandmarks/10
}

// byLandmarks returns the job with landmarks in place of the matrix.
func (w Workload) byLandmarks() Workload {
	matrix := w.Matrix.Spec
	return Workload{
		Vectors: &Vectors{
			Rows: matrix.Rows, Columns: proposedRank, Width: proposedRank,
			Features: &Features{Function: matrix.Function, Columns: matrix.Columns, Landmarks: proposedLandmarks},
		},
		DatasetBytes: w.DatasetBytes, Scaled: w.Scaled, K: w.K, Restarts: 1,
	}
}

// proposal describes landmarks as an alternative to a matrix that takes long. It returns "" if they are not worth
// proposing.
func (w Workload) proposal(plan *Plan, workers []Worker) string {
	if !w.landmarkable() || plan.Seconds < longRun {
		return ""
	}
	other, err := Make(w.byLandmarks(), workers)
	if err != nil || other.Seconds > plan.Seconds/2 {
		return ""
	}
	return fmt.Sprintf("landmarks %d would take about %s instead of %s, for an approximate answer", proposedLandmarks,
		text.Roughly(other.Seconds), text.Roughly(plan.Seconds))
}

// LandmarkProposal returns what to propose to users who ask for a matrix that takes long on an ordinary computer,
// regardless of the actual workers. It returns "" if there is nothing to propose.
func LandmarkProposal(p Workload) string {
	const threads = 4
	workers := []Worker{{Threads: threads, Free: Unlimited}}
	if !p.landmarkable() {
		return ""
	}
	plan, err := Make(p, workers)
	if err != nil {
		return ""
	}
	if hint := p.proposal(plan, workers); hint != "" {
		return fmt.Sprintf("the matrix of %d points is large; on %d cores %s", p.Rows(), threads, hint)
	}
	return ""
}
