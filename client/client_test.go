package client

import (
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// A call is repeated when the coordinator is unavailable.
func TestCallsAreRepeated(t *testing.T) {
	address, calls := fakeCoordinator(t, func() error { return status.Error(codes.Unavailable, "not now") })
	c, err := Dial(address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, err = c.Jobs.CancelJob(t.Context(), &cleavev1.CancelJobRequest{JobId: "job"})
	if status.Code(err) != codes.Unavailable || calls.Load() != 5 {
		t.Errorf("after %d calls: %v", calls.Load(), err)
	}
}

// A request without an ID gets one before it is sent, so that a coordinator knows the same request again.
func TestARepeatedCallCreatesOneJob(t *testing.T) {
	var ids []string
	c, _ := connectTo(t, func(call int32, stream grpc.ServerStream) error {
		received, err := proto.Marshal(stream.(requested).request)
		if err != nil {
			return err
		}
		var request cleavev1.CreateJobRequest
		if err := proto.Unmarshal(received, &request); err != nil {
			return err
		}
		ids = append(ids, request.GetRequestId())
		if call == 1 {
			return status.Error(codes.Unavailable, "the response is lost")
		}
		return stream.SendMsg(&cleavev1.CreateJobResponse{Job: &cleavev1.Job{}})
	})
	if _, err := c.Jobs.CreateJob(t.Context(), &cleavev1.CreateJobRequest{}); err != nil {
		t.Fatal(err)
	}
	if len(ids) != 2 || ids[0] == "" || ids[0] != ids[1] {
		t.Errorf("the request IDs are %q", ids)
	}
}

// Requests are the caller's: one that is used twice asks twice for the same.
func TestRequestsAreNotChanged(t *testing.T) {
	c, _ := connectTo(t, func(call int32, stream grpc.ServerStream) error {
		switch call {
		case 1:
			return stream.SendMsg(&cleavev1.CreateJobResponse{Job: &cleavev1.Job{}})
		case 2:
			return stream.SendMsg(&cleavev1.GetLabelsResponse{Labels: []uint32{1, 2}})
		case 3:
			return stream.SendMsg(&cleavev1.ListJobsResponse{NextPageToken: "more"})
		}
		return stream.SendMsg(&cleavev1.ListJobsResponse{})
	})
	create := &cleavev1.CreateJobRequest{}
	labels := &cleavev1.GetLabelsRequest{JobId: "job"}
	list := &cleavev1.ListJobsRequest{}
	if _, err := c.CreateJob(t.Context(), create); err != nil || create.GetRequestId() != "" {
		t.Errorf("creating a job: %v, request %v", err, create)
	}
	if err := c.EachLabels(t.Context(), labels, func(*cleavev1.GetLabelsResponse) error { return nil }); err != nil ||
		labels.GetFirstIndex() != 0 {
		t.Errorf("getting labels: %v, request %v", err, labels)
	}
	for _, err := range c.ListJobs(t.Context(), list) {
		if err != nil {
			t.Error(err)
		}
	}
	if list.GetPageToken() != "" {
		t.Errorf("listing jobs: request %v", list)
	}
}
