package cli

import (
	"cmp"
	"context"
	"slices"

	"github.com/cleave-project/cleave/internal/cli/client"
	"github.com/cleave-project/cleave/internal/cli/jobflags"
	"github.com/cleave-project/cleave/internal/cli/report"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/recipe"
	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/memlimit"
	"github.com/cleave-project/cleave/internal/numeric/choose"
	"github.com/cleave-project/cleave/internal/wire"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// submission is what creates a job on a coordinator.
type submission struct {
	job  *jobflags.Job     // a table that was streamed is known as far as the coordinator has described it
	spec *cleavev1.JobSpec // with a table by its id
	data dataset.Dataset   // to upload; nil if the coordinator has it
	// rows returns the rows of the job, which has ended with an outcome.
	rows func(ctx context.Context, o *client.Outcome) (*jobRows, error)
}

// jobRows are the rows of a job that has ended: their ids are known, and which of them were clustered.
type jobRows struct {
	job  *jobflags.Job
	draw func(ctx context.Context, into *report.Scene) error // adds the data to a scene that lacks it
	join tableRows
}

// submissionOf gives a coordinator what it needs for a job, except for the data to upload. It sends a table as it is to
// a remote coordinator, which makes the points itself, so that its result has the recipe. An embedded one gets the
// points, which are the same to the last bit.
func (a *app) submissionOf(ctx context.Context, c *client.Client, j *jobflags.Job,
	w client.Watcher) (*submission, error) {
	rows := func(context.Context, *client.Outcome) (*jobRows, error) {
		draw := func(context.Context, *report.Scene) error { return nil } // the job has the data
		return &jobRows{j, draw, rowsOfTable(j.SourceTable())}, nil
	}
	s := &submission{job: j, spec: j.Spec, data: j.Data, rows: rows}
	switch {
	case j.Stream != nil:
		return a.stream(ctx, c, j, w)
	case c.Remote() && j.SourceTable() != nil:
		id, err := c.SendTable(ctx, j.Name, j.SourceTable(), w)
		s.spec = j.RemoteSpec(id)
		s.data = nil
		return s, err
	case !c.Remote() && j.Data != nil:
		memlimit.LimitGarbage(dataset.EncodedSize(j.Data))
	}
	return s, nil
}

// stream sends a table while it is read, or has workers read it, and then completes the spec of the job. Only the
// coordinator knows the ids of the rows until the job has ended.
func (a *app) stream(ctx context.Context, c *client.Client, j *jobflags.Job, w client.Watcher) (*submission, error) {
	defer j.Stream.Close()
	var sent *jobflags.SentTable
	var stored *cleavev1.Table
	var notices []string
	var err error
	if request := j.Stream.Import(); request != nil {
		sent, stored, notices, err = importTable(ctx, c, j.Stream, w)
	} else {
		stored, err = c.StreamTable(ctx, j.Name, func(send func(next func() (*table.Table, error)) error) (err error) {
			sent, notices, err = j.Stream.Read(send)
			return err
		})
		memlimit.LimitGarbage(int64(stored.GetBytes())) // its labels will be large as well
	}
	a.notify(notices...)
	if err != nil {
		return nil, err
	}
	completed, notices, err := sent.Complete(stored)
	a.notify(notices...)
	if err != nil {
		return nil, err
	}
	rows := func(ctx context.Context, o *client.Outcome) (*jobRows, error) {
		t := &storedTable{c, stored.GetTableId(), rowsOf(o), wire.Recipe(o.Result.GetRecipe())}
		job, err := t.named(ctx, sent, completed)
		if err != nil {
			return nil, err
		}
		a.printDropped(job.Filter)
		return &jobRows{job, t.draw, func(ctx context.Context, yield func(*table.Table) error) error {
			return c.EachTableRows(ctx, t.id, yield)
		}}, nil
	}
	return &submission{job: completed, spec: completed.RemoteSpec(stored.GetTableId()), rows: rows}, nil
}

// importTable has workers read the objects of a table.
func importTable(ctx context.Context, c *client.Client, s *jobflags.Stream, w client.Watcher) (
	sent *jobflags.SentTable, stored *cleavev1.Table, notices []string, err error,
) {
	imported, err := c.ImportTable(ctx, s.Import(), w.Importing)
	if err != nil {
		return nil, nil, nil, err
	}
	stored = imported.GetTable()
	sent, err = s.Imported(imported, func(column string, add func(*table.Table) error) error {
		return c.EachTableRows(ctx, stored.GetTableId(), add, column)
	})
	return sent, stored, imported.GetNotices(), err
}

// storedTable is a table of the coordinator that a job has clustered.
type storedTable struct {
	client *client.Client
	id     string
	rows   *recipe.Rows
	recipe *recipe.Recipe
}

// named returns the job that clustered the table, with the names of its rows. It fetches the ids of rows that were not
// clustered.
func (t *storedTable) named(ctx context.Context, sent *jobflags.SentTable, job *jobflags.Job) (*jobflags.Job, error) {
	if t.rows.Kept == nil || t.rows.IDs == nil {
		return sent.Named(job, t.rows, t.recipe)
	}
	ids := slices.Clone(t.rows.IDs)
	at := 0
	kept := t.rows.Kept
	err := t.client.EachTableRows(ctx, t.id, func(part *table.Table) error {
		for row := range part.Rows() {
			if len(kept) > 0 && int(kept[0]) == at {
				kept = kept[1:]
			} else if at < len(ids) {
				ids[at] = cmp.Or(part.Columns[0].CellText(row), "total") // only a row of totals has no id
			}
			at++
		}
		return nil
	}, t.recipe.ID)
	if err != nil {
		return nil, err
	}
	t.rows = recipe.NewRows(t.rows.Count, t.rows.Kept, ids)
	return sent.Named(job, t.rows, t.recipe)
}

// The limits of the sample of a streamed table that is fetched to draw it.
const (
	drawnRows   = 20_000
	drawnValues = 4_000_000
)

// draw fetches a sample of the rows and adds it to a scene.
func (t *storedTable) draw(ctx context.Context, into *report.Scene) error {
	count := min(t.rows.Count, drawnRows, max(1, drawnValues/len(t.recipe.Names())))
	all, err := t.client.SampleTable(ctx, t.id, count)
	if err != nil {
		return err
	}
	var points []int32
	var taken []int // indexes of clustered rows in the sample
	for at, row := range choose.Even[int](t.rows.Count, count) {
		point, clustered := int32(row), true
		if t.rows.Kept != nil {
			var place int
			place, clustered = slices.BinarySearch(t.rows.Kept, int32(row))
			point = int32(place)
		}
		if clustered {
			points = append(points, point)
			taken = append(taken, at)
		}
	}
	if len(points) == 0 {
		return nil
	}
	rows := all.Take(taken)
	applied, err := t.recipe.Apply(ctx, rows)
	if err != nil {
		return err
	}
	into.Data, into.Table, into.LabelColumn, into.Sample = applied.Points, rows, t.recipe.Label, points
	return nil
}

// sceneOf returns what the picture of the clusters of some data shows.
func sceneOf(l *jobflags.Loaded, title string, truth *jobflags.Truth) report.Scene {
	s := report.Scene{Data: l.Data, Header: l.Header, Title: title, Table: l.SourceTable(), Truth: truth}
	if l.Table != nil && l.Table.Recipe != nil {
		s.LabelColumn = l.Table.Recipe.Label
	}
	return s
}
