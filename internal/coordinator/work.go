package coordinator

import (
	"context"

	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/centroid"
	"github.com/cleave-project/cleave/internal/clustering/cut"
	"github.com/cleave-project/cleave/internal/clustering/embedding"
	"github.com/cleave-project/cleave/internal/clustering/kernelkmeans"
	"github.com/cleave-project/cleave/internal/dataset"
	"github.com/cleave-project/cleave/internal/fleet"
	"github.com/cleave-project/cleave/internal/metric"
	"github.com/cleave-project/cleave/internal/planning"
)

// work is a job made exact for its data, in the way of its family.
type work interface {
	// objective names what is minimised or maximised.
	objective() string
	// need is what the job takes.
	need() planning.Problem
	// limit lets no more restarts run side by side.
	limit(lanes int)
	// execute places the job on workers, runs it and lets go of them. It tells what they held in the end,
	// or nil if they never held anything.
	execute(ctx context.Context, f *fleet.Fleet, task fleet.Task, o clustering.Observer) (*clustering.Result, *fleet.Held, error)
}

// newWork prepares a job on data of so many bytes.
func newWork(data dataset.Dataset, spec clustering.Spec, bytes int64) (work, error) {
	switch options := spec.Algorithm.(type) {
	case *centroid.Options:
		problem, err := centroid.Prepare(data, spec)
		if err != nil {
			return nil, err
		}
		return &vectorWork{problem: problem, spec: spec, bytes: bytes, entries: planning.TileEntries(data), fullMetric: options.Metric == metric.Full}, nil
	case *cut.Options:
		problem, err := cut.Prepare(data, spec)
		if err != nil {
			return nil, err
		}
		return &spectralWork{problem: problem, spec: spec, options: options, bytes: bytes}, nil
	}
	problem, err := kernelkmeans.Prepare(data, spec)
	if err != nil {
		return nil, err
	}
	return &kernelWork{problem: problem, spec: spec, bytes: bytes}, nil
}

// kernelWork is a job of the kernel family.
type kernelWork struct {
	problem *kernelkmeans.Problem
	spec    clustering.Spec
	bytes   int64
}

func (w *kernelWork) objective() string { return w.problem.Objective.String() }

func (w *kernelWork) need() planning.Problem {
	n := planning.Problem{
		Matrix:        w.problem.Matrix,
		DatasetBytes:  w.bytes,
		K:             w.spec.K,
		Lanes:         w.problem.Lanes(),
		Products:      w.problem.Products(),
		SparseEntries: 2 * int64(w.problem.Constraints.Len()),
		Restarts:      w.spec.Restarts,
		Shift:         w.spec.Algorithm.(*kernelkmeans.Options).SigmaAuto,
	}
	if w.spec.Start == clustering.StartSpectral {
		n.Eigen = &planning.Eigen{Pairs: w.spec.K, Start: true, Columns: w.spec.K, Restarts: embedding.DefaultRestarts}
	}
	switch w.problem.Objective {
	case kernelkmeans.ObjectiveRatioCut:
		n.Degrees = true
		n.SparseEntries += int64(w.problem.Rows()) // the negative degrees
	case kernelkmeans.ObjectiveNormalizedCut:
		n.Degrees = true
	}
	return n
}

func (w *kernelWork) limit(lanes int) { w.problem.MostLanes = lanes }

func (w *kernelWork) execute(ctx context.Context, f *fleet.Fleet, task fleet.Task, o clustering.Observer) (*clustering.Result, *fleet.Held, error) {
	x, err := f.NewExecutor(ctx, task)
	if err != nil {
		return nil, nil, err
	}
	defer x.Release()
	result, err := kernelkmeans.Run(ctx, w.problem, x, o)
	held := x.Held()
	return result, &held, err
}

// vectorWork is a job of the vector family. Its restarts run one after the other.
type vectorWork struct {
	problem    *centroid.Problem
	spec       clustering.Spec
	bytes      int64
	entries    []int64 // of the tiles of sparse points
	fullMetric bool
}

func (w *vectorWork) objective() string { return w.spec.Algorithm.Name() }

func (w *vectorWork) need() planning.Problem {
	vectors := w.problem.Vectors
	return planning.Problem{
		Vectors: &planning.Vectors{
			Rows: vectors.Rows, Columns: vectors.Columns, Width: vectors.Width(),
			FullMetric: w.fullMetric, Entries: w.entries,
		},
		DatasetBytes: w.bytes,
		K:            w.spec.K,
		Restarts:     w.spec.Restarts,
	}
}

func (w *vectorWork) limit(int) {}

func (w *vectorWork) execute(ctx context.Context, f *fleet.Fleet, task fleet.Task, o clustering.Observer) (*clustering.Result, *fleet.Held, error) {
	task.Vectors = w.problem.Vectors
	x, err := f.NewVectorExecutor(ctx, task)
	if err != nil {
		return nil, nil, err
	}
	defer x.Release()
	result, err := centroid.Run(ctx, w.problem, x, o)
	held := x.Held()
	return result, &held, err
}
