package cli

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/cleave-project/cleave/internal/cli/client"
	"github.com/cleave-project/cleave/internal/cli/jobflags"
	"github.com/cleave-project/cleave/internal/cli/report"
	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/model"
	"github.com/cleave-project/cleave/internal/clustering/predict"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/recipe"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/format"
	"github.com/cleave-project/cleave/internal/refusal"
	"github.com/cleave-project/cleave/internal/text"
)

// predictFlags are the flags of predict. Either model or job is set.
type predictFlags struct {
	model, job         string // the folder of a run; the id of a job
	trainedOn, weights string // files of the run, for a model that needs its points
	server             string
	data               *jobflags.DataFlags
	out                string // a file; "" or onStdout for standard output
	join               bool   // write the rows of the table, too
	format             *shell.Value
}

func (a *app) predictCommand() *cobra.Command {
	f := &predictFlags{}
	cmd, set := flagsCommand("predict (--model DIR | --job ID) --data FILE",
		"Assign new points to the clusters of a run",
		func(ctx context.Context) error { return a.predict(ctx, f) })
	cmd.SuggestFor = []string{"assign", "label"}
	set.StringVar(&f.model, "model", "", "a `DIR` that cleave run --out wrote")
	set.StringVar(&f.trainedOn, "trained-on", "", "the points of the run in this `FILE`, for a --model that needs them")
	set.StringVar(&f.weights, "weights", "", "their weights in this `FILE` (index,weight), if the run had any")
	set.StringVar(&f.job, "job", "", "`ID` of a job on a coordinator")
	addServerFlag(set, &f.server)
	f.data = jobflags.AddNewPointsFlags(set, a.stdin)
	set.StringVar(&f.out, "out", "", "write the labels to this `FILE` (index,label; class, distance, margin and "+
		"confidence where the model has them) instead of standard output")
	set.BoolVar(&f.join, "join", false, "write the rows of the table of --data with their labels")
	f.format = shell.NewChoice("csv", format.TableFormats...).Declare(set, "labels-format", "the format of the labels")
	return cmd
}

// check refuses flags that contradict each other, before anything is read.
func (f *predictFlags) check() error {
	switch {
	case (f.model == "") == (f.job == ""):
		return shell.Usage("give one model: --model DIR that cleave run --out wrote, or --job ID")
	case f.model != "" && f.server != "":
		return shell.Usage("--server requires --job; a --model is read here")
	case f.job != "" && f.trainedOn != "":
		return shell.Usage("--trained-on requires --model; the coordinator has the points of its jobs")
	case f.weights != "" && f.trainedOn == "":
		return shell.Usage("--weights requires --trained-on: they are the weights of those points")
	}
	return f.data.CheckNewPoints()
}

// predictor assigns new points to the clusters of a run.
type predictor struct {
	clusters int
	columns  int            // the number of columns of points; 0 if unknown
	header   []string       // the names of the columns; nil if unknown
	recipe   *recipe.Recipe // turns rows of tables into points; nil if there is none
	classes  []string       // the classes of the clusters; nil if they have none
	// directions is set if the model compares rows by direction. An all-zero row has no direction and gets the label
	// -1.
	directions bool
	inputs     []jobflags.NamedFile // the files that it was made of, which the labels must not overwrite
	// assign returns the labels of points, and their scores if the model has them.
	assign func(ctx context.Context, points dataset.Dataset) (*clustering.Prediction, error)
}

// predict assigns new points to the clusters of a run and writes a label for each row of their file. Rows that the
// model cannot use, such as all-zero rows if directions are compared, have the label -1.
func (a *app) predict(ctx context.Context, flags *predictFlags) error {
	if err := flags.check(); err != nil {
		return err
	}
	if err := jobflags.RefuseInput("--out", flags.out, "", flags.data.NamedFiles(""), flags.trainedOn,
		flags.weights); err != nil {
		return err
	}
	if flags.job != "" {
		return a.onJob(ctx, flags.server, []string{flags.job}, func(c *client.Client, jobID string) error {
			p, err := a.jobPredictor(ctx, c, jobID)
			if err != nil {
				return err
			}
			return a.assign(ctx, flags, p)
		})
	}
	p, err := a.folderPredictor(ctx, flags)
	if err != nil {
		return err
	}
	labels := filepath.Join(flags.model, report.LabelsFile)
	if err := jobflags.RefuseInput("--out", flags.out, "", p.inputs, labels); err != nil {
		return err
	}
	return a.assign(ctx, flags, p)
}

// assign reads the new points and writes their labels.
func (a *app) assign(ctx context.Context, flags *predictFlags, predictor *predictor) error {
	fresh, err := flags.data.LoadNewPoints(ctx, jobflags.Reading{
		Recipe: predictor.recipe, AllColumns: flags.join, Columns: predictor.columns, Directions: predictor.directions,
	})
	if err != nil {
		return err
	}
	labels := report.LabelOutput{Format: flags.format.String()}
	if flags.join {
		if fresh.SourceTable() == nil {
			return shell.Usage("--join requires a table as --data, and a model that was made of one")
		}
		labels.Join = rowsOfTable(fresh.SourceTable()).within(ctx)
	}
	if fresh.Table != nil {
		a.notify(fresh.Table.Notices...)
	}
	if err := jobflags.CheckHeader(flags.data.Path(), fresh.Header, "model", predictor.header); err != nil {
		return err
	}
	found, err := predictor.assign(ctx, fresh.Data)
	err = refusal.Of(err)
	if bad, ok := errors.AsType[*fault.Error](err); ok && bad.Kind == fault.InvalidArgument {
		return fault.Wrap(err, "%s", flags.data.Path())
	}
	if err != nil {
		return err
	}
	rows := format.LabelRows{IDs: fresh.IDs.All(), Labels: fresh.Filter.Restore(found.Labels),
		Classes: predictor.classes}
	if scores := found.Rows; scores != nil {
		restore := fresh.Filter.RestoreScores
		rows.Distance, rows.Margin, rows.Confidence = restore(scores.Distance), restore(scores.Margin),
			restore(scores.Confidence)
	}
	write := func(w io.Writer) error { return report.WriteLabelRows(w, labels, rows) }
	if flags.out == "" || flags.out == onStdout {
		return write(a.stdout)
	}
	if err := format.WriteFile(flags.out, write); err != nil {
		return err
	}
	return a.printf("%s: %s in %s\n", flags.out, text.Plural(len(found.Labels), "point"),
		text.Plural(predictor.clusters, "cluster"))
}

// modelPredictor assigns points by a model, in this process.
func modelPredictor(m *model.Model) *predictor {
	return &predictor{clusters: m.K, columns: m.Columns(),
		assign: func(ctx context.Context, points dataset.Dataset) (*clustering.Prediction, error) {
			return predict.ByModel(ctx, m, points, runtime.GOMAXPROCS(0))
		}}
}
