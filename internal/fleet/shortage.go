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

// stalledWait, times LostAfter, is how long a job waits for another worker when all that it has hang or are not to be trusted.
const stalledWait = 10

// shortage is the time in which a job cannot be placed, but could if a worker joined. If it ran before, there was memory
// enough then, so that workers were lost, or have yet to come back after a restart of the coordinator. Or all that are
// left hang. The job waits for others, but not forever.
type shortage struct {
	ran           bool // the job ran before
	memory, hangs time.Duration
	timer         *time.Timer // nil unless there is a shortage
	err           *fault.Error
}

func (f *Fleet) newShortage(ran bool) shortage {
	return shortage{ran: ran, memory: f.cfg.WorkerWait, hangs: stalledWait * f.cfg.LostAfter}
}

// check takes what a job waits for, "" for nothing, and why it cannot be placed. What may pass when a worker joins becomes
// something to wait for.
func (s *shortage) check(waiting string, err error) (string, error) {
	f, _ := errors.AsType[*fault.Error](err)
	switch {
	case f != nil && f.Reason == planning.DoesNotFit && s.ran:
		s.begin(s.memory)
		waiting = fmt.Sprintf("waiting for a worker, up to %v: %s", s.memory, f.Message)
		f.Reason, f.Message = notEnoughMemory, fmt.Sprintf("%s; no worker came for %v", f.Message, s.memory)
	case f != nil && (f.Reason == workerStalled || f.Reason == workerWrong):
		s.begin(s.hangs)
		waiting = "waiting for a worker: " + f.Message
	default:
		s.end()
		return waiting, err
	}
	s.err = f
	return waiting, nil
}

func (s *shortage) begin(limit time.Duration) {
	if s.timer == nil {
		s.timer = time.NewTimer(limit)
	}
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
	short := f.newShortage(true)
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
