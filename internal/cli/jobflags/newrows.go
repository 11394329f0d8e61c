package jobflags

import (
	"slices"

	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/recipe"
	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/format"
)

// MadeRows are points that a recipe made of a table.
type MadeRows struct {
	Points  dataset.Dataset
	Header  []string
	IDs     []string   // of all rows; nil: they go by their numbers
	Filter  *RowFilter // nil: no row was dropped
	Notices []string

	table *table.Table
}

// Table returns the rows as they were read, or nil if they are not from a table.
func (m *MadeRows) Table() *table.Table { return m.table }

// Rows are what the table says besides the points.
func (m *MadeRows) Rows(r *recipe.Recipe) *Rows {
	return &Rows{Recipe: r, IDs: table.NewIDs(m.IDs), Data: m.table}
}

// LoadRows reads the table that a job clustered, as the new points are, and makes its points again by its recipe. directions says that the job compares
// them, so that rows of zeros are dropped where those with missing values are.
func (f *FreshFlags) LoadRows(path string, r *recipe.Recipe, directions bool) (*MadeRows, error) {
	return loadRows(path, r, directions, func(o format.TableOptions) (*table.Table, *format.TableReader, error) {
		if err := f.apply(&o); err != nil {
			return nil, nil, err
		}
		return readAll([]string{path}, o)
	})
}

// Made is LoadRows of the table that the flags name.
func (f *DataFlags) Made(r *recipe.Recipe, directions bool) (*MadeRows, error) {
	return loadRows(f.data, r, directions, func(o format.TableOptions) (*table.Table, *format.TableReader, error) {
		if err := f.apply(&o); err != nil {
			return nil, nil, err
		}
		return f.readFiles(o)
	})
}

func loadRows(path string, r *recipe.Recipe, directions bool, read func(format.TableOptions) (*table.Table, *format.TableReader, error)) (*MadeRows, error) {
	o := format.TableOptions{Texts: []string{r.ID, r.Label}, Only: []string{r.ID, r.Label, r.TotalColumn}}
	for _, f := range r.Features {
		o.Names, o.Only = append(o.Names, f.Column), append(o.Only, f.Column)
		if f.Categories != nil {
			o.Texts = append(o.Texts, f.Column)
		}
	}
	o.Decimals = r.Decimals
	t, from, err := read(o)
	if err != nil {
		return nil, err
	}
	if err := nameByOrder(t, r); err != nil {
		return nil, within(path, err)
	}
	p, err := r.Apply(t)
	if err == nil && directions && r.Missing == recipe.Drop {
		_, err = p.DropZeros()
	}
	if err != nil {
		return nil, within(path, err)
	}
	made := &MadeRows{Points: p.Points, Header: p.Names, IDs: p.IDs, Notices: append(from.Notices(), p.Notices...), table: t}
	if p.Kept != nil {
		made.Filter = newTableFilter(t.Rows(), p, false)
	}
	return made, nil
}

// nameByOrder gives the columns of a table without a header the names of the features, if it has no others.
func nameByOrder(t *table.Table, r *recipe.Recipe) error {
	known := map[string]bool{}
	for at := range t.Columns {
		if t.Columns[at].Name != table.Unnamed(at) {
			return nil
		}
		known[t.Columns[at].Name] = true
	}
	if !slices.ContainsFunc(r.Features, func(f recipe.Feature) bool { return !known[f.Column] }) {
		return nil // the job's table had no header either
	}
	if len(t.Columns) != len(r.Features) {
		return fault.Invalid("SIZE_MISMATCH", "the new points have %d columns; the job was made of points of %d", len(t.Columns), len(r.Features))
	}
	for at := range t.Columns {
		t.Columns[at].Name = r.Features[at].Column
	}
	return nil
}

// readFiles reads the table that the flags name.
func (f *DataFlags) readFiles(o format.TableOptions) (*table.Table, *format.TableReader, error) {
	o.Format, o.Stdin = f.format, f.Stdin
	return readAll(f.files, o)
}

// readAll reads all of a table. Its reader tells what there is to say about that.
func readAll(paths []string, o format.TableOptions) (*table.Table, *format.TableReader, error) {
	r, err := format.OpenTable(paths, o)
	if err != nil {
		return nil, nil, err
	}
	defer r.Close()
	t, err := r.ReadAll()
	return t, r, err
}
