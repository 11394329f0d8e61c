package format

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"iter"
	"strconv"

	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/format/scan"
)

// LoadGraph opens path and reads an undirected weighted graph whose vertices are numbered: an edge list (src, dst and
// optionally weight; the weights of repeated edges are added), a Matrix Market coordinate matrix, or a METIS, GraphML
// or GML file. If vertices is 0, the file determines their number.
func LoadGraph(path string, vertices int) (*dataset.Graph, error) {
	g, err := readInput(Input{Path: path}, scan.Options{}, func(s *scan.Source) (*NamedGraph, error) {
		return readGraph(s, vertices)
	})
	if err != nil {
		return nil, err
	}
	return g.Graph, nil
}

// readGraph reads a graph, and the names of its vertices if the file lists them.
func readGraph(s *scan.Source, vertices int) (*NamedGraph, error) {
	read, err := graphFormats.reader(s)
	if err != nil {
		return nil, err
	}
	g, err := read(s, vertices)
	if err != nil {
		return nil, err
	}
	if vertices == 0 && g.Names == nil {
		if err := checkVertexCount(s, g.Vertices, g.Edges); err != nil {
			return nil, err
		}
	}
	valid, err := dataset.GraphOf(g.Vertices, g.Edges)
	if err != nil {
		return nil, fault.Wrap(err, "%s", s.Name)
	}
	return &NamedGraph{Graph: valid, Names: g.Names, Notices: g.Notices}, nil
}

// checkVertexCount refuses a graph with far more vertices than its edges can connect: a mistaken number of a vertex
// would take the memory of all numbers below it.
func checkVertexCount(s *scan.Source, vertices int, lists []dataset.Edges) error {
	for _, edges := range lists {
		for at, source := range edges.Source {
			vertices = max(vertices, int(source)+1, int(edges.Target[at])+1)
		}
	}
	if count := dataset.CountEdges(lists); vertices > dataset.MaxInferredVertices(count) {
		return s.Invalid("TOO_MANY_VERTICES",
			"the file names %d vertices but has only %d edges; if this is intended, set the number of vertices to %d",
			vertices, count, vertices)
	}
	return nil
}

// GraphWriter returns the writer for the suffix of path, .csv or .mtx. Files read back as the same graph, bit for bit,
// except that an edge list drops isolated vertices after the last vertex that has an edge.
func GraphWriter(path string) (func(w io.Writer, g *dataset.Graph) error, error) {
	switch suffix := scan.SuffixOf(path); suffix {
	case ".csv":
		return func(w io.Writer, g *dataset.Graph) error { return WriteEdgesOf(w, edgesOf(g)) }, nil
	case ".mtx":
		return writeMatrixMarketGraph, nil
	default:
		return nil, fault.Invalid("UNKNOWN_FORMAT",
			"%s: cannot write a graph in this format; use a name that ends in .csv or .mtx", path)
	}
}

// edgesOf yields each edge of an undirected graph once.
func edgesOf(g *dataset.Graph) iter.Seq[dataset.Edge] {
	return func(yield func(dataset.Edge) bool) {
		for i := range g.N {
			neighbors, weights := g.Row(i)
			for at, j := range neighbors {
				if int(j) >= i && !yield(dataset.Edge{Source: int32(i), Target: j, Weight: weights[at]}) {
					return
				}
			}
		}
	}
}

// writeMatrixMarketGraph writes the lower triangle of the affinity matrix, as symmetric Matrix Market files require.
func writeMatrixMarketGraph(w io.Writer, g *dataset.Graph) error {
	entries := 0
	for range edgesOf(g) {
		entries++
	}
	buffered := bufio.NewWriter(w)
	if _, err := fmt.Fprintf(buffered, "%%%%MatrixMarket matrix coordinate real symmetric\n%d %d %d\n", g.N, g.N,
		entries); err != nil {
		return err
	}
	var line []byte
	for e := range edgesOf(g) {
		line = strconv.AppendInt(line[:0], int64(e.Target)+1, 10)
		line = strconv.AppendInt(append(line, ' '), int64(e.Source)+1, 10)
		line = strconv.AppendFloat(append(line, ' '), e.Weight, 'g', -1, 64)
		if _, err := buffered.Write(append(line, '\n')); err != nil {
			return err
		}
	}
	return buffered.Flush()
}

// graphText guesses the format of a text without a telling name from its first line.
func graphText(head []byte) string {
	for line := range bytes.Lines(head) {
		text := bytes.TrimSpace(line)
		switch {
		case len(text) == 0, text[0] == '#', text[0] == '%':
		case bytes.HasPrefix(text, []byte("graph")), bytes.HasPrefix(text, []byte("Creator")):
			return "gml"
		case bytes.IndexByte(text, ',') >= 0:
			return "csv"
		case bytes.IndexByte(text, '\t') >= 0:
			return "tsv"
		default:
			return "edges"
		}
	}
	return "edges"
}
