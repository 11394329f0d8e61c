package wire

import (
	"context"
	"errors"
	"slices"
	"strings"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/data/recipe"
	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/refusal"
)

var columnTypes = enumMap[cleavev1.ColumnType, table.Type]{
	cleavev1.ColumnType_COLUMN_TYPE_UNSPECIFIED: 0,
	cleavev1.ColumnType_COLUMN_TYPE_INTEGER:     table.Integer,
	cleavev1.ColumnType_COLUMN_TYPE_NUMBER:      table.Number,
	cleavev1.ColumnType_COLUMN_TYPE_TEXT:        table.Text,
}

// TableProto describes a table. The caller sets the id, name and time.
func TableProto(t *table.Table) *cleavev1.Table {
	return &cleavev1.Table{Rows: uint32(t.Rows()), Bytes: uint64(t.EncodedSize()), Columns: ColumnsProto(t.Columns)}
}

// TableRows returns the table in one message.
func TableRows(p *cleavev1.TableRows) (*table.Table, error) {
	var all rowsOfTable
	if err := all.add(p); err != nil {
		return nil, err
	}
	return all.table()
}

// InlineTable returns a table as part of a request.
func InlineTable(t *table.Table) *cleavev1.TableInput {
	return &cleavev1.TableInput{Source: &cleavev1.TableInput_Inline{Inline: rowsProto(t, 0, t.Rows())}}
}

// rowsProto returns the rows [from, to). The result shares memory with t.
func rowsProto(t *table.Table, from, to int) *cleavev1.TableRows {
	p := &cleavev1.TableRows{}
	for at := range t.Columns {
		c := &t.Columns[at]
		column := &cleavev1.Column{Name: c.Name}
		switch c.Type {
		case table.Integer:
			column.Cells = &cleavev1.Column_Integers{Integers: &cleavev1.IntegerCells{Values: c.Integers[from:to]}}
		case table.Number:
			column.Cells = &cleavev1.Column_Numbers{Numbers: &cleavev1.NumberCells{Values: c.Numbers[from:to]}}
		case table.Text:
			column.Cells = &cleavev1.Column_Texts{Texts: &cleavev1.TextCells{Values: c.Texts[from:to]}}
		}
		if c.Empty != nil {
			for row, empty := range c.Empty[from:to] {
				if empty {
					column.EmptyRows = append(column.EmptyRows, uint32(row))
				}
			}
		}
		p.Columns = append(p.Columns, column)
	}
	return p
}

// TableUpload assembles a table from the parts of an upload, in the order they arrive. Memory grows with what has
// arrived and stops at the limit.
type TableUpload struct {
	limit  int64 // in canonical bytes
	header *cleavev1.TableHeader
	bytes  uint64
	rows   rowsOfTable
}

// NewTableUpload returns a TableUpload of at most limit bytes in canonical form.
func NewTableUpload(limit int64) *TableUpload {
	return &TableUpload{limit: limit, rows: rowsOfTable{owned: true}}
}

// Name returns the display name in the header.
func (u *TableUpload) Name() string { return u.header.GetDisplayName() }

// Add adds the next part. The first one must be the header.
func (u *TableUpload) Add(part *cleavev1.CreateTableRequest) error {
	header := part.GetHeader()
	switch {
	case u.header == nil && header == nil:
		return fault.Invalid("HEADER_MISSING", "the upload does not begin with a header").OnField("header")
	case u.header == nil:
		u.header = header
		return CheckName("header.display_name", header.GetDisplayName())
	case header != nil:
		return fault.Invalid("HEADER_REPEATED", "the upload has a second header; it comes once, and first").
			OnField("header")
	case part.GetRows() == nil:
		return fault.Invalid("PART_EMPTY", "a part of the upload has no rows").OnField("rows")
	}
	for _, c := range part.GetRows().GetColumns() {
		u.bytes += 8 * uint64(len(c.GetIntegers().GetValues())+len(c.GetNumbers().GetValues()))
		for _, s := range c.GetTexts().GetValues() {
			u.bytes += 4 + uint64(len(s))
		}
	}
	if u.bytes > uint64(u.limit) {
		return tableTooLarge(u.bytes, u.limit)
	}
	return OnField(u.rows.add(part.GetRows()), "rows")
}

// Finish returns the table made of all parts. The TableUpload must not be used afterward.
func (u *TableUpload) Finish() (*table.Table, error) {
	switch {
	case u.header == nil:
		return nil, fault.Invalid("HEADER_MISSING", "the upload is empty; it begins with a header").OnField("header")
	case u.rows.columns == nil:
		return nil,
			fault.Invalid("BAD_COLUMNS", "the upload ended without a part that has columns; an empty table has one, "+
				"without cells").OnField("rows")
	}
	t, err := u.rows.table()
	if err != nil {
		return nil, OnField(err, "rows")
	}
	if size := t.EncodedSize(); size > u.limit {
		return nil, tableTooLarge(uint64(size), u.limit)
	}
	return t, nil
}

func tableTooLarge(bytes uint64, limit int64) error {
	return fault.New(fault.ResourceExhausted, "TABLE_TOO_LARGE",
		"the table takes at least %d bytes; this coordinator takes at most %d in one table", bytes, limit).
		OnField("rows").With("limit_bytes", itoa(uint64(limit)))
}

// OnField returns a fault, or what package refusal makes one, with the field of the request that it is about. Other
// errors are returned as they are.
func OnField(err error, field string) error {
	if f, is := errors.AsType[*fault.Error](refusal.Of(err)); is {
		return f.OnField(field)
	}
	return err
}

// partBytes is the approximate maximum size of a part of a table.
const partBytes = 1 << 20

// tableParts calls yield with the header and the parts of the upload of a table that have yet to arrive, until yield
// fails.
func tableParts(name string, t *table.Table, start UploadStart, yield func(*cleavev1.CreateTableRequest) error) error {
	if err := sendHeader(name, start, yield); err != nil {
		return err
	}
	return sendRows(t, skipArrived(start, yield))
}

func sendHeader(name string, start UploadStart, send func(*cleavev1.CreateTableRequest) error) error {
	header := &cleavev1.TableHeader{DisplayName: name, UploadId: start.ID, FirstPart: start.FirstPart}
	return send(&cleavev1.CreateTableRequest{Part: &cleavev1.CreateTableRequest_Header{Header: header}})
}

func sendRows(t *table.Table, send func(*cleavev1.CreateTableRequest) error) error {
	return EachPart(t, func(rows *cleavev1.TableRows) error {
		return send(&cleavev1.CreateTableRequest{Part: &cleavev1.CreateTableRequest_Rows{Rows: rows}})
	})
}

// EachPart calls yield with the rows of a table, portion by portion, at least once. A portion ends with the row that
// fills it, so that its size is limited wherever the long texts of the table are.
func EachPart(t *table.Table, yield func(*cleavev1.TableRows) error) error {
	var texts [][]string
	for at := range t.Columns {
		if t.Columns[at].Type == table.Text {
			texts = append(texts, t.Columns[at].Texts)
		}
	}
	for from, to := 0, 0; ; from = to {
		for bytes := 0; to < t.Rows() && bytes < partBytes; to++ {
			bytes += 8 * len(t.Columns)
			for _, column := range texts {
				bytes += len(column[to])
			}
		}
		if err := yield(rowsProto(t, from, to)); err != nil || to == t.Rows() {
			return err
		}
	}
}

// SendTableRows sends the rows of a table to a client. If atMost is positive and there are more rows, it sends a
// sample of that many.
func SendTableRows(t *table.Table, atMost int, send func(*cleavev1.GetTableRowsResponse) error) error {
	if atMost > 0 && atMost < t.Rows() {
		t = t.Sample(atMost)
	}
	return EachPart(t, func(rows *cleavev1.TableRows) error { return send(&cleavev1.GetTableRowsResponse{Rows: rows}) })
}

// ReceiveTable assembles a table from the parts of a stream, which ends with io.EOF. Errors of the stream are
// returned as they are.
func ReceiveTable(receive func() (*cleavev1.GetTableRowsResponse, error)) (*table.Table, error) {
	all := rowsOfTable{owned: true}
	if err := Receive(receive, func(part *cleavev1.GetTableRowsResponse) error {
		return all.add(part.GetRows())
	}); err != nil {
		return nil, err
	}
	return all.table()
}

// SendBatches uploads a table in batches of rows with the same columns, until next returns io.EOF. Only one batch is
// in memory at a time.
func SendBatches(ctx context.Context, client cleavev1.TableServiceClient, name string,
	next func() (*table.Table, error)) (*cleavev1.Table, error) {
	response, err := sendParts(ctx, client.CreateTable, func(send func(*cleavev1.CreateTableRequest) error) error {
		if err := sendHeader(name, UploadStart{}, send); err != nil {
			return err
		}
		return Receive(next, func(batch *table.Table) error { return sendRows(batch, send) })
	})
	return response.GetTable(), err
}

// SendTable uploads a table from the given part on, and returns the coordinator's description of it.
func SendTable(ctx context.Context, client cleavev1.TableServiceClient, name string, t *table.Table,
	start UploadStart) (*cleavev1.Table, error) {
	response, err := sendParts(ctx, client.CreateTable, func(send func(*cleavev1.CreateTableRequest) error) error {
		return tableParts(name, t, start, send)
	})
	return response.GetTable(), err
}

// Tables returns the table with this id.
type Tables func(id string) (*table.Table, error)

// TableNotFound is the reason of an error that means that there is no table with an id.
const TableNotFound = "TABLE_NOT_FOUND"

// NoTables is a Tables for requests whose tables are all inline. It always fails.
func NoTables(id string) (*table.Table, error) {
	return nil, fault.New(fault.NotFound, TableNotFound, "there is no table %.80q; it was deleted, or never uploaded",
		id).With("table_id", id)
}

// The fields of a specification that may hold tables.
const (
	fieldConstraints = "spec.supervision.constraints"
	fieldSeeds       = "spec.supervision.seeds"
	fieldLabels      = "spec.initialization.labels"
	fieldWeights     = "spec.kernel_kmeans.weights"
	fieldBeliefs     = "spec.constrained_spectral.beliefs"
)

// UsedTable is a table that a specification uses, and the field that names it.
type UsedTable struct {
	Field string
	Input *cleavev1.TableInput
}

// Name returns what the table holds: constraints, seeds, labels, weights or beliefs.
func (u UsedTable) Name() string { return u.Field[strings.LastIndex(u.Field, ".")+1:] }

// UsedTables returns the tables of a specification, other than the one that is clustered.
func UsedTables(p *cleavev1.JobSpec) []UsedTable {
	return slices.DeleteFunc([]UsedTable{
		{fieldConstraints, p.GetSupervision().GetConstraints()},
		{fieldSeeds, p.GetSupervision().GetSeeds()},
		{fieldLabels, p.GetInitialization().GetLabels()},
		{fieldWeights, p.GetKernelKmeans().GetWeights()},
		{fieldBeliefs, p.GetConstrainedSpectral().GetBeliefs()},
	}, func(u UsedTable) bool { return u.Input == nil })
}

// TableIDs returns the ids of the uploaded tables of a specification, without duplicates.
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

// ReadTable reads a table that a field of a request names or contains, as a list about the points made from these rows.
// It returns nil if input is nil.
func ReadTable[T any](input *cleavev1.TableInput, field string, rows *recipe.Rows, tables Tables,
	kind table.Kind[T]) ([]T, error) {
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
		err = fault.Invalid("FIELD_REQUIRED",
			"%s has neither the id of a table nor its rows; give one, or leave it out", field)
	}
	if err == nil {
		t, err = rows.Number(t)
	}
	var list []T
	if err == nil {
		list, err = kind.Read(t, rows.Points())
	}
	return list, OnField(err, field)
}

// readTable is ReadTable for a specification. It keeps an error in r.
func readTable[T any](r *tableReader, input *cleavev1.TableInput, field string, kind table.Kind[T]) []T {
	list, err := ReadTable(input, field, r.rows, r.tables, kind)
	if r.err == nil {
		r.err = err
	}
	return list
}

// Columns returns described columns, without cells.
func Columns(described []*cleavev1.TableColumn) []table.Column {
	return each(described, func(c *cleavev1.TableColumn) table.Column {
		return table.Column{Name: c.GetName(), Type: columnTypes[c.GetType()]}
	})
}

// ColumnsProto describes columns.
func ColumnsProto(columns []table.Column) []*cleavev1.TableColumn {
	return each(columns, func(c table.Column) *cleavev1.TableColumn {
		return &cleavev1.TableColumn{Name: c.Name, Type: columnTypes.write(c.Type)}
	})
}
