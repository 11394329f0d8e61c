package gate_test

import (
	"errors"
	"io"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/test/coordinatortest"
)

// onlyHeader begins a call, sends no request, and tells how it ends.
func onlyHeader(h *coordinatortest.Harness, method string) error {
	h.T.Helper()
	stream, err := h.Conn.NewStream(h.T.Context(), &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, method)
	if err != nil {
		h.T.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- stream.RecvMsg(&cleavev1.GetJobResponse{}) }()
	return coordinatortest.Within(h.T, ended, method+" without a request")
}

// Headers without a request do not keep others out: such calls end, and only those.
func TestCallsWithoutARequestEnd(t *testing.T) {
	cfg := coordinatortest.Config()
	cfg.Limits.ShortCalls, cfg.UploadStall = 1, 50*time.Millisecond
	g := coordinatortest.NewBarrier()
	h := coordinatortest.StartScripted(t, cfg, g.Run)
	watch, err := h.Jobs.WatchJob(t.Context(),
		&cleavev1.WatchJobRequest{JobId: h.Create(coordinatortest.Spec(h.Upload()))})
	if err == nil {
		_, err = watch.Recv()
	}
	if err != nil {
		t.Fatal(err)
	}

	for _, method := range []string{cleavev1.JobService_GetJob_FullMethodName,
		cleavev1.JobService_WatchJob_FullMethodName, healthv1.Health_Check_FullMethodName} {
		if err := onlyHeader(h, method); status.Code(err) != codes.DeadlineExceeded {
			t.Errorf("%s without a request: %v", method, err)
		}
	}
	h.Settle(0, 1)
	_, err = h.Jobs.GetJob(t.Context(), &cleavev1.GetJobRequest{JobId: "none"})
	coordinatortest.WantError(t, err, codes.NotFound, "JOB_NOT_FOUND")

	close(g.Open) // the watch has waited for longer than that
	for err = nil; err == nil; {
		_, err = watch.Recv()
	}
	if !errors.Is(err, io.EOF) {
		t.Errorf("a watch that is older than the wait: %v", err)
	}
}
