package cli

import (
	"context"
	"path/filepath"

	"google.golang.org/protobuf/proto"

	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/dataset"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/format"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// kernelReport says by which kernel points were compared, with the parameters that it has.
type kernelReport struct {
	Function string   `json:"function"`
	Rho      *float64 `json:"rho,omitempty"`
	Gamma    *float64 `json:"gamma,omitempty"`
	Coef0    *float64 `json:"coef0,omitempty"`
	Degree   *uint32  `json:"degree,omitempty"`
}

// newKernelReport is the kernel of a job, with the width that was in force; nil when it has none, as on a
// graph or a kernel matrix. There the function cannot be set, and the default has no width.
func newKernelReport(spec *cleavev1.JobSpec, rho *float64) *kernelReport {
	kernel := spec.GetKernelKmeans().GetKernel()
	r := &kernelReport{Function: functionName(kernel), Rho: rho}
	switch r.Function {
	case "gaussian", "laplacian":
		if spec.GetKernelKmeans() == nil || rho == nil {
			return nil
		}
	case "polynomial":
		r.Degree = orDefault(kernel.Degree, 2)
		fallthrough
	case "sigmoid":
		r.Gamma, r.Coef0 = orDefault(kernel.Gamma, 1), orDefault(kernel.Coef0, 0)
	}
	return r
}

func orDefault[T any](value *T, otherwise T) *T {
	if value == nil {
		return &otherwise
	}
	return value
}

// kernelModel is a run of kernel k-means that a folder holds. Its clusters have no centroids, only
// points, which must be given again.
type kernelModel struct {
	spec   *cleavev1.JobSpec
	points dataset.Dataset
	header []string
}

// loadKernelModel makes a job of the run's labels and its points that does nothing but start: it stands
// where the run ended.
func loadKernelModel(f *predictFlags, document *resultDocument) (*kernelModel, error) {
	if document.Spectral != nil {
		return nil, fault.Invalid("NO_MODEL", "%s: spectral clustering places only the points that it was given; cluster old and new points together", f.model)
	}
	report := document.Kernel
	if report == nil {
		return nil, fault.Invalid("NO_MODEL", "%s: this is a result of %s that knows neither centroids nor a kernel function to assign new points by; "+
			"predict needs a run on points", f.model, document.ObjectiveName)
	}
	function, known := kernels[report.Function]
	objective, usual := objectives[document.ObjectiveName]
	if !known || !usual {
		return nil, fault.Invalid("BAD_MODEL", "%s: the kernel %q of the objective %q is unknown", filepath.Join(f.model, resultFile), report.Function, document.ObjectiveName)
	}
	if format.IsSparse(f.trainedOn) {
		return nil, shell.Usage("--trained-on %s holds sparse points, which %s does not cluster", f.trainedOn, kernelKmeans)
	}
	if f.trainedOn == "" {
		return nil, shell.Usage("%s holds a run of %s, whose model is its points: a new point is compared with all of them. Give them by --trained-on FILE",
			f.model, document.ObjectiveName)
	}
	m := &kernelModel{}
	var err error
	var left *selection
	if document.Dropped > 0 {
		m.points, m.header, left, err = loadSelected(f.trainedOn, function == cleavev1.KernelFunction_KERNEL_FUNCTION_COSINE)
	} else {
		m.points, m.header, err = loadPoints(f.trainedOn, 0)
	}
	if err != nil {
		return nil, err
	}
	if kept := m.points.Rows(); uint32(kept) != document.N {
		return nil, fault.Invalid("OTHER_DATASET", "%s: these are %s; %s was made of %d", f.trainedOn, plural(kept, "point"), f.model, document.N)
	}
	rows := left.rows(m.points.Rows())
	options := &cleavev1.KernelKmeans{
		Objective: objective,
		Kernel:    &cleavev1.Kernel{Function: function, Rho: report.Rho, Gamma: report.Gamma, Coef0: report.Coef0, Degree: report.Degree},
		OnEmpty:   cleavev1.EmptyPolicy_EMPTY_POLICY_KEEP,
	}
	if f.weights != "" {
		if options.Weights, err = format.LoadWeights(f.weights, rows); err != nil {
			return nil, err
		}
	}
	m.spec = &cleavev1.JobSpec{
		K:              document.K,
		MaxIterations:  proto.Uint32(0),
		Storage:        cleavev1.StorageMode_STORAGE_MODE_NONE, // one pass is all there is
		Initialisation: &cleavev1.Initialisation{Start: cleavev1.Start_START_LABELS},
		Algorithm:      &cleavev1.JobSpec_KernelKmeans{KernelKmeans: options},
	}
	if m.spec.Initialisation.Labels, err = loadStart(filepath.Join(f.model, labelsFile), rows, document.K, left); err != nil {
		return nil, err
	}
	return m, left.spec(m.spec)
}

// predict assigns new points by a coordinator of its own.
func (m *kernelModel) predict(ctx context.Context, a *app, fresh dataset.Dataset) ([]int32, error) {
	k, c, err := startEmbedded(ctx, embeddedWorkers, a.stderr)
	if err != nil {
		return nil, err
	}
	defer k.stop()
	defer c.close()
	ctx, done := k.during(ctx)
	defer done()
	p := a.newProgress(true)
	id, err := c.complete(ctx, &job{spec: m.spec, data: m.points}, p)
	if err != nil {
		return nil, because(ctx, err)
	}
	labels, err := c.predict(ctx, id, fresh, p)
	return labels, because(ctx, err)
}

// predict has the coordinator assign new points to the clusters of one of its jobs.
func (c *client) predict(ctx context.Context, jobID string, fresh dataset.Dataset, p *progress) ([]int32, error) {
	id, err := c.upload(ctx, fresh, "new points", p)
	if err != nil {
		return nil, err
	}
	stream, err := c.jobs.PredictJob(ctx, &cleavev1.PredictJobRequest{JobId: jobID, DatasetId: id})
	if err != nil {
		return nil, c.explain(err)
	}
	return receiveLabels(c, stream.Recv)
}
