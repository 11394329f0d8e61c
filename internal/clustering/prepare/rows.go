package prepare

import (
	"context"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/kmeans"
	"github.com/cleave-project/cleave/internal/planning"
)

// Rows is a job on rows: k-means or one of its relatives, or kernel k-means by landmarks, which is k-means on features
// of the points.
type Rows struct {
	Problem *kmeans.Problem
	Run     func(ctx context.Context, x kmeans.Executor, o clustering.Observer) (*clustering.Result, error)

	spec       clustering.Spec
	entries    []int64 // of each tile, for sparse points
	fullMetric bool
}

// Objective returns the name of the algorithm, which is also that of the objective.
func (r *Rows) Objective() string { return r.spec.Algorithm.Name() }

// Need returns what the job needs, given the size of its data set.
func (r *Rows) Need(bytes int64) planning.Workload {
	vectors := r.Problem.Vectors
	need := planning.Workload{
		DatasetBytes: bytes,
		Scaled:       r.Problem.Units != nil,
		K:            r.spec.K,
		Lanes:        kmeans.Lanes(r.Problem),
		Restarts:     r.Problem.Runs(),
		Vectors: &planning.Vectors{
			Rows: vectors.Rows, Columns: vectors.Columns, Width: vectors.Width(),
			FullMetric: r.fullMetric, Entries: r.entries, RaceRows: r.Problem.RaceRows(),
			JointBytes: r.Problem.JointBytes(),
		},
	}
	if f := vectors.Features; f != nil {
		need.Vectors.Features = &planning.Features{Function: f.Matrix.Function, Columns: f.Matrix.Columns,
			Landmarks: len(f.Landmarks)}
	}
	return need
}
