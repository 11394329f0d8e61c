package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"google.golang.org/protobuf/proto"

	"github.com/cleave-project/cleave/internal/cli/client"
	"github.com/cleave-project/cleave/internal/cli/report"
	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/text"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
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
