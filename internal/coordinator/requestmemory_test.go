package coordinator_test

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"connectrpc.com/connect"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/test/coordinatortest"
)

// A large request takes memory until it is answered, and is refused while there is none, so that many of them at the
// same time do not take more than there is.
func TestLargeRequestsReserveMemory(t *testing.T) {
	cfg := coordinatortest.Config()
	cfg.MemoryBytes = 64 << 20
	cfg.Limits.SlowReader = 2 * time.Second // how long a whole body waits, and an answer that is not read
	h := coordinatortest.StartScripted(t, cfg, coordinatortest.Steps(1))
	const refusal = "which jobs and other calls hold"
	requests := h.Coordinator.RequestMemory()
	for name, send := range largeRequests(t, h) {
		rest, free := requests.ReserveNow(requests.Free() - 1<<10)
		if !free {
			t.Fatalf("before %s, there is no memory", name)
		}
		if answer := send(); !strings.Contains(answer, refusal) {
			t.Errorf("%s without memory: %.300s", name, answer)
		}
		rest.Release()
		if answer := send(); strings.Contains(answer, refusal) {
			t.Errorf("%s with memory: %.300s", name, answer)
		}
		for requests.Held() > 0 { // the client may have the answer first
			runtime.Gosched()
		}
	}
}

// largeRequests send a large request, in different ways, and return what is answered.
func largeRequests(t *testing.T, h *coordinatortest.Harness) map[string]func() string {
	large := strings.Repeat("x", 200<<10)
	client := h.HTTPClient(nil, true)
	return map[string]func() string{
		"REST": func() string {
			return client.Ask("POST", "http://localhost/v1/jobs:plan",
				`{"spec":{"k":2,"datasetId":"`+large+`"}}`).Body
		},
		"REST messages": func() string {
			return client.Ask("POST", "http://localhost/v1/datasets", `{"header":{"displayName":"`+large+`"}}`,
				"Content-Type", "application/json").Body
		},
		"REST whole": func() string {
			return client.Ask("POST", "http://localhost/v1/datasets?format=edges",
				strings.Repeat("0 1\n", 50<<10)).Body
		},
		"Connect": func() string {
			plan := connect.NewClient[cleavev1.PlanJobRequest, cleavev1.PlanJobResponse](client,
				"http://localhost/cleave.v1.JobService/PlanJob")
			request := &cleavev1.PlanJobRequest{Spec: coordinatortest.Spec(large)}
			_, err := plan.CallUnary(t.Context(), connect.NewRequest(request))
			return fmt.Sprint(err, details(err))
		},
		"Connect upload": func() string {
			create := connect.NewClient[cleavev1.CreateDatasetRequest, cleavev1.CreateDatasetResponse](client,
				"http://localhost/cleave.v1.DatasetService/CreateDataset")
			upload := create.CallClientStream(t.Context())
			_ = upload.Send(&cleavev1.CreateDatasetRequest{
				Part: &cleavev1.CreateDatasetRequest_Header{Header: &cleavev1.DatasetHeader{DisplayName: large}}})
			_, err := upload.CloseAndReceive()
			return fmt.Sprint(err, details(err))
		},
		"gRPC": func() string {
			_, err := h.Jobs.PlanJob(t.Context(), &cleavev1.PlanJobRequest{Spec: coordinatortest.Spec(large)})
			return fmt.Sprint(err)
		},
		"gRPC stream": func() string {
			stream, err := h.Jobs.WatchJob(t.Context(), &cleavev1.WatchJobRequest{JobId: large})
			if err == nil {
				_, err = stream.Recv()
			}
			return fmt.Sprint(err)
		},
	}
}

func details(err error) []*connect.ErrorDetail {
	e, is := errors.AsType[*connect.Error](err)
	if !is {
		return nil
	}
	return e.Details()
}
