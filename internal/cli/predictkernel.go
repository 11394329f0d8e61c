package cli

import (
	"context"
	"path/filepath"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/cleave-project/cleave/internal/cli/client"
	"github.com/cleave-project/cleave/internal/cli/jobflags"
	"github.com/cleave-project/cleave/internal/cli/report"
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/format"
	"github.com/cleave-project/cleave/internal/memlimit"
	"github.com/cleave-project/cleave/internal/wire"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// kernelPredictor assigns new points by a run of kernel k-means. Its clusters have no centroids: a new point is
// compared with all points of the run. It runs a job on these points that starts from the labels of the run and makes
// no iteration, so that its clusters are those of the run. t is nil if the points are not known.
func (a *app) kernelPredictor(ctx context.Context, run *savedRun, t *training) (*predictor, error) {
	result := run.result
	kernel := result.GetKernel()
	switch {
	case result.GetSpectral() != nil:
		return nil, fault.Invalid("NO_MODEL",
			"%s: spectral clustering cannot assign new points; cluster old and new points together", run.folder)
	case kernel == nil:
		return nil, fault.Invalid("NO_MODEL",
			"%s: this result of %s has neither centroids nor a kernel function to assign new points by; "+
				"predict needs a run on points", run.folder, result.GetObjectiveName())
	case t == nil:
		return nil, needPoints(run, "a run of "+result.GetObjectiveName())
	}
	trained, err := t.points(ctx, run, wire.KernelComparesDirections(kernel.GetFunction()))
	if err != nil {
		return nil, err
	}
	spec, err := repeatedSpec(run, t, trained)
	if err != nil {
		return nil, err
	}
	p := &predictor{clusters: int(result.GetK()), columns: jobflags.ColumnsOf(trained.Data), header: trained.Header}
	if trained.Data.Kind() == dataset.KindSparsePoints {
		p.columns = 0 // new points may have features that those of the run do not have
	}
	p.assign = func(ctx context.Context, points dataset.Dataset) (*clustering.Prediction, error) {
		return a.predictByJob(ctx, spec, trained.Data, points)
	}
	return p, nil
}

// repeatedSpec returns the spec of the job that has the clusters of a run of kernel k-means on the same points.
func repeatedSpec(run *savedRun, t *training, trained *jobflags.Loaded) (*cleavev1.JobSpec, error) {
	result := run.result
	kernel := result.GetKernel()
	fileRows := trained.Filter.FileRows(trained.Data.Rows())
	options := &cleavev1.KernelKmeans{
		Objective: objectiveOf(result),
		Kernel: &cleavev1.Kernel{Function: kernel.GetFunction(), Rho: kernel.Rho, Gamma: kernel.Gamma,
			Coef0: kernel.Coef0, Degree: kernel.Degree},
		OnEmpty: cleavev1.EmptyPolicy_EMPTY_POLICY_KEEP,
	}
	if t.weights != "" {
		ids := trained.IDs
		weights, _, err := format.LoadNamed(format.Input{Path: t.weights}, table.Weights, fileRows,
			table.Naming{IDs: ids})
		if err != nil {
			return nil, err
		}
		options.Weights = wire.InlineTable(weights.Named(ids))
	}
	labels, err := jobflags.LoadStartLabels(filepath.Join(run.folder, report.LabelsFile), fileRows, result.GetK(),
		trained.Filter, table.Naming{InOrder: true})
	if err != nil {
		return nil, err
	}
	spec := &cleavev1.JobSpec{
		Clusters:       &cleavev1.JobSpec_K{K: result.GetK()},
		Scale:          result.GetScale(), // scaling the same points gives the same units
		MaxIterations:  proto.Uint32(0),
		Storage:        cleavev1.StorageMode_STORAGE_MODE_NONE, // the matrix is needed only once
		Initialization: &cleavev1.Initialization{Start: cleavev1.Start_START_LABELS, Labels: labels},
		Algorithm:      &cleavev1.JobSpec_KernelKmeans{KernelKmeans: options},
	}
	return spec, trained.Filter.Apply(spec)
}

// predictByJob runs a job on an embedded coordinator, which assigns the new points.
func (a *app) predictByJob(ctx context.Context, spec *cleavev1.JobSpec, trained,
	points dataset.Dataset) (*clustering.Prediction, error) {
	c, err := client.StartEmbedded(ctx, embeddedWorkers, a.stderr)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	ctx, done := c.Context(ctx)
	defer done()
	memlimit.LimitGarbage(dataset.EncodedSize(trained))
	id, err := c.Complete(ctx, &cleavev1.CreateJobRequest{Spec: spec}, trained, client.Silent{}, client.CancelJob)
	if err != nil {
		return nil, client.Cause(ctx, err)
	}
	found, err := c.Predict(ctx, id, points, client.Silent{})
	return found, client.Cause(ctx, err)
}

// objectiveOf returns the objective that a result names: normalized-cut is OBJECTIVE_NORMALIZED_CUT.
func objectiveOf(result *cleavev1.Result) cleavev1.Objective {
	name := strings.ToUpper(strings.ReplaceAll(result.GetObjectiveName(), "-", "_"))
	return cleavev1.Objective(cleavev1.Objective_value["OBJECTIVE_"+name])
}
