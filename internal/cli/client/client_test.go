package client

import (
	"net"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/emptypb"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// Every method is repeated when the coordinator is unavailable, except for the one that fails when it is
// called twice. Methods that are added must be decided about.
func TestCallsThatAreRepeated(t *testing.T) {
	var mu sync.Mutex
	calls := map[string]int{}
	server := grpc.NewServer(grpc.UnknownServiceHandler(func(_ any, stream grpc.ServerStream) error {
		method, _ := grpc.MethodFromServerStream(stream)
		mu.Lock()
		defer mu.Unlock()
		calls[method]++
		return status.Error(codes.Unavailable, "not now")
	}))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go server.Serve(listener) //nolint:errcheck // it ends with Stop
	defer server.Stop()
	c, err := Connect(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var methods []string
	for _, service := range []grpc.ServiceDesc{cleavev1.JobService_ServiceDesc, cleavev1.DatasetService_ServiceDesc, cleavev1.ClusterService_ServiceDesc} {
		for _, method := range service.Methods {
			methods = append(methods, "/"+service.ServiceName+"/"+method.MethodName)
		}
		for _, stream := range service.Streams {
			methods = append(methods, "/"+service.ServiceName+"/"+stream.StreamName)
		}
	}
	var running sync.WaitGroup
	for _, method := range methods {
		running.Go(func() {
			if err := c.connection.Invoke(t.Context(), method, &emptypb.Empty{}, &emptypb.Empty{}); status.Code(err) != codes.Unavailable {
				t.Errorf("%s: %v", method, err)
			}
		})
	}
	running.Wait()
	for _, method := range methods {
		if once := strings.HasSuffix(method, "/DeleteDataset"); once != (calls[method] == 1) {
			t.Errorf("%s was called %d times", method, calls[method])
		}
	}
}
