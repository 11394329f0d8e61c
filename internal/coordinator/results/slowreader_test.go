package results_test

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/coordinator/queue"
	"github.com/cleave-project/cleave/test/coordinatortest"
)

// A watch that nobody reads is ended, says where it was, and is resumed from there without a gap.
func TestSlowReadersAreDropped(t *testing.T) {
	cfg := coordinatortest.Config()
	cfg.Limits.SlowReader = time.Second // which a reader has time for on a busy machine, too
	const notices = 300
	g := coordinatortest.NewBarrier()
	h := coordinatortest.StartScripted(t, cfg,
		func(ctx context.Context, o clustering.Observer) (*clustering.Result, error) {
			for range notices { // more than gRPC buffers on both sides
				o.Observe(clustering.Notice{Code: "LONG", Message: strings.Repeat("x", 4000)})
			}
			return g.Run(ctx, o)
		})
	id := h.Create(coordinatortest.Spec(h.Upload()))
	coordinatortest.Within(t, g.Entered, "the run")
	stream, err := h.Jobs.WatchJob(t.Context(), &cleavev1.WatchJobRequest{JobId: id})
	if err != nil {
		t.Fatal(err)
	}
	h.Settle(0, 1)
	h.Settle(0, 0) // nobody reads, and still it ends
	var seen uint32
	for err == nil {
		var item *cleavev1.WatchJobResponse
		if item, err = stream.Recv(); item.GetEvent() != nil {
			seen = item.GetEvent().GetSequence()
		}
	}
	coordinatortest.WantError(t, err, codes.Unavailable, queue.SlowReader)
	for _, detail := range status.Convert(err).Details() {
		if info, is := detail.(*errdetails.ErrorInfo); is {
			// The message that was given up may have been sent after all.
			if last, _ := strconv.ParseUint(info.GetMetadata()["last_sequence"], 10, 32); last != uint64(seen) &&
				last+1 != uint64(seen) {
				t.Errorf("the coordinator says %d, the last event was %d", last, seen)
			}
		}
	}
	close(g.Open)
	rest, _ := h.Watch(id, seen)
	if want := notices + 3 - int(seen); len(rest) != want { // two iterations and the end
		t.Errorf("%d events came after %d, want %d", len(rest), seen, want)
	}
}
