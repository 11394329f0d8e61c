// Package prepare checks specs against data. It has the only switch over the families of algorithms: who runs a job, in
// one process or on workers, asks it which executor the job takes.
package prepare

import (
	"context"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/auto"
	"github.com/cleave-project/cleave/internal/clustering/kernelkmeans"
	"github.com/cleave-project/cleave/internal/clustering/kmeans"
	"github.com/cleave-project/cleave/internal/clustering/landmark"
	"github.com/cleave-project/cleave/internal/clustering/spectral"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/numeric/metric"
	"github.com/cleave-project/cleave/internal/planning"
)

// Job is a spec that was checked against its data. One of its fields is not nil: it says which executor the job takes.
type Job struct {
	Rows   *Rows
	Matrix *Matrix
	Auto   *auto.Problem // several executors
}

// New prepares a job that clusters the data as they are, for one k.
func New(ctx context.Context, data dataset.Dataset, spec clustering.Spec) (Job, error) {
	switch options := spec.Algorithm.(type) {
	case *auto.Options:
		p, err := auto.Prepare(data, spec)
		return Job{Auto: p}, err
	case *kmeans.Options:
		p, err := kmeans.Prepare(data, spec)
		if err != nil {
			return Job{}, err
		}
		return Job{Rows: &Rows{
			Problem: p, Run: p.RunAndScore, spec: spec,
			entries: planning.TileEntries(data), fullMetric: options.Metric == metric.Full,
		}}, nil
	case *spectral.Options:
		p, err := spectral.Prepare(data, spec)
		if err != nil {
			return Job{}, err
		}
		return Job{Matrix: &Matrix{Problem: p.Problem, Run: p.RunAndScore, spec: spec, cut: p}}, nil
	}
	if landmark.Is(spec) { // k-means on the features of landmarks
		p, err := landmark.Prepare(ctx, data, spec)
		if err != nil {
			return Job{}, err
		}
		return Job{Rows: &Rows{Problem: p.Problem, Run: p.RunAndScore, spec: spec}}, nil
	}
	p, err := kernelkmeans.Prepare(data, spec)
	if err != nil {
		return Job{}, err
	}
	return Job{Matrix: &Matrix{Problem: p, Run: p.RunAndScore, spec: spec}}, nil
}

// Shared holds what jobs on the same data have in common if they differ only in k, constraints and seeds. It is not
// safe for concurrent use.
type Shared struct {
	auto *auto.Shared
	cut  *spectral.Shared
}

// NewShared returns an empty Shared for jobs of at most maxK clusters.
func NewShared(maxK int) *Shared {
	return &Shared{auto: auto.NewShared(maxK), cut: spectral.NewShared(maxK)}
}

// Share makes the job use what other jobs have found, and add to it. It must be called before the job runs. A nil s
// shares nothing.
func (j Job) Share(s *Shared) {
	switch {
	case s == nil:
	case j.Auto != nil:
		j.Auto.Share(s.auto)
	case j.Matrix != nil && j.Matrix.cut != nil:
		j.Matrix.cut.Share(s.cut)
	}
}
