package format

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/format/graph"
	"github.com/cleave-project/cleave/internal/format/scan"
	"github.com/cleave-project/cleave/internal/text"
)

// GraphOptions are what the reader of a graph is told.
type GraphOptions struct {
	Vertices int      // numbered vertices; 0: as many as the edges say
	List     []string // the names of all vertices, in their order; nil: as the edges say
	Named    bool     // vertices go by names, also where these are numbers
}

// NamedGraph is a graph as a file has it.
type NamedGraph struct {
	*dataset.Graph
	Names   []string // of the vertices; nil: they go by their numbers
	Notices []string // what there is to say about how it was read
}

// LoadNamedGraph reads a graph whose vertices go by numbers from 0, or by names if there is one that is not a number.
func (in Input) LoadNamedGraph(o GraphOptions) (*NamedGraph, error) {
	again, err := in.repeatable()
	if err != nil {
		return nil, err
	}
	defer again.close()
	if o.Named || o.List != nil {
		return again.graphByNames(o)
	}
	var graph *NamedGraph
	err = again.read(func(r io.Reader, name string) error {
		g, s, err := readGraph(r, name, o.Vertices)
		if err == nil {
			graph = &NamedGraph{Graph: g, Names: s.Vertices, Notices: append(s.Notices, countsFromOne(s, g, o)...)}
		}
		return err
	})
	if !fault.Is(err, "NOT_AN_INDEX") && !fault.Is(err, "AMBIGUOUS_HEADER") && !fault.Is(err, "RAGGED_ROWS") {
		return graph, err
	}
	named, nameless := again.graphByNames(o)
	if nameless == nil && named.mostlyNumbers() {
		return nil, fault.Invalid("NOT_AN_INDEX", "%v; --named-vertices takes numbers for names, too", err)
	}
	return named, nameless
}

// LoadNamedGraph is Input.LoadNamedGraph of a path.
func LoadNamedGraph(path string, o GraphOptions) (*NamedGraph, error) {
	return Input{Path: path}.LoadNamedGraph(o)
}

func (in *repeatable) graphByNames(o GraphOptions) (graph *NamedGraph, err error) {
	err = in.read(func(r io.Reader, name string) (err error) {
		graph, err = readNamedGraph(r, name, o)
		return err
	})
	return graph, err
}

// mostlyNumbers reports whether the others among the names are likely mistakes.
func (g *NamedGraph) mostlyNumbers() bool {
	numbers := 0
	for _, name := range g.Names {
		if _, ok := scan.ParseInteger([]byte(name)); ok {
			numbers++
		}
	}
	return 2*numbers >= len(g.Names)
}

// countsFromOne says so where a list of edges may number its vertices from 1.
func countsFromOne(s *scan.Source, graph *dataset.Graph, o GraphOptions) []string {
	if _, isList := edgeLists[s.Suffix]; !isList || o.Vertices > 0 || graph.N < 2 || graph.RowStart[1] > 0 {
		return nil
	}
	return []string{fmt.Sprintf("%s: no edge has vertex 0, which is in no cluster but its own; if vertices are numbered from 1, --named-vertices takes their numbers for names", s.Name)}
}

// edgeLists are the suffixes of lists of edges, and what separates their cells.
var edgeLists = map[string]byte{".csv": ',', ".tsv": '\t', ".txt": scan.AnyWhiteSpace, ".edges": scan.AnyWhiteSpace}

// readNamedGraph reads a list of edges between names.
func readNamedGraph(r io.Reader, name string, o GraphOptions) (*NamedGraph, error) {
	s, err := scan.New(r, name)
	if err != nil {
		return nil, err
	}
	separator, known := edgeLists[s.Suffix]
	if !known {
		return nil, s.Invalid("UNKNOWN_FORMAT", "vertices by name are known in lists of edges only: .csv, .tsv, .txt or .edges")
	}
	l, err := graph.NewEdgeLines(s, separator)
	if err != nil {
		return nil, err
	}
	if separator == scan.AnyWhiteSpace {
		l.Comments = "#%"
	}
	g := &namedEdges{Lines: l, number: map[string]int32{}, fixed: o.List != nil}
	for _, vertex := range o.List {
		if _, twice := g.number[vertex]; twice {
			return nil, fault.Invalid("DUPLICATE_ID", "the vertex %.40q is listed twice", vertex)
		}
		g.vertex(vertex)
	}
	if err := g.read(); err != nil {
		return nil, err
	}
	if o.Vertices > 0 && len(g.names) > o.Vertices {
		return nil, s.Invalid("TOO_MANY_VERTICES", "the file names %d vertices; --vertices says %d", len(g.names), o.Vertices)
	}
	if len(g.names) == 0 {
		return nil, s.Invalid("EMPTY_DATA", "the file has no edges")
	}
	for len(g.names) < o.Vertices {
		g.vertex(fmt.Sprintf("unnamed %d", len(g.names)))
	}
	graph, err := dataset.GraphOf(len(g.names), []dataset.Edges{g.edges})
	if err != nil {
		return nil, fault.Wrap(err, "%s", name)
	}
	return &NamedGraph{Graph: graph, Names: g.names, Notices: append(s.Notices, g.notices...)}, nil
}

// namedEdges are the edges and names that have been read.
type namedEdges struct {
	*scan.Lines
	columns graph.EdgeColumns
	number  map[string]int32
	names   []string
	fixed   bool // all vertices are known
	edges   dataset.Edges
	notices []string
}

// vertex is the number of a vertex, which may be new.
func (g *namedEdges) vertex(name string) int32 {
	number, known := g.number[name]
	if !known {
		number = int32(len(g.names))
		g.number[name] = number
		g.names = append(g.names, name)
	}
	return number
}

func (g *namedEdges) read() error {
	first, err := g.NextRow()
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err != nil {
		return err
	}
	g.columns = graph.EdgeColumns{Source: 0, Target: 1, Weight: 2, Width: 3}
	if columns, err := graph.NameEdgeColumns(g.Lines, first); err == nil && isEdgeHeader(first) {
		g.columns = columns
		return g.EachRow(g.append)
	}
	if len(first) > 2 && !isNumberCell(first[2]) {
		return g.Invalid("MISSING_COLUMN", "the weight is %s, which is not a number; a header must name the columns src and dst, and weight if there is one", scan.Quote(first[2]))
	}
	mayBeHeader := len(first) == 2 && !g.fixed
	if err := g.append(first); err != nil {
		return err
	}
	if err := g.EachRow(g.append); err != nil {
		return err
	}
	if mayBeHeader {
		g.dropHeader()
	}
	return nil
}

// dropHeader takes the first row for a header if no other names its vertices, and for an edge otherwise.
func (g *namedEdges) dropHeader() {
	others := g.edges.Len() - 1
	for at := 1; at <= others; at++ {
		if g.edges.Source[at] < 2 || g.edges.Target[at] < 2 {
			return
		}
	}
	if others < 2 || len(g.names) < 2 {
		return
	}
	g.notices = append(g.notices, fmt.Sprintf("%s: the first line is read as a header, because no other has %.40q or %.40q", g.Name, g.names[0], g.names[1]))
	g.names = g.names[2:]
	var edges dataset.Edges
	for at := 1; at <= others; at++ {
		weight := 1.0
		if g.edges.Weight != nil {
			weight = g.edges.Weight[at]
		}
		edges.Append(g.edges.Source[at]-2, g.edges.Target[at]-2, weight)
	}
	g.edges = edges
}

// append adds the edge of a row.
func (g *namedEdges) append(cells [][]byte) error {
	e, err := g.parse(cells)
	if err == nil {
		g.edges.Append(e.Source, e.Target, e.Weight)
	}
	return err
}

// isEdgeHeader reports whether a row has a usual name of a column of edges.
func isEdgeHeader(cells [][]byte) bool {
	for _, cell := range cells {
		switch strings.ToLower(string(cell)) {
		case "src", "source", "from", "dst", "target", "to", "weight":
			return true
		}
	}
	return false
}

func isNumberCell(cell []byte) bool {
	_, ok := scan.ParseFloat(cell)
	return ok || len(cell) == 0
}

// parse parses an edge.
func (g *namedEdges) parse(cells [][]byte) (dataset.Edge, error) {
	edge := dataset.Edge{Weight: 1}
	if len(cells) > g.columns.Width || len(cells) <= max(g.columns.Source, g.columns.Target) {
		return edge, g.Invalid("RAGGED_ROWS", "the line has %s; an edge needs src, dst and at most a weight", text.Plural(len(cells), "cell"))
	}
	for _, end := range []struct {
		cell   []byte
		vertex *int32
	}{{cells[g.columns.Source], &edge.Source}, {cells[g.columns.Target], &edge.Target}} {
		number, known := g.number[string(end.cell)]
		switch {
		case known:
		case len(end.cell) == 0:
			return edge, g.Invalid("EMPTY_CELL", "an edge needs the names of two vertices")
		case g.fixed:
			return edge, g.Invalid("UNKNOWN_ID", "there is no vertex %s; did you mean %.40q?", scan.Quote(end.cell), text.Nearest(string(end.cell), g.names))
		default:
			number = g.vertex(string(end.cell))
		}
		*end.vertex = number
	}
	if g.columns.Weight < 0 || g.columns.Weight >= len(cells) || len(cells[g.columns.Weight]) == 0 {
		return edge, nil
	}
	weight, ok := scan.ParseFloat(cells[g.columns.Weight])
	if !ok || !scan.IsFinite(weight) {
		return edge, g.Invalid("NOT_A_NUMBER", "the weight is %s, which is not a finite number", scan.Quote(cells[g.columns.Weight]))
	}
	edge.Weight = weight
	return edge, nil
}

// LoadVertices reads the names of vertices: one on each line, after a header if that is called id, vertex, node or name.
func LoadVertices(path string) ([]string, error) {
	return load(path, func(r io.Reader, name string) ([]string, error) {
		s, err := scan.New(r, name)
		if err != nil {
			return nil, err
		}
		l := scan.NewLines(s, ',')
		first := map[string]int{}
		var names []string
		err = l.EachRow(func(cells [][]byte) error {
			vertex := string(cells[0])
			switch strings.ToLower(vertex) {
			case "id", "vertex", "node", "name", "vertices":
				if len(names) == 0 && len(first) == 0 {
					first[""] = l.LineNumber
					return nil
				}
			case "":
				return l.Invalid("EMPTY_CELL", "the vertex has no name")
			}
			if before := first[vertex]; before > 0 {
				return l.Invalid("DUPLICATE_ID", "the vertex %s is listed a second time; the first is on line %d", scan.Quote(cells[0]), before)
			}
			first[vertex] = l.LineNumber
			names = append(names, vertex)
			return nil
		})
		if err == nil && len(names) == 0 {
			err = s.Invalid("EMPTY_DATA", "the file names no vertices")
		}
		return names, err
	})
}
