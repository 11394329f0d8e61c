package wire

import (
	"context"
	"errors"
	"io"
	"iter"
	"slices"
	"strconv"

	"google.golang.org/grpc"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/data/dataset"
)

// partValues and partEdges keep the parts of an upload around one mebibyte, well under the message limits of any gRPC
// implementation.
const (
	partValues = 1 << 17
	partEdges  = 1 << 16
)

// Parts calls yield with the header and the parts of the upload of a data set that have yet to arrive, until yield
// fails.
func Parts(name string, d dataset.Dataset, start UploadStart, yield func(*cleavev1.CreateDatasetRequest) error) error {
	header := &cleavev1.DatasetHeader{DisplayName: name, UploadId: start.ID, FirstPart: start.FirstPart}
	var values []float64
	switch d := d.(type) {
	case *dataset.Points:
		header.Form = &cleavev1.DatasetHeader_Points{Points: &cleavev1.PointsForm{Rows: uint32(d.N),
			Columns: uint32(d.D)}}
		values = d.Values
	case *dataset.Kernel:
		header.Form = &cleavev1.DatasetHeader_Kernel{Kernel: &cleavev1.KernelForm{Rows: uint32(d.N)}}
		values = d.Values
	case *dataset.Graph:
		header.Form = &cleavev1.DatasetHeader_Graph{Graph: &cleavev1.GraphForm{Vertices: uint32(d.N)}}
	case *dataset.SparsePoints:
		header.Form = &cleavev1.DatasetHeader_SparsePoints{SparsePoints: &cleavev1.SparsePointsForm{Rows: uint32(d.N),
			Columns: uint32(d.D)}}
	}
	first := &cleavev1.CreateDatasetRequest{Part: &cleavev1.CreateDatasetRequest_Header{Header: header}}
	if err := yield(first); err != nil {
		return err
	}
	yield = skipArrived(start, yield)
	switch d := d.(type) {
	case *dataset.Graph:
		return edgeParts(d, yield)
	case *dataset.SparsePoints:
		return sparseParts(d, yield)
	}
	return sendValueParts(values, yield)
}

// edgeParts sends every edge once: the upper triangle and the diagonal. If all weights of a part are 1, they are left
// out.
func edgeParts(g *dataset.Graph, yield func(*cleavev1.CreateDatasetRequest) error) error {
	var edges *cleavev1.Edges
	weighted := false
	send := func() error {
		if !weighted {
			edges.Weights = nil
		}
		return yield(&cleavev1.CreateDatasetRequest{Part: &cleavev1.CreateDatasetRequest_Edges{Edges: edges}})
	}
	for i := range g.N {
		neighbors, weights := g.Row(i)
		for at, j := range neighbors {
			if int(j) < i {
				continue
			}
			if edges == nil {
				// Allocate new slices for each part, because what was sent may still be in use.
				edges = &cleavev1.Edges{Sources: make([]uint32, 0, partEdges), Targets: make([]uint32, 0, partEdges),
					Weights: make([]float64, 0, partEdges)}
				weighted = false
			}
			edges.Sources = append(edges.Sources, uint32(i))
			edges.Targets = append(edges.Targets, uint32(j))
			edges.Weights = append(edges.Weights, weights[at])
			weighted = weighted || weights[at] != 1
			if len(edges.Sources) == partEdges {
				if err := send(); err != nil {
					return err
				}
				edges = nil
			}
		}
	}
	if edges == nil {
		return nil
	}
	return send()
}

// UploadStart says where an upload starts. The zero value starts with the first part and cannot be resumed.
type UploadStart struct {
	ID        string
	FirstPart uint32 // number of parts that have already arrived
}

// SendDataset uploads a data set from the given part on, and returns the coordinator's description of it.
// Errors of the call are returned as they are, so that the caller can tell whether to repeat it.
func SendDataset(ctx context.Context, client cleavev1.DatasetServiceClient, name string, d dataset.Dataset,
	start UploadStart) (*cleavev1.Dataset, error) {
	response, err := sendParts(ctx, client.CreateDataset, func(send func(*cleavev1.CreateDatasetRequest) error) error {
		return Parts(name, d, start, send)
	})
	return response.GetDataset(), err
}

// SendPoints uploads points while they are produced, in constant memory: whole rows of this many columns, any number
// at a time. It ends with the first error of rows.
func SendPoints(
	ctx context.Context, client cleavev1.DatasetServiceClient, name string, columns int,
	rows iter.Seq2[[]float64, error],
) (*cleavev1.Dataset, error) {
	response, err := sendParts(ctx, client.CreateDataset, func(send func(*cleavev1.CreateDatasetRequest) error) error {
		header := &cleavev1.DatasetHeader{DisplayName: name,
			Form: &cleavev1.DatasetHeader_Points{Points: &cleavev1.PointsForm{Columns: uint32(columns)}}}
		if err := send(&cleavev1.CreateDatasetRequest{
			Part: &cleavev1.CreateDatasetRequest_Header{Header: header}}); err != nil {
			return err
		}
		var values []float64
		for more, err := range rows {
			if err != nil {
				return err
			}
			if values = append(values, more...); len(values) >= partValues {
				if err := sendValueParts(values, send); err != nil {
					return err
				}
				values = nil // what was sent may still be in use
			}
		}
		return sendValueParts(values, send)
	})
	return response.GetDataset(), err
}

// sendValueParts sends values in parts.
func sendValueParts(values []float64, send func(*cleavev1.CreateDatasetRequest) error) error {
	for part := range slices.Chunk(values, partValues) {
		if err := send(&cleavev1.CreateDatasetRequest{
			Part: &cleavev1.CreateDatasetRequest_Values{Values: &cleavev1.DenseValues{Values: part}}}); err != nil {
			return err
		}
	}
	return nil
}

// skipArrived returns a send without the parts that have already arrived.
func skipArrived[P any](start UploadStart, send func(P) error) func(P) error {
	arrived := start.FirstPart
	return func(part P) error {
		if arrived > 0 {
			arrived--
			return nil
		}
		return send(part)
	}
}

func itoa(v uint64) string { return strconv.FormatUint(v, 10) }

// Receive calls take with each part of a stream until the stream ends with io.EOF. Errors of the stream and of take
// are returned as they are.
func Receive[P any](receive func() (P, error), take func(P) error) error {
	for {
		part, err := receive()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if err := take(part); err != nil {
			return err
		}
	}
}

// PartReader reads the bytes of all parts of a stream.
type PartReader struct {
	Next func() ([]byte, error) // returns the bytes of the next part, or io.EOF at the end
	Err  error                  // why the stream broke; nil at its end. Decoders may report another error
	rest []byte
}

// Read implements io.Reader.
func (r *PartReader) Read(p []byte) (n int, err error) {
	for len(r.rest) == 0 {
		if r.rest, err = r.Next(); err != nil {
			if err != io.EOF {
				r.Err = err
			}
			return 0, err
		}
	}
	n = copy(p, r.rest)
	r.rest = r.rest[n:]
	return n, nil
}

// sendParts opens a stream, sends parts through it, and returns the answer.
func sendParts[P, A any](
	ctx context.Context, open func(context.Context, ...grpc.CallOption) (grpc.ClientStreamingClient[P, A], error),
	parts func(send func(*P) error) error,
) (*A, error) {
	ctx, cancel := context.WithCancel(ctx) // ends a stream that is abandoned halfway
	defer cancel()
	stream, err := open(ctx)
	if err != nil {
		return nil, err
	}
	// EOF from a send means that the coordinator has already answered; CloseAndRecv returns the answer. An error of
	// parts that wraps EOF is another one.
	if err := parts(stream.Send); err != nil && err != io.EOF {
		return nil, err
	}
	return stream.CloseAndRecv()
}
