package wire

import (
	"fmt"
	"io"
	"math"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/data/dataset"
)

// EmbeddingHead is the shape of an embedding.
func EmbeddingHead(e *clustering.Embedding) *cleavev1.EmbeddingHead {
	return &cleavev1.EmbeddingHead{Rows: uint32(e.Rows), Columns: uint32(e.Columns)}
}

// WriteEmbedding writes the values of an embedding as they travel, row by row.
func WriteEmbedding(w io.Writer, e *clustering.Embedding) error { return writeValues(w, e.Values) }

// SendEmbedding sends a head and then values, as WriteEmbedding wrote them, in chunks.
func SendEmbedding(head *cleavev1.EmbeddingHead, values io.Reader, send func(*cleavev1.GetEmbeddingResponse) error) error {
	return sendValues(&cleavev1.GetEmbeddingResponse{Part: &cleavev1.GetEmbeddingResponse_Head{Head: head}}, values, func(chunk []byte) *cleavev1.GetEmbeddingResponse {
		return &cleavev1.GetEmbeddingResponse{Part: &cleavev1.GetEmbeddingResponse_Values{Values: chunk}}
	}, send)
}

// ReceiveEmbedding makes an embedding of the parts of a stream, which ends with io.EOF. Memory grows with
// what has arrived, never with what the head claims. Errors of the stream are returned as they are.
func ReceiveEmbedding(receive func() (*cleavev1.GetEmbeddingResponse, error)) (*clustering.Embedding, error) {
	head, err := receiveHead(receive, "an embedding")
	if err != nil {
		return nil, err
	}
	rows, columns := uint64(head.GetRows()), uint64(head.GetColumns())
	if rows < 1 || rows > dataset.MaxRows || columns < 1 || columns > dataset.MaxColumns {
		return nil, fmt.Errorf("wire: an embedding of %d rows of %d columns", rows, columns)
	}
	values, err := receiveValues(rows*columns, receive)
	if err != nil {
		return nil, err
	}
	for at, v := range values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, fmt.Errorf("wire: coordinate %d of row %d is %v", uint64(at)%columns, uint64(at)/columns, v)
		}
	}
	return &clustering.Embedding{Rows: int(rows), Columns: int(columns), Values: values}, nil
}
