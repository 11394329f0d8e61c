package runner

import (
	"context"
	"fmt"
	"math"
	"runtime/debug"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/recipe"
	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/text"
	"github.com/cleave-project/cleave/internal/wire"
	"github.com/cleave-project/cleave/internal/wire/supervision"
)

// Input is what a job clusters: a data set, or points made from the rows of a table. Points are made again whenever
// they are needed, with the same bits every time.
type Input struct {
	maker *ProblemMaker
	spec  *cleavev1.JobSpec // once a table is open, with the seeds or constraints that its classes become
	kind  dataset.Kind

	// Known from the start for a data set, and once a table is open.
	rows  int
	bytes int64 // memory that the data takes

	table  *Table          // nil for a data set, and before its table is open
	points dataset.Dataset // made from the table; nil for a data set
}

// Table holds what was decided about a table, and which of its rows became points. Its methods do nothing if it is
// nil.
type Table struct {
	Recipe  *recipe.Recipe
	Notices []clustering.Notice
	rows    *recipe.Rows
}

// Accepted is a job that continues, or whose points are made again, whatever the limits are now.
const Accepted = true

// find finds what a spec clusters, reading only its record.
func (m *ProblemMaker) find(ctx context.Context, p *cleavev1.JobSpec) (*Input, error) {
	if p.GetTable() != nil {
		return &Input{maker: m, spec: p, kind: dataset.KindPoints},
			wire.OnTable(m.checkTable(ctx, p.GetTable().GetTableId()))
	}
	record, err := m.Datasets.Record(ctx, p.GetDatasetId())
	if err != nil {
		return nil, err
	}
	d := record.GetDataset()
	return &Input{maker: m, spec: p, kind: wire.Kind(d.GetKind()), rows: int(d.GetRows()), bytes: int64(d.GetBytes())},
		nil
}

// Open finds what a spec clusters, and makes the points of a table.
func (m *ProblemMaker) Open(ctx context.Context, p *cleavev1.JobSpec) (*Input, error) {
	in, err := m.find(ctx, p)
	if err == nil {
		err = in.open(ctx, Accepted)
	}
	return in, err
}

// open makes the points of a table. It must be called before Spec and Load, because what a spec says about rows of a
// table depends on their ids.
func (in *Input) open(ctx context.Context, accepted bool) error {
	if in.spec.GetTable() == nil {
		return nil
	}
	return wire.OnTable(in.makePoints(ctx, accepted))
}

// Spec returns the spec for the points of the input.
func (in *Input) Spec(ctx context.Context) (clustering.Spec, error) {
	rows := &recipe.Rows{Count: in.rows}
	if in.table != nil {
		rows = in.table.rows
	}
	return wire.Spec(in.spec, rows, in.maker.Tables.Finder(ctx))
}

// LoadDataset returns a data set, or an error if it does not fit into memory.
func (m *ProblemMaker) LoadDataset(ctx context.Context, id string) (dataset.Dataset, error) {
	in, err := m.find(ctx, &cleavev1.JobSpec{Data: &cleavev1.JobSpec_DatasetId{DatasetId: id}})
	if err != nil {
		return nil, err
	}
	return in.Load(ctx)
}

// Load returns the data, or an error if it does not fit into memory.
func (in *Input) Load(ctx context.Context) (dataset.Dataset, error) {
	if err := in.maker.checkMemory(in.bytes, 0); err != nil {
		return nil, err
	}
	if in.points != nil {
		return in.points, nil
	}
	return in.maker.Datasets.Load(ctx, in.spec.GetDatasetId())
}

// constraintBytes is about what a constraint takes while it is made from classes: itself, and as a row of a table.
const constraintBytes = 100

// makePoints makes points from the rows of a table.
func (in *Input) makePoints(ctx context.Context, accepted bool) error {
	m, p := in.maker, in.spec
	t, err := m.Tables.Load(ctx, p.GetTable().GetTableId())
	if err != nil {
		return err
	}
	fitted, notices, err := recipe.Fit(ctx, t, wire.RecipeOptions(p.GetTable()))
	if err != nil {
		return err
	}
	size := TableBytes(t)
	FreeAfter(size) // before making points, which are just as large
	limit := m.MaxBytes
	if accepted {
		limit = math.MaxInt64
	}
	made, err := m.apply(ctx, fitted, t, limit)
	if err != nil {
		return err
	}
	if fitted.Missing == recipe.Drop && wire.ComparesDirections(p) {
		dropped, err := made.DropZeros()
		if err != nil {
			return err
		}
		if dropped > 0 {
			notices = append(notices, "left out: "+text.Count(dropped, "all-zero row, which has no direction",
				"all-zero rows, which have no direction"))
		}
	}
	labeled, more, err := supervision.WithLabels(p, fitted.Label, made.Labels, func(constraints int64) error {
		if !accepted {
			asks := fmt.Sprintf("the classes in the label column become %d constraints", constraints)
			if err := m.CheckConstraints("spec.table.label_column", asks, constraints); err != nil {
				return err
			}
		}
		return m.checkMemory(size, constraintBytes*constraints)
	})
	if err != nil {
		return err
	}
	if !accepted && p.GetClusters() == nil {
		asks := fmt.Sprintf("the label column has %d classes", labeled.GetK())
		if err := m.CheckClusters("spec.table.label_column", asks, int64(labeled.GetK())); err != nil {
			return err
		}
	}
	if err := wire.Validate(labeled, in.kind); err != nil {
		return err
	}
	notices = append(notices, more...)
	in.spec, in.points = labeled, made.Points
	in.table = &Table{Recipe: fitted, Notices: wire.TableNotices(append(notices, made.Notices...)), rows: made.Rows()}
	in.rows = in.table.rows.Points()
	in.bytes = size + dataset.EncodedSize(made.Points)
	FreeAfter(size) // the table itself
	return nil
}

// Apply makes points from a table by a recipe that an earlier job has fitted.
func (m *ProblemMaker) Apply(ctx context.Context, steps *recipe.Recipe, id string) (*recipe.Prepared, error) {
	if err := m.checkTable(ctx, id); err != nil {
		return nil, err
	}
	t, err := m.Tables.Load(ctx, id)
	if err != nil {
		return nil, err
	}
	return m.apply(ctx, steps, t, m.MaxBytes)
}

// checkTable rejects a table that does not fit into memory, before it is read.
func (m *ProblemMaker) checkTable(ctx context.Context, id string) error {
	record, err := m.Tables.Record(ctx, id)
	if err != nil {
		return err
	}
	return m.checkMemory(int64(record.GetTable().GetBytes()), 0)
}

// apply makes points from the rows of a table. It fails if they would take more than limit bytes, which may
// happen because each category becomes a column.
func (m *ProblemMaker) apply(ctx context.Context, r *recipe.Recipe, t *table.Table,
	limit int64) (*recipe.Prepared, error) {
	columns := len(r.Names())
	bytes := int64(math.MaxInt64 / 2) // leaves room to add the bytes of the table
	if t.Rows() == 0 || int64(columns) < math.MaxInt64/16/int64(t.Rows()) {
		bytes = 8 * int64(columns) * int64(t.Rows())
	}
	if bytes > limit {
		return nil, fault.New(fault.ResourceExhausted, "DATASET_TOO_LARGE",
			"the %d rows of the table become points of %d columns, which take %s; "+
				"this coordinator takes at most %s in one data set: leave out columns that have many categories",
			t.Rows(), columns, text.Bytes(bytes), text.Bytes(limit))
	}
	if err := m.checkMemory(TableBytes(t)+bytes, 0); err != nil {
		return nil, err
	}
	return r.Apply(ctx, t)
}

// TableBytes returns the memory that a table takes. Text columns take more than their encoded size.
func TableBytes(t *table.Table) int64 {
	bytes := t.EncodedSize()
	for at := range t.Columns {
		if t.Columns[at].Type == table.Text {
			bytes += 12 * int64(t.Rows())
		}
	}
	return bytes
}

// largeTable is the size in bytes from which a table's leftovers are worth a garbage collection. By default, Go lets
// garbage grow as large as the memory in use.
const largeTable = 256 << 20

// FreeAfter returns memory to the operating system after work on something of this size, if it was large.
func FreeAfter(bytes int64) {
	if bytes >= largeTable {
		debug.FreeOSMemory()
	}
}

// ReportNotices reports to o what was decided about the table.
func (t *Table) ReportNotices(o clustering.Observer) {
	if t == nil {
		return
	}
	for _, notice := range t.Notices {
		o.Observe(notice)
	}
}

// AddTo adds what is known about the table to a result.
func (t *Table) AddTo(result *cleavev1.Result) {
	if t == nil {
		return
	}
	result.Recipe = wire.RecipeProto(t.Recipe)
	result.DroppedRows = uint32(t.rows.Count - t.rows.Points())
	result.Warnings = append(wire.NoticesProto(t.Notices), result.GetWarnings()...)
}

// Rows returns a table that lists the row of each point, or nil if there is nothing to list.
func (t *Table) Rows() *table.Table {
	if t == nil {
		return nil
	}
	return t.rows.Table()
}
