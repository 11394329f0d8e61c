package jobs

import (
	"context"
	"errors"
	"sync"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	statev1 "github.com/cleave-project/cleave/gen/cleave/state/v1"
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/store"
)

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
		m.Logger.Info("job reached its time limit", "job", j.id, "limit", j.timeLimit)
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
		err := j.write(ctx, m.Writer.Commit, store.Txn{}, func(record *statev1.JobRecord) error {
			record.TimeUsed = durationpb.New(used)
			return nil
		})
		if err != nil && !Interrupted(err) && ctx.Err() == nil {
			m.Logger.Warn("cannot store the time that a job has used; trying again", "job", j.id, "error", err)
		}
	}
}

// afterRunContext returns the context for pauses after a run: that of the job, or Context if the time limit has
// ended the job's context.
func (m *Manager) afterRunContext(j *Job) context.Context {
	if errors.Is(context.Cause(j.ctx), errTimeLimit) {
		return m.Context
	}
	return j.ctx
}

// cutOff reports whether the time limit ended the run, as opposed to expiring just as the run finished. cause is that
// of the job's context.
func (o runOutcome) cutOff(cause error) bool {
	return errors.Is(cause, errTimeLimit) && (o.result == nil || o.result.StopReason == clustering.StopCanceled)
}

// completed reports whether the run went to its end, and so reported every event that it has.
func (o runOutcome) completed(cause error) bool {
	return o.err == nil && (cause == nil || errors.Is(cause, errTimeLimit) && !o.cutOff(cause) && !o.uncompared)
}
