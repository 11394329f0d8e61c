package wire

import (
	"slices"
	"strings"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/data/recipe"
	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/fault"
)

// Tables finds a table by its id.
type Tables func(id string) (*table.Table, error)

// NoTables is for requests whose tables are all inline.
func NoTables(id string) (*table.Table, error) {
	return nil, fault.New(fault.NotFound, "TABLE_NOT_FOUND", "there is no table %.80q; upload it first", id).With("table_id", id)
}

// The tables that a specification may use, by their fields.
const (
	fieldConstraints = "spec.supervision.constraints"
	fieldSeeds       = "spec.supervision.seeds"
	fieldLabels      = "spec.initialization.labels"
	fieldWeights     = "spec.kernel_kmeans.weights"
	fieldBeliefs     = "spec.constrained_spectral.beliefs"
)

// UsedTable is a table that a specification uses, and the field that says so.
type UsedTable struct {
	Field string
	Input *cleavev1.TableInput
}

// Name is what the table holds: constraints, seeds, labels, weights or beliefs.
func (u UsedTable) Name() string { return u.Field[strings.LastIndex(u.Field, ".")+1:] }

// UsedTables are the tables of a specification.
func UsedTables(p *cleavev1.JobSpec) []UsedTable {
	return slices.DeleteFunc([]UsedTable{
		{fieldConstraints, p.GetSupervision().GetConstraints()},
		{fieldSeeds, p.GetSupervision().GetSeeds()},
		{fieldLabels, p.GetInitialization().GetLabels()},
		{fieldWeights, p.GetKernelKmeans().GetWeights()},
		{fieldBeliefs, p.GetConstrainedSpectral().GetBeliefs()},
	}, func(u UsedTable) bool { return u.Input == nil })
}

// InlineRows is how many rows a table has that is part of the request, 0 if it is not.
func InlineRows(input *cleavev1.TableInput) int64 {
	for _, c := range input.GetInline().GetColumns() {
		return int64(len(c.GetIntegers().GetValues()) + len(c.GetNumbers().GetValues()) + len(c.GetTexts().GetValues()))
	}
	return 0
}

// TableIDs are the ids of the tables of a specification that were uploaded.
func TableIDs(p *cleavev1.JobSpec) []string {
	var ids []string
	if id := p.GetTable().GetTableId(); id != "" {
		ids = append(ids, id)
	}
	for _, used := range UsedTables(p) {
		if id := used.Input.GetTableId(); id != "" && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// ReadTable reads a table that a field of a request names or holds, as a list about so many points; nil where
// there is none.
func ReadTable[T any](input *cleavev1.TableInput, field string, points int, tables Tables, kind table.Kind[T]) ([]T, error) {
	return readInput(input, field, points, nil, tables, kind)
}

// ReadTableOfRows is ReadTable for points that are rows of a table, by whose ids or numbers they go.
func ReadTableOfRows[T any](input *cleavev1.TableInput, field string, rows *recipe.Rows, tables Tables, kind table.Kind[T]) ([]T, error) {
	return readInput(input, field, rows.Points(), rows, tables, kind)
}

func readInput[T any](input *cleavev1.TableInput, field string, points int, rows *recipe.Rows, tables Tables, kind table.Kind[T]) ([]T, error) {
	var t *table.Table
	var err error
	switch source := input.GetSource().(type) {
	case *cleavev1.TableInput_TableId:
		t, err = tables(source.TableId)
	case *cleavev1.TableInput_Inline:
		t, err = TableRows(source.Inline)
	default:
		if input == nil {
			return nil, nil
		}
		err = fault.Invalid("VALUE_MISSING", "%s has neither the id of a table nor its rows; give one, or leave it out", field)
	}
	if err == nil && rows != nil {
		t, err = rows.Number(t)
	}
	var list []T
	if err == nil {
		list, err = kind.Read(t, points)
	}
	return list, onField(err, field)
}

// readTable is ReadTable of a specification.
func readTable[T any](r *tableReader, input *cleavev1.TableInput, field string, kind table.Kind[T]) []T {
	list, err := readInput(input, field, r.points, r.rows, r.tables, kind)
	if r.err == nil {
		r.err = err
	}
	return list
}
