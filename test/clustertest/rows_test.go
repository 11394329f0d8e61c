package clustertest

import (
	"fmt"
	"sync"
	"testing"

	"google.golang.org/grpc/codes"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/planning"
)

// rowMemory is the memory of each worker of a job on largeRows: less than the data set has, and enough for a third of it.
const (
	rowMemory      = "78MiB"
	rowMemoryBytes = 78 << 20
)

// largeRows has a data set that workers fetch by rows, in clusters that overlap, so that k-means makes many iterations.
var largeRows = sync.OnceValue(func() *workload {
	iterations := uint32(30)
	return newWorkload(gaussians(40_000, 300, 5, 1), &cleavev1.JobSpec{
		Clusters: &cleavev1.JobSpec_K{K: 5}, Seed: 1, Restarts: 2, MaxIterations: &iterations,
		Initialization: &cleavev1.Initialization{Start: cleavev1.Start_START_RANDOM},
		Algorithm:      &cleavev1.JobSpec_Kmeans{Kmeans: &cleavev1.Kmeans{}},
	})
})

// TestADataSetThatNoWorkerCanHold: a job whose data set does not fit into the memory of one worker is refused there, and
// runs on several, with the bits of one process, through the end of a worker and with one that joins. Each worker fetches
// its part.
func TestADataSetThatNoWorkerCanHold(t *testing.T) {
	t.Parallel()
	load := largeRows()
	size := dataset.EncodedSize(load.data)
	if size <= rowMemoryBytes {
		t.Fatalf("the data set has %d bytes", size)
	}
	c := StartCoordinator(t, Options{Args: []string{"--admin", "127.0.0.1:0"}})
	first := startWorker(t, c.Addr, "w0", rowMemory, "--admin", "127.0.0.1:0")
	c.AwaitWorkers(1)
	spec := load.on(c)
	_, err := c.Jobs.PlanJob(t.Context(), &cleavev1.PlanJobRequest{Spec: spec})
	wantError(t, "a job on one worker", err, codes.ResourceExhausted, planning.DoesNotFit)
	victim := startWorker(t, c.Addr, "victim", rowMemory, passingOn(t)...)
	startWorker(t, c.Addr, "w2", rowMemory, passingOn(t)...)
	startWorker(t, c.Addr, "w3", rowMemory)
	c.AwaitWorkers(4)
	w := c.Watch(c.Create(spec))
	w.UntilIterations(1)
	// A quarter, with the pieces at its ends and those that it has fetched for tiles that it got since.
	if got := metric(t, adminOf(t, first.Process), "cleave_worker_piece_bytes_total"); got == 0 || got > float64(size)/2 {
		t.Errorf("one of four workers fetched %.0f bytes of %d", got, size)
	}
	w.StillRunning()
	victim.Kill()
	w.UntilIterations(3)
	startWorker(t, c.Addr, "late", rowMemory, passingOn(t)...)
	load.finish(t, "on workers each of which has less memory than the data set", w)
	wantSent(t, adminOf(t, c.Process), load.data, 2)
}

// TestRowsOnAnyNumberOfWorkers: the same bits on one worker and on several.
func TestRowsOnAnyNumberOfWorkers(t *testing.T) {
	t.Parallel()
	c := StartCoordinator(t, Options{})
	load := largeRows()
	for _, workers := range []int{1, 3} {
		for w := range workers - len(c.Workers()) {
			startWorker(t, c.Addr, fmt.Sprint("w", workers, w), "1GiB")
		}
		c.AwaitWorkers(workers)
		_, w := load.run(c)
		load.finish(t, fmt.Sprintf("on %d workers", workers), w)
	}
}
