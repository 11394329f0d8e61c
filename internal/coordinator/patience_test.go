package coordinator

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
)

// onlyHeader begins a call, sends no request, and tells how it ends.
func (h *harness) onlyHeader(method string) error {
	h.t.Helper()
	stream, err := h.conn.NewStream(h.t.Context(), &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, method)
	if err != nil {
		h.t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- stream.RecvMsg(&cleavev1.GetJobResponse{}) }()
	return within(h.t, ended, method+" without a request")
}

// Headers without a request do not keep others out: such calls end, and only those.
func TestCallsWithoutARequestEnd(t *testing.T) {
	cfg := testConfig()
	cfg.Limits.ShortCalls, cfg.UploadStall = 1, 50*time.Millisecond
	g := newBarrier()
	h := newHarness(t, cfg, scripted(g.run))
	watch, err := h.jobs.WatchJob(t.Context(), &cleavev1.WatchJobRequest{JobId: h.create(spec(h.upload()))})
	if err == nil {
		_, err = watch.Recv()
	}
	if err != nil {
		t.Fatal(err)
	}

	for _, method := range []string{cleavev1.JobService_GetJob_FullMethodName,
		cleavev1.JobService_WatchJob_FullMethodName, healthv1.Health_Check_FullMethodName} {
		if err := h.onlyHeader(method); status.Code(err) != codes.DeadlineExceeded {
			t.Errorf("%s without a request: %v", method, err)
		}
	}
	h.settle(0, 1)
	_, err = h.jobs.GetJob(t.Context(), &cleavev1.GetJobRequest{JobId: "none"})
	wantError(t, err, codes.NotFound, "JOB_NOT_FOUND")

	close(g.open) // the watch has waited for longer than that
	for err = nil; err == nil; {
		_, err = watch.Recv()
	}
	if !errors.Is(err, io.EOF) {
		t.Errorf("a watch that is older than the wait: %v", err)
	}
}
