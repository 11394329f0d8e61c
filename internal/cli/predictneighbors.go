package cli

import (
	"context"
	"path/filepath"
	"runtime"

	"github.com/cleave-project/cleave/internal/cli/jobflags"
	"github.com/cleave-project/cleave/internal/cli/report"
	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/auto"
	"github.com/cleave-project/cleave/internal/clustering/knn"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/format"
	"github.com/cleave-project/cleave/internal/text"
	"github.com/cleave-project/cleave/internal/wire"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

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
