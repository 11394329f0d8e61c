package cli

import (
	"context"
	"strings"

	"github.com/cleave-project/cleave/internal/cli/jobflags"
	"github.com/cleave-project/cleave/internal/cli/report"
	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/text"
	"github.com/cleave-project/cleave/internal/wire"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// savedRun is the run in a folder that cleave run --out wrote.
type savedRun struct {
	folder string
	result *cleavev1.Result
	record *cleavev1.RunRecord
	labels *report.Report // nil if unread says why they cannot be read
	unread error
}

// openRun reads the result and the labels in a folder. Labels that cannot be read are no error, because a model does
// without them.
func openRun(folder string) (*savedRun, error) {
	result, record, err := report.ReadResult(folder)
	if err != nil {
		return nil, err
	}
	labels, unread := report.ReadLabels(folder, result, record)
	return &savedRun{folder: folder, result: result, record: record, labels: labels, unread: unread}, nil
}

// folderPredictor assigns points by the run in the folder of --model. A run with a model needs nothing else. Any other
// compares new points with its own, which are read again.
func (a *app) folderPredictor(ctx context.Context, flags *predictFlags) (*predictor, error) {
	run, err := openRun(flags.model)
	if err != nil {
		return nil, err
	}
	var p *predictor
	if run.result.GetModel() != nil {
		p, err = savedModelPredictor(run, flags)
	} else {
		p, err = a.trainingPredictor(ctx, run, flags)
	}
	if err != nil {
		return nil, err
	}
	p.recipe = wire.Recipe(run.result.GetRecipe())
	p.directions = wire.ComparesDirections(run.record.GetOrigin().GetSpec())
	switch {
	case run.unread == nil:
		p.classes = run.labels.Classes
	case p.recipe != nil && p.recipe.Label != "":
		a.warn("%v; the labels of new rows come without classes", run.unread)
	}
	return p, nil
}

// savedModelPredictor assigns points by the model of a run.
func savedModelPredictor(run *savedRun, flags *predictFlags) (*predictor, error) {
	if flags.trainedOn != "" {
		return nil,
			shell.Usage("--trained-on does not apply to %s: its model assigns new points without those of the run",
				run.folder)
	}
	model, header, err := report.LoadModel(run.folder, run.result)
	if err != nil {
		return nil, err
	}
	p := modelPredictor(model)
	p.header = header
	return p, nil
}

// trainingPredictor assigns points by the points of a run that has no model.
func (a *app) trainingPredictor(ctx context.Context, run *savedRun, flags *predictFlags) (*predictor, error) {
	t, err := a.findTraining(ctx, run, flags)
	if err != nil {
		return nil, err
	}
	var p *predictor
	if run.result.GetChoice() != nil || run.result.GetNeighborGraph() != nil {
		p, err = neighborPredictor(ctx, run, t)
	} else {
		p, err = a.kernelPredictor(ctx, run, t)
	}
	if err != nil {
		return nil, err
	}
	if t.recorded {
		a.warn("new points are compared with those of the run, %s; --trained-on gives another file", t.name)
	}
	p.inputs = append(t.data.NamedFiles(""), jobflags.NamedFile{Flag: "weights", Path: t.weights})
	return p, nil
}

// training says where the points of a run are now, and how they are read.
type training struct {
	name     string              // of the files, for messages
	data     *jobflags.DataFlags // reads them as the run did
	weights  string              // the file of their weights; "" if they have none
	recorded bool                // they are the files that the run recorded, not those of --trained-on
}

// findTraining returns the points that --trained-on names. Without the flag, it returns those that the run recorded if
// they are still where they were and have not changed, and nil if they are not.
func (a *app) findTraining(ctx context.Context, run *savedRun, flags *predictFlags) (*training, error) {
	origin := run.record.GetOrigin()
	then, err := a.recordedCommand(run.folder, origin)
	known := err == nil // an earlier version did not record how it read its points
	if flags.trainedOn != "" {
		t := &training{name: flags.trainedOn, weights: flags.weights}
		if known {
			t.data = then.data
			t.data.ReadFrom(flags.trainedOn)
		} else {
			t.data = jobflags.DataIn(flags.trainedOn)
		}
		return t, nil
	}
	if !known {
		return nil, nil
	}
	data, changed, err := recordedFiles(ctx, origin, "data")
	if err != nil {
		return nil, err
	}
	weights, changedWeights, err := recordedFiles(ctx, origin, "weights")
	if err != nil {
		return nil, err
	}
	if len(data) == 0 || len(weights) > 1 || len(changed)+len(changedWeights) > 0 {
		return nil, nil
	}
	return &training{name: text.Join(data, "and"), data: then.data, weights: strings.Join(weights, ""), recorded: true},
		nil
}

// points reads the points, without the rows that the run dropped. directional says that the run compared directions.
func (t *training) points(ctx context.Context, run *savedRun, directional bool) (*jobflags.Loaded, error) {
	how := jobflags.Reading{Recipe: wire.Recipe(run.result.GetRecipe()), Drop: run.result.GetDroppedRows() > 0,
		Directions: directional}
	points, err := t.data.LoadPoints(ctx, how)
	if err != nil {
		return nil, err
	}
	return points, checkRows(t.name+": the file", points.Data.Rows(), "the run in "+run.folder,
		int(run.result.GetRows()))
}

// needPoints returns the error for a run that needs its points, if they are not known.
func needPoints(run *savedRun, what string) error {
	return shell.Usage("%s is %s, which compares new points with all points of the run; give them with "+
		"--trained-on FILE", run.folder, what)
}
