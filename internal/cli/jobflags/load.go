package jobflags

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/recipe"
	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/format"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// Loaded is a data set that was read from files, without the rows that were dropped.
type Loaded struct {
	Data  dataset.Dataset // nil if no file was named
	Rows                  // the rows of its points
	Table *TableInfo      // what a table or a graph has besides its points; nil for other data
}

// TableInfo is what a table or a graph has besides its points.
type TableInfo struct {
	Source  *table.Table // the table as it was read; nil for graphs and for tables that are streamed
	Recipe  *recipe.Recipe
	Notices []string // what to tell the user about how the file was read
	Fitted  []string // what to tell the user about how columns become features

	options recipe.Options
	classes *classColumn // the classes of all rows; nil if there are none
	// inputs are the tables of the spec by their fields, about rows of the table rather than about points; nil if every
	// row is a point.
	inputs map[string]*cleavev1.TableInput
}

// SourceTable returns the table as it was read, or nil if the data is not a table.
func (l *Loaded) SourceTable() *table.Table {
	if l.Table == nil {
		return nil
	}
	return l.Table.Source
}

// LoadPoints is like Load, but always reads points, such as those of an earlier job. Without a recipe, all columns of a
// table are coordinates of points.
func (f *DataFlags) LoadPoints(ctx context.Context, how Reading) (*Loaded, error) {
	if how.Recipe != nil && f.IsTable() {
		return f.loadRows(ctx, how)
	}
	parts, err := f.input.parts()
	if err != nil {
		return nil, err
	}
	l := &Loaded{}
	incomplete := []int32(nil)
	if f.input.holds(format.InputSparse) {
		l.Data, incomplete, err = parts.LoadSparsePoints(how.Columns, how.Drop)
	} else {
		l.Data, l.Header, incomplete, err = parts.LoadPoints(how.Drop)
	}
	if err == nil && how.Drop {
		l.Filter, l.Data, err = newRowFilter(f.input.path(), l.Data, incomplete, how.Directions)
	}
	if err != nil {
		return nil, err
	}
	return l, nil
}

// hintMissingDrop adds --missing drop to the error about a file with missing values.
func hintMissingDrop(err error) error {
	bad, ok := errors.AsType[*fault.Error](err)
	if !ok || bad.Reason != "MISSING_VALUE" && bad.Reason != "NOT_FINITE" {
		return err
	}
	hinted := *bad
	hinted.Message += "; cleave run --missing drop leaves rows with missing values out"
	return &hinted
}

// ColumnsOf returns the number of columns of points, or 0 for other data.
func ColumnsOf(data dataset.Dataset) int {
	switch data := data.(type) {
	case *dataset.Points:
		return data.D
	case *dataset.SparsePoints:
		return data.D
	}
	return 0
}

// loadGraph reads the graph and the names of its vertices.
func (f *DataFlags) loadGraph() (*Loaded, error) {
	o := format.GraphOptions{Vertices: f.vertices.Whole(), Named: f.namedVertices}
	if f.vertexList != "" {
		var err error
		if o.List, err = format.LoadVertices(f.vertexList); err != nil {
			return nil, err
		}
	}
	g, err := f.input.of(f.graph).LoadNamedGraph(o)
	if err != nil {
		return nil, err
	}
	return &Loaded{Data: g.Graph, Rows: Rows{IDs: table.NewIDs(g.Names)}, Table: &TableInfo{Notices: g.Notices}}, nil
}

// loadTable reads the table of a job, fits a recipe to it, and turns the rows that are not dropped into points.
func (f *DataFlags) loadTable(ctx context.Context, how Reading) (*Loaded, error) {
	o, err := f.table.readerOptions()
	if err != nil {
		return nil, err
	}
	t, from, err := f.input.readTable(o)
	if err != nil {
		return nil, err
	}
	options := f.table.recipeOptions()
	options.Decimals = from.Decimals()
	made, fitted, err := recipe.Fit(ctx, t, options)
	if err != nil {
		return nil, within(f.input.path(), err)
	}
	p, filter, err := applyRecipe(ctx, made, t, how)
	if err != nil {
		return nil, within(f.input.path(), err)
	}
	about := &TableInfo{Source: t, Recipe: made, Notices: from.Notices(), Fitted: append(fitted, p.Notices...),
		options: options}
	if about.classes, err = classesOf(made.Label, p.Labels); err != nil {
		return nil, within(f.input.path(), err)
	}
	if hint := edgeListHint(t); hint != "" {
		about.Notices = append(about.Notices, hint)
	}
	l := &Loaded{Data: p.Points, Rows: Rows{Filter: filter, IDs: table.NewIDs(p.IDs)}, Table: about}
	if !unnamed(t, p.Names) {
		l.Header = p.Names
	}
	return l, nil
}

// applyRecipe turns the rows of a table into points. If directions are compared, it drops all-zero rows whenever the
// recipe drops rows with missing values. The filter is nil if no row is dropped.
func applyRecipe(ctx context.Context, r *recipe.Recipe, t *table.Table,
	how Reading) (*recipe.Prepared, *RowFilter, error) {
	p, err := r.Apply(ctx, t)
	zeros := 0
	if err == nil && how.Directions && r.Missing == recipe.Drop {
		zeros, err = p.DropZeros()
	}
	if err != nil || p.Kept == nil {
		return p, nil, err
	}
	return p, newTableFilter(t.Rows(), p, zeros), nil
}

// readTable reads all of the table. The reader that it returns is closed, but still has its notices.
func (f *inputFlags) readTable(o format.TableOptions) (*table.Table, *format.TableReader, error) {
	o.Format, o.Stdin = f.format, f.stdin
	reader, err := format.OpenTable(f.files, o)
	if err != nil {
		return nil, nil, err
	}
	defer reader.Close()
	t, err := reader.ReadAll()
	return t, reader, err
}

// within puts the name of a file before an error that does not begin with it.
func within(file string, err error) error {
	if bad, ok := errors.AsType[*fault.Error](err); ok && strings.HasPrefix(bad.Message, file) {
		return err
	}
	return fault.Wrap(err, "%s", file)
}

// unnamed reports whether the features are all columns of a table without a header.
func unnamed(t *table.Table, features []string) bool {
	if len(features) != len(t.Columns) {
		return false
	}
	for at, name := range features {
		if name != table.Unnamed(at) {
			return false
		}
	}
	return true
}

// unnamedPairs reports whether a table without a header may be a list of edges: distinct pairs of different vertices.
func unnamedPairs(t *table.Table) bool {
	if len(t.Columns) != 2 || t.Columns[0].Name != table.Unnamed(0) || t.Columns[0].Type != table.Integer ||
		t.Columns[1].Type != table.Integer {
		return false
	}
	const few, enough = 5, 1000
	seen := map[[2]int64]bool{}
	for row := range min(t.Rows(), enough) {
		from, to := t.Columns[0].Integers[row], t.Columns[1].Integers[row]
		if from < 0 || to < 0 || from == to || seen[[2]int64{from, to}] {
			return false
		}
		seen[[2]int64{from, to}] = true
	}
	return t.Rows() >= few
}

// edgeListHint returns a hint for a table that looks like a list of edges, or "".
func edgeListHint(t *table.Table) string {
	source, target := false, false
	for at := range t.Columns {
		switch strings.ToLower(t.Columns[at].Name) {
		case "src", "source", "from":
			source = true
		case "dst", "target", "to":
			target = true
		}
	}
	if unnamedPairs(t) {
		return "the table is two columns of whole numbers without names; if these are edges, --graph clusters the " +
			"vertices that they connect"
	}
	if source && target && len(t.Columns) <= 3 {
		return "the table looks like a list of edges; --graph clusters the vertices that they connect, --data its rows"
	}
	return ""
}

// loadRows reads a table and applies the recipe of a job to it.
func (f *DataFlags) loadRows(ctx context.Context, how Reading) (*Loaded, error) {
	r := how.Recipe
	o := format.TableOptions{Texts: []string{r.ID, r.Label}, Only: []string{r.ID, r.Label, r.TotalColumn},
		Decimals: r.Decimals}
	for _, feature := range r.Features {
		o.Names = append(o.Names, feature.Column)
		o.Only = append(o.Only, feature.Column)
		if feature.Categories != nil {
			o.Texts = append(o.Texts, feature.Column)
		}
	}
	if how.AllColumns {
		o.Only = nil
	}
	if err := f.table.text.apply(&o); err != nil {
		return nil, err
	}
	t, from, err := f.input.readTable(o)
	if err != nil {
		return nil, err
	}
	if err := nameByOrder(t, r); err != nil {
		return nil, within(f.input.path(), err)
	}
	p, filter, err := applyRecipe(ctx, r, t, how)
	if err != nil {
		return nil, within(f.input.path(), err)
	}
	return &Loaded{Data: p.Points, Rows: Rows{Header: p.Names, Filter: filter, IDs: table.NewIDs(p.IDs)},
		Table: &TableInfo{Source: t, Recipe: r, Notices: append(from.Notices(), p.Notices...)}}, nil
}

// nameByOrder names the columns of a table without a header after the features of a recipe, if the recipe has other
// names.
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
		return fault.Invalid("SIZE_MISMATCH", "the new points have %d columns, but the job clustered points with %d",
			len(t.Columns), len(r.Features))
	}
	for at := range t.Columns {
		t.Columns[at].Name = r.Features[at].Column
	}
	return nil
}

// AddNewPointsFlags declares the flags for the files of new points, which are assigned to the clusters of a job. stdin
// is read for the path "-".
func AddNewPointsFlags(set *pflag.FlagSet, stdin io.Reader) *DataFlags {
	f := &DataFlags{set: set, input: inputFlags{stdin: stdin}}
	f.input.add(set, "new points in this `FILE`, with the columns of the old ones; or a folder of parts, or - "+
		"for standard input; may be repeated to read several files")
	f.table.text.add(set)
	return f
}

// CheckNewPoints checks the flags of new points before anything is read.
func (f *DataFlags) CheckNewPoints() error {
	if len(f.input.files) == 0 {
		return shell.Usage("no points to assign; give --data FILE")
	}
	if err := f.input.checkFormat("data"); err != nil {
		return err
	}
	return f.table.text.apply(&format.TableOptions{})
}

// LoadNewPoints reads new points as LoadPoints does. It refuses flags about tables if they are not read as one.
func (f *DataFlags) LoadNewPoints(ctx context.Context, how Reading) (*Loaded, error) {
	for _, flag := range []string{"delimiter", "header"} {
		switch {
		case !f.Given(flag):
		case !f.IsTable():
			return nil, shell.Usage("--%s requires a table as --data, such as a .csv file", flag)
		case how.Recipe == nil:
			return nil,
				shell.Usage("--%s requires a model that was made of a table; this one was made of points without one",
					flag)
		}
	}
	l, err := f.LoadPoints(ctx, how)
	if err == nil && l.Table != nil {
		l.Header = nil // the recipe found the columns by name
	}
	return l, err
}
