package cli

import (
	"cmp"
	"context"
	"path/filepath"
	"runtime"
	"strings"

	"google.golang.org/protobuf/proto"

	"github.com/cleave-project/cleave/internal/cli/client"
	"github.com/cleave-project/cleave/internal/cli/jobflags"
	"github.com/cleave-project/cleave/internal/cli/report"
	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/catalog"
	"github.com/cleave-project/cleave/internal/clustering/knn"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/format"
	"github.com/cleave-project/cleave/internal/text"
	"github.com/cleave-project/cleave/internal/wire"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// folderPredictor opens the model in a folder.
func (a *app) folderPredictor(ctx context.Context, f *predictFlags) (*predictor, error) {
	result, run, err := report.ReadResult(f.model)
	if err != nil {
		return nil, err
	}
	found := false
	if result.GetModel() == nil {
		if found, err = a.findTrained(ctx, f, run.GetOrigin()); err != nil {
			return nil, err
		}
	}
	labels, unread := report.ReadLabels(f.model, result, run) // a model may do without them
	p, err := a.openModel(ctx, f, result, labels, unread)
	if err != nil {
		return nil, err
	}
	if found {
		a.warn("new points are compared with those of the run, %s; --trained-on gives another file", f.trainedOn)
	}
	p.recipe = wire.Recipe(result.GetRecipe())
	p.directions = wire.ComparesDirections(run.GetOrigin().GetSpec())
	switch {
	case unread == nil:
		p.classes = labels.Classes
	case p.recipe != nil && p.recipe.Label != "":
		a.warn("%v; the labels of new rows come without classes", unread)
	}
	return p, nil
}

// findTrained finds out how the run in a folder read its points, which is how they are read again from wherever they
// are now. Without --trained-on, it looks for the files of the run, and for the weights if the run had some, and
// reports whether they are still where they were and have not changed.
func (a *app) findTrained(ctx context.Context, f *predictFlags, origin *cleavev1.Origin) (found bool, err error) {
	recorded, err := a.recordedCommand(f.model, origin)
	if err != nil {
		return false, err
	}
	f.trained = recorded.data
	if f.trainedOn != "" {
		f.trained.ReadFrom(f.trainedOn)
		return false, nil
	}
	data, changed, err := recordedFiles(ctx, origin, "data")
	if err != nil {
		return false, err
	}
	weights, changedWeights, err := recordedFiles(ctx, origin, "weights")
	if err != nil {
		return false, err
	}
	if len(data) == 0 || len(weights) > 1 || len(changed)+len(changedWeights) > 0 {
		return false, nil
	}
	f.trainedOn = text.Join(data, "and")
	f.recordedWeights = strings.Join(weights, "")
	return true, nil
}

// openModel returns the predictor of a run in a folder, given its labels or why they cannot be read.
func (a *app) openModel(ctx context.Context, f *predictFlags, result *cleavev1.Result, labels *report.Report,
	unread error) (*predictor, error) {
	switch {
	case result.GetModel() == nil && (result.GetChoice() != nil || result.GetNeighborGraph() != nil):
		return neighborPredictor(ctx, f, result, labels, unread)
	case result.GetModel() == nil:
		return a.kernelPredictor(ctx, f, result)
	case f.trainedOn != "":
		return nil,
			shell.Usage("--trained-on does not apply to %s: its model assigns new points without those of the run",
				f.model)
	}
	model, header, err := report.LoadModel(f.model, result)
	if err != nil {
		return nil, err
	}
	p := modelPredictor(model)
	p.header = header
	return p, nil
}

// kernelPredictor assigns new points by a run of kernel k-means in a folder. Its clusters have no centroids: a new
// point is compared with all points of the run, which must be given again. It runs a job on these points that starts
// from the labels of the run and makes no iteration, so that its clusters are those of the run.
func (a *app) kernelPredictor(ctx context.Context, f *predictFlags, result *cleavev1.Result) (*predictor, error) {
	kernel := result.GetKernel()
	switch {
	case result.GetSpectral() != nil:
		return nil, fault.Invalid("NO_MODEL",
			"%s: spectral clustering cannot assign new points; cluster old and new points together", f.model)
	case kernel == nil:
		return nil, fault.Invalid("NO_MODEL",
			"%s: this result of %s has neither centroids nor a kernel function to assign new points by; "+
				"predict needs a run on points", f.model, result.GetObjectiveName())
	case f.trainedOn == "":
		return nil, needPoints(f, "a run of "+result.GetObjectiveName())
	}
	function, _ := catalog.FindKernel(wire.EnumWord(kernel.GetFunction()))
	trained, err := trainedPoints(ctx, f, result, function.Directional)
	if err != nil {
		return nil, err
	}
	fileRows := trained.Filter.FileRows(trained.Data.Rows())
	options := &cleavev1.KernelKmeans{
		Objective: objectiveOf(result),
		Kernel: &cleavev1.Kernel{Function: kernel.GetFunction(), Rho: kernel.Rho, Gamma: kernel.Gamma,
			Coef0: kernel.Coef0, Degree: kernel.Degree},
		OnEmpty: cleavev1.EmptyPolicy_EMPTY_POLICY_KEEP,
	}
	if path := cmp.Or(f.weights, f.recordedWeights); path != "" {
		ids := trained.IDs()
		weights, _, err := format.LoadNamed(format.Input{Path: path}, table.Weights, fileRows, table.Naming{IDs: ids})
		if err != nil {
			return nil, err
		}
		options.Weights = wire.InlineTable(weights.Named(ids))
	}
	labels, err := jobflags.LoadStartLabels(filepath.Join(f.model, report.LabelsFile), fileRows, result.GetK(),
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
	if err := trained.Filter.Apply(spec); err != nil {
		return nil, err
	}
	p := &predictor{clusters: int(result.GetK()), columns: jobflags.ColumnsOf(trained.Data), header: trained.Header}
	if trained.Data.Kind() == dataset.KindSparsePoints {
		p.columns = 0 // new points may have features that those of the run do not have
	}
	p.assign = func(ctx context.Context, points dataset.Dataset) (*clustering.Prediction, error) {
		c, err := client.StartEmbedded(ctx, embeddedWorkers, a.stderr)
		if err != nil {
			return nil, err
		}
		defer c.Close()
		ctx, done := c.Context(ctx)
		defer done()
		shell.LimitGarbage(dataset.EncodedSize(trained.Data))
		id, err := c.Complete(ctx, &cleavev1.CreateJobRequest{Spec: spec}, trained.Data, client.Silent{},
			client.CancelJob)
		if err != nil {
			return nil, client.Cause(ctx, err)
		}
		found, err := c.Predict(ctx, id, points, client.Silent{})
		return found, client.Cause(ctx, err)
	}
	return p, nil
}

// needPoints returns the error for a model that needs the points of its run.
func needPoints(f *predictFlags, what string) error {
	return shell.Usage("%s is %s, which compares new points with all points of the run; give them with "+
		"--trained-on FILE", f.model, what)
}

// objectiveOf returns the objective that a result names: normalized-cut is OBJECTIVE_NORMALIZED_CUT.
func objectiveOf(result *cleavev1.Result) cleavev1.Objective {
	name := strings.ToUpper(strings.ReplaceAll(result.GetObjectiveName(), "-", "_"))
	return cleavev1.Objective(cleavev1.Objective_value["OBJECTIVE_"+name])
}

// neighborPredictor assigns new points by a run in a folder without a model, of auto or on a neighbor graph: by the
// labels of the nearest points of the run, which must be given again.
func neighborPredictor(ctx context.Context, f *predictFlags, result *cleavev1.Result, run *report.Report,
	unread error) (*predictor, error) {
	space := wire.SpaceOf(result.GetChoice().GetChosen())
	graph := result.GetNeighborGraph()
	switch {
	case graph != nil && f.trainedOn == "":
		return nil, needPoints(f, "a run on a neighbor graph")
	case graph != nil && f.weights != "":
		return nil, shell.Usage("--weights does not apply to %s: the nearest points vote, each once", f.model)
	case graph != nil:
	case space == clustering.SpaceGraph || space == clustering.SpaceLevels:
		return nil, fault.Invalid("NO_MODEL",
			"%s: a graph cannot assign new vertices; cluster old and new ones together", f.model)
	case space == clustering.SpaceRows: // points would have centroids
		return nil, kernelMatrixError(f)
	case f.trainedOn == "":
		return nil, needPoints(f, "a run of auto by nearest neighbors")
	case f.weights != "":
		return nil, shell.Usage("--weights does not apply to %s: auto has no weights", f.model)
	}
	trained, err := trainedPoints(ctx, f, result, false)
	if err != nil {
		return nil, err
	}
	points := trained.Data
	if isSymmetric(points) {
		return nil, kernelMatrixError(f)
	}
	if unread != nil {
		return nil, unread
	}
	assign := func(ctx context.Context, fresh dataset.Dataset) (*clustering.Prediction, error) {
		voters := int(graph.GetNeighbors()) // 0, the default, for a space of auto
		labels, err := knn.Predict(ctx, wire.ScaleOf(result), voters, points, run.Labels, fresh, runtime.GOMAXPROCS(0))
		return &clustering.Prediction{Labels: labels}, err
	}
	return &predictor{clusters: int(result.GetK()), columns: jobflags.ColumnsOf(points), header: trained.Header,
		assign: assign}, nil
}

// kernelMatrixError returns the error for a run on a kernel matrix, which says nothing about other points.
func kernelMatrixError(f *predictFlags) error {
	return fault.Invalid("NO_MODEL", "%s: a kernel matrix cannot assign new points; cluster old and new ones together",
		f.model)
}

// isSymmetric reports whether points form a symmetric matrix, probably a kernel matrix; their file does not say.
func isSymmetric(data dataset.Dataset) bool {
	points, dense := data.(*dataset.Points)
	if !dense || points.N != points.D {
		return false
	}
	for i := range points.N {
		for j := range i {
			if points.Row(i)[j] != points.Row(j)[i] {
				return false
			}
		}
	}
	return true
}

// trainedPoints reads the points of a run, without the rows that it dropped.
func trainedPoints(ctx context.Context, f *predictFlags, result *cleavev1.Result,
	directional bool) (*jobflags.Loaded, error) {
	how := jobflags.Reading{Recipe: wire.Recipe(result.GetRecipe()), Drop: result.GetDroppedRows() > 0,
		Directions: directional}
	trained, err := f.trained.LoadPoints(ctx, how)
	if err != nil {
		return nil, err
	}
	return trained, checkRows(f.trainedOn+": the file", trained.Data.Rows(), "the run in "+f.model,
		int(result.GetRows()))
}
