package cli

import (
	"context"
	"io"
	"path/filepath"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/cleave-project/cleave/internal/cli/client"
	"github.com/cleave-project/cleave/internal/cli/jobflags"
	"github.com/cleave-project/cleave/internal/cli/report"
	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/catalog"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/format"
	"github.com/cleave-project/cleave/internal/wire"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// kernelModel is a run of kernel k-means in a folder. Its clusters have no centroids: a new point is compared
// with all points of the run, which must be given again.
type kernelModel struct {
	spec   *cleavev1.JobSpec
	points dataset.Dataset
	header []string
}

// loadKernelModel makes a job of the run's points that starts from its labels and makes no iteration, so that
// its clusters are those of the run.
func loadKernelModel(f *predictFlags, result *cleavev1.Result) (*kernelModel, error) {
	kernel := result.GetKernel()
	switch {
	case result.GetSpectral() != nil:
		return nil, fault.Invalid("NO_MODEL", "%s: spectral clustering places only the points that it was given; cluster old and new points together", f.model)
	case kernel == nil:
		return nil, fault.Invalid("NO_MODEL", "%s: this is a result of %s without centroids or a kernel function to assign new points by; "+
			"predict needs a run on points", f.model, result.GetObjectiveName())
	case f.trainedOn == "":
		return nil, shell.Usage("%s holds a run of %s, whose model is its points: a new point is compared with all of them. Give them by --trained-on FILE",
			f.model, result.GetObjectiveName())
	}
	function, _ := catalog.FindKernel(wire.EnumWord(kernel.GetFunction()))
	points, header, filter, err := trainedPoints(f, result, function.Directional)
	if err != nil {
		return nil, err
	}
	m, fileRows := &kernelModel{points: points, header: header}, filter.FileRows(points.Rows())
	options := &cleavev1.KernelKmeans{
		Objective: objectiveOf(result),
		Kernel:    &cleavev1.Kernel{Function: kernel.GetFunction(), Rho: kernel.Rho, Gamma: kernel.Gamma, Coef0: kernel.Coef0, Degree: kernel.Degree},
		OnEmpty:   cleavev1.EmptyPolicy_EMPTY_POLICY_KEEP,
	}
	if f.weights != "" {
		weights, _, err := format.LoadTable(f.weights, table.Weights, fileRows)
		if err != nil {
			return nil, err
		}
		options.Weights = wire.InlineTable(weights)
	}
	labels, err := jobflags.LoadStartLabels(filepath.Join(f.model, report.LabelsFile), fileRows, result.GetK(), filter, table.Naming{InOrder: true})
	if err != nil {
		return nil, err
	}
	m.spec = &cleavev1.JobSpec{
		K:              result.GetK(),
		Scale:          result.GetScale(), // standardizing the same points gives the same units
		MaxIterations:  proto.Uint32(0),
		Storage:        cleavev1.StorageMode_STORAGE_MODE_NONE, // the matrix is needed only once
		Initialization: &cleavev1.Initialization{Start: cleavev1.Start_START_LABELS, Labels: labels},
		Algorithm:      &cleavev1.JobSpec_KernelKmeans{KernelKmeans: options},
	}
	return m, filter.Apply(m.spec)
}

// objectiveOf is the objective that a result names: normalized-cut is OBJECTIVE_NORMALIZED_CUT.
func objectiveOf(result *cleavev1.Result) cleavev1.Objective {
	name := strings.ToUpper(strings.ReplaceAll(result.GetObjectiveName(), "-", "_"))
	return cleavev1.Objective(cleavev1.Objective_value["OBJECTIVE_"+name])
}

// predict assigns new points on an embedded cluster.
func (m *kernelModel) predict(ctx context.Context, a *app, points dataset.Dataset) (*clustering.Prediction, error) {
	c, err := client.StartEmbedded(ctx, embeddedWorkers, a.stderr)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	ctx, done := c.Context(ctx)
	defer done()
	p := report.NewProgress(io.Discard, true)
	id, err := c.Complete(ctx, m.spec, m.points, p)
	if err != nil {
		return nil, client.Cause(ctx, err)
	}
	found, err := c.Predict(ctx, id, points, p)
	return found, client.Cause(ctx, err)
}
