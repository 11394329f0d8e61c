package cli

import (
	"cmp"
	"context"
	"errors"
	"io"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"

	"github.com/cleave-project/cleave/internal/cli/client"
	"github.com/cleave-project/cleave/internal/cli/jobflags"
	"github.com/cleave-project/cleave/internal/cli/report"
	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/knn"
	"github.com/cleave-project/cleave/internal/clustering/model"
	"github.com/cleave-project/cleave/internal/clustering/predict"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/recipe"
	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/format"
	"github.com/cleave-project/cleave/internal/refusal"
	"github.com/cleave-project/cleave/internal/text"
	"github.com/cleave-project/cleave/internal/wire"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// predictFlags are the flags of predict. Either model or job is set.
type predictFlags struct {
	model, job         string              // the folder of a run; the id of a job
	trainedOn, weights string              // files of the run, for a model that needs its points
	recordedWeights    string              // the weights that the run recorded, if trainedOn is what it recorded, too
	trained            *jobflags.DataFlags // how the run read its points
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
	set.StringVar(&f.model, "model", "", "a `DIR` that cleave run --out wrote")
	set.StringVar(&f.trainedOn, "trained-on", "", "the points of the run in this `FILE`, for a --model that needs them")
	set.StringVar(&f.weights, "weights", "", "their weights in this `FILE` (index,weight), if the run had any")
	set.StringVar(&f.job, "job", "", "`ID` of a job on a coordinator")
	addServerFlag(set, &f.server)
	f.data = jobflags.AddNewPointsFlags(set)
	f.data.Stdin = a.stdin
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
	// assign returns the labels of points, and their scores if the model has them.
	assign func(ctx context.Context, points dataset.Dataset) (*clustering.Prediction, error)
}

// predict assigns new points to the clusters of a run and writes a label for each row of their file. Rows that the
// model cannot use, such as all-zero rows if directions are compared, have the label -1.
func (a *app) predict(ctx context.Context, flags *predictFlags) error {
	if err := cmp.Or(flags.check(), jobflags.RefuseInput("--out", flags.out, "", flags.data.NamedFiles(""),
		flags.trainedOn, flags.weights)); err != nil {
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
	var trained []jobflags.NamedFile // what the model was found to need
	if flags.trained != nil {
		trained = flags.trained.NamedFiles("")
	}
	if err := jobflags.RefuseInput("--out", flags.out, "", trained, flags.recordedWeights,
		filepath.Join(flags.model, report.LabelsFile)); err != nil {
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
		labels.Join = joinTable(fresh.SourceTable())
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
	rows := format.LabelRows{IDs: fresh.IDs().All(), Labels: fresh.Filter.Restore(found.Labels),
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

// folderPredictor opens the model in a folder.
func (a *app) folderPredictor(ctx context.Context, f *predictFlags) (*predictor, error) {
	result, run, err := report.ReadResult(f.model)
	if err != nil {
		return nil, err
	}
	found := result.GetModel() == nil && a.findTrained(ctx, f, run.GetOrigin())
	if err := ctx.Err(); err != nil {
		return nil, err
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
func (a *app) findTrained(ctx context.Context, f *predictFlags, origin *cleavev1.Origin) bool {
	recorded, err := a.recordedCommand(f.model, origin)
	if err != nil { // of an earlier version
		f.trained = jobflags.DataIn(f.trainedOn)
		return false
	}
	if f.trained = recorded.data; f.trainedOn != "" {
		f.trained.ReadFrom(f.trainedOn)
		return false
	}
	data, changed, _ := recordedFiles(ctx, origin, "data")
	weights, changedWeights, _ := recordedFiles(ctx, origin, "weights")
	if len(data) == 0 || len(weights) > 1 || len(changed)+len(changedWeights) > 0 {
		return false
	}
	f.trainedOn = text.Join(data, "and")
	f.recordedWeights = strings.Join(weights, "")
	return true
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

// jobPredictor assigns points by a job. The coordinator does so for auto, kernel k-means and neighbor graphs; the
// centroids of other jobs are fetched, and points are assigned here.
func (a *app) jobPredictor(ctx context.Context, c *client.Client, jobID string) (*predictor, error) {
	response, err := c.Jobs.GetJob(ctx, &cleavev1.GetJobRequest{JobId: jobID})
	if err != nil {
		return nil, err
	}
	result, err := c.Result(ctx, jobID)
	if err != nil {
		return nil, err
	}
	spec := response.GetSpec()
	steps := wire.Recipe(result.GetRecipe())
	p := &predictor{clusters: int(result.GetK())}
	if spec.GetAuto() != nil || spec.GetKernelKmeans() != nil || spec.GetNeighborGraph() != nil {
		// New points for kernel k-means may have more features than the old ones.
		if steps == nil && (spec.GetAuto() != nil || spec.GetNeighborGraph() != nil) {
			old, err := c.DescribeDataset(ctx, spec.GetDatasetId())
			if err != nil {
				return nil, err
			}
			p.columns = int(old.GetColumns())
		}
		p.assign = func(ctx context.Context, points dataset.Dataset) (*clustering.Prediction, error) {
			return c.Predict(ctx, jobID, points, client.Silent{})
		}
	} else {
		model, err := c.FetchModel(ctx, jobID)
		if err != nil {
			return nil, err
		}
		p = modelPredictor(model)
	}
	p.recipe = steps
	p.directions = wire.ComparesDirections(spec)
	p.classes, err = jobClasses(ctx, c, spec, steps, func() (*client.Outcome, error) {
		return c.Fetch(ctx, jobID, client.LabelsOnly)
	})
	return p, err
}

// jobClasses returns the classes of the clusters of a job whose seeds are the classes in a column of its table, "" for
// a cluster without one. The coordinator keeps numbers of classes only, so their names are read from the table. It
// returns nil for other jobs, and if the tables were deleted. It calls fetch, which returns the job's labels, if it
// needs them.
func jobClasses(ctx context.Context, c *client.Client, spec *cleavev1.JobSpec, steps *recipe.Recipe,
	fetch func() (*client.Outcome, error)) ([]string, error) {
	if steps == nil || steps.Label == "" || spec.GetSupervision().GetSeeds() == nil {
		return nil, nil
	}
	o, err := fetch()
	if err != nil {
		return nil, err
	}
	seeds, err := fetchSeeds(ctx, c, spec, o)
	if err != nil || len(seeds) == 0 {
		return nil, err
	}
	filter := (*jobflags.RowFilter)(nil)
	names := map[int]string{}
	first := 0
	if o.Kept != nil {
		filter = jobflags.FilterOf(o.Kept, o.TableRows())
	}
	for _, seed := range seeds {
		names[int(seed.Index)] = ""
	}
	err = c.EachTableRows(ctx, spec.GetTable().GetTableId(), func(t *table.Table) error {
		for row := range t.Rows() {
			if _, seed := names[first+row]; seed {
				names[first+row] = t.Columns[0].CellText(row)
			}
		}
		first += t.Rows()
		return nil
	}, steps.Label)
	if fault.Is(err, wire.TableNotFound) {
		return nil, nil
	}
	j := &jobflags.Job{Spec: spec}
	j.NameSeeds(seeds, filter, func(row int) string { return names[row] })
	return j.ClusterClasses(o.Labels), err
}

// modelPredictor assigns points by a model, in this process.
func modelPredictor(m *model.Model) *predictor {
	return &predictor{clusters: m.K, columns: m.Columns(),
		assign: func(ctx context.Context, points dataset.Dataset) (*clustering.Prediction, error) {
			return predict.ByModel(ctx, m, points, runtime.GOMAXPROCS(0))
		}}
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
	trained, err := trainedPoints(ctx, f, result, wire.KernelComparesDirections(kernel.GetFunction()))
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
