package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"

	"github.com/spf13/cobra"

	"github.com/cleave-project/cleave/internal/cli/client"
	"github.com/cleave-project/cleave/internal/cli/jobflags"
	"github.com/cleave-project/cleave/internal/cli/report"
	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/kmeans"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/recipe"
	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/format"
	"github.com/cleave-project/cleave/internal/text"
	"github.com/cleave-project/cleave/internal/wire"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

type predictFlags struct {
	model, job         string
	trainedOn, weights string
	server             *string
	data               *jobflags.FreshFlags
	out                string
	join               bool
	format             *jobflags.OptionFlag
}

func (a *app) predictCommand() *cobra.Command {
	f := &predictFlags{}
	cmd := &cobra.Command{
		Use:   "predict (--model DIR | --job ID) --data FILE",
		Short: "Assign new points to the clusters that a run found",
		Args:  shell.FlagsOnly,
		RunE:  func(cmd *cobra.Command, _ []string) error { return a.predict(cmd.Context(), f) },
	}
	set := cmd.Flags()
	set.StringVar(&f.model, "model", "", "a `DIR` that cleave run --out wrote")
	set.StringVar(&f.trainedOn, "trained-on", "", "the points that a --model without centroids was made of, in this `FILE`")
	set.StringVar(&f.weights, "weights", "", "their weights in this `FILE` (index,weight), if the run had any")
	set.StringVar(&f.job, "job", "", "a job's `ID` at a coordinator")
	f.server = addServerFlag(set)
	f.data = jobflags.AddFreshFlags(set)
	set.StringVar(&f.out, "out", "", "write the labels to this `FILE` (index,label, class where clusters have one, and distance,margin where there are centroids) instead of standard output")
	set.BoolVar(&f.join, "join", false, "write the rows of the table of --data with their labels")
	f.format = jobflags.NewChoice("csv", format.TableFormats...)
	set.Var(f.format, "labels-format", "the format of the labels")
	return cmd
}

func (f *predictFlags) check() error {
	switch {
	case (f.model == "") == (f.job == ""):
		return shell.Usage("predict needs one model: --model DIR that cleave run --out wrote, or --job ID")
	case f.model != "" && *f.server != "":
		return shell.Usage("--server goes with --job; a --model is read here")
	case f.job != "" && f.trainedOn != "":
		return shell.Usage("--trained-on goes with --model only; the coordinator has the points of its jobs")
	case f.weights != "" && f.trainedOn == "":
		return shell.Usage("--weights goes with --trained-on only: they are the weights of those points")
	}
	return f.data.Check()
}

// predictor assigns new points to the clusters of a run.
type predictor struct {
	clusters int
	columns  int            // 0: unknown
	header   []string       // the names of the columns, nil: unknown
	recipe   *recipe.Recipe // that makes points of tables; nil: there is none
	classes  []string       // of the clusters; nil: they have none
	// directions are compared, which rows of zeros do not have
	directions bool
	assign     func(ctx context.Context, points dataset.Dataset) (*clustering.Prediction, error)
}

func (a *app) predict(ctx context.Context, f *predictFlags) error {
	if err := f.check(); err != nil {
		return err
	}
	p, closePredictor, err := a.findPredictor(ctx, f)
	if err != nil {
		return err
	}
	defer closePredictor()
	f.data.Whole = f.join
	fresh, err := f.data.Load(a.stdin, p.recipe, p.columns, p.directions)
	if err != nil {
		return err
	}
	labels := report.Labels{Format: f.format.String()}
	if f.join {
		if fresh.Table() == nil {
			return shell.Usage("--join goes with a table as --data, and a model that was made of one")
		}
		labels.Join = func(yield func(*table.Table) error) error { return yield(fresh.Table()) }
	}
	for _, notice := range fresh.Notices {
		fmt.Fprintf(a.stderr, "cleave: %s\n", notice)
	}
	if header := fresh.Header; header != nil && p.header != nil && !slices.Equal(header, p.header) {
		return fault.Invalid("OTHER_COLUMNS", "%s: the columns are called %s, those of the model %s; they must be the same in the same order",
			f.data.Name, jobflags.Abridged(fresh.Header), jobflags.Abridged(p.header))
	}
	found, err := p.assign(ctx, fresh.Points)
	if bad, ok := errors.AsType[*fault.Error](err); ok && bad.Kind == fault.InvalidArgument {
		return fault.Wrap(err, "%s", f.data.Name)
	}
	if err != nil {
		return err
	}
	rows := format.LabelRows{IDs: fresh.IDs, Labels: fresh.Filter.Restore(found.Labels), Classes: p.classes}
	if s := found.Rows; s != nil {
		rows.Distance, rows.Margin = fresh.Filter.RestoreScores(s.Distance), fresh.Filter.RestoreScores(s.Margin)
	}
	write := func(w io.Writer) error { return report.WriteLabelRows(w, labels, rows) }
	if f.out == "" {
		return write(a.stdout)
	}
	if err := format.WriteFile(f.out, write); err != nil {
		return err
	}
	_, err = fmt.Fprintf(a.stdout, "%s: %s in %s\n", f.out, text.Plural(len(found.Labels), "point"), text.Plural(p.clusters, "cluster"))
	return err
}

// findPredictor reads a model from its folder, or finds the job at its coordinator. Call end after use.
func (a *app) findPredictor(ctx context.Context, f *predictFlags) (p *predictor, end func(), err error) {
	if f.job == "" {
		result, err := report.ReadResult(f.model)
		if err != nil {
			return nil, nil, err
		}
		if p, err = a.openModel(f, result); err == nil {
			p.recipe, p.directions = wire.Recipe(result.GetRecipe()), wire.ComparesDirections(result.GetOrigin().GetSpec())
			p.classes = report.ReadClasses(f.model)
		}
		return p, func() {}, err
	}
	c, err := a.remote(*f.server)
	if err != nil {
		return nil, nil, err
	}
	id, err := jobID(ctx, c, f.job)
	if err == nil {
		p, err = a.jobPredictor(ctx, c, id)
	}
	if err != nil {
		c.Close()
	}
	return p, c.Close, err
}

func (a *app) openModel(f *predictFlags, result *cleavev1.Result) (*predictor, error) {
	if result.GetModel() == nil && (result.GetChoice() != nil || result.GetNeighborGraph() != nil) {
		return byNeighbors(f, result)
	}
	if result.GetModel() == nil {
		m, err := loadKernelModel(f, result)
		if err != nil {
			return nil, err
		}
		columns := jobflags.ColumnsOf(m.points)
		if m.points.Kind() == dataset.KindSparsePoints {
			columns = 0 // new points may have features that those of the run have not
		}
		return &predictor{clusters: int(result.GetK()), columns: columns, header: m.header, assign: func(ctx context.Context, points dataset.Dataset) (*clustering.Prediction, error) {
			return m.predict(ctx, a, points)
		}}, nil
	}
	if f.trainedOn != "" {
		return nil, shell.Usage("--trained-on does not apply to %s: its centroids are all that new points are compared with", f.model)
	}
	model, header, err := report.LoadModel(f.model, result)
	if err != nil {
		return nil, err
	}
	p := nearestCentroid(model)
	p.header = header
	return p, nil
}

// jobPredictor assigns points by a job. The coordinator does so for auto, kernel k-means and neighbor graphs; the centroids
// of other jobs are fetched, and points are assigned here.
func (a *app) jobPredictor(ctx context.Context, c *client.Client, jobID string) (*predictor, error) {
	response, err := c.Jobs.GetJob(ctx, &cleavev1.GetJobRequest{JobId: jobID})
	if err != nil {
		return nil, c.Explain(err)
	}
	found, err := c.Jobs.GetResult(ctx, &cleavev1.GetResultRequest{JobId: jobID})
	if err != nil {
		return nil, c.Explain(err)
	}
	spec, steps := response.GetSpec(), wire.Recipe(found.GetResult().GetRecipe())
	p := &predictor{clusters: int(found.GetResult().GetK())}
	if spec.GetAuto() != nil || spec.GetKernelKmeans() != nil || spec.GetNeighborGraph() != nil {
		if steps == nil && spec.GetKernelKmeans() == nil { // new points for kernel k-means may have more features than the old ones
			old, err := c.DescribeDataset(ctx, spec.GetDatasetId())
			if err != nil {
				return nil, err
			}
			p.columns = int(old.GetColumns())
		}
		p.assign = func(ctx context.Context, points dataset.Dataset) (*clustering.Prediction, error) {
			return c.Predict(ctx, jobID, points, report.NewProgress(io.Discard, true))
		}
	} else {
		model, err := c.FetchModel(ctx, jobID)
		if err != nil {
			return nil, err
		}
		p = nearestCentroid(model)
	}
	p.recipe, p.directions = steps, wire.ComparesDirections(spec)
	p.classes, err = jobClasses(ctx, c, jobID, spec, steps)
	return p, err
}

// jobClasses returns the classes of the clusters of a job whose seeds are the classes in a column of its table, "" for a cluster
// without one. The coordinator keeps numbers of classes only, so their names are read from the table. It returns nil for other
// jobs, and if the tables were deleted.
func jobClasses(ctx context.Context, c *client.Client, jobID string, spec *cleavev1.JobSpec, steps *recipe.Recipe) ([]string, error) {
	if steps == nil || steps.Label == "" || spec.GetSupervision().GetSeeds() == nil {
		return nil, nil
	}
	o, err := c.Fetch(ctx, jobID, client.Labels)
	if err != nil {
		return nil, err
	}
	seeds, err := fetchSeeds(ctx, c, spec, o)
	if err != nil || len(seeds) == 0 {
		return nil, err
	}
	filter, names, first := (*jobflags.RowFilter)(nil), map[int]string{}, 0
	if o.Kept != nil {
		filter = jobflags.FilterOf(o.Kept, len(o.Labels)+int(o.Result.GetDroppedRows()))
	}
	for _, s := range seeds {
		names[filter.FileRow(int(s[0]))] = ""
	}
	err = c.EachTableRows(ctx, spec.GetTable().GetTableId(), func(t *table.Table) error {
		column, err := recipe.Find(t, steps.Label)
		if err != nil {
			return err
		}
		for row := range t.Rows() {
			if _, seed := names[first+row]; seed {
				names[first+row] = t.Columns[column].CellText(row)
			}
		}
		first += t.Rows()
		return nil
	})
	if fault.Is(err, "TABLE_NOT_FOUND") {
		return nil, nil
	}
	j := &jobflags.Job{Spec: spec}
	j.NameSeeds(seeds, filter, func(row int) string { return names[row] })
	return j.ClusterClasses(o.Labels), err
}

// nearestCentroid assigns points by a model, in this process.
func nearestCentroid(m *clustering.Model) *predictor {
	return &predictor{clusters: m.K, columns: m.Columns(), assign: func(ctx context.Context, points dataset.Dataset) (*clustering.Prediction, error) {
		return kmeans.Predict(ctx, m, points, runtime.GOMAXPROCS(0))
	}}
}
