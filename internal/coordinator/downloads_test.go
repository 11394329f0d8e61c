package coordinator_test

import (
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/coordinator/queue"
	"github.com/cleave-project/cleave/internal/wire"
	"github.com/cleave-project/cleave/test/coordinatortest"
	"github.com/cleave-project/cleave/test/tabletest"
)

// Every call that decodes an object for its client waits for memory before it does.
func TestCallsHoldMemory(t *testing.T) {
	cfg := coordinatortest.Config()
	cfg.MemoryBytes, cfg.CacheBytes = 64<<20, 1<<20
	cfg.Limits.SlowReader = 500 * time.Millisecond // how long each of them waits
	h := coordinatortest.Start(t, cfg)
	defer h.StartWorker("a")()
	stored := h.StoreTable(coordinatortest.Plants(t, 60))
	spec := neighborSpec("", 6)
	spec.Data = &cleavev1.JobSpec_Table{Table: &cleavev1.TablePoints{TableId: stored}}
	job := h.Create(spec)
	if ended := h.End(job); ended.GetState() != cleavev1.JobState_JOB_STATE_SUCCEEDED {
		t.Fatalf("ended with %v", ended)
	}
	calls := map[string]func() error{
		"GetTableRows": func() error {
			stream, err := h.Tables.GetTableRows(t.Context(), &cleavev1.GetTableRowsRequest{TableId: stored})
			if err == nil {
				_, err = wire.ReceiveTable(stream.Recv)
			}
			return err
		},
		"GetLabels": func() error {
			stream, err := h.Jobs.GetLabels(t.Context(), &cleavev1.GetLabelsRequest{JobId: job, WithRows: true})
			if err == nil {
				_, err = stream.Recv()
			}
			return err
		},
		"GetNeighborGraph": func() error { _, err := neighborGraph(h, job); return err },
		"PredictJob": func() error {
			stream, err := h.Jobs.PredictJob(t.Context(), &cleavev1.PredictJobRequest{JobId: job, TableId: stored})
			if err == nil {
				_, err = stream.Recv()
			}
			return err
		},
		"EvaluateJob": func() error {
			_, err := h.Jobs.EvaluateJob(t.Context(), &cleavev1.EvaluateJobRequest{JobId: job,
				Truth: wire.InlineTable(tabletest.Labels(make([]int32, 60)))})
			return err
		},
	}
	all, err := h.Coordinator.JobMemory().Reserve(t.Context(), cfg.MemoryBytes, time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	defer all.Release()
	var held []*queue.Download
	for range 4 { // a small object may take a quarter of what downloads have of their own
		download, err := h.Coordinator.Downloads().Begin(t.Context(), uint64(cfg.CacheBytes/4))
		if err != nil {
			t.Fatal(err)
		}
		held = append(held, download)
	}
	labels := &partBlobs{Blobs: h.Blobs.Behavior(), part: "/labels"}
	h.Blobs.Behave(labels)
	for name, call := range calls {
		t.Run(name, func(t *testing.T) {
			coordinatortest.WantError(t, call(), codes.ResourceExhausted, "TOO_MANY_DOWNLOADS")
		})
	}
	if opened := labels.opened.Load(); opened > 0 {
		t.Errorf("labels are read %d times by calls that have no memory yet", opened)
	}
	for _, download := range held {
		download.End()
	}
	for name, call := range calls {
		if err := call(); err != nil {
			t.Errorf("%s with room again: %v", name, err)
		}
	}
}
