package cli

import (
	"cmp"
	"context"
	"slices"

	"github.com/cleave-project/cleave/internal/cli/client"
	"github.com/cleave-project/cleave/internal/cli/jobflags"
	"github.com/cleave-project/cleave/internal/cli/report"
	"github.com/cleave-project/cleave/internal/data/recipe"
	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/wire"
)

// What is fetched of a table that was sent as it was read, to be drawn: at most so many rows, and values.
const (
	drawnRows   = 20_000
	drawnValues = 4_000_000
)

// streamed is what is still to be known of a table that was sent as it was read, once the job has ended.
type streamed struct {
	client *client.Client
	id     string // of the table
	rows   *recipe.Rows
	recipe *recipe.Recipe
}

// afterStream finds what the rows of a table are called that was sent as it was read, and which of them were clustered; nil: the
// table was read, or there is none.
func afterStream(ctx context.Context, c *client.Client, j *jobflags.Job, tableID string, o *client.Outcome) (*streamed, error) {
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
		column, err := recipe.Find(t, s.recipe.ID)
		if err != nil {
			return err
		}
		for row := range t.Rows() {
			if len(kept) > 0 && int(kept[0]) == at {
				kept = kept[1:]
			} else if at < len(ids) {
				ids[at] = cmp.Or(t.Columns[column].CellText(row), "total") // which alone may have no id
			}
			at++
		}
		return nil
	})
	s.rows = recipe.NewRows(s.rows.Count, s.rows.Kept, ids)
	return err
}

// showStreamed adds what can be drawn of a table that was sent as it was read, and how its rows are written with their labels.
func (a *app) showStreamed(ctx context.Context, s *streamed, out *report.OutputDir, f *runFlags, scene *report.Scene, labels *report.Labels) error {
	if f.join {
		labels.Join = s.join(ctx)
	}
	if out == nil {
		return nil
	}
	return s.draw(ctx, scene)
}

// join calls yield with the rows of the table.
func (s *streamed) join(ctx context.Context) func(yield func(*table.Table) error) error {
	return func(yield func(*table.Table) error) error { return s.client.EachTableRows(ctx, s.id, yield) }
}

// draw fetches a sample of the rows, and adds it to a scene.
func (s *streamed) draw(ctx context.Context, into *report.Scene) error {
	count := min(s.rows.Count, drawnRows, max(1, drawnValues/len(s.recipe.Names())))
	all, err := s.client.SampleTable(ctx, s.id, count)
	if err != nil {
		return err
	}
	var points []int32
	var taken []int // rows of the sample that were clustered
	for at, row := range table.SampleRows(s.rows.Count, count) {
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
