package cli

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/cli/client"
	"github.com/cleave-project/cleave/internal/cli/jobflags"
	"github.com/cleave-project/cleave/internal/cli/report"
	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/data/recipe"
	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/text"
	"github.com/cleave-project/cleave/internal/wire"
)

// stored is one kind of what a coordinator keeps for jobs.
type stored struct {
	command, singular, plural string
	list                      func(ctx context.Context, c *client.Client, asJSON bool) error
	candidates                func(ctx context.Context, c *client.Client) ([]candidate, error)
	remove                    func(ctx context.Context, c *client.Client, id string) (proto.Message, error)
}

func (a *app) datasetsCommand() *cobra.Command {
	return a.storedCommand(stored{"datasets", "data set", "data sets", a.listDatasets, datasetCandidates,
		func(ctx context.Context, c *client.Client, id string) (proto.Message, error) {
			if _, err := c.Datasets.GetDataset(ctx, &cleavev1.GetDatasetRequest{DatasetId: id}); err != nil {
				return nil, err // a mistyped id, which the service would take for one that is deleted already
			}
			return c.Datasets.DeleteDataset(ctx, &cleavev1.DeleteDatasetRequest{DatasetId: id})
		}})
}

func (a *app) tablesCommand() *cobra.Command {
	return a.storedCommand(stored{"tables", "table", "tables of constraints, seeds and the like", a.listTables, tableCandidates,
		func(ctx context.Context, c *client.Client, id string) (proto.Message, error) {
			if _, err := c.Tables.GetTable(ctx, &cleavev1.GetTableRequest{TableId: id}); err != nil {
				return nil, err
			}
			return c.Tables.DeleteTable(ctx, &cleavev1.DeleteTableRequest{TableId: id})
		}})
}

// storedCommand lists what is stored, or deletes some of it.
func (a *app) storedCommand(s stored) *cobra.Command {
	cmd := &cobra.Command{Use: s.command + " [list | delete ID]", Short: "List or delete the " + s.plural + " of a coordinator", Args: cobra.ArbitraryArgs}
	server, asJSON := addServerFlag(cmd.Flags()), addJSONFlag(cmd.Flags())
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		what := "list"
		if len(args) > 0 {
			what, args = args[0], args[1:]
		}
		switch what {
		case "list":
			if len(args) > 0 {
				return shell.Usage("what is %q? After %s list comes nothing more", args[0], s.command)
			}
			return a.onServer(*server, func(c *client.Client) error { return s.list(cmd.Context(), c, *asJSON) })
		case "delete":
			id, err := oneArgument(args, s.singular)
			if err != nil {
				return err
			}
			return a.onServer(*server, func(c *client.Client) error {
				id, err := pickListed(s.singular, id, storedIDLength, func() ([]candidate, error) { return s.candidates(cmd.Context(), c) })
				if err != nil {
					return err
				}
				response, err := s.remove(cmd.Context(), c, id)
				if err != nil {
					return err
				}
				if *asJSON {
					return report.PrintMessage(a.stdout, response)
				}
				_, err = fmt.Fprintf(a.stdout, "%s: deleted\n", id)
				return err
			})
		}
		return shell.Usage("what is %q? Use %s list or %s delete ID", what, s.command, s.command)
	}
	return cmd
}

func datasetCandidates(ctx context.Context, c *client.Client) (all []candidate, err error) {
	listed, err := c.ListDatasets(ctx)
	for _, d := range listed {
		all = append(all, candidate{id: d.GetDatasetId(), about: text.OneLine(d.GetDisplayName())})
	}
	return all, err
}

func tableCandidates(ctx context.Context, c *client.Client) (all []candidate, err error) {
	listed, err := c.ListTables(ctx)
	for _, t := range listed {
		all = append(all, candidate{id: t.GetTableId(), about: text.OneLine(t.GetDisplayName())})
	}
	return all, err
}

func (a *app) listDatasets(ctx context.Context, c *client.Client, asJSON bool) error {
	all, err := c.ListDatasets(ctx)
	return printList(a, asJSON, &cleavev1.ListDatasetsResponse{Datasets: all}, all, err,
		"DATASET\tNAME\tKIND\tROWS\tCOLUMNS\tNON-ZEROS\tSIZE\tCREATED", func(d *cleavev1.Dataset) []any {
			return []any{d.GetDatasetId(), d.GetDisplayName(), report.ShortName(d.GetKind()), d.GetRows(),
				d.GetColumns(), d.GetNonZeros(), text.Bytes(d.GetBytes()), report.FormatTime(d.GetCreateTime())}
		})
}

func (a *app) listTables(ctx context.Context, c *client.Client, asJSON bool) error {
	all, err := c.ListTables(ctx)
	return printList(a, asJSON, &cleavev1.ListTablesResponse{Tables: all}, all, err,
		"TABLE\tNAME\tCOLUMNS\tROWS\tSIZE\tCREATED", func(t *cleavev1.Table) []any {
			var names []string
			for _, column := range t.GetColumns() {
				names = append(names, column.GetName())
			}
			return []any{t.GetTableId(), t.GetDisplayName(), strings.Join(names, ","), t.GetRows(), text.Bytes(t.GetBytes()), report.FormatTime(t.GetCreateTime())}
		})
}

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
