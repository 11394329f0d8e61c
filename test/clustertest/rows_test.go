package clustertest

import (
	"fmt"
	"sync"
	"testing"

	"google.golang.org/grpc/codes"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/planning"
	"github.com/cleave-project/cleave/test/testscale"
)

// rowLoad is a job whose workers have less memory than the data set takes, and enough for a third of it.
type rowLoad struct {
	name   string
	load   func() *workload
	memory int // MiB of a worker
}

var rowLoads = []rowLoad{{"dense", largeRows, 78}, {"sparse", largeSparseRows, 136}}

// largeRows has a data set that workers fetch by rows, in clusters that overlap, so that k-means makes many iterations.
var largeRows = sync.OnceValue(func() *workload { return rowWorkload(gaussians(40_000, 300, 5, 1), 2, 30) })

// largeSparseRows is the same with sparse points. The number of their entries is odd, so that values cross the borders
// of pieces.
var largeSparseRows = sync.OnceValue(func() *workload {
	const rows, columns = 32_000, 1500
	random := random(1)
	starts := []int64{0}
	all := []int32(nil)
	values := []float64(nil)
	for i := range rows {
		for f := random.IntN(5); f < columns; f += 1 + random.IntN(6) {
			if i == rows-1 && len(all)%2 == 1 && f > columns/2 {
				break
			}
			all = append(all, int32(f))
			values = append(values, random.Float64()+float64(f%5/(1+i%5)))
		}
		starts = append(starts, int64(len(all)))
	}
	points, err := dataset.NewSparsePoints(rows, columns, starts, all, values)
	if err != nil {
		panic(err)
	}
	return rowWorkload(points, 1, 20)
})

func rowWorkload(data dataset.Dataset, restarts, iterations uint32) *workload {
	return newWorkload(data, &cleavev1.JobSpec{
		Clusters: &cleavev1.JobSpec_K{K: 5}, Seed: 1, Restarts: restarts, MaxIterations: &iterations,
		Initialization: &cleavev1.Initialization{Start: cleavev1.Start_START_RANDOM},
		Algorithm:      &cleavev1.JobSpec_Kmeans{Kmeans: &cleavev1.Kmeans{}},
	})
}

// TestADataSetThatNoWorkerCanHold: a job whose data set does not fit into the memory of one worker is refused there,
// and runs on several, with the bits of one process, through the end of a worker and with one that joins. Each worker
// fetches its part.
func TestADataSetThatNoWorkerCanHold(t *testing.T) {
	testscale.LongOnly(t, "package fleet has TestADataSetLargerThanAnyWorker")
	t.Parallel()
	for _, l := range rowLoads {
		t.Run(l.name, l.runWhereNoWorkerCanHoldIt)
	}
}

func (l rowLoad) runWhereNoWorkerCanHoldIt(t *testing.T) {
	load := l.load()
	memory := fmt.Sprintf("%dMiB", l.memory)
	size := dataset.EncodedSize(load.data)
	if size <= int64(l.memory)<<20 {
		t.Fatalf("the data set has %d bytes", size)
	}
	c := StartCoordinator(t, Options{Args: []string{"--admin", "127.0.0.1:0"}})
	first := startWorker(t, c.Addr, "w0", memory, "--admin", "127.0.0.1:0")
	c.AwaitWorkers(1)
	spec := load.on(c)
	_, err := c.Jobs.PlanJob(t.Context(), &cleavev1.PlanJobRequest{Spec: spec})
	wantError(t, "a job on one worker", err, codes.ResourceExhausted, planning.DoesNotFit)
	victim := startWorker(t, c.Addr, "victim", memory, passingOn(t)...)
	startWorker(t, c.Addr, "w2", memory, passingOn(t)...)
	startWorker(t, c.Addr, "w3", memory)
	c.AwaitWorkers(4)
	w := c.Watch(c.Create(spec))
	w.UntilIterations(1)
	// A quarter, with the pieces at its ends and those that it has fetched for tiles that it got since.
	if got := metric(t, adminOf(t, first.Process), "cleave_worker_piece_bytes_total"); got == 0 ||
		got > float64(size)/2 {
		t.Errorf("one of four workers fetched %.0f bytes of %d", got, size)
	}
	w.StillRunning()
	victim.Kill()
	w.UntilIterations(3)
	startWorker(t, c.Addr, "late", memory, passingOn(t)...)
	load.finish(t, "on workers each of which has less memory than the data set", w)
	wantSent(t, adminOf(t, c.Process), load.data, 2)
}

// TestRowsOnAnyNumberOfWorkers: the same bits on one worker and on several.
func TestRowsOnAnyNumberOfWorkers(t *testing.T) {
	testscale.LongOnly(t, "package fleet has TestRowsHaveTheSameBits")
	t.Parallel()
	for _, l := range rowLoads {
		t.Run(l.name, func(t *testing.T) { onAnyNumberOfWorkers(t, l.load()) })
	}
}

func onAnyNumberOfWorkers(t *testing.T, load *workload) {
	c := StartCoordinator(t, Options{})
	for _, workers := range []int{1, 3} {
		for w := range workers - len(c.Workers()) {
			startWorker(t, c.Addr, fmt.Sprint("w", workers, w), "1GiB")
		}
		c.AwaitWorkers(workers)
		_, w := load.run(c)
		load.finish(t, fmt.Sprintf("on %d workers", workers), w)
	}
}
