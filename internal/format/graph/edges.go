// Package graph reads the edges of graphs from edge lists, sparse matrices (Matrix Market, NPZ), METIS, GraphML and GML
// files.
package graph

import (
	"errors"
	"io"
	"math"
	"strings"

	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/format/scan"
	"github.com/cleave-project/cleave/internal/text"
)

// Graph holds a graph as read, not yet validated by the dataset package.
type Graph struct {
	Edges    []dataset.Edges
	Vertices int      // their number; 0 means that the edges determine it
	Names    []string // of the vertices, if the file lists them
	Notices  []string // for the user: how ambiguous input was read
}

// Reader reads a graph. If vertices is 0, the file determines their number.
type Reader func(s *scan.Source, vertices int) (*Graph, error)

// EdgeList returns a reader of edge lists.
func EdgeList(separator byte) Reader {
	return func(s *scan.Source, vertices int) (*Graph, error) {
		l, notices, err := NewEdgeLines(s, separator)
		if err != nil {
			return nil, err
		}
		edges, err := ReadEdges(l, vertices)
		return &Graph{Edges: edges, Vertices: vertices, Notices: notices}, err
	}
}

// NewEdgeLines returns the lines of an edge list, decoded to UTF-8. A .csv file may be separated by semicolons or tabs,
// and lists separated by white space may have comments. The notices tell the user which encoding was assumed.
func NewEdgeLines(s *scan.Source, separator byte) (l *scan.Lines, notices []string, err error) {
	notice, err := s.Decode(false)
	if err != nil {
		return nil, nil, err
	}
	if notice != "" {
		notices = []string{notice}
	}
	if separator == ',' {
		separator = s.Separator()
	}
	l = scan.NewLines(s, separator)
	l.AllowBlankLines = true
	if separator == scan.AnyWhiteSpace {
		l.Comments = "#%"
	}
	return l, notices, nil
}

// EdgeColumns holds the positions of columns. Weight is -1 if there is no such column.
type EdgeColumns struct {
	Source, Target, Weight, Width int
}

// UsualColumns are those of a list without a header.
var UsualColumns = EdgeColumns{Source: 0, Target: 1, Weight: 2, Width: 3}

// ReadEdges reads all edges of a list, which may have a header.
func ReadEdges(l *scan.Lines, vertices int) ([]dataset.Edges, error) {
	columns, vertex := UsualColumns, Numbered(vertices)
	cells, err := l.NextRow()
	if errors.Is(err, io.EOF) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	lists := []dataset.Edges{{}}
	switch scan.KindOfRow(cells) {
	case scan.RowOfNames:
		columns, _, err = NameEdgeColumns(l, cells)
		if err != nil {
			return nil, err
		}
	case scan.RowOfNumbersAndNames:
		return nil, l.Invalid("AMBIGUOUS_HEADER",
			"the first line has both numbers and names; make it a header (src,dst,weight) or an edge")
	default:
		first, err := ParseEdge(l, cells, columns, vertex)
		if err != nil {
			return nil, err
		}
		lists[0].Append(first.Source, first.Target, first.Weight)
	}
	rows := scan.EdgeRows{Lines: l, Parse: func(l *scan.Lines, cells [][]byte) (dataset.Edge, error) {
		return ParseEdge(l, cells, columns, vertex)
	}}
	if columns.Source == 0 && columns.Target == 1 && (columns.Width == 2 || columns.Width == 3 && columns.Weight == 2) {
		rows.LeastCells, rows.MostCells = 2, columns.Width
		rows.SourceLimit = math.MaxInt32
		if vertices > 0 {
			rows.SourceLimit = min(rows.SourceLimit, int64(vertices))
		}
		rows.TargetLimit = rows.SourceLimit
	}
	err = rows.ReadAll(func(edges dataset.Edges, err error, _ func(int) int) error {
		lists = append(lists, edges)
		return err
	})
	return lists, err
}

// NameEdgeColumns finds the columns by their usual names, or by position if it recognizes neither src nor dst. named
// reports whether it recognizes any name.
func NameEdgeColumns(l *scan.Lines, cells [][]byte) (c EdgeColumns, named bool, err error) {
	c = EdgeColumns{Source: -1, Target: -1, Weight: -1, Width: len(cells)}
	for at, cell := range cells {
		switch strings.ToLower(string(cell)) {
		case "src", "source", "from":
			c.Source = at
		case "dst", "target", "to":
			c.Target = at
		case "weight":
			c.Weight = at
		}
	}
	named = max(c.Source, c.Target, c.Weight) >= 0
	switch {
	case c.Source >= 0 && c.Target >= 0:
	case c.Source >= 0 || c.Target >= 0 || len(cells) < 2 || len(cells) > 3:
		err = l.Invalid("MISSING_COLUMN", "the header must have the columns src and dst, and optionally weight")
	default:
		c = EdgeColumns{Source: 0, Target: 1, Weight: 2, Width: len(cells)}
	}
	return c, named, err
}

// Vertex returns the number of the vertex that a cell names.
type Vertex func(l *scan.Lines, cell []byte) (int32, error)

// ParseEdge parses the cells of a line.
func ParseEdge(l *scan.Lines, cells [][]byte, columns EdgeColumns, vertex Vertex) (edge dataset.Edge, err error) {
	edge.Weight = 1
	if len(cells) > columns.Width || len(cells) <= max(columns.Source, columns.Target) {
		return edge, l.Invalid("RAGGED_ROWS", "the line has %s; an edge has src, dst and optionally a weight",
			text.Plural(len(cells), "cell"))
	}
	edge.Source, err = vertex(l, cells[columns.Source])
	if err != nil {
		return edge, err
	}
	edge.Target, err = vertex(l, cells[columns.Target])
	if err != nil {
		return edge, err
	}
	if columns.Weight < 0 || columns.Weight >= len(cells) || len(cells[columns.Weight]) == 0 {
		return edge, nil
	}
	weight, ok := scan.ParseFloat(cells[columns.Weight])
	if !ok {
		return edge, l.Invalid("NOT_A_NUMBER", "the weight is %s, which is not a number",
			scan.Quote(cells[columns.Weight]))
	}
	if !scan.IsFinite(weight) {
		return edge, l.Invalid("NOT_FINITE", "the weight is %s; weights must be finite numbers",
			scan.Quote(cells[columns.Weight]))
	}
	edge.Weight = weight
	return edge, nil
}

// Numbered parses vertex numbers, all below vertices unless it is 0.
func Numbered(vertices int) Vertex {
	limit := int64(math.MaxInt32)
	if vertices > 0 {
		limit = min(limit, int64(vertices))
	}
	return func(l *scan.Lines, cell []byte) (int32, error) {
		vertex, ok := scan.ParseInteger(cell)
		switch {
		case !ok:
			return 0, l.Invalid("NOT_AN_INDEX", "%s is not a vertex number; vertices are numbered from 0",
				scan.Quote(cell))
		case vertex < 0 || vertex >= limit:
			return 0, l.Invalid("INDEX_OUT_OF_RANGE", "vertex %d is outside 0..%d", vertex, limit-1)
		}
		return int32(vertex), nil
	}
}
