package exchange

import (
	"bytes"
	"context"
	"io"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/wire"
)

// directCoordinator distributes nothing in pieces. Each connection breaks after so many bytes.
type directCoordinator struct {
	workerv1.WorkerServiceClient
	data   []byte
	breaks int
	asked  []uint64 // the offsets
}

func (c *directCoordinator) Distribute(context.Context, ...grpc.CallOption) (grpc.BidiStreamingClient[workerv1.DistributeRequest, workerv1.DistributeResponse], error) {
	return nil, status.Error(codes.Unimplemented, "no pieces")
}

func (c *directCoordinator) FetchDataset(_ context.Context, r *workerv1.FetchDatasetRequest, _ ...grpc.CallOption) (grpc.ServerStreamingClient[workerv1.FetchDatasetResponse], error) {
	c.asked = append(c.asked, r.GetOffset())
	data := c.data[r.GetOffset():]
	if r.GetLength() > 0 {
		data = data[:min(len(data), int(r.GetLength()))]
	}
	s := &directStream{left: data, end: io.EOF}
	if len(data) > c.breaks {
		s.left, s.end = data[:c.breaks], status.Error(codes.Unavailable, "the connection broke")
	}
	return s, nil
}

type directStream struct {
	grpc.ServerStreamingClient[workerv1.FetchDatasetResponse]
	left []byte
	end  error
}

func (s *directStream) Recv() (*workerv1.FetchDatasetResponse, error) {
	if len(s.left) == 0 {
		return nil, s.end
	}
	n := min(len(s.left), wire.ChunkBytes)
	m := &workerv1.FetchDatasetResponse{Data: s.left[:n]}
	s.left = s.left[n:]
	return m, nil
}

// A data set that does not come in pieces comes as a whole or in ranges, and a transfer that breaks goes on where it was.
func TestDataSetsThatDoNotComeInPieces(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := &directCoordinator{data: make([]byte, 2*wire.PieceBytes+1000), breaks: wire.PieceBytes/2 + 1000}
		random := rand.NewChaCha8([32]byte{})
		_, _ = random.Read(c.data)
		e := New(quiet())
		defer e.Close()
		whole := e.Join(t.Context(), Coordinator{Client: c}, datasetID(1), int64(len(c.data)))
		defer whole.Close()
		if got, err := io.ReadAll(whole.Reader(t.Context())); err != nil || !bytes.Equal(got, c.data) {
			t.Errorf("%d of %d bytes, %v", len(got), len(c.data), err)
		}
		if b := uint64(c.breaks); !slices.Equal(c.asked, []uint64{0, b, 2 * b, 3 * b}) {
			t.Errorf("asked for the bytes from %v on", c.asked)
		}
		part := e.JoinPartly(t.Context(), Coordinator{Client: c}, datasetID(1), int64(len(c.data)))
		defer part.Close()
		part.Want(1, 3)
		for p := 1; p < 3; p++ {
			got, release, err := part.Piece(t.Context(), p)
			if err != nil || !bytes.Equal(got, c.data[p*wire.PieceBytes:min(len(c.data), (p+1)*wire.PieceBytes)]) {
				t.Fatalf("piece %d has %d bytes, %v", p, len(got), err)
			}
			release()
		}
		c.data = c.data[:wire.PieceBytes]
		if _, _, err := part.Piece(t.Context(), 1); err != errWrongBytes {
			t.Errorf("a piece that is too short: %v", err)
		}
	})
}

// refusingCoordinator distributes nothing.
type refusingCoordinator struct{ workerv1.WorkerServiceClient }

func (refusingCoordinator) Distribute(context.Context, ...grpc.CallOption) (grpc.BidiStreamingClient[workerv1.DistributeRequest, workerv1.DistributeResponse], error) {
	return nil, status.Error(codes.PermissionDenied, "not for you")
}

// A reader whose share has ended returns the error again, not the end of the data set.
func TestAReaderKeepsItsError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := New(quiet())
		defer e.Close()
		s := e.Join(t.Context(), Coordinator{Client: refusingCoordinator{}}, datasetID(1), 1000)
		defer s.Close()
		r := s.Reader(t.Context())
		for range 2 {
			if n, err := r.Read(make([]byte, 10)); n != 0 || status.Code(err) != codes.PermissionDenied {
				t.Errorf("%d bytes, %v", n, err)
			}
		}
	})
}
