package fleet

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/planning"
)

// notEnoughMemory is the reason of the error of a job that ran before, and then waited too long for workers.
const notEnoughMemory = "NOT_ENOUGH_MEMORY"

// shortage is the time in which the workers have too little memory for a job that ran before. There was memory enough
// then, so that workers were lost, or have yet to come back after a restart of the coordinator: the job waits for them,
// but not forever.
type shortage struct {
	limit time.Duration
	timer *time.Timer // nil unless there is a shortage
	err   *fault.Error
}

// check takes what a job waits for, "" for nothing, and why it cannot be placed. If it does not fit, that becomes
// something to wait for.
func (s *shortage) check(waiting string, err error) (string, error) {
	f, isFault := errors.AsType[*fault.Error](err)
	if !isFault || f.Reason != planning.DoesNotFit {
		s.end()
		return waiting, err
	}
	if s.timer == nil {
		s.timer = time.NewTimer(s.limit)
	}
	waiting = fmt.Sprintf("waiting for a worker, up to %v: %s", s.limit, f.Message)
	f.Reason, f.Message = notEnoughMemory, fmt.Sprintf("%s; no worker came for %v", f.Message, s.limit)
	s.err = f
	return waiting, nil
}

// wait waits for a change. It fails once a shortage has lasted too long.
func (s *shortage) wait(ctx context.Context, changed <-chan struct{}) error {
	var over <-chan time.Time
	if s.timer != nil {
		over = s.timer.C
	}
	select {
	case <-changed:
		return nil
	case <-over:
		return s.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (s *shortage) end() {
	if s.timer != nil {
		s.timer.Stop()
		s.timer = nil
	}
}

// AwaitRoom waits until a job that ran before fits into the memory of the workers that are attached, whatever other jobs
// hold of it: after a restart of the coordinator they come back one after the other.
func (f *Fleet) AwaitRoom(ctx context.Context, report func(Status), parts ...planning.Workload) error {
	short := shortage{limit: f.cfg.WorkerWait}
	defer short.end()
	for {
		changed, waiting := f.Changed(), ""
		_, err := f.Plan(parts...)
		if fault.Is(err, noWorkers) {
			waiting, err = noneAttached, nil
		}
		if waiting, err = short.check(waiting, err); err != nil || waiting == "" {
			return err
		}
		report(Status{Waiting: waiting})
		if err := short.wait(ctx, changed); err != nil {
			return err
		}
	}
}
