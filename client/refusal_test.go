package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/wire"
)

// requested is the stream of a call whose request was read.
type requested struct {
	grpc.ServerStream
	request *cleavev1.GetLabelsRequest
}

// connectTo is a client of a server that answers all calls by handle, and what the client is told.
func connectTo(t *testing.T, handle func(call int32, stream grpc.ServerStream) error) (c *Client, warnings *[]string) {
	t.Helper()
	var calls atomic.Int32
	server := grpc.NewServer(grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error {
		request := &cleavev1.GetLabelsRequest{} // other requests have the id of what they are about in the same field
		if err := stream.RecvMsg(request); err != nil {
			return err
		}
		return handle(calls.Add(1), requested{stream, request})
	}))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go server.Serve(listener) //nolint:errcheck // it ends with Stop
	t.Cleanup(server.Stop)
	warnings = &[]string{}
	c, err = Dial(listener.Addr().String(), WithWarnings(func(format string, args ...any) {
		*warnings = append(*warnings, fmt.Sprintf(format, args...))
	}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c, warnings
}

func refusal(wait time.Duration) error {
	return wire.Status(fault.New(fault.ResourceExhausted, "TOO_MANY_CALLS", "there is too much to do").RetryIn(wait))
}

// A call that is refused for the moment is repeated, and the user is told.
func TestRefusedCallsAreRepeated(t *testing.T) {
	c, warnings := connectTo(t, func(call int32, stream grpc.ServerStream) error {
		if call <= 2 {
			return refusal(time.Millisecond)
		}
		return stream.SendMsg(&cleavev1.CancelJobResponse{Job: &cleavev1.Job{JobId: "job"}})
	})
	answer, err := c.Jobs.CancelJob(t.Context(), &cleavev1.CancelJobRequest{JobId: "job"})
	if err != nil || answer.GetJob().GetJobId() != "job" {
		t.Errorf("got %v, %v", answer, err)
	}
	if len(*warnings) != 2 || !strings.HasPrefix((*warnings)[1], "there is too much to do; trying again in ") ||
		!strings.HasSuffix((*warnings)[1], "(2 of 6)") {
		t.Errorf("the user is told %q", *warnings)
	}
}

// Nobody tries without end, nor where nothing says that it helps.
func TestRefusalsAreBounded(t *testing.T) {
	for wait, want := range map[time.Duration]int{100 * time.Microsecond: 1 + maxRefusals, 0: 1} {
		synctest.Test(t, func(t *testing.T) {
			calls := 0
			c := refusedClient(t, func() error {
				calls++
				return refusal(wait)
			})
			_, err := c.Datasets.GetDataset(t.Context(), &cleavev1.GetDatasetRequest{DatasetId: "data"})
			if e, is := errors.AsType[*Error](err); !is || e.Reason != "TOO_MANY_CALLS" ||
				e.Code != codes.ResourceExhausted || calls != want {
				t.Errorf("with a hint of %v: %v after %d calls, want %d", wait, err, calls, want)
			}
		})
	}
}

// An UNAVAILABLE that says when to try again is repeated only then, and no more often than other refusals.
func TestUnavailableIsRepeatedWhenItSays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const delay = time.Second
		calls := 0
		var last time.Time
		full := func() error {
			if calls++; !last.IsZero() && time.Since(last) < delay {
				t.Errorf("call %d came after %v", calls, time.Since(last))
			}
			last = time.Now()
			return wire.Status(fault.New(fault.Unavailable, "NO_ROOM", "the workers are full").RetryIn(delay))
		}
		c := refusedClient(t, full)
		for what, call := range map[string]func() error{
			"a unary call": func() error {
				_, err := c.Jobs.CancelJob(t.Context(), &cleavev1.CancelJobRequest{JobId: "job"})
				return err
			},
			"a stream": func() error {
				return c.leader.repeat(t.Context(), func(context.Context) error { return full() })
			},
		} {
			calls, last = 0, time.Time{}
			if err := call(); wire.Reason(err) != "NO_ROOM" || calls != 1+maxRefusals {
				t.Errorf("%s: %v after %d calls, want %d", what, err, calls, 1+maxRefusals)
			}
		}
	})
}

// refusedClient returns a client whose unary calls end with the error of refuse. It uses no network.
func refusedClient(t *testing.T, refuse func() error) *Client {
	t.Helper()
	c, err := Dial("127.0.0.1:1", WithGRPC(grpc.WithChainUnaryInterceptor(
		func(context.Context, string, any, any, *grpc.ClientConn, grpc.UnaryInvoker, ...grpc.CallOption) error {
			return refuse()
		},
	)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// A negative or huge retry delay from a coordinator does not make the client panic or wait forever, and one of nothing
// does not make it call without a pause.
func TestImpossibleRetryDelays(t *testing.T) {
	for _, delay := range []time.Duration{-time.Second, math.MinInt64, math.MaxInt64} {
		if pause := bounded(delay); pause < 0 || pause > maxRefusalPause {
			t.Errorf("a pause of %v for %v", pause, delay)
		}
	}
	for _, delay := range []*durationpb.Duration{nil, {}, {Nanos: 1}, durationpb.New(-time.Second)} {
		refused, err := status.New(codes.ResourceExhausted, "not now").WithDetails(
			&errdetails.RetryInfo{RetryDelay: delay})
		if err != nil {
			t.Fatal(err)
		}
		synctest.Test(t, func(t *testing.T) {
			c := refusedClient(t, refused.Err)
			began := time.Now()
			least := (1<<maxRefusals - 1) * repeats.First
			_, err := c.Jobs.CancelJob(t.Context(), &cleavev1.CancelJobRequest{JobId: "job"})
			if took := time.Since(began); status.Code(err) != codes.ResourceExhausted || took < least {
				t.Errorf("with a hint of %v the calls take %v, want %v or more: %v", delay, took, least, err)
			}
		})
	}
}

// A download that was read too slowly goes on where it was, however often it breaks while it gets further.
func TestDownloadsGoOn(t *testing.T) {
	all := make([]uint32, maxRefusals+3)
	for at := range all {
		all[at] = uint32(at % 3)
	}
	c, _ := connectTo(t, func(_ int32, stream grpc.ServerStream) error {
		first := int(stream.(requested).request.GetFirstIndex())
		if err := stream.SendMsg(&cleavev1.GetLabelsResponse{FirstIndex: uint32(first),
			Labels: all[first : first+1]}); err != nil || first == len(all)-1 {
			return err
		}
		return wire.Status(fault.New(fault.Unavailable, reasonSlowReader, "too slow").RetryIn(time.Millisecond))
	})
	if labels, err := c.Labels(t.Context(), "job"); err != nil || !slices.Equal(labels, all) {
		t.Errorf("labels are %v, %v", labels, err)
	}
}

// An error of the caller's own code ends a call, also if it is one that calls to a coordinator are repeated for.
func TestErrorsOfCallbacksEndCalls(t *testing.T) {
	for _, own := range []error{status.Error(codes.Unavailable, "another service is away"), refusal(time.Millisecond)} {
		c, _ := connectTo(t, func(_ int32, stream grpc.ServerStream) error {
			return stream.SendMsg(&cleavev1.GetLabelsResponse{Labels: []uint32{1}})
		})
		taken := 0
		err := c.EachLabels(t.Context(), &cleavev1.GetLabelsRequest{JobId: "job"},
			func(*cleavev1.GetLabelsResponse) error {
				taken++
				return own
			})
		if taken != 1 || !errors.Is(err, own) {
			t.Errorf("labels were taken %d times, and the call ended with %v", taken, err)
		}
		ranged := 0
		_, err = c.UploadRows(t.Context(), "rows", 1, func(yield func([]float64, error) bool) {
			ranged++
			yield(nil, own)
		})
		if e, is := errors.AsType[*Error](err); ranged != 1 || !is || e.Reason != "BAD_ROWS" || !errors.Is(err, own) {
			t.Errorf("rows were read %d times, and the call ended with %v", ranged, err)
		}
	}
}

// A watch goes on by itself when there are too many, and when it was not read.
func TestWatchesGoOn(t *testing.T) {
	event := func(e *cleavev1.Event) *cleavev1.WatchJobResponse {
		return &cleavev1.WatchJobResponse{Item: &cleavev1.WatchJobResponse_Event{Event: e}}
	}
	c, warnings := connectTo(t, func(call int32, stream grpc.ServerStream) error {
		switch call {
		case 1:
			return refusal(time.Millisecond)
		case 2:
			if err := stream.SendMsg(event(&cleavev1.Event{Sequence: 1})); err != nil {
				return err
			}
			return wire.Status(fault.New(fault.Unavailable, reasonSlowReader, "too slow").RetryIn(time.Millisecond))
		}
		return stream.SendMsg(
			event(&cleavev1.Event{Sequence: 2,
				What: &cleavev1.Event_Ended{Ended: &cleavev1.JobEnded{State: cleavev1.JobState_JOB_STATE_SUCCEEDED}}}))
	})
	var events []uint32
	var last *cleavev1.Event
	for item, err := range c.Follow(t.Context(), "job", 0) {
		if err != nil {
			t.Fatal(err)
		}
		last = item.GetEvent()
		events = append(events, last.GetSequence())
	}
	if last.GetEnded().GetState() != cleavev1.JobState_JOB_STATE_SUCCEEDED || fmt.Sprint(events) != "[1 2]" {
		t.Errorf("the watch ended with %v after %v", last, events)
	}
	want := []string{"there is too much to do; trying again",
		"the coordinator ended the watch because it was not read for a while; continuing after the last event"}
	if fmt.Sprintf("%q", *warnings) != fmt.Sprintf("%q", want) {
		t.Errorf("the client warns %q", *warnings)
	}
}

// An upload that is refused for the moment is repeated, too.
func TestRefusedUploadsAreRepeated(t *testing.T) {
	points, err := dataset.NewPoints(2, 1, []float64{1, 2})
	if err != nil {
		t.Fatal(err)
	}
	id, err := dataset.ID(points)
	if err != nil {
		t.Fatal(err)
	}
	uploads := 0
	c, _ := connectTo(t, func(_ int32, stream grpc.ServerStream) error {
		if method, _ := grpc.Method(stream.Context()); method != cleavev1.DatasetService_CreateDataset_FullMethodName {
			return wire.Status(fault.New(fault.NotFound, "DATASET_NOT_FOUND", "there is no such data set"))
		}
		if uploads++; uploads <= 2 {
			return refusal(time.Millisecond)
		}
		return stream.SendMsg(&cleavev1.CreateDatasetResponse{Dataset: &cleavev1.Dataset{DatasetId: id}})
	})
	if got, err := c.UploadPoints(t.Context(), "points", [][]float64{{1}, {2}}); err != nil || got != id ||
		uploads != 3 {
		t.Errorf("%s, %v after %d uploads", got, err, uploads)
	}
}

// An error of the rows ends an upload, whatever it is.
func TestUploadRowsEndsWithTheErrorOfARow(t *testing.T) {
	c, _ := connectTo(t, func(_ int32, stream grpc.ServerStream) error {
		return stream.SendMsg(&cleavev1.CreateDatasetResponse{Dataset: &cleavev1.Dataset{DatasetId: "cut"}})
	})
	id, err := c.UploadRows(t.Context(), "rows", 1, func(yield func([]float64, error) bool) {
		_ = yield([]float64{1}, nil) && yield(nil, fmt.Errorf("the file was cut: %w", io.EOF))
	})
	if e, is := errors.AsType[*Error](err); !is || e.Reason != "BAD_ROWS" || !errors.Is(err, io.EOF) {
		t.Errorf("got %q, %v", id, err)
	}
}

// Rows that can be read only once are not uploaded without their beginning, however many of them are left when the
// connection breaks.
func TestUploadRowsOfAnIteratorThatCannotBeRepeated(t *testing.T) {
	for what, c := range map[string]struct {
		again int // first point of the second pass
		whole bool
	}{"the same points": {0, true}, "fewer points": {3, false}, "other points": {1, false}, "no points": {4, false}} {
		client, _ := connectTo(t, func(call int32, stream grpc.ServerStream) error {
			for stream.RecvMsg(&cleavev1.GetLabelsRequest{}) == nil {
			}
			if call == 1 {
				return status.Error(codes.Unavailable, "the connection broke")
			}
			return stream.SendMsg(&cleavev1.CreateDatasetResponse{Dataset: &cleavev1.Dataset{DatasetId: "data"}})
		})
		from, points := 0, 2 // the first pass yields two points before the connection breaks
		id, err := client.UploadRows(t.Context(), "rows", 1, func(yield func([]float64, error) bool) {
			for at := from; at < points; at++ {
				if !yield([]float64{float64(at)}, nil) {
					break
				}
			}
			from, points = c.again, 4
		})
		if e, is := errors.AsType[*Error](err); c.whole != (err == nil && id == "data") ||
			!c.whole && (!is || e.Reason != "BAD_ROWS") {
			t.Errorf("%s: %q, %v", what, id, err)
		}
	}
}

// An import that ends without a table is an error.
func TestAnImportWithoutATable(t *testing.T) {
	c, _ := connectTo(t, func(int32, grpc.ServerStream) error { return nil })
	_, err := c.ImportTable(t.Context(), &cleavev1.ImportTableRequest{Uris: []string{"s3://bucket/x.csv"}}, nil)
	if e, is := errors.AsType[*Error](err); !is || e.Reason != BadAnswer {
		t.Errorf("got %v", err)
	}
}

// damaging are the tables of a coordinator that receives other data than was sent.
type damaging struct{ cleavev1.TableServiceClient }

func (damaging) GetTable(context.Context, *cleavev1.GetTableRequest,
	...grpc.CallOption) (*cleavev1.GetTableResponse, error) {
	return nil, status.Error(codes.NotFound, "there is no such table")
}

func (damaging) CreateTable(context.Context,
	...grpc.CallOption) (grpc.ClientStreamingClient[cleavev1.CreateTableRequest, cleavev1.CreateTableResponse], error) {
	return damagingStream{}, nil
}

type damagingStream struct {
	grpc.ClientStreamingClient[cleavev1.CreateTableRequest, cleavev1.CreateTableResponse]
}

func (damagingStream) Send(*cleavev1.CreateTableRequest) error { return nil }

func (damagingStream) CloseAndRecv() (*cleavev1.CreateTableResponse, error) {
	return &cleavev1.CreateTableResponse{Table: &cleavev1.Table{TableId: "other"}}, nil
}

// A damaged upload is an *Error, as all errors are, and gives no ID.
func TestADamagedUpload(t *testing.T) {
	c, err := Dial("127.0.0.1:1")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.Tables = damaging{}
	id, err := c.UploadTable(t.Context(), "table", Integers("x", 1, 2))
	if e, is := errors.AsType[*Error](err); !is || e.Code != codes.DataLoss || e.Reason != "UPLOAD_DAMAGED" ||
		id != "" {
		t.Errorf("the upload gives %q, %v", id, err)
	}
}
