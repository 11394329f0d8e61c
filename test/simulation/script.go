package simulation

import (
	"context"
	"sync"
	"time"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// play is what happens in a simulation besides faults: users submit jobs, watch and cancel them, and leave without a
// word.
func (w *world) play(loads []*workload) {
	rng := w.plan.random("script", 0)
	w.start(1+rng.IntN(4)/3, 2+rng.IntN(2))
	var users sync.WaitGroup
	pick := func() *workload { return loads[rng.IntN(len(loads))] }
	first := pick()
	second := pick()
	users.Go(func() { w.patient("client", first) })
	switch rng.IntN(6) {
	case 0:
		users.Go(func() { w.patient("client-1", second) })
	case 1:
		after := rng.IntN(4)
		users.Go(func() { w.impatient("client-1", second, after) })
	case 2:
		users.Go(func() { w.vanishes("client-1", second) })
	case 3:
		name := []string{"worker-0", "worker-1"}[rng.IntN(2)]
		after := time.Duration(rng.Int64N(int64(200 * time.Millisecond)))
		users.Go(func() { w.operates("client-1", name, after) })
	}
	users.Wait()
}

// patient submits a job, watches it, and checks all that it is told.
func (w *world) patient(name string, load *workload) {
	u := w.newUser(name)
	defer u.Close()
	a := &acknowledged{load: load}
	if a.job, a.request = u.submit(load); a.job == "" {
		return
	}
	w.acknowledge(a)
	a.seen, a.ended = u.follow(a.job)
}

// impatient submits a job and cancels it after some events.
func (w *world) impatient(name string, load *workload, after int) {
	u := w.newUser(name)
	defer u.Close()
	a := &acknowledged{load: load, canceled: true}
	if a.job, a.request = u.submit(load); a.job == "" {
		return
	}
	w.acknowledge(a)
	a.seen = &collector{}
	u.insist("watch before the end", func(ctx context.Context) error {
		stream, err := u.Jobs.WatchJob(ctx, &cleavev1.WatchJobRequest{JobId: a.job,
			AfterSequence: uint32(len(a.seen.events))})
		for err == nil && len(a.seen.events) < after {
			var item *cleavev1.WatchJobResponse
			if item, err = stream.Recv(); err == nil {
				a.seen.Item(item)
			}
		}
		return err
	})
	u.insist("cancel", func(ctx context.Context) error {
		_, err := u.Jobs.CancelJob(ctx, &cleavev1.CancelJobRequest{JobId: a.job})
		return err
	})
	a.ended = u.followOn(a.job, a.seen)
}

// vanishes is a client whose machine dies in the middle of an upload or a watch.
func (w *world) vanishes(name string, load *workload) {
	u := w.newUser(name)
	defer u.Close()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	upload, err := u.Datasets.CreateDataset(ctx)
	if err != nil {
		return
	}
	_ = upload.Send(&cleavev1.CreateDatasetRequest{Part: &cleavev1.CreateDatasetRequest_Header{
		Header: &cleavev1.DatasetHeader{
			Form: &cleavev1.DatasetHeader_Points{Points: &cleavev1.PointsForm{Columns: 2}}}}})
	_ = upload.Send(&cleavev1.CreateDatasetRequest{
		Part: &cleavev1.CreateDatasetRequest_Values{Values: &cleavev1.DenseValues{Values: []float64{1, 2, 3}}}})
	if job, _ := u.submit(load); job != "" {
		w.acknowledge(&acknowledged{load: load, job: job})
		if stream, err := u.Jobs.WatchJob(ctx, &cleavev1.WatchJobRequest{JobId: job}); err == nil {
			_, _ = stream.Recv()
		}
	}
	u.node.crash(true)
}

// operates drains a worker, which comes back, as a restarted one does.
func (w *world) operates(name, worker string, after time.Duration) {
	u := w.newUser(name)
	defer u.Close()
	time.Sleep(after)
	_, _ = u.Cluster.DrainWorker(w.running, &cleavev1.DrainWorkerRequest{WorkerId: worker})
}
