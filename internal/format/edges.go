package format

import (
	"errors"
	"io"
	"math"
	"strings"

	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/text"
)

// edgeList is the reader of lists of edges. Those separated by white space may have comments.
func edgeList(separator byte) graphReader {
	return func(s *source, vertices int) ([]dataset.Edges, int, error) {
		l, err := newEdgeLines(s, separator)
		if err != nil {
			return nil, 0, err
		}
		if separator == anyWhiteSpace {
			l.comments = "#%"
		}
		edges, err := readEdges(l, vertices)
		return edges, vertices, err
	}
}

// newEdgeLines are the lines of a list of edges, in whatever encoding. A file that is called .csv may have semicolons or tabs.
func newEdgeLines(s *source, separator byte) (*lines, error) {
	notice, err := s.decode(false)
	if err != nil {
		return nil, err
	}
	if notice != "" {
		s.notices = append(s.notices, notice)
	}
	if separator == ',' {
		separator = s.separator()
	}
	l := newLines(s, separator)
	l.allowBlankLines = true
	return l, nil
}

// edgeColumns says which columns hold what; weight is -1 if there is no such column.
type edgeColumns struct {
	source, target, weight, width int
}

func readEdges(l *lines, vertices int) ([]dataset.Edges, error) {
	columns := edgeColumns{source: 0, target: 1, weight: 2, width: 3}
	cells, err := l.nextRow()
	if errors.Is(err, io.EOF) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	lists := []dataset.Edges{{}}
	switch kindOfRow(cells) {
	case rowOfNames:
		if columns, err = nameEdgeColumns(l, cells); err != nil {
			return nil, err
		}
	case rowOfNumbersAndNames:
		return nil, l.invalid("AMBIGUOUS_HEADER", "the first line has both numbers and names; write src,dst,weight or an edge")
	default:
		first, err := parseEdge(l, cells, columns, vertices)
		if err != nil {
			return nil, err
		}
		lists[0].Append(first.Source, first.Target, first.Weight)
	}
	rows := edgeRows{lines: l, parse: func(l *lines, cells [][]byte) (dataset.Edge, error) { return parseEdge(l, cells, columns, vertices) }}
	if columns.source == 0 && columns.target == 1 && (columns.width == 2 || columns.width == 3 && columns.weight == 2) {
		rows.leastCells, rows.mostCells = 2, columns.width
		rows.sourceLimit = math.MaxInt32
		if vertices > 0 {
			rows.sourceLimit = min(rows.sourceLimit, int64(vertices))
		}
		rows.targetLimit = rows.sourceLimit
	}
	err = rows.read(func(edges dataset.Edges, err error, _ func(int) int) error {
		lists = append(lists, edges)
		return err
	})
	return lists, err
}

// nameEdgeColumns finds the columns by their usual names, or by their position if it knows none of the
// names.
func nameEdgeColumns(l *lines, cells [][]byte) (edgeColumns, error) {
	c := edgeColumns{source: -1, target: -1, weight: -1, width: len(cells)}
	for at, cell := range cells {
		switch strings.ToLower(string(cell)) {
		case "src", "source", "from":
			c.source = at
		case "dst", "target", "to":
			c.target = at
		case "weight":
			c.weight = at
		}
	}
	if c.source >= 0 && c.target >= 0 {
		return c, nil
	}
	if c.source >= 0 || c.target >= 0 || len(cells) < 2 || len(cells) > 3 {
		return c, l.invalid("MISSING_COLUMN", "the header must name the columns src and dst, and weight if there is one")
	}
	return edgeColumns{source: 0, target: 1, weight: 2, width: len(cells)}, nil
}

func parseEdge(l *lines, cells [][]byte, columns edgeColumns, vertices int) (dataset.Edge, error) {
	edge := dataset.Edge{Weight: 1}
	if len(cells) > columns.width || len(cells) <= max(columns.source, columns.target) {
		return edge, l.invalid("RAGGED_ROWS", "the line has %s; an edge needs src, dst and at most a weight", text.Plural(len(cells), "cell"))
	}
	var err error
	if edge.Source, err = parseVertex(l, cells[columns.source], vertices); err != nil {
		return edge, err
	}
	if edge.Target, err = parseVertex(l, cells[columns.target], vertices); err != nil {
		return edge, err
	}
	if columns.weight < 0 || columns.weight >= len(cells) || len(cells[columns.weight]) == 0 {
		return edge, nil
	}
	weight, ok := parseFloat(cells[columns.weight])
	if !ok {
		return edge, l.invalid("NOT_A_NUMBER", "the weight is %s, which is no number", quoted(cells[columns.weight]))
	}
	if !finite(weight) {
		return edge, l.invalid("NOT_FINITE", "the weight is %s; weights must be finite numbers", quoted(cells[columns.weight]))
	}
	edge.Weight = weight
	return edge, nil
}

func parseVertex(l *lines, cell []byte, vertices int) (int32, error) {
	vertex, ok := parseInteger(cell)
	switch {
	case !ok:
		return 0, l.invalid("NOT_AN_INDEX", "%s is no vertex; vertices are numbered from 0", quoted(cell))
	case vertex < 0 || vertex >= math.MaxInt32:
		return 0, l.invalid("INDEX_OUT_OF_RANGE", "vertex %d is outside 0..%d", vertex, math.MaxInt32-1)
	case vertices > 0 && vertex >= int64(vertices):
		return 0, l.invalid("INDEX_OUT_OF_RANGE", "vertex %d is outside 0..%d", vertex, vertices-1)
	}
	return int32(vertex), nil
}
