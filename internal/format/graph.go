package format

import (
	"io"

	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/fault"
)

// ReadGraph reads an undirected weighted graph: an edge list (src, dst and optionally weight; the
// weights of repeated edges are added), a Matrix Market coordinate matrix, or a file of METIS, GraphML or GML. With
// vertices 0 the file tells their number.
func ReadGraph(r io.Reader, name string, vertices int) (*dataset.Graph, error) {
	graph, _, err := readGraph(r, name, vertices)
	return graph, err
}

// readGraph also returns the source, which knows the names of vertices that the file lists.
func readGraph(r io.Reader, name string, vertices int) (*dataset.Graph, *source, error) {
	s, read, err := graphFormats.open(r, name)
	if err != nil {
		return nil, nil, err
	}
	edges, found, err := read(s, vertices)
	if err != nil {
		return nil, s, err
	}
	if vertices == 0 && s.vertices == nil {
		if err := checkVertexCount(s, found, edges); err != nil {
			return nil, s, err
		}
	}
	graph, err := dataset.GraphOf(found, edges)
	if err != nil {
		return nil, s, fault.Wrap(err, "%s", name)
	}
	return graph, s, nil
}

// LoadGraph is ReadGraph of a path.
func LoadGraph(path string, vertices int) (*dataset.Graph, error) {
	return loadSized(path, vertices, ReadGraph)
}

func checkVertexCount(s *source, vertices int, lists []dataset.Edges) error {
	for _, edges := range lists {
		for at, source := range edges.Source {
			vertices = max(vertices, int(source)+1, int(edges.Target[at])+1)
		}
	}
	if count := dataset.CountEdges(lists); vertices > dataset.MaxInferredVertices(count) {
		return s.invalid("TOO_MANY_VERTICES", "the file names %d vertices but has only %d edges; if that is meant, give the number of vertices, %d",
			vertices, count, vertices)
	}
	return nil
}
