package graph

import (
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/format/scan"
)

// listedGraph collects a graph whose vertices have names. They are numbered in the order in which they are listed.
type listedGraph struct {
	*scan.Source
	numbers map[string]int32 // of each vertex, by its name
	names   []string         // of the vertices, by number
	edges   []listedEdge     // in the order of the file; finish resolves their names
}

// listedEdge is an edge between names, which may be listed before its vertices.
type listedEdge struct {
	source, target string
	weight         float64
	line           int
}

func newListedGraph(s *scan.Source) *listedGraph {
	return &listedGraph{Source: s, numbers: map[string]int32{}}
}

// addVertex gives the next number to a vertex, whose name must be new.
func (g *listedGraph) addVertex(name string, line int) error {
	if name == "" {
		return g.at(line, "MISSING_ID", "a vertex has no id")
	}
	if _, known := g.numbers[name]; known {
		return g.at(line, "DUPLICATE_INDEX", "vertex %.60q is listed a second time", name)
	}
	if len(g.names) == dataset.MaxRows {
		return g.at(line, "TOO_MANY_ROWS", "the file has more than %d vertices, the largest number supported",
			dataset.MaxRows)
	}
	g.numbers[name] = int32(len(g.names))
	g.names = append(g.names, name)
	return nil
}

// finish replaces the vertex names of the edges by numbers.
func (g *listedGraph) finish(vertices int) (*Graph, error) {
	if len(g.names) == 0 {
		return nil, g.Invalid("EMPTY_DATA", "the file has no vertices")
	}
	if vertices > 0 && vertices != len(g.names) {
		return nil, g.Invalid("SIZE_MISMATCH", "the file has %d vertices, but the number of vertices was set to %d",
			len(g.names), vertices)
	}
	var list dataset.Edges
	for _, e := range g.edges {
		source, known := g.numbers[e.source]
		if !known {
			return nil, g.at(e.line, "UNKNOWN_VERTEX",
				"an edge begins at %.60q, which the file does not list as a vertex", e.source)
		}
		target, known := g.numbers[e.target]
		if !known {
			return nil, g.at(e.line, "UNKNOWN_VERTEX",
				"an edge ends at %.60q, which the file does not list as a vertex", e.target)
		}
		list.Append(source, target, e.weight)
	}
	return &Graph{Edges: []dataset.Edges{list}, Vertices: len(g.names), Names: g.names}, nil
}

// at returns a fault on a line.
func (g *listedGraph) at(line int, reason, format string, args ...any) error {
	return scan.InLine(g.Name, line, reason, format, args...)
}

// weightOf parses the weight of an edge. An empty text means 1.
func (g *listedGraph) weightOf(text string, line int) (float64, error) {
	if text == "" {
		return 1, nil
	}
	weight, err := strconv.ParseFloat(text, 64)
	if err != nil || !scan.IsFinite(weight) {
		return 0, g.at(line, "NOT_A_NUMBER", "the weight is %s, which is not a finite number", scan.Quote([]byte(text)))
	}
	return weight, nil
}

// nameVertices replaces the ids of the vertices by other names in the file, such as labels, if all vertices have
// distinct ones.
func (g *Graph) nameVertices(s *scan.Source, names []string, what string) {
	seen := make(map[string]bool, len(names))
	for _, name := range names {
		if name == "" || !utf8.ValidString(name) {
			return
		}
		if seen[name] {
			g.Notices = append(g.Notices,
				fmt.Sprintf("%s: vertices are identified by id, because several have the %s %.40q", s.Name, what, name))
			return
		}
		seen[name] = true
	}
	if len(names) == 0 || slices.Equal(names, g.Names) {
		return
	}
	g.Names = names
	g.Notices = append(g.Notices, fmt.Sprintf("%s: vertices are identified by %s, such as %.40q", s.Name,
		what, names[0]))
}
