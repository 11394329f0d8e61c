package coordinator

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/coordinator/gate"
	"github.com/cleave-project/cleave/internal/data/table/tabletest"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/wire"
)

// Small downloads share memory by their size, and large ones take turns. Neither waits for the other, nor forever.
func TestDownloadsShareMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const small, large = 100, 101
		d := newDownloads(4*small, 30*time.Second)
		for bytes, most := range map[uint64]int{small: 4, large: maxLargeDownloads, small / 2: 8} {
			var all []*download
			for range most {
				held, err := d.begin(t.Context(), bytes)
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, held)
			}
			if _, err := d.begin(t.Context(), bytes); !fault.Is(err, "TOO_MANY_DOWNLOADS") {
				t.Errorf("another download of %d bytes: %v", bytes, err)
			}
			ended, end := context.WithCancel(t.Context())
			end()
			if _, err := d.begin(ended, bytes); !errors.Is(err, context.Canceled) {
				t.Errorf("a caller who gives up gets %v", err)
			}
			go all[0].end()
			held, err := d.begin(t.Context(), bytes)
			if err != nil {
				t.Fatalf("with room again: %v", err)
			}
			for _, held := range append(all[1:], held) {
				held.end()
			}
		}
	})
}

// A slow reader keeps its memory until somebody else needs it.
func TestSlowDownloadsMakeRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := newDownloads(0, 30*time.Second)
		begin := func() *download {
			held, err := d.begin(t.Context(), 60*fairRate)
			if err != nil {
				t.Error(err)
			}
			return held
		}
		begin()
		slow := begin()
		send := paced(slow, func(string) error { return nil })
		time.Sleep(time.Hour)
		if err := send("alone"); err != nil {
			t.Errorf("while nobody waits: %v", err)
		}
		others := make(chan *download)
		go func() { others <- begin() }()
		synctest.Wait()
		if err := send("slow"); !fault.Is(err, gate.SlowReader) {
			t.Errorf("while another download waits: %v", err)
		}
		slow.end()
		fresh := <-others
		go func() { others <- begin() }()
		synctest.Wait()
		if err := paced(fresh, func(string) error { return nil })("in time"); err != nil {
			t.Errorf("a download that has just begun: %v", err)
		}
		fresh.end()
		<-others
	})
}

// Every call that decodes an object for its client waits for memory before it does.
func TestCallsHoldMemory(t *testing.T) {
	cfg := testConfig()
	cfg.CacheBytes = 0
	h := newHarness(t, cfg, realEngine())
	defer h.startWorker("a")()
	stored := h.storeTable(plants(t, 60))
	spec := neighborSpec("", 6)
	spec.Data = &cleavev1.JobSpec_Table{Table: &cleavev1.TablePoints{TableId: stored}}
	job := h.create(spec)
	if ended := h.end(job); ended.GetState() != cleavev1.JobState_JOB_STATE_SUCCEEDED {
		t.Fatalf("ended with %v", ended)
	}
	calls := map[string]func() error{
		"GetTableRows": func() error {
			stream, err := h.tables().GetTableRows(t.Context(), &cleavev1.GetTableRowsRequest{TableId: stored})
			if err == nil {
				_, err = wire.ReceiveTable(stream.Recv)
			}
			return err
		},
		"GetLabels": func() error {
			stream, err := h.jobs.GetLabels(t.Context(), &cleavev1.GetLabelsRequest{JobId: job, WithRows: true})
			if err == nil {
				_, err = stream.Recv()
			}
			return err
		},
		"GetNeighborGraph": func() error { _, err := h.neighborGraph(job); return err },
		"EvaluateJob": func() error {
			_, err := h.jobs.EvaluateJob(t.Context(), &cleavev1.EvaluateJobRequest{JobId: job, Truth: wire.InlineTable(tabletest.Labels(make([]int32, 60)))})
			return err
		},
	}
	var all []*download
	for range maxLargeDownloads {
		held, err := h.c.downloads.begin(t.Context(), 1)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, held)
	}
	h.c.downloads.patience = time.Millisecond
	for name, call := range calls {
		t.Run(name, func(t *testing.T) { wantError(t, call(), codes.ResourceExhausted, "TOO_MANY_DOWNLOADS") })
	}
	for _, held := range all {
		held.end()
	}
	for name, call := range calls {
		if err := call(); err != nil {
			t.Errorf("%s with room again: %v", name, err)
		}
	}
}
