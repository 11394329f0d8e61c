package cli

import (
	"context"
	"path/filepath"

	"google.golang.org/protobuf/proto"

	"github.com/cleave-project/cleave/internal/cli/client"
	"github.com/cleave-project/cleave/internal/cli/jobflags"
	"github.com/cleave-project/cleave/internal/cli/report"
	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/dataset"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/format"
	"github.com/cleave-project/cleave/internal/table"
	"github.com/cleave-project/cleave/internal/wire"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// kernelModel is a run of kernel k-means that a folder holds. Its clusters have no centroids, only
// points, which must be given again.
type kernelModel struct {
	spec   *cleavev1.JobSpec
	points dataset.Dataset
	header []string
}

// loadKernelModel makes a job of the run's labels and its points that does nothing but start: it stands
// where the run ended.
func loadKernelModel(f *predictFlags, document *report.ResultDocument) (*kernelModel, error) {
	if document.Spectral != nil {
		return nil, fault.Invalid("NO_MODEL", "%s: spectral clustering places only the points that it was given; cluster old and new points together", f.model)
	}
	kernel := document.Kernel
	if kernel == nil {
		return nil, fault.Invalid("NO_MODEL", "%s: this is a result of %s that knows neither centroids nor a kernel function to assign new points by; "+
			"predict needs a run on points", f.model, document.ObjectiveName)
	}
	function, known := jobflags.Kernels[kernel.Function]
	objective, usual := jobflags.Objectives[document.ObjectiveName]
	if !known || !usual {
		return nil, fault.Invalid("BAD_MODEL", "%s: the kernel %q of the objective %q is unknown", filepath.Join(f.model, report.ResultFile), kernel.Function, document.ObjectiveName)
	}
	if format.IsSparse(f.trainedOn) {
		return nil, shell.Usage("--trained-on %s holds sparse points, which %s does not cluster", f.trainedOn, jobflags.KernelKmeans)
	}
	if f.trainedOn == "" {
		return nil, shell.Usage("%s holds a run of %s, whose model is its points: a new point is compared with all of them. Give them by --trained-on FILE",
			f.model, document.ObjectiveName)
	}
	m := &kernelModel{}
	var err error
	var left *jobflags.RowFilter
	if document.Dropped > 0 {
		m.points, m.header, left, err = jobflags.LoadUsablePoints(f.trainedOn, function == cleavev1.KernelFunction_KERNEL_FUNCTION_COSINE)
	} else {
		m.points, m.header, err = jobflags.LoadPoints(f.trainedOn, 0)
	}
	if err != nil {
		return nil, err
	}
	if kept := m.points.Rows(); uint32(kept) != document.N {
		return nil, fault.Invalid("OTHER_DATASET", "%s: these are %s; %s was made of %d", f.trainedOn, shell.Plural(kept, "point"), f.model, document.N)
	}
	rows := left.FileRows(m.points.Rows())
	options := &cleavev1.KernelKmeans{
		Objective: objective,
		Kernel:    &cleavev1.Kernel{Function: function, Rho: kernel.Rho, Gamma: kernel.Gamma, Coef0: kernel.Coef0, Degree: kernel.Degree},
		OnEmpty:   cleavev1.EmptyPolicy_EMPTY_POLICY_KEEP,
	}
	if f.weights != "" {
		weights, err := format.LoadWeights(f.weights, rows)
		if err != nil {
			return nil, err
		}
		options.Weights = wire.InlineTable(table.FromWeights(weights))
	}
	m.spec = &cleavev1.JobSpec{
		K:              document.K,
		MaxIterations:  proto.Uint32(0),
		Storage:        cleavev1.StorageMode_STORAGE_MODE_NONE, // one pass is all there is
		Initialization: &cleavev1.Initialization{Start: cleavev1.Start_START_LABELS},
		Algorithm:      &cleavev1.JobSpec_KernelKmeans{KernelKmeans: options},
	}
	if m.spec.Initialization.Labels, err = jobflags.LoadStartLabels(filepath.Join(f.model, report.LabelsFile), rows, document.K, left); err != nil {
		return nil, err
	}
	return m, left.Apply(m.spec)
}

// predict assigns new points by a coordinator of its own.
func (m *kernelModel) predict(ctx context.Context, a *app, fresh dataset.Dataset) ([]int32, error) {
	c, err := client.StartEmbedded(ctx, embeddedWorkers, a.stderr)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	ctx, done := c.Context(ctx)
	defer done()
	p := report.NewProgress(a.stderr, true)
	id, err := c.Complete(ctx, m.spec, m.points, p)
	if err != nil {
		return nil, client.Cause(ctx, err)
	}
	labels, err := c.Predict(ctx, id, fresh, p)
	return labels, client.Cause(ctx, err)
}
