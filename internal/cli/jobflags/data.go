package jobflags

import (
	"errors"
	"strings"

	"github.com/spf13/pflag"

	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/recipe"
	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/format"
	"github.com/cleave-project/cleave/internal/wire"
)

// addGraphFlags declares the flags about the vertices of a graph.
func (f *DataFlags) addGraphFlags(set *pflag.FlagSet) {
	set.Var(f.vertices, "vertices", "vertices of the graph, when some of the last have no edge")
	set.StringVar(&f.vertexList, "vertex-list", "", "names of all vertices in this `FILE`, one on a line, also of those without an edge")
	set.BoolVar(&f.namedVertices, "named-vertices", false, "vertices go by names, also where these are numbers: numbered from 1, or with gaps")
}

// checkGraph refuses flags about vertices where there is no graph.
func (f *DataFlags) checkGraph(source string) error {
	for _, flag := range []string{"vertices", "vertex-list", "named-vertices"} {
		if f.Given(flag) && source != "graph" {
			return shell.Usage("--%s goes with --graph only", flag)
		}
	}
	if f.Given("vertices") && f.Given("vertex-list") {
		return shell.Usage("--vertices and --vertex-list both say how many vertices there are; give one of them")
	}
	return nil
}

// loadGraph reads the graph, and what its vertices are called.
func (f *DataFlags) loadGraph() (dataset.Dataset, *Rows, error) {
	o := format.GraphOptions{Vertices: f.vertices.Whole(), Named: f.namedVertices}
	if f.vertexList != "" {
		var err error
		if o.List, err = format.LoadVertices(f.vertexList); err != nil {
			return nil, nil, err
		}
	}
	g, err := f.inputOf(f.graph).LoadNamedGraph(o)
	if err != nil {
		return nil, nil, err
	}
	return g.Graph, &Rows{IDs: table.NewIDs(g.Names), Notices: g.Notices}, nil
}

// loadSourceGraph reads a graph on the same vertices as the job's data.
func loadSourceGraph(path string, rows int, ids *table.IDs) (*dataset.Graph, error) {
	if ids == nil {
		return format.LoadGraph(path, rows)
	}
	g, err := format.LoadNamedGraph(path, format.GraphOptions{List: ids.All()})
	if err != nil {
		return nil, err
	}
	return g.Graph, nil
}

// Rows are what an ordinary table says besides the points that are made of it.
type Rows struct {
	Data    *table.Table // as it was read; nil: the data are a graph, or are sent as they are read
	Recipe  *recipe.Recipe
	IDs     *table.IDs // of all rows of the table; nil: they go by their numbers
	Notices []string   // what there is to say about how it was read
	Fitted  []string   // and about how points are made of it

	wishes  recipe.Wishes
	classes *classColumn     // of all rows of the table; nil: there are none
	stream  *Stream          // of one that is sent as it is read; nil: it was read
	inputs  []wire.UsedTable // those of the spec, about rows of the table rather than about points
}

// loadTable reads the table of a job and makes points of its rows, without those that are dropped.
func (f *DataFlags) loadTable(directions bool) (points dataset.Dataset, header []string, filter *RowFilter, rows *Rows, err error) {
	t, from, err := f.readTable()
	if err != nil {
		return nil, nil, nil, nil, err
	}
	wishes := f.wishes()
	wishes.Decimals = from.Decimals()
	made, said, err := recipe.Fit(t, wishes)
	if err != nil {
		return nil, nil, nil, nil, within(f.data, err)
	}
	p, err := made.Apply(t)
	if err != nil {
		return nil, nil, nil, nil, within(f.data, err)
	}
	rows = &Rows{Data: t, Recipe: made, IDs: table.NewIDs(p.IDs), Notices: from.Notices(), Fitted: append(said, p.Notices...), wishes: wishes}
	if rows.classes, err = classesOf(made.Label, p.Labels); err != nil {
		return nil, nil, nil, nil, within(f.data, err)
	}
	if hint := edgeListHint(t); hint != "" {
		rows.Notices = append(rows.Notices, hint)
	}
	if !unnamed(t, p.Names) {
		header = p.Names
	}
	if p.Kept == nil && made.Missing != recipe.Drop {
		return p.Points, header, nil, rows, nil
	}
	filter, points, err = newTableFilter(t.Rows(), p, directions && made.Missing == recipe.Drop).usable(f.data, p.Points)
	return points, header, filter, rows, err
}

// readTable reads all of the table. Its reader tells what there is to say about that.
func (f *DataFlags) readTable() (*table.Table, *format.TableReader, error) {
	o, err := f.reading()
	if err != nil {
		return nil, nil, err
	}
	return f.readFiles(o)
}

// within puts the name of a file before an error that has none.
func within(file string, err error) error {
	if bad, ok := errors.AsType[*fault.Error](err); ok && strings.HasPrefix(bad.Message, file) {
		return err
	}
	return fault.Wrap(err, "%s", file)
}

// unnamed tells whether the features are the columns of a table without a header.
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

// others are the rows that are not kept; nil keeps all.
func others(rows int, kept []int32) []int32 {
	if kept == nil {
		return nil
	}
	var others []int32
	for row, at := int32(0), 0; int(row) < rows; row++ {
		if at < len(kept) && kept[at] == row {
			at++
		} else {
			others = append(others, row)
		}
	}
	return others
}

// unnamedPairs tells whether a table without a header may be a list of edges: distinct pairs of different vertices.
func unnamedPairs(t *table.Table) bool {
	if len(t.Columns) != 2 || t.Columns[0].Name != table.Unnamed(0) || t.Columns[0].Type != table.Integer || t.Columns[1].Type != table.Integer {
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

// edgeListHint says so where a table looks like a list of edges.
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
		return "the table is two columns of whole numbers without names; if these are edges, --graph clusters the vertices that they connect"
	}
	if source && target && len(t.Columns) <= 3 {
		return "the table looks like a list of edges; --graph clusters the vertices that they connect, --data its rows"
	}
	return ""
}
