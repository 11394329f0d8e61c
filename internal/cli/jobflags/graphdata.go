package jobflags

import (
	"github.com/spf13/pflag"

	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/format"
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
