package cli

import (
	"context"
	"runtime"

	"github.com/cleave-project/cleave/internal/cli/jobflags"
	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/knn"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/wire"
)

// neighborPredictor assigns new points by a run of auto, or on a neighbor graph: by the labels of the nearest points of
// the run. t is nil if these are not known.
func neighborPredictor(ctx context.Context, run *savedRun, t *training) (*predictor, error) {
	result := run.result
	space := wire.SpaceOf(result.GetChoice().GetChosen())
	graph := result.GetNeighborGraph()
	weighted := t != nil && !t.recorded && t.weights != ""
	switch {
	case graph != nil && t == nil:
		return nil, needPoints(run, "a run on a neighbor graph")
	case graph != nil && weighted:
		return nil, shell.Usage("--weights does not apply to %s: the nearest points vote, each once", run.folder)
	case graph != nil:
	case space == clustering.SpaceGraph || space == clustering.SpaceLevels:
		return nil, fault.Invalid("NO_MODEL",
			"%s: a graph cannot assign new vertices; cluster old and new ones together", run.folder)
	case space == clustering.SpaceRows: // points would have centroids
		return nil, kernelMatrixError(run)
	case t == nil:
		return nil, needPoints(run, "a run of auto by nearest neighbors")
	case weighted:
		return nil, shell.Usage("--weights does not apply to %s: auto has no weights", run.folder)
	}
	trained, err := t.points(ctx, run, false)
	if err != nil {
		return nil, err
	}
	points := trained.Data
	if isSymmetric(points) {
		return nil, kernelMatrixError(run)
	}
	if run.unread != nil {
		return nil, run.unread
	}
	assign := func(ctx context.Context, fresh dataset.Dataset) (*clustering.Prediction, error) {
		voters := int(graph.GetNeighbors()) // 0, the default, for a space of auto
		labels, err := knn.Predict(ctx, wire.ScaleOf(result), voters, points, run.labels.Labels, fresh,
			runtime.GOMAXPROCS(0))
		return &clustering.Prediction{Labels: labels}, err
	}
	return &predictor{clusters: int(result.GetK()), columns: jobflags.ColumnsOf(points), header: trained.Header,
		assign: assign}, nil
}

// kernelMatrixError returns the error for a run on a kernel matrix, which says nothing about other points.
func kernelMatrixError(run *savedRun) error {
	return fault.Invalid("NO_MODEL", "%s: a kernel matrix cannot assign new points; cluster old and new ones together",
		run.folder)
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
