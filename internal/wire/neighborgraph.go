package wire

import (
	"errors"
	"fmt"
	"math"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/dataset"
	"github.com/cleave-project/cleave/internal/neighbor"
)

func neighborWeights(w neighbor.Weights) cleavev1.NeighborWeights {
	return cleavev1.NeighborWeights(enumNumber(cleavev1.NeighborWeights(0).Descriptor(), w.String()))
}

// SendNeighborGraph sends the head of a graph and then its edges, in portions.
func SendNeighborGraph(g *dataset.Graph, send func(*cleavev1.GetNeighborGraphResponse) error) error {
	return Parts("", g, func(part *cleavev1.CreateDatasetRequest) error {
		if head := part.GetHeader(); head != nil {
			return send(&cleavev1.GetNeighborGraphResponse{Part: &cleavev1.GetNeighborGraphResponse_Head{Head: head.GetGraph()}})
		}
		return send(&cleavev1.GetNeighborGraphResponse{Part: &cleavev1.GetNeighborGraphResponse_Edges{Edges: part.GetEdges()}})
	})
}

// ReceiveNeighborGraph makes a graph of the parts of a stream, which ends with io.EOF. Memory grows with what has
// arrived, but for the vertices, of which there are few for each edge. Errors of the stream are returned as they are.
func ReceiveNeighborGraph(receive func() (*cleavev1.GetNeighborGraphResponse, error)) (*dataset.Graph, error) {
	head, err := receiveHead(receive, "a graph")
	if err != nil {
		return nil, err
	}
	upload := NewUpload(math.MaxInt64)
	err = upload.Add(&cleavev1.CreateDatasetRequest{Part: &cleavev1.CreateDatasetRequest_Header{
		Header: &cleavev1.DatasetHeader{Form: &cleavev1.DatasetHeader_Graph{Graph: head}},
	}})
	if err != nil {
		return nil, fmt.Errorf("wire: %w", err)
	}
	err = Receive(receive, func(part *cleavev1.GetNeighborGraphResponse) error {
		if part.GetEdges() == nil {
			return errors.New("wire: a part of a graph without edges")
		}
		return upload.Add(&cleavev1.CreateDatasetRequest{Part: &cleavev1.CreateDatasetRequest_Edges{Edges: part.GetEdges()}})
	})
	if err != nil {
		return nil, err
	}
	graph, err := upload.Finish()
	if err != nil {
		return nil, fmt.Errorf("wire: %w", err)
	}
	return graph.(*dataset.Graph), nil
}
