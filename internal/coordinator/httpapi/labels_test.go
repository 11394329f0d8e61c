package httpapi

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/dial/pipe"
	"github.com/cleave-project/cleave/internal/fault"
)

// labelServer sends labels in two parts, the second one after the first has reached the client. It answers one call.
type labelServer struct {
	cleavev1.UnimplementedJobServiceServer
	t       *testing.T
	arrived chan struct{}
	called  atomic.Bool
}

func (s *labelServer) GetLabels(_ *cleavev1.GetLabelsRequest, stream grpc.ServerStreamingServer[cleavev1.GetLabelsResponse]) error {
	if s.called.Swap(true) {
		return status.Error(codes.ResourceExhausted, "other downloads hold the memory that this one needs")
	}
	if err := stream.Send(&cleavev1.GetLabelsResponse{Labels: []uint32{7, 1}, Rows: []uint32{0, 2}, Ids: []string{"a", `<"b">`}}); err != nil {
		return err
	}
	select {
	case <-s.arrived:
	case <-time.After(time.Minute):
		s.t.Error("the first labels are held back")
	}
	return stream.Send(&cleavev1.GetLabelsResponse{FirstIndex: 2, Labels: []uint32{0}, Rows: []uint32{3}, Ids: []string{"c"}})
}

// dialer is the connection of an HTTP client.
type dialer struct {
	net.Conn
	listener *pipe.Listener
}

func (d dialer) Dial(ctx context.Context) (net.Conn, error) { return d.listener.Dial(ctx) }
func (dialer) TLS() *tls.ConnectionState                    { return nil }

// watchedRecorder notes that something was written.
type watchedRecorder struct {
	*httptest.ResponseRecorder
	wrote func()
}

func (r watchedRecorder) Write(p []byte) (int, error) {
	defer r.wrote()
	return r.ResponseRecorder.Write(p)
}

// getLabels requests the labels of a job from an HTTP server whose gRPC server is jobs.
func getLabels(t *testing.T, jobs cleavev1.JobServiceServer, s *Server, w http.ResponseWriter) error {
	t.Helper()
	listener, server := pipe.Listen(pipe.Addr{}), grpc.NewServer()
	cleavev1.RegisterJobServiceServer(server, jobs)
	served := make(chan error, 1)
	go func() { served <- server.Serve(listener) }()
	defer func() {
		server.Stop()
		<-served
	}()
	client, pipe := net.Pipe()
	defer pipe.Close()
	c := &caller{Conn: client, client: dialer{listener: listener}}
	defer c.Close()

	var method Route
	for _, route := range Routes() {
		if route.Method.Name() == "GetLabels" {
			method = route
		}
	}
	request := httptest.NewRequestWithContext(context.WithValue(t.Context(), callerKey{}, c), "GET", "/v1/jobs/x/labels", nil)
	request.SetPathValue("job_id", "x")
	return s.labels(w, request, method)
}

// The JSON of labels is written while they arrive, because those of a large job would take much memory. It takes one
// call, since a second one may be refused when a part has been written.
func TestLabelsAreNotCollected(t *testing.T) {
	labels := &labelServer{t: t, arrived: make(chan struct{})}
	recorder := watchedRecorder{httptest.NewRecorder(), sync.OnceFunc(func() { close(labels.arrived) })}
	if err := getLabels(t, labels, &Server{}, recorder); err != nil {
		t.Fatal(err)
	}
	const want = `{"labels":[7,1,0],"rows":[0,2,3],"ids":["a","\u003c\"b\"\u003e","c"]}` + "\n"
	if got := recorder.Body.String(); got != want {
		t.Errorf("got %s", got)
	}
}

// longIDs sends a label in each part, with an id of some bytes.
type longIDs struct {
	cleavev1.UnimplementedJobServiceServer
	parts, bytes int
}

func (s longIDs) GetLabels(_ *cleavev1.GetLabelsRequest, stream grpc.ServerStreamingServer[cleavev1.GetLabelsResponse]) error {
	for at := range s.parts {
		if err := stream.Send(&cleavev1.GetLabelsResponse{FirstIndex: uint32(at), Labels: []uint32{1}, Ids: []string{strings.Repeat("a", s.bytes)}}); err != nil {
			return err
		}
	}
	return nil
}

// Long lists are copied to a temporary file. If there is no space for it, the client gets an error or the connection
// breaks, but it does not get a part as if it were the whole.
func TestLongLabelsNeedSpace(t *testing.T) {
	const bytes = 600_000
	for _, parts := range []int{1, 3} {
		for _, room := range []bool{true, false} {
			recorder := httptest.NewRecorder()
			err := func() (err error) {
				defer func() {
					if p := recover(); p != nil {
						err = p.(error)
					}
				}()
				return getLabels(t, longIDs{parts: parts, bytes: bytes}, &Server{cfg: Config{HasRoom: func() bool { return room }}}, recorder)
			}()
			if room || parts == 1 { // a short list stays in memory
				if err != nil || recorder.Body.Len() < parts*bytes || !json.Valid(recorder.Body.Bytes()) {
					t.Errorf("%d parts: %v, %d bytes", parts, err, recorder.Body.Len())
				}
			} else if !errors.Is(err, http.ErrAbortHandler) {
				t.Errorf("without room: %v", err)
			}
		}
	}
	if err := getLabels(t, longIDs{parts: 1, bytes: 2 << 20}, &Server{cfg: Config{HasRoom: func() bool { return false }}}, httptest.NewRecorder()); !fault.Is(err, "DISK_FULL") {
		t.Errorf("without room for the first part: %v", err)
	}
}
