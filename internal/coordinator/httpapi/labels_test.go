package httpapi

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/dial"
	"github.com/cleave-project/cleave/internal/fault"
)

// labelServer sends labels in two parts. It sends the second one after the first has reached the client, and answers
// one call.
type labelServer struct {
	cleavev1.UnimplementedJobServiceServer
	t       *testing.T
	lists   bool          // send rows and ids too
	arrived chan struct{} // closed when something has reached the client
	err     error         // instead of the second part
	called  atomic.Bool
}

func (s *labelServer) GetLabels(_ *cleavev1.GetLabelsRequest,
	stream grpc.ServerStreamingServer[cleavev1.GetLabelsResponse]) error {
	if s.called.Swap(true) {
		return status.Error(codes.ResourceExhausted, "other downloads hold the memory that this one needs")
	}
	first := &cleavev1.GetLabelsResponse{Labels: []uint32{7, 1}}
	second := &cleavev1.GetLabelsResponse{FirstIndex: 2, Labels: []uint32{0}}
	if s.lists {
		first.Rows = []uint32{0, 2}
		first.Ids = []string{"a", `<"b">`}
		second.Rows = []uint32{3}
		second.Ids = []string{"c"}
	}
	if err := stream.Send(first); err != nil {
		return err
	}
	select {
	case <-s.arrived:
	case <-time.After(time.Minute):
		s.t.Error("the first labels are held back")
	}
	return cmp.Or(s.err, stream.Send(second))
}

// dialer is the connection of an HTTP client.
type dialer struct {
	net.Conn
	listener *dial.PipeListener
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
	return getLabelsAs(t, "json", jobs, s, w)
}

func getLabelsAs(t *testing.T, format string, jobs cleavev1.JobServiceServer, s *Server, w http.ResponseWriter) error {
	t.Helper()
	listener := dial.ListenPipe(dial.PipeAddr{})
	server := grpc.NewServer()
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
	request := httptest.NewRequestWithContext(context.WithValue(t.Context(), callerKey{}, c), "GET",
		"/v1/jobs/x/labels?format="+format, nil)
	request.SetPathValue("job_id", "x")
	return s.labels(w, request, method, request.URL.Query())
}

// The JSON of labels is written while they arrive, because those of a large job would take much memory.
func TestLabelsAreNotCollected(t *testing.T) {
	labels := &labelServer{t: t, arrived: make(chan struct{})}
	recorder := watchedRecorder{httptest.NewRecorder(), sync.OnceFunc(func() { close(labels.arrived) })}
	if err := getLabels(t, labels, &Server{}, recorder); err != nil {
		t.Fatal(err)
	}
	if got := recorder.Body.String(); got != `{"labels":[7,1,0]}`+"\n" {
		t.Errorf("got %s", got)
	}
}

// Lists of rows and ids follow the labels, by a single call. If it breaks, nothing has been written.
func TestLabelsWithRows(t *testing.T) {
	arrived := make(chan struct{})
	close(arrived)
	recorder := httptest.NewRecorder()
	if err := getLabels(t, &labelServer{t: t, lists: true, arrived: arrived}, &Server{}, recorder); err != nil {
		t.Fatal(err)
	}
	const want = `{"labels":[7,1,0],"rows":[0,2,3],"ids":["a","\u003c\"b\"\u003e","c"]}` + "\n"
	if got := recorder.Body.String(); got != want {
		t.Errorf("got %s", got)
	}
	recorder = httptest.NewRecorder()
	broken := &labelServer{t: t, lists: true, arrived: arrived, err: status.Error(codes.DataLoss, "damaged")}
	if err := getLabels(t, broken, &Server{}, recorder); status.Code(err) != codes.DataLoss || recorder.Body.Len() > 0 {
		t.Errorf("%v after %d bytes", err, recorder.Body.Len())
	}
}

// A job without labels, or with none from the given one on, has an empty list.
func TestNoLabels(t *testing.T) {
	recorder := httptest.NewRecorder()
	if err := getLabels(t, longIDs{}, &Server{}, recorder); err != nil ||
		recorder.Body.String() != `{"labels":[]}`+"\n" {
		t.Errorf("%s, %v", recorder.Body, err)
	}
}

// longIDs sends a label in each part, with an id of some bytes.
type longIDs struct {
	cleavev1.UnimplementedJobServiceServer
	parts, bytes int
}

func (s longIDs) GetLabels(_ *cleavev1.GetLabelsRequest,
	stream grpc.ServerStreamingServer[cleavev1.GetLabelsResponse]) error {
	for at := range s.parts {
		if err := stream.Send(&cleavev1.GetLabelsResponse{FirstIndex: uint32(at), Labels: []uint32{1},
			Ids: []string{strings.Repeat("a", s.bytes)}}); err != nil {
			return err
		}
	}
	return nil
}

// Long lists are copied to a temporary file. If there is no space for it, the client gets an error, not a part of the
// labels.
func TestLongLabelsNeedSpace(t *testing.T) {
	const bytes = 600_000
	for _, parts := range []int{1, 3} {
		for _, room := range []bool{true, false} {
			recorder := httptest.NewRecorder()
			err := getLabels(t, longIDs{parts: parts, bytes: bytes},
				&Server{cfg: Config{HasRoom: func() bool { return room }}}, recorder)
			if room || parts == 1 { // a short list stays in memory
				if err != nil || recorder.Body.Len() < parts*bytes || !json.Valid(recorder.Body.Bytes()) {
					t.Errorf("%d parts: %v, %d bytes", parts, err, recorder.Body.Len())
				}
			} else if !fault.Is(err, "DISK_FULL") || recorder.Body.Len() > 0 {
				t.Errorf("without room: %v after %d bytes", err, recorder.Body.Len())
			}
		}
	}
}

// brokenRecorder fails after the first bytes.
type brokenRecorder struct {
	*httptest.ResponseRecorder
	bytes int
}

func (r *brokenRecorder) Write(p []byte) (int, error) {
	if r.bytes -= len(p); r.bytes < 0 {
		return 0, io.ErrShortWrite
	}
	return r.ResponseRecorder.Write(p)
}

// A table that could not be written to its end does not end like a whole one.
func TestATableOfLabelsThatBreaks(t *testing.T) {
	arrived := make(chan struct{})
	close(arrived)
	for _, format := range []string{"csv", "parquet"} {
		func() {
			defer func() {
				if p := recover(); p != http.ErrAbortHandler {
					t.Errorf("%s: the response ends with %v", format, p)
				}
			}()
			_ = getLabelsAs(t, format, &labelServer{t: t, arrived: arrived},
				&Server{cfg: Config{Logger: hclog.NewNullLogger()}}, &brokenRecorder{httptest.NewRecorder(), 4})
		}()
	}
}

// A table of which nothing can be written is an error of the request.
func TestATableOfLabelsThatCannotBegin(t *testing.T) {
	recorder := httptest.NewRecorder()
	out := &labelWriter{w: recorder, kind: "text/x-unknown"}
	if err := out.abortIfBegun(t.Context(), out.write(&cleavev1.GetLabelsResponse{})); !fault.Is(err,
		"UNKNOWN_FORMAT") {
		t.Errorf("got %v", err)
	}
	if named := recorder.Header().Get("Content-Disposition"); named != "" {
		t.Errorf("the error is sent as %s", named)
	}
}

// An upload whose copy has no room is not read to its end.
func TestUploadsWithoutRoomEnd(t *testing.T) {
	room := 3
	s := &Server{cfg: Config{HasRoom: func() bool { room--; return room > 0 }}}
	body := strings.NewReader(strings.Repeat("1,2\n", 20<<20))
	spool := s.newSpool(body)
	defer spool.Close()
	if _, err := fill(spool); !fault.Is(err, "DISK_FULL") {
		t.Errorf("without room: %v", err)
	}
	if read := body.Size() - int64(body.Len()); read > 4<<20 {
		t.Errorf("%d bytes were read", read)
	}
}
