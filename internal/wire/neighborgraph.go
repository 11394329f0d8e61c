package wire

import (
	"errors"
	"fmt"
	"math"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/numeric/neighbor"
)

func neighborWeights(w neighbor.Weights) cleavev1.NeighborWeights {
	return cleavev1.NeighborWeights(enumNumber(cleavev1.NeighborWeights(0).Descriptor(), w.String()))
}

// SendNeighborGraph sends the head of a graph, which has no loops, and then its edges, in portions.
func SendNeighborGraph(g *dataset.Graph, send func(*cleavev1.GetNeighborGraphResponse) error) error {
	head := &cleavev1.NeighborGraphHead{Vertices: uint64(g.N), Edges: uint64(len(g.Column) / 2)}
	if err := send(&cleavev1.GetNeighborGraphResponse{Part: &cleavev1.GetNeighborGraphResponse_Head{Head: head}}); err != nil {
		return err
	}
	return edgeParts(g, func(part *cleavev1.CreateDatasetRequest) error {
		return send(&cleavev1.GetNeighborGraphResponse{Part: &cleavev1.GetNeighborGraphResponse_Edges{Edges: part.GetEdges()}})
	})
}

// ReceiveNeighborGraph makes a graph of the parts of a stream, which ends with io.EOF. Memory grows with what has
// arrived, but for vertices, of which there are few for each edge. Errors of the stream are returned as they are.
func ReceiveNeighborGraph(receive func() (*cleavev1.GetNeighborGraphResponse, error)) (*dataset.Graph, error) {
	head, err := receiveHead(receive, "a graph")
	if err != nil {
		return nil, err
	}
	upload := NewUpload(math.MaxInt64)
	err = upload.begin(&cleavev1.DatasetHeader{Form: &cleavev1.DatasetHeader_Graph{Graph: &cleavev1.GraphForm{Vertices: head.GetVertices()}}})
	if err != nil {
		return nil, fmt.Errorf("wire: %w", err)
	}
	err = Receive(receive, func(part *cleavev1.GetNeighborGraphResponse) error {
		if part.GetEdges() == nil {
			return errors.New("wire: a part of a graph has no edges")
		}
		return upload.addEdges(part.GetEdges())
	})
	if err != nil {
		return nil, err
	}
	if count := dataset.CountEdges(upload.edges); uint64(count) != head.GetEdges() || head.GetVertices() == 0 {
		return nil, fmt.Errorf("wire: a graph of %d vertices and %d edges ended after %d", head.GetVertices(), head.GetEdges(), count)
	}
	graph, err := upload.finishGraph()
	if err != nil {
		return nil, fmt.Errorf("wire: %w", err)
	}
	return graph.(*dataset.Graph), nil
}
