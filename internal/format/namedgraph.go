package format

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/format/graph"
	"github.com/cleave-project/cleave/internal/format/scan"
)

// GraphOptions controls how LoadNamedGraph reads vertices.
type GraphOptions struct {
	Vertices int      // the number of vertices; 0 infers it from the edges
	List     []string // the names of all vertices in order; nil collects them from the edges
	Named    bool     // identify vertices by name even if all names are numbers
}

// NamedGraph is a graph whose vertices may have names.
type NamedGraph struct {
	*dataset.Graph
	Names   []string // of the vertices; nil if they are identified by number
	Notices []string // for the user: how ambiguous input was read
}

// LoadNamedGraph reads a graph. Vertices are identified by number from 0 if all of them are numbers, otherwise by name.
func (in Input) LoadNamedGraph(o GraphOptions) (*NamedGraph, error) {
	if in.Path == "-" && in.Stdin != nil {
		in.spool = scan.NewSpool(in.Stdin)
		defer in.spool.Close()
		if err := in.detectGraph(); err != nil {
			return nil, err
		}
	}
	if o.Named || o.List != nil {
		return in.graphByNames(o)
	}
	isList := false // only edge lists can name vertices
	graph, err := readInput(in, scan.Options{}, func(s *scan.Source) (*NamedGraph, error) {
		_, isList = edgeLists[s.Suffix]
		g, err := readGraph(s, o.Vertices)
		if err == nil {
			g.Notices = append(g.Notices, countsFromOne(s, g.Graph, o)...)
		}
		return g, err
	})
	if !isList || !fault.Is(err, "NOT_AN_INDEX") && !fault.Is(err, "AMBIGUOUS_HEADER") &&
		!fault.Is(err, "RAGGED_ROWS") {
		return graph, err
	}
	named, nameless := in.graphByNames(o)
	if nameless == nil && named.mostlyNumbers() {
		return nil, fault.Invalid("NOT_AN_INDEX", "%v; to treat numbers as names, use --named-vertices", err)
	}
	return named, nameless
}

// detectGraph sets the format of standard input, which has no telling name.
func (in *Input) detectGraph() error {
	return in.begin(func(s *scan.Source) {
		in.Format = strings.TrimPrefix(s.Suffix, ".")
		if in.Format == "" {
			head, _ := s.Peek(peeked / 4)
			in.Format = graphText(head)
		}
	})
}

func (in Input) graphByNames(o GraphOptions) (*NamedGraph, error) {
	return readInput(in, scan.Options{}, func(s *scan.Source) (*NamedGraph, error) { return readNamedGraph(s, o) })
}

// mostlyNumbers reports whether at least half of the names are numbers, so that the others are likely mistakes.
func (g *NamedGraph) mostlyNumbers() bool {
	numbers := 0
	for _, name := range g.Names {
		if _, ok := scan.ParseInteger([]byte(name)); ok {
			numbers++
		}
	}
	return 2*numbers >= len(g.Names)
}

// countsFromOne returns a notice if an edge list seems to number its vertices from 1.
func countsFromOne(s *scan.Source, graph *dataset.Graph, o GraphOptions) []string {
	if _, isList := edgeLists[s.Suffix]; !isList || o.Vertices > 0 || graph.N < 2 || graph.RowStart[1] > 0 {
		return nil
	}
	return []string{fmt.Sprintf("%s: no edge has vertex 0, so that vertex is isolated; if vertices are numbered from "+
		"1, use --named-vertices to treat the numbers as names", s.Name)}
}

// edgeLists maps the suffixes of edge lists to their cell separators.
var edgeLists = map[string]byte{".csv": ',', ".tsv": '\t', ".txt": scan.AnyWhiteSpace, ".edges": scan.AnyWhiteSpace}

// readNamedGraph reads an edge list whose vertices are identified by name.
func readNamedGraph(s *scan.Source, o GraphOptions) (*NamedGraph, error) {
	separator, known := edgeLists[s.Suffix]
	if !known {
		return nil, s.Invalid("UNKNOWN_FORMAT", "only edge lists can name vertices; use .csv, .tsv, .txt or .edges")
	}
	l, notices, err := graph.NewEdgeLines(s, separator)
	if err != nil {
		return nil, err
	}
	g := &namedEdges{Lines: l, number: map[string]int32{}, fixed: o.List != nil, notices: notices}
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
		return nil, s.Invalid("TOO_MANY_VERTICES", "the file names %d vertices, but --vertices is %d",
			len(g.names), o.Vertices)
	}
	if len(g.names) == 0 {
		return nil, s.Invalid("EMPTY_DATA", "the file has no edges")
	}
	for at := len(g.names); len(g.names) < o.Vertices; at++ {
		g.vertex(fmt.Sprintf("unnamed %d", at)) // adds nothing if the file has a vertex of this name
	}
	graph, err := dataset.GraphOf(len(g.names), []dataset.Edges{g.edges})
	if err != nil {
		return nil, fault.Wrap(err, "%s", s.Name)
	}
	return &NamedGraph{Graph: graph, Names: g.names, Notices: g.notices}, nil
}

// namedEdges collects the edges and vertex names of a file.
type namedEdges struct {
	*scan.Lines
	columns graph.EdgeColumns
	number  map[string]int32 // of each vertex, by its name
	names   []string         // of the vertices, by number
	fixed   bool             // no vertices may be added
	edges   dataset.Edges
	notices []string
}

// vertex returns the number of a vertex, and adds it if it is new.
func (g *namedEdges) vertex(name string) int32 {
	number, known := g.number[name]
	if !known {
		number = int32(len(g.names))
		g.number[name] = number
		g.names = append(g.names, name)
	}
	return number
}

// read reads all edges. A first row is a header if it names the columns, or if it has two names that no other row has;
// see dropHeader.
func (g *namedEdges) read() error {
	first, err := g.NextRow()
	if errors.Is(err, io.EOF) {
		return nil
	}
	if err != nil {
		return err
	}
	g.columns = graph.UsualColumns
	if columns, named, err := graph.NameEdgeColumns(g.Lines, first); err == nil && named {
		g.columns = columns
		return g.EachRow(g.append)
	}
	if len(first) > 2 && !isWeight(first[2]) {
		return g.Invalid("MISSING_COLUMN",
			"the weight is %s, which is not a number; a header must name the columns src and dst, and weight if "+
				"there is one", scan.Quote(first[2]))
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

// dropHeader treats the first row as a header if its vertices occur in no other row, and as an edge otherwise.
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
	g.notices = append(g.notices,
		fmt.Sprintf("%s: the first line is read as a header, because no other line contains %.40q or %.40q", g.Name,
			g.names[0], g.names[1]))
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
	e, err := graph.ParseEdge(g.Lines, cells, g.columns, g.find)
	if err == nil {
		g.edges.Append(e.Source, e.Target, e.Weight)
	}
	return err
}

func isWeight(cell []byte) bool {
	_, ok := scan.ParseFloat(cell)
	return ok || len(cell) == 0
}

// find returns the number of the vertex with a name, which it adds unless the vertices are fixed.
func (g *namedEdges) find(l *scan.Lines, cell []byte) (int32, error) {
	number, known := g.number[string(cell)]
	switch {
	case known:
		return number, nil
	case len(cell) == 0:
		return 0, l.Invalid("EMPTY_CELL", "an edge needs the names of two vertices")
	case g.fixed:
		return 0, l.Invalid("UNKNOWN_ID", "there is no vertex %s; %s", scan.Quote(cell),
			table.DidYouMean(string(cell), g.names))
	}
	return g.vertex(string(cell)), nil
}

// LoadVertices reads the names of vertices, one per line. A first line of id, vertex, node or name is a header.
func LoadVertices(path string) ([]string, error) {
	return readInput(Input{Path: path}, scan.Options{}, func(s *scan.Source) (names []string, err error) {
		if _, err := s.Decode(false); err != nil {
			return nil, err
		}
		l := scan.NewLines(s, ',')
		first := map[string]int{}
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
				return l.Invalid("DUPLICATE_ID", "the vertex %s is listed a second time; the first is on line %d",
					scan.Quote(cells[0]), before)
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
