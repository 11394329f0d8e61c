package graph

import (
	"bytes"
	"errors"
	"io"
	"math"
	"slices"

	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/format/scan"
)

// A METIS file has the numbers of vertices and edges on its first line, and then one line per vertex with its
// neighbors, numbered from 1. Two more numbers may say that vertices have sizes or weights, which are ignored, and that
// each neighbor is followed by the weight of the edge:
//
//	vertices edges [format [weights of a vertex]]
//
// Lines that begin with % are comments; a blank line is a vertex without neighbors.

// metis reads the lines of vertices.
type metis struct {
	*scan.Lines
	vertices    int
	edges       int64
	weighted    bool
	beforeEdges int // the count of numbers before the neighbors on each line
	list        dataset.Edges
	mirrored    int64 // edges to a smaller vertex, already read on its line

	// open has a sum for each vertex read: the hashes of its edges to larger vertices, less those that the lines of
	// these list. It is 0 once every edge is listed on both lines, with the same weight.
	open []uint64
}

// ReadMetis reads the neighbor lists of all vertices.
func ReadMetis(s *scan.Source, vertices int) (*Graph, error) {
	m := &metis{Lines: scan.NewLines(s, scan.AnyWhiteSpace)}
	m.Comments = "%"
	header, err := m.NextRow()
	if errors.Is(err, io.EOF) {
		return nil, s.Invalid("EMPTY_DATA", "the file is empty")
	}
	if err != nil {
		return nil, err
	}
	if err := m.parseHeader(header); err != nil {
		return nil, err
	}
	if vertices > 0 && vertices != m.vertices {
		return nil, s.Invalid("SIZE_MISMATCH", "the file has %d vertices, but the number of vertices was set to %d",
			m.vertices, vertices)
	}
	for vertex := 0; vertex < m.vertices; {
		line, err := m.ReadLine()
		if errors.Is(err, io.EOF) {
			return nil, s.Invalid("TRUNCATED_FILE",
				"the header claims %d vertices, but the file ends after %d of their lines", m.vertices, vertex)
		}
		if err != nil {
			return nil, err
		}
		if _, comment := m.Classify(line); comment {
			continue
		}
		if err := m.parseVertex(int32(vertex), line); err != nil {
			return nil, err
		}
		vertex++
	}
	m.AllowBlankLines = true
	if _, err := m.Next(); err == nil {
		return nil, m.Invalid("TRAILING_DATA", "the header claims %d vertices, but the file has more lines", m.vertices)
	} else if !errors.Is(err, io.EOF) {
		return nil, err
	}
	if found := int64(len(m.list.Source)); found != m.edges || m.mirrored != m.edges {
		return nil, s.Invalid("WRONG_COUNT",
			"the header claims %d edges, each listed on the lines of both its vertices, but the file has %d to a "+
				"larger vertex and %d to a smaller one",
			m.edges, found, m.mirrored)
	}
	if at := slices.IndexFunc(m.open, func(sum uint64) bool { return sum != 0 }); at >= 0 {
		return nil, s.Invalid("NOT_SYMMETRIC",
			"an edge between vertex %d and a larger one is listed on only one of their two lines, or with two weights",
			at+1)
	}
	g := &Graph{Edges: []dataset.Edges{m.list}, Vertices: m.vertices}
	if m.beforeEdges > 0 {
		g.Notices = []string{s.Name + ": the weights or sizes of the vertices are not used"}
	}
	return g, nil
}

// parseHeader reads the first line. Nothing is allocated by its counts.
func (m *metis) parseHeader(cells [][]byte) error {
	bad := m.Invalid("BAD_SIZE_LINE", "the first line must hold the number of vertices, the number of edges, and "+
		"optionally a format such as 001 and a number of weights")
	if len(cells) < 2 || len(cells) > 4 {
		return bad
	}
	var numbers [4]int64
	for at, cell := range cells {
		v, ok := scan.ParseInteger(cell)
		if !ok || v < 0 {
			return bad
		}
		numbers[at] = v
	}
	if numbers[0] > dataset.MaxRows {
		return m.Invalid("TOO_MANY_ROWS", "the header claims %d vertices; at most %d are supported", numbers[0],
			dataset.MaxRows)
	}
	m.vertices, m.edges = int(numbers[0]), numbers[1]
	form := numbers[2]
	if form > 111 || form%10 > 1 || form/10%10 > 1 {
		return bad
	}
	m.weighted = form%10 == 1
	if form/10%10 == 1 {
		m.beforeEdges = 1
		if len(cells) == 4 {
			m.beforeEdges = int(min(numbers[3], math.MaxInt32))
		}
	}
	if form/100 == 1 {
		m.beforeEdges++
	}
	return nil
}

// parseVertex parses the neighbors of a vertex. Each edge is kept where it is listed first.
func (m *metis) parseVertex(vertex int32, line []byte) error {
	m.open = append(m.open, 0)
	cells, err := m.Split(bytes.TrimSpace(line))
	if err != nil {
		return err
	}
	if len(cells) < m.beforeEdges {
		return m.Invalid("RAGGED_ROWS", "the line has %d numbers, but by the header %d come before the neighbors",
			len(cells), m.beforeEdges)
	}
	cells = cells[m.beforeEdges:]
	step := 1
	if m.weighted {
		step = 2
	}
	if len(cells)%step != 0 {
		return m.Invalid("RAGGED_ROWS", "the last neighbor has no weight")
	}
	for at := 0; at < len(cells); at += step {
		neighbor, ok := scan.ParseInteger(cells[at])
		switch {
		case !ok:
			return m.Invalid("NOT_AN_INDEX", "%s is not a vertex number; vertices are numbered from 1",
				scan.Quote(cells[at]))
		case neighbor < 1 || neighbor > int64(m.vertices):
			return m.Invalid("INDEX_OUT_OF_RANGE", "vertex %d is outside 1..%d", neighbor, m.vertices)
		case int32(neighbor-1) == vertex:
			return m.Invalid("SELF_LOOP", "vertex %d is its own neighbor, which the format does not allow", neighbor)
		}
		weight := 1.0
		if m.weighted {
			weight, ok = scan.ParseFloat(cells[at+1])
			if !ok || !scan.IsFinite(weight) {
				return m.Invalid("NOT_A_NUMBER", "the weight is %s, which is not a finite number",
					scan.Quote(cells[at+1]))
			}
		}
		other := int32(neighbor - 1)
		if other < vertex {
			m.open[other] -= edgeHash(vertex, weight)
			m.mirrored++
			continue
		}
		m.open[vertex] += edgeHash(other, weight)
		m.list.Append(vertex, other, weight)
	}
	return nil
}

// edgeHash returns a hash of the edge from a smaller vertex to a larger one.
func edgeHash(larger int32, weight float64) uint64 {
	h := (math.Float64bits(weight) ^ uint64(larger)<<1 ^ 1) * 0x9E3779B97F4A7C15
	h = (h ^ h>>32) * 0xBF58476D1CE4E5B9
	return h ^ h>>29
}
