package cli

import (
	"context"
	"io"
	"path/filepath"
	"runtime"
	"strings"

	"google.golang.org/protobuf/proto"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/cli/client"
	"github.com/cleave-project/cleave/internal/cli/jobflags"
	"github.com/cleave-project/cleave/internal/cli/report"
	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/auto"
	"github.com/cleave-project/cleave/internal/clustering/catalog"
	"github.com/cleave-project/cleave/internal/clustering/knn"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/format"
	"github.com/cleave-project/cleave/internal/text"
	"github.com/cleave-project/cleave/internal/wire"
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
		Clusters:       &cleavev1.JobSpec_K{K: result.GetK()},
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
	id, err := c.Complete(ctx, &cleavev1.CreateJobRequest{Spec: m.spec}, m.points, p)
	if err != nil {
		return nil, client.Cause(ctx, err)
	}
	found, err := c.Predict(ctx, id, points, p)
	return found, client.Cause(ctx, err)
}

// byNeighbors assigns new points by a run in a folder that has no centroids, of auto or on a graph of neighbors: by the
// labels of the run's points that they are nearest to, which must be given again.
func byNeighbors(f *predictFlags, result *cleavev1.Result) (*predictor, error) {
	space, graph := wire.SpaceOf(result.GetChoice().GetChosen()), result.GetNeighborGraph()
	switch {
	case graph != nil && f.trainedOn == "":
		return nil, shell.Usage("%s holds a run on a graph of nearest neighbors, whose model is its points: a new point is compared with all of them. Give them by --trained-on FILE", f.model)
	case graph != nil && f.weights != "":
		return nil, shell.Usage("--weights does not apply to %s: the nearest points vote, each once", f.model)
	case graph != nil:
	case space == clustering.SpaceGraph || space == clustering.SpaceLevels:
		return nil, fault.Invalid("NO_MODEL", "%s: a graph knows nothing of vertices that it does not have; cluster old and new ones together", f.model)
	case space == clustering.SpaceRows: // of points there would be centroids
		return nil, ofKernelMatrix(f)
	case f.trainedOn == "":
		return nil, shell.Usage("%s holds a run of auto by nearest neighbors, whose model is its points: a new point is compared with all of them. Give them by --trained-on FILE", f.model)
	case f.weights != "":
		return nil, shell.Usage("--weights does not apply to %s: auto has no weights", f.model)
	}
	points, header, filter, err := trainedPoints(f, result, false)
	if err != nil {
		return nil, err
	}
	if isSymmetric(points) {
		return nil, ofKernelMatrix(f)
	}
	labels, err := labelsOf(f.model, result, filter, points.Rows())
	if err != nil {
		return nil, err
	}
	return &predictor{clusters: int(result.GetK()), columns: jobflags.ColumnsOf(points), header: header, assign: func(ctx context.Context, fresh dataset.Dataset) (*clustering.Prediction, error) {
		scale := wire.ScaleOf(result)
		if graph != nil {
			found, err := knn.Predict(ctx, scale, int(graph.GetNeighbors()), points, labels, fresh, runtime.GOMAXPROCS(0))
			return &clustering.Prediction{Labels: found}, err
		}
		found, err := auto.Predict(ctx, scale, points, labels, fresh, runtime.GOMAXPROCS(0))
		return &clustering.Prediction{Labels: found}, err
	}}, nil
}

func ofKernelMatrix(f *predictFlags) error {
	return fault.Invalid("NO_MODEL", "%s: a kernel matrix knows nothing of points that it does not have; cluster old and new ones together", f.model)
}

// isSymmetric tells whether points are a kernel matrix: their file does not say.
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

// trainedPoints reads the points that a run was made of, without the rows that it dropped.
func trainedPoints(f *predictFlags, result *cleavev1.Result, directional bool) (points dataset.Dataset, header []string, filter *jobflags.RowFilter, err error) {
	if steps := wire.Recipe(result.GetRecipe()); steps != nil && format.IsTable(f.trainedOn) {
		var made *jobflags.MadeRows
		if made, err = f.data.LoadRows(f.trainedOn, steps, directional); err == nil {
			points, header, filter = made.Points, made.Header, made.Filter
		}
	} else if result.GetDroppedRows() > 0 {
		points, header, filter, err = jobflags.LoadUsablePoints(f.trainedOn, directional)
	} else {
		points, header, err = jobflags.LoadPoints(f.trainedOn, 0)
	}
	if err != nil {
		return nil, nil, nil, err
	}
	if rows := points.Rows(); rows != int(result.GetRows()) {
		return nil, nil, nil, fault.Invalid("OTHER_DATASET", "%s: the file has %s; %s was made of %d", f.trainedOn, text.Plural(rows, "point"), f.model, result.GetRows())
	}
	return points, header, filter, nil
}

// labelsOf reads the labels that a run in a folder gave to its points.
func labelsOf(folder string, result *cleavev1.Result, filter *jobflags.RowFilter, rows int) ([]int32, error) {
	path := filepath.Join(folder, report.LabelsFile)
	_, all, err := format.LoadNamed(path, table.Labels, filter.FileRows(rows), table.Naming{InOrder: true})
	if err != nil {
		return nil, err
	}
	kept, err := filter.Truth(&jobflags.Truth{Labels: all})
	if err != nil {
		return nil, err
	}
	labels := make([]int32, len(kept.Labels))
	for i, label := range kept.Labels {
		if label < 0 || label >= int64(result.GetK()) {
			return nil, fault.Invalid("LABEL_OUT_OF_RANGE", "%s: there is a label %d; %s says that there are %s", path, label, report.ResultFile, text.Plural(int(result.GetK()), "cluster"))
		}
		labels[i] = int32(label)
	}
	return labels, nil
}
