package jobs

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	statev1 "github.com/cleave-project/cleave/gen/cleave/state/v1"
	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/clustering/comparison"
	"github.com/cleave-project/cleave/internal/coordinator/records"
	"github.com/cleave-project/cleave/internal/coordinator/runner"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/dial"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/fleet"
	"github.com/cleave-project/cleave/internal/partition"
	"github.com/cleave-project/cleave/internal/planning"
	"github.com/cleave-project/cleave/internal/store"
	"github.com/cleave-project/cleave/internal/wire"
)

// Engine contains the steps of a run that need workers. Tests replace them.
type Engine struct {
	// Await blocks until a worker is ready and, for a job that ran before, until the workers have room for its parts.
	// While it waits, it calls report, which may change the record of the job and so wait for the store.
	Await func(ctx context.Context, f *fleet.Fleet, report func(fleet.Status), parts []planning.Workload) error
	// Execute runs a job on the workers.
	Execute func(r runner.Runner, ctx context.Context, f *fleet.Fleet, task fleet.Task, o clustering.Observer) (
		*clustering.Result, *fleet.Usage, error)
}

// RealEngine returns the engine that uses the workers.
func RealEngine() Engine { return Engine{Await: awaitRoom, Execute: runner.Runner.Execute} }

// awaitRoom is Engine.Await. Until it returns, the job is pending rather than running.
func awaitRoom(ctx context.Context, f *fleet.Fleet, report func(fleet.Status), parts []planning.Workload) error {
	oneIsReady := func(workers []fleet.WorkerInfo) bool { return fleet.WhyNoneReady(workers) == "" }
	err := f.AwaitWorkers(ctx, oneIsReady, func(workers []fleet.WorkerInfo) {
		report(fleet.Status{Waiting: "waiting for a worker: " + fleet.WhyNoneReady(workers)})
	})
	if err != nil || len(parts) == 0 {
		return err
	}
	if err := f.AwaitReturn(ctx); err != nil {
		return err
	}
	return f.AwaitRoom(ctx, report, parts...)
}

// runOutcome describes how a run ended.
type runOutcome struct {
	result  *clustering.Result // nil if and only if err is not nil
	err     error
	plan    *cleavev1.Plan // nil if the run never reached the workers
	table   *runner.Table  // the table that was clustered; nil if it was a data set
	timings *cleavev1.Timings
	// uncompared means that the job's context ended during the comparison, whose notice an earlier attempt may have
	// reported.
	uncompared bool
}

// supervise takes an unfinished job through the queue, its run and its end. It runs in a goroutine of its own.
func (m *Manager) supervise(j *Job) {
	defer close(j.done)
	defer j.observed.Close()
	flushing, stopFlushing := context.WithCancel(context.Background())
	flushed := make(chan struct{})
	go func() {
		defer close(flushed)
		if err := j.log.FlushLoop(flushing); err != nil {
			j.cancel(err)
		}
	}()
	var out runOutcome
	select {
	case <-j.turn:
		stopClock := m.limitTime(j)
		out = m.run(j)
		stopClock()
	case <-j.ctx.Done():
		out.err = j.ctx.Err()
	}
	j.problem = nil // release the memory of a job that was canceled before it ran
	if out.result == nil {
		m.leaveQueue(j)
	}
	defer m.leaveQueue(j) // a result occupies memory until it is stored, so its job keeps its place until then
	stopFlushing()
	<-flushed
	j.observed.Phase("ending")
	m.finish(j, out)
	j.cancel(nil)
}

// run runs a job from its spec to its labels. A panic becomes the error of this job alone.
func (m *Manager) run(j *Job) (out runOutcome) {
	o := newObserver(j, m.d.Now)
	defer func() {
		if p := recover(); p != nil {
			m.d.Logger.Error("a run panicked", "job", j.id, "panic", p, "stack", string(debug.Stack()))
			out = runOutcome{err: fault.Panicked(p)}
		}
		out.timings = o.timings()
	}()

	ready, err := m.prepare(j, o)
	if err != nil {
		return runOutcome{err: err}
	}
	return m.execute(j, ready, o)
}

// prepare waits until a job has its problem and workers, and durably records that it runs.
func (m *Manager) prepare(j *Job, o *observer) (*runner.Problem, error) {
	if err := m.beginAttempt(j); err != nil {
		return nil, err
	}
	o.enter(cleavev1.Phase_PHASE_LOADING)
	ready, err := m.awaitProblem(j, o)
	if err != nil {
		return nil, err
	}
	o.enter(cleavev1.Phase_PHASE_WAITING)
	var room []planning.Workload
	if j.resumed {
		room = ready.LeastParts()
	}
	if err := m.d.Engine.Await(j.ctx, m.d.Fleet, m.untilWorkersCome(j, o.report), room); err != nil {
		return nil, err
	}
	if err := m.markRunning(j, ready.Runner); err != nil {
		return nil, err
	}
	ready.FitLanes(m.d.Fleet)
	if parts := ready.Parts(); len(parts) > 1 && !j.resumed {
		// Fail now rather than after half of the work.
		if _, err := m.d.Fleet.Plan(parts...); fault.Is(err, planning.DoesNotFit) {
			return nil, err
		}
	}
	return ready, nil
}

// execute runs a prepared job on the workers.
func (m *Manager) execute(j *Job, ready *runner.Problem, o *observer) (out runOutcome) {
	o.enter(cleavev1.Phase_PHASE_BUILDING)
	var held *fleet.Usage
	data, hide, err := m.d.Problems.ExposeToWorkers(ready, j.datasetID)
	if err != nil {
		return runOutcome{err: err}
	}
	defer hide()
	ready.Table.ReportNotices(o)
	task := fleet.Task{
		JobID: j.id, DatasetID: data, Need: ready.Need, Shared: fleet.NewShared(j.resumed), Report: o.report,
	}
	ctx, stopSnapshots := m.startSnapshots(j, ready)
	defer stopSnapshots()
	out.table = ready.Table
	out.result, held, out.err = m.d.Engine.Execute(ready.Runner, ctx, m.d.Fleet, task, o)
	if out.result != nil {
		out.result.Vote()
	}
	stopSnapshots()
	if held != nil {
		if out.result != nil && out.result.NeighborGraph != nil { // until now the size was only an upper bound
			ready.Need.DatasetBytes = dataset.EncodedSize(out.result.NeighborGraph.Graph)
		}
		out.plan = actualPlan(ready.Need, *held, o.maxWorkers())
	}
	if out.err == nil && ready.Comparison != nil {
		m.compare(j, ready.Comparison, out.result, o)
		out.uncompared = j.ctx.Err() != nil
	}
	return out
}

// actualPlan describes how the rows were cut into tiles and how the tiles were held in the end. The tiles of a graph
// are views of the data set and take no additional memory.
func actualPlan(need planning.Workload, held fleet.Usage, workers int) *cleavev1.Plan {
	rows := need.Rows()
	p := &cleavev1.Plan{
		Tiles:         uint32(partition.TileCount(rows)),
		TileRows:      uint32(partition.TileRows(rows)),
		Storage:       wire.PlanStorageProto(need.StorageName(held.EverStored, held.EverComputed)),
		TileBytes:     uint64(held.EntryBytes),
		Workers:       uint32(workers),
		GridExponent:  int32(need.Grid()),
		StoredTiles:   uint32(held.Stored),
		ComputedTiles: uint32(held.Computed),
		Shares:        wire.SharesProto(held.Shares),
	}
	if need.OnGraph() {
		p.TileBytes = uint64(need.DatasetBytes)
	}
	for _, share := range held.Shares {
		p.Bytes += uint64(share.Bytes)
	}
	return p
}

// compare adds a warning to the result if the default algorithm would have scored better. It uses no workers, changes
// no labels, and stops when the job's context ends.
func (m *Manager) compare(j *Job, with *comparison.Comparison, result *clustering.Result, o *observer) {
	j.progress.Enter(cleavev1.Phase_PHASE_ITERATING, "comparing with the default algorithm on held-out pairs")
	notice, err := with.Run(j.ctx, runtime.GOMAXPROCS(0))
	switch {
	case j.ctx.Err() != nil: // the result is complete without the warning
	case err != nil: // for example a fold that leaves a cluster without seeds
		m.d.Logger.Info("the job is not compared with the default", "job", j.id, "error", err)
	case notice != nil:
		result.Warnings = append(result.Warnings, *notice)
		o.Observe(*notice)
	}
}

// awaitProblem returns the problem that was prepared when the job was created, or prepares it now. While the blob
// store is unavailable it waits, because the job was already acknowledged, and tells watchers.
func (m *Manager) awaitProblem(j *Job, o *observer) (*runner.Problem, error) {
	if ready := j.problem; ready != nil {
		j.problem = nil
		return ready, nil
	}
	for pause := dial.NewBackoff(records.StoreRetries); ; {
		p, err := m.d.Parts.Spec(j.ctx, j.id)
		var ready *runner.Problem
		if err == nil {
			ready, err = m.d.Problems.Make(j.ctx, p, runner.Accepted)
		}
		if store.AnswerOf(err) != store.Unanswered {
			return ready, err
		}
		m.d.Logger.Warn("the input of a job cannot be read now, trying again", "job", j.id, "error", err)
		o.report(fleet.Status{Waiting: fmt.Sprintf("waiting for the stores: %v", err)})
		if pause.Wait(j.ctx) != nil {
			return nil, err
		}
	}
}

// markRunning durably records that the job is running, which also counts the attempt.
func (m *Manager) markRunning(j *Job, r runner.Runner) error {
	err := m.writeOfRun(j, func(record *statev1.JobRecord) error {
		record.Job.State = cleavev1.JobState_JOB_STATE_RUNNING
		record.Job.StartTime = m.now()
		record.Job.ObjectiveName = r.Objective()
		m.countAttempt(j, record)
		return nil
	})
	if err == nil {
		j.setWaiting("")
		m.d.Logger.Info("job started", "job", j.id, "objective", r.Objective())
	}
	return err
}

// errTimeLimit is the cause with which a run that has used up its time is canceled.
var errTimeLimit = errors.New("the job reached its time limit")

// The time that a job has used is stored at intervals of a tenth of its limit, within these bounds. A coordinator
// that takes over therefore knows it to within one interval.
const (
	minTimeNote = 500 * time.Millisecond
	maxTimeNote = 5 * time.Second
)

// limitTime cancels the run of a job when its time is used up, including the time used under earlier coordinators.
// The time between two coordinators does not count. The caller must call stop when the run has ended.
func (m *Manager) limitTime(j *Job) (stop func()) {
	if j.timeLimit == 0 {
		return func() {}
	}
	end := time.AfterFunc(j.timeLimit-j.timeUsed, func() {
		m.d.Logger.Info("job reached its time limit", "job", j.id, "limit", j.timeLimit)
		j.cancel(errTimeLimit)
	})
	ctx, cancel := context.WithCancel(j.ctx)
	var noting sync.WaitGroup
	noting.Go(func() { m.noteTime(ctx, j) })
	return func() {
		end.Stop()
		cancel()
		noting.Wait()
	}
}

// noteTime periodically stores how much time a run has used, until ctx ends.
func (m *Manager) noteTime(ctx context.Context, j *Job) {
	tick := time.NewTicker(min(max(j.timeLimit/10, minTimeNote), maxTimeNote))
	defer tick.Stop()
	for began := time.Now(); ; {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		used := j.timeUsed + time.Since(began)
		err := j.write(ctx, m.d.Writer.Commit, store.Txn{}, func(record *statev1.JobRecord) error {
			record.TimeUsed = durationpb.New(used)
			return nil
		})
		if err != nil && !Interrupted(err) && ctx.Err() == nil {
			m.d.Logger.Warn("cannot store the time that a job has used; trying again", "job", j.id, "error", err)
		}
	}
}
