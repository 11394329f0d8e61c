package worker

import (
	"context"
	"io"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/wire"
	"github.com/cleave-project/cleave/internal/worker/exchange"
)

// sender is a coordinator that sends payloads in chunks. The first connections break after the first chunk.
type sender struct {
	workerv1.WorkerServiceClient
	chunks [][]byte
	breaks int
}

func (s *sender) FetchPayload(context.Context, *workerv1.FetchPayloadRequest,
	...grpc.CallOption) (grpc.ServerStreamingClient[workerv1.FetchPayloadResponse], error) {
	stream := &sent{left: s.chunks, end: io.EOF}
	if s.breaks > 0 {
		s.breaks--
		stream.left, stream.end = s.chunks[:1], status.Error(codes.Unavailable, "the connection broke")
	}
	return stream, nil
}

type sent struct {
	grpc.ServerStreamingClient[workerv1.FetchPayloadResponse]
	left [][]byte
	end  error
}

func (s *sent) Recv() (*workerv1.FetchPayloadResponse, error) {
	if len(s.left) == 0 {
		return nil, s.end
	}
	m := &workerv1.FetchPayloadResponse{Data: s.left[0]}
	s.left = s.left[1:]
	return m, nil
}

func fetchingJob(t *testing.T, client workerv1.WorkerServiceClient) *job {
	j := newTestJob(t)
	j.session.client = client
	return j
}

// A job that another coordinator adopts does not go on with its share of the session before, which has not ended as
// long as it stores a piece.
func TestAShareEndsWithItsSession(t *testing.T) {
	j := newTestJob(t)
	j.share = j.worker.exchange.JoinPartly(t.Context(), exchange.Coordinator{Client: nothingToFetch{},
		SessionID: "one"}, "data", 10)
	next := newSession(j.worker, nothingToFetch{}, &workerv1.Welcome{SessionId: "two", Term: 2})
	j.bind(next, "job")
	j.keep()
	<-j.ended
	if j.share != nil {
		t.Error("the job still fetches by the session before")
		j.leave()
	}
	j.worker.exchange.Close()
}

// Values that arrive in chunks take their own memory and no more, also if the connection breaks.
func TestValuesAreUnpackedAsTheyArrive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		values := make([]float64, 2<<20)
		for i := range values {
			values[i] = float64(i)
		}
		j := fetchingJob(t, &sender{chunks: slices.Collect(slices.Chunk(wire.PackFloat64s(values), wire.ChunkBytes)),
			breaks: 2})
		query := &workerv1.VectorQueries{
			Values: &workerv1.Payload{Where: &workerv1.Payload_Reference{Reference: "values"}}}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		got, err := j.queryValues(query, len(values))
		runtime.ReadMemStats(&after)
		if err != nil || !slices.Equal(got, values) {
			t.Errorf("%d values arrived, %v", len(got), err)
		}
		if taken := after.TotalAlloc - before.TotalAlloc; taken > 10*uint64(len(values)) {
			t.Errorf("%d bytes were allocated for %d values", taken, len(values))
		}
		j.session.cancel()
	})
}

// A payload of another size than the command says is refused.
func TestValuesOfAnotherNumber(t *testing.T) {
	reference := &workerv1.Payload{Where: &workerv1.Payload_Reference{Reference: "values"}}
	for _, chunks := range [][][]byte{nil, {make([]byte, 8)}, {make([]byte, 8), make([]byte, 16)},
		{make([]byte, 7), make([]byte, 9)}, {make([]byte, 15)}} {
		if values, err := fetchingJob(t, &sender{chunks: chunks}).payloadFloats(reference, 2); err == nil {
			t.Errorf("%d chunks gave %v", len(chunks), values)
		}
	}
	for _, size := range []int{0, 8, 15, 24} {
		if values, err := newTestJob(t).payloadFloats(inline(make([]byte, size)), 2); err == nil {
			t.Errorf("%d bytes gave %v", size, values)
		}
	}
}
