package coordinator

import (
	"context"
	"math"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/recipe"
	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/text"
	"github.com/cleave-project/cleave/internal/wire"
)

// input is what a job clusters: a data set, or points made from the rows of a table. Points are made again whenever
// they are needed, with the same bits every time.
type input struct {
	kind dataset.Kind
	// open makes the points of a table and sets the fields below. For a data set they are set from the start. It must
	// be called before spec and load, because what a spec says about rows of a table depends on their ids.
	open  func() error
	rows  int
	bytes int64 // memory in bytes
	spec  func(wire.Tables) (clustering.Spec, error)
	load  func() (dataset.Dataset, error)
	table *tablePoints // nil for a data set
}

// tablePoints holds what was decided about a table, and which of its rows became points.
type tablePoints struct {
	recipe  *recipe.Recipe
	notices []clustering.Notice
	rows    *recipe.Rows
}

// anySize lifts the limit for points that were made from a table before: they are made again whatever the limit is
// now.
const anySize = math.MaxInt64

// findInput finds what a job clusters, reading only its record. limit is the maximum size in bytes of points made
// from a table.
func (c *Coordinator) findInput(ctx context.Context, p *cleavev1.JobSpec, limit int64) (*input, error) {
	if p.GetTable() != nil {
		in := &input{kind: dataset.KindPoints}
		in.open = func() error { return wire.OnTable(c.openTable(ctx, p, in, limit)) }
		return in, wire.OnTable(c.checkTable(ctx, p.GetTable().GetTableId()))
	}
	record, err := c.datasets.Record(ctx, p.GetDatasetId())
	if err != nil {
		return nil, err
	}
	rows := int(record.GetDataset().GetRows())
	return &input{
		kind: wire.Kind(record.GetDataset().GetKind()), rows: rows, bytes: int64(record.GetDataset().GetBytes()),
		open: func() error { return nil },
		spec: func(tables wire.Tables) (clustering.Spec, error) { return wire.Spec(p, rows, tables) },
		load: func() (dataset.Dataset, error) { return c.datasets.Load(ctx, p.GetDatasetId()) },
	}, nil
}

// openTable makes points from the rows of a table.
func (c *Coordinator) openTable(ctx context.Context, p *cleavev1.JobSpec, in *input, limit int64) error {
	t, err := c.tables.Load(ctx, p.GetTable().GetTableId())
	if err != nil {
		return err
	}
	fitted, notices, err := recipe.Fit(t, wire.RecipeOptions(p.GetTable()))
	if err != nil {
		return err
	}
	size := tableBytes(t)
	freeAfter(size) // before making points, which are just as large
	made, err := c.applyRecipe(fitted, t, limit)
	if err != nil {
		return err
	}
	if fitted.Missing == recipe.Drop && wire.ComparesDirections(p) {
		dropped, err := made.DropZeros()
		if err != nil {
			return err
		}
		if dropped > 0 {
			notices = append(notices, "left out: "+text.Plural(dropped, "row")+" of zeros, without a direction")
		}
	}
	labeled, more, err := wire.WithLabels(p, fitted.Label, made.Labels)
	if err != nil {
		return err
	}
	if k := int64(labeled.GetK()); p.GetClusters() == nil && c.cfg.Limits.Clusters > 0 && k > c.cfg.Limits.Clusters {
		return overLimit("TOO_MANY_CLUSTERS", "spec.table.label_column", "classes, and as many clusters", k, c.cfg.Limits.Clusters)
	}
	if err := wire.Validate(labeled, in.kind); err != nil {
		return err
	}
	notices = append(notices, more...)
	rows := made.Rows()
	in.rows, in.bytes = rows.Points(), size+dataset.EncodedSize(made.Points)
	in.spec = func(tables wire.Tables) (clustering.Spec, error) { return wire.SpecOfRows(labeled, rows, tables) }
	in.load = func() (dataset.Dataset, error) { return made.Points, nil }
	in.table = &tablePoints{recipe: fitted, notices: wire.TableNotices(append(notices, made.Notices...)), rows: rows}
	freeAfter(size) // the table itself
	return nil
}

// checkTable rejects a table that does not fit into memory, before it is read.
func (c *Coordinator) checkTable(ctx context.Context, id string) error {
	record, err := c.tables.Record(ctx, id)
	if err != nil {
		return err
	}
	return c.checkMemory(int64(record.GetTable().GetBytes()), 0)
}

// applyRecipe makes points from the rows of a table. It fails if they would take more than limit bytes, which may
// happen because each category becomes a column.
func (c *Coordinator) applyRecipe(r *recipe.Recipe, t *table.Table, limit int64) (*recipe.Prepared, error) {
	columns := len(r.Names())
	bytes := int64(math.MaxInt64 / 2) // leaves room to add the bytes of the table
	if t.Rows() == 0 || int64(columns) < math.MaxInt64/16/int64(t.Rows()) {
		bytes = 8 * int64(columns) * int64(t.Rows())
	}
	if bytes > limit {
		return nil, fault.New(fault.ResourceExhausted, "DATASET_TOO_LARGE",
			"the %d rows of the table become points of %d columns, which take %s; this coordinator takes at most %s in one data set: leave out columns that have many categories",
			t.Rows(), columns, text.Bytes(bytes), text.Bytes(limit))
	}
	if err := c.checkMemory(tableBytes(t)+bytes, 0); err != nil {
		return nil, err
	}
	return r.Apply(t)
}

// tableBytes returns the memory that a table takes. Text columns take more than their encoded size.
func tableBytes(t *table.Table) int64 {
	bytes := t.EncodedSize()
	for at := range t.Columns {
		if t.Columns[at].Type == table.Text {
			bytes += 12 * int64(t.Rows())
		}
	}
	return bytes
}

// lend makes the data of a job available to workers under the returned id, until end is called.
func (c *Coordinator) lend(j *job, p *prepared) (id string, end func(), err error) {
	if p.table == nil {
		return j.datasetID, func() {}, nil
	}
	id, _, err = c.datasets.AddTemporary(p.data)
	if err != nil {
		return "", nil, err
	}
	return id, func() { c.datasets.Release(id) }, nil
}

// tell reports to o what was decided about the table. It does nothing if t is nil.
func (t *tablePoints) tell(o clustering.Observer) {
	if t == nil {
		return
	}
	for _, notice := range t.notices {
		o.Observe(notice)
	}
}

// report adds what is known about the table to a result. It does nothing if t is nil.
func (t *tablePoints) report(result *cleavev1.Result) {
	if t == nil {
		return
	}
	result.Recipe = wire.RecipeProto(t.recipe)
	result.DroppedRows = uint32(t.rows.Count - t.rows.Points())
	result.Warnings = append(wire.NoticesProto(t.notices), result.GetWarnings()...)
}

// stored returns the table that lists the row of each point, or nil if there is nothing to list.
func (t *tablePoints) stored() *table.Table {
	if t == nil {
		return nil
	}
	return t.rows.Table()
}
