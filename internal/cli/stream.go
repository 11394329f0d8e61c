package cli

import (
	"cmp"
	"context"
	"slices"

	"github.com/cleave-project/cleave/internal/cli/client"
	"github.com/cleave-project/cleave/internal/cli/jobflags"
	"github.com/cleave-project/cleave/internal/cli/report"
	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/recipe"
	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/numeric/choose"
	"github.com/cleave-project/cleave/internal/wire"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// inputOf returns the spec of a job for a coordinator, and the data to upload. A remote coordinator gets a table as it
// is and makes the points itself, so that its result has the recipe. An embedded one gets the points, which are the
// same to the last bit.
func (a *app) inputOf(ctx context.Context, c *client.Client, j *jobflags.Job, w client.Watcher) (*cleavev1.JobSpec, dataset.Dataset, error) {
	if j.Stream() == nil && (!c.Remote() || j.SourceTable() == nil) {
		if !c.Remote() && j.Data != nil {
			shell.LimitGarbage(dataset.EncodedSize(j.Data))
		}
		return j.Spec, j.Data, nil
	}
	id, err := a.sendTable(ctx, c, j, w)
	if err != nil {
		return nil, nil, err
	}
	spec := j.RemoteSpec() // which the number of rows may have completed
	spec.GetTable().TableId = id
	return spec, nil, nil
}

// sendTable sends a table, or has workers read it, and returns its id. If it was not read before, it completes the spec
// of the job.
func (a *app) sendTable(ctx context.Context, c *client.Client, j *jobflags.Job, w client.Watcher) (string, error) {
	s := j.Stream()
	switch {
	case s == nil:
		return c.SendTable(ctx, j.Name, j.SourceTable(), w)
	case s.Import() != nil:
		return a.importTable(ctx, c, j, s, w)
	}
	var notices []string
	defer s.Close()
	stored, err := c.StreamTable(ctx, j.Name, func(send func(next func() (*table.Table, error)) error) (err error) {
		notices, err = s.Read(send)
		return err
	})
	if err == nil {
		shell.LimitGarbage(int64(stored.GetBytes())) // its labels will be large as well
		var more []string
		more, err = j.Sent(int(stored.GetRows()))
		notices = append(notices, more...)
	}
	a.notify(notices...)
	return stored.GetTableId(), err
}

// importTable has workers read the objects of a job.
func (a *app) importTable(ctx context.Context, c *client.Client, j *jobflags.Job, s *jobflags.Stream, w client.Watcher) (string, error) {
	request := s.Import()
	request.DisplayName = j.Name
	imported, err := c.ImportTable(ctx, request, w.Importing)
	if err != nil {
		return "", err
	}
	id := imported.GetTable().GetTableId()
	notices := imported.GetNotices()
	more, err := s.Imported(imported, func(column string, add func(*table.Table) error) error { return c.EachTableRows(ctx, id, add, column) })
	if notices = append(notices, more...); err == nil {
		more, err = j.Sent(int(imported.GetTable().GetRows()))
		notices = append(notices, more...)
	}
	a.notify(notices...)
	return id, err
}

// The limits of the sample of a streamed table that is fetched to draw it.
const (
	drawnRows   = 20_000
	drawnValues = 4_000_000
)

// streamed is a table that was sent while it was read, after its job has ended.
type streamed struct {
	client *client.Client
	id     string // the id of the table
	rows   *recipe.Rows
	recipe *recipe.Recipe
}

// finishStream finds the ids of the rows of a table that was sent while it was read, and which of them were clustered.
// It returns nil for other jobs.
func finishStream(ctx context.Context, c *client.Client, j *jobflags.Job, tableID string, o *client.Outcome) (*streamed, error) {
	if j.Stream() == nil {
		return nil, nil
	}
	s := &streamed{client: c, id: tableID, rows: rowsOf(o), recipe: wire.Recipe(o.Result.GetRecipe())}
	if s.rows.Kept != nil && s.rows.IDs != nil {
		if err := s.nameDropped(ctx); err != nil {
			return nil, err
		}
	}
	return s, j.Clustered(s.rows, s.recipe)
}

// nameDropped finds the ids of rows that were not clustered.
func (s *streamed) nameDropped(ctx context.Context) error {
	ids, at, kept := slices.Clone(s.rows.IDs), 0, s.rows.Kept
	err := s.client.EachTableRows(ctx, s.id, func(t *table.Table) error {
		for row := range t.Rows() {
			if len(kept) > 0 && int(kept[0]) == at {
				kept = kept[1:]
			} else if at < len(ids) {
				ids[at] = cmp.Or(t.Columns[0].CellText(row), "total") // only a row of totals has no id
			}
			at++
		}
		return nil
	}, s.recipe.ID)
	s.rows = recipe.NewRows(s.rows.Count, s.rows.Kept, ids)
	return err
}

// join returns a function that fetches the rows of the table and passes them to yield.
func (s *streamed) join(ctx context.Context) func(yield func(*table.Table) error) error {
	return func(yield func(*table.Table) error) error { return s.client.EachTableRows(ctx, s.id, yield) }
}

// draw fetches a sample of the rows and adds it to a scene.
func (s *streamed) draw(ctx context.Context, into *report.Scene) error {
	count := min(s.rows.Count, drawnRows, max(1, drawnValues/len(s.recipe.Names())))
	all, err := s.client.SampleTable(ctx, s.id, count)
	if err != nil {
		return err
	}
	var points []int32
	var taken []int // indexes of clustered rows in the sample
	for at, row := range choose.Even[int](s.rows.Count, count) {
		point, clustered := int32(row), true
		if s.rows.Kept != nil {
			var place int
			place, clustered = slices.BinarySearch(s.rows.Kept, int32(row))
			point = int32(place)
		}
		if clustered {
			points, taken = append(points, point), append(taken, at)
		}
	}
	if len(points) == 0 {
		return nil
	}
	few := all.Take(taken)
	made, err := s.recipe.Apply(few)
	if err != nil {
		return err
	}
	into.Data, into.Table, into.LabelColumn, into.Sample = made.Points, few, s.recipe.Label, points
	return nil
}
