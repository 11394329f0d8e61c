package client

import (
	"net"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// A call is repeated when the coordinator is unavailable.
func TestCallsAreRepeated(t *testing.T) {
	var calls atomic.Int32
	server := grpc.NewServer(grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error {
		if err := stream.RecvMsg(&emptypb.Empty{}); err != nil {
			return err
		}
		calls.Add(1)
		return status.Error(codes.Unavailable, "not now")
	}))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go server.Serve(listener) //nolint:errcheck // it ends with Stop
	defer server.Stop()
	c, err := Dial(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, err = c.Jobs.CancelJob(t.Context(), &cleavev1.CancelJobRequest{JobId: "job"})
	if status.Code(err) != codes.Unavailable || calls.Load() != 5 {
		t.Errorf("after %d calls: %v", calls.Load(), err)
	}
}
