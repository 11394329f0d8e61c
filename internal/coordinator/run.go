package coordinator

import (
	"context"
	"fmt"
	"io"
	"runtime/debug"

	"google.golang.org/protobuf/proto"

	statev1 "github.com/cleave-project/cleave/gen/cleave/state/v1"
	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/fleet"
	"github.com/cleave-project/cleave/internal/store"
	"github.com/cleave-project/cleave/internal/wire"
)

// engine is what a run is made of; tests put in parts of their own.
type engine struct {
	// await returns when there is somebody to work.
	await func(ctx context.Context, f *fleet.Fleet, report func(fleet.Status)) error
	// execute executes work.
	execute func(ctx context.Context, w work, f *fleet.Fleet, task fleet.Task, o clustering.Observer) (*clustering.Result, *fleet.Held, error)
}

func realEngine() engine {
	return engine{
		await: awaitWorker,
		execute: func(ctx context.Context, w work, f *fleet.Fleet, task fleet.Task, o clustering.Observer) (*clustering.Result, *fleet.Held, error) {
			return w.execute(ctx, f, task, o)
		},
	}
}

// awaitWorker waits for the first worker: until then the job is pending, not running.
func awaitWorker(ctx context.Context, f *fleet.Fleet, report func(fleet.Status)) error {
	for {
		changed := f.Changed()
		for _, w := range f.Workers() {
			if w.State == fleet.WorkerReady {
				return nil
			}
		}
		report(fleet.Status{Waiting: "waiting for a worker: none is attached"})
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// outcome is how a run ended.
type outcome struct {
	result  *clustering.Result // nil when err is not
	err     error
	kernel  *cleavev1.KernelReport
	plan    *cleavev1.Plan
	timings *cleavev1.Timings
}

// attend sees an unfinished job through: its turn, its run, its end.
func (c *Coordinator) attend(j *job) {
	flushing, stopFlushing := context.WithCancel(context.Background())
	flushed := make(chan struct{})
	go func() {
		defer close(flushed)
		if err := j.log.flushLoop(flushing); err != nil {
			j.cancel(err)
		}
	}()
	var out outcome
	select {
	case <-j.turn:
		out = c.run(j)
	case <-j.ctx.Done():
		out.err = j.ctx.Err()
	}
	c.turns.leave(j)
	stopFlushing()
	<-flushed
	c.finish(j, out)
	j.cancel(nil)
}

// run takes a job from its specification to its labels.
func (c *Coordinator) run(j *job) (out outcome) {
	o := newObserver(j, c.cfg.Now)
	defer func() {
		if p := recover(); p != nil {
			c.log.Error("a run panicked", "job", j.id, "panic", p, "stack", string(debug.Stack()))
			out = outcome{err: panicFault(p)}
		}
		out.timings = o.timings()
	}()

	o.enter(cleavev1.Phase_PHASE_LOADING)
	ready, err := c.load(j)
	if err != nil {
		return outcome{err: err}
	}
	o.enter(cleavev1.Phase_PHASE_WAITING)
	if err := c.engine.await(j.ctx, c.fleet, o.report); err != nil {
		return outcome{err: err}
	}
	if err := c.begin(j, ready.work); err != nil {
		return outcome{err: err}
	}
	ready.fit(c.fleet)
	o.enter(cleavev1.Phase_PHASE_BUILDING)
	var held *fleet.Held
	task := fleet.Task{JobID: j.id, DatasetID: j.datasetID, Need: ready.need, Report: o.report}
	out.result, held, out.err = c.engine.execute(j.ctx, ready.work, c.fleet, task, o)
	out.kernel = wire.KernelReportProto(ready.need.Matrix)
	if held != nil {
		out.plan = carriedOut(ready.need, *held, o.mostWorkers())
	}
	return out
}

// load makes the problem. The data and the specification themselves are let go of afterwards, as
// far as the problem does not need them.
func (c *Coordinator) load(j *job) (*prepared, error) {
	p, err := c.readSpec(j.ctx, j.id)
	if err != nil {
		return nil, err
	}
	return c.prepare(j.ctx, p)
}

// begin marks the job as running.
func (c *Coordinator) begin(j *job, w work) error {
	err := j.write(c.commit, store.Txn{}, func(record *statev1.JobRecord) error {
		record.Job.State = cleavev1.JobState_JOB_STATE_RUNNING
		record.Job.StartTime = c.now()
		record.Job.ObjectiveName = w.objective()
		return nil
	})
	if err == nil {
		j.wait("")
		c.log.Info("job runs", "job", j.id, "objective", w.objective())
	}
	return err
}

func (c *Coordinator) readSpec(ctx context.Context, job string) (*cleavev1.JobSpec, error) {
	spec := &cleavev1.JobSpec{}
	return spec, c.readBlob(ctx, specBlob(job), spec)
}

func (c *Coordinator) readBlob(ctx context.Context, name string, message proto.Message) error {
	r, err := c.blobs.Open(ctx, name, 0, -1)
	if err != nil {
		return err
	}
	defer r.Close()
	encoded, err := io.ReadAll(r)
	if err != nil {
		return err
	}
	if err := proto.Unmarshal(encoded, message); err != nil {
		return fmt.Errorf("the blob %s cannot be read: %w", name, err)
	}
	return nil
}

func (c *Coordinator) putBlob(ctx context.Context, name string, message proto.Message) error {
	encoded, err := proto.Marshal(message)
	if err != nil {
		return err
	}
	return c.blobs.Put(ctx, name, func(w io.Writer) error {
		_, err := w.Write(encoded)
		return err
	})
}
