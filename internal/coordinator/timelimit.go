package coordinator

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	statev1 "github.com/cleave-project/cleave/gen/cleave/state/v1"
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/fault"
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

// timeLimit returns the time limit of a job that asked for the given one; nil means that it did not ask. It returns
// nil if there is no limit.
func (l Limits) timeLimit(asked *durationpb.Duration) (*durationpb.Duration, error) {
	const field = "scheduling.time_limit"
	switch {
	case asked == nil:
		return durationProto(cmp.Or(l.DefaultTime, l.MaxTime)), nil
	case !asked.IsValid() || asked.AsDuration() <= 0:
		return nil, fault.Invalid("INVALID_TIME_LIMIT", "the time limit must be positive; leave it out for the coordinator's default").OnField(field)
	case l.MaxTime > 0 && asked.AsDuration() > l.MaxTime:
		return nil, fault.Invalid("TIME_LIMIT_TOO_LONG",
			"the time limit of %v is longer than this coordinator allows, which is %v; ask for less", asked.AsDuration(), l.MaxTime).OnField(field)
	}
	return asked, nil
}

// limitTime cancels the run of a job when its time is used up, including the time used under earlier coordinators.
// The time between two coordinators does not count. The caller must call stop when the run has ended.
func (c *Coordinator) limitTime(j *job) (stop func()) {
	if j.timeLimit == 0 {
		return func() {}
	}
	end := time.AfterFunc(j.timeLimit-j.timeUsed, func() {
		c.log.Info("job reached its time limit", "job", j.id, "limit", j.timeLimit)
		j.cancel(errTimeLimit)
	})
	ctx, cancel := context.WithCancel(j.ctx)
	var noting sync.WaitGroup
	noting.Go(func() { c.noteTime(ctx, j) })
	return func() {
		end.Stop()
		cancel()
		noting.Wait()
	}
}

// noteTime periodically stores how much time a run has used, until ctx ends.
func (c *Coordinator) noteTime(ctx context.Context, j *job) {
	tick := time.NewTicker(min(max(j.timeLimit/10, minTimeNote), maxTimeNote))
	defer tick.Stop()
	for began := time.Now(); ; {
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
		used := j.timeUsed + time.Since(began)
		err := j.write(ctx, c.writer.Commit, store.Txn{}, func(record *statev1.JobRecord) error {
			record.TimeUsed = durationpb.New(used)
			return nil
		})
		if err != nil && !interrupted(err) && ctx.Err() == nil {
			c.log.Warn("cannot store the time that a job has used; trying again", "job", j.id, "error", err)
		}
	}
}

// afterRunContext returns the context for pauses after a run: that of the job, or c.runCtx if the time limit has
// ended the job's context.
func (c *Coordinator) afterRunContext(j *job) context.Context {
	if errors.Is(context.Cause(j.ctx), errTimeLimit) {
		return c.runCtx
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
