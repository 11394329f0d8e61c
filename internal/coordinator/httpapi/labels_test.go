package httpapi

import (
	"context"
	"crypto/tls"
	"net"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/dial/pipe"
)

// labelServer sends labels in two parts, the second one after the first has reached the client.
type labelServer struct {
	cleavev1.UnimplementedJobServiceServer
	t       *testing.T
	arrived chan struct{}
}

func (s *labelServer) GetLabels(_ *cleavev1.GetLabelsRequest, stream grpc.ServerStreamingServer[cleavev1.GetLabelsResponse]) error {
	if err := stream.Send(&cleavev1.GetLabelsResponse{Labels: []uint32{7, 1}, Rows: []uint32{0, 2}, Ids: []string{"a", `<"b">`}}); err != nil {
		return err
	}
	select {
	case <-s.arrived:
	case <-time.After(5 * time.Second):
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

// The JSON of labels is written while they arrive, because those of a large job would take much memory.
func TestLabelsAreNotCollected(t *testing.T) {
	labels := &labelServer{t: t, arrived: make(chan struct{})}
	listener, server := pipe.Listen(pipe.Addr{}), grpc.NewServer()
	cleavev1.RegisterJobServiceServer(server, labels)
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
	recorder := watchedRecorder{httptest.NewRecorder(), sync.OnceFunc(func() { close(labels.arrived) })}
	request := httptest.NewRequestWithContext(context.WithValue(t.Context(), callerKey{}, c), "GET", "/v1/jobs/x/labels", nil)
	request.SetPathValue("job_id", "x")
	if err := (&Server{}).labels(recorder, request, method); err != nil {
		t.Fatal(err)
	}
	const want = `{"labels":[7,1,0],"rows":[0,2,3],"ids":["a","\u003c\"b\"\u003e","c"]}` + "\n"
	if got := recorder.Body.String(); got != want {
		t.Errorf("got %s", got)
	}
}
