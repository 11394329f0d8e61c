package format

import (
	"math"
	"strings"

	"github.com/cleave-project/cleave/internal/dataset"
)

// edgeList is the reader of lists of edges. Those separated by white space may have comments.
func edgeList(separator byte) graphReader {
	return func(s *source, vertices int) ([]dataset.Edge, int, error) {
		l := newLines(s, separator)
		l.allowBlankLines = true
		if separator == anyWhiteSpace {
			l.comments = "#%"
		}
		edges, err := readEdges(l, vertices)
		return edges, vertices, err
	}
}

// edgeColumns says which columns hold what; weight is -1 if there is no such column.
type edgeColumns struct {
	source, target, weight, width int
}

func readEdges(l *lines, vertices int) ([]dataset.Edge, error) {
	var edges []dataset.Edge
	columns := edgeColumns{source: 0, target: 1, weight: 2, width: 3}
	first := true
	err := l.eachRow(func(cells [][]byte) (err error) {
		if first {
			first = false
			switch kindOfRow(cells) {
			case rowOfNames:
				columns, err = nameEdgeColumns(l, cells)
				return err
			case rowOfNumbersAndNames:
				return l.invalid("AMBIGUOUS_HEADER", "the first line has both numbers and names; write src,dst,weight or an edge")
			}
		}
		edge, err := parseEdge(l, cells, columns, vertices)
		edges = append(edges, edge)
		return err
	})
	if err != nil {
		return nil, err
	}
	return edges, nil
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
		return edge, l.invalid("RAGGED_ROWS", "the line has %d cells; an edge needs src, dst and at most a weight", len(cells))
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
