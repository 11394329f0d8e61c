package fleet

import (
	"errors"
	"fmt"

	"github.com/hashicorp/go-hclog"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/fault"
)

// How often one worker may fail within one operation before the job continues without it.
const (
	maxInternalFailures = 3
	maxNotReady         = 10
	maxNoMemory         = 10
)

// failureCounts counts the failures of each worker within one operation, by kind.
type failureCounts map[failureCount]int

type failureCount struct {
	worker *session
	kind   workerv1.FailureKind
}

// add counts a failure and returns how many there are now.
func (c failureCounts) add(s *session, kind workerv1.FailureKind) int {
	c[failureCount{s, kind}]++
	return c[failureCount{s, kind}]
}

// failure is the error of a worker that could not run a command.
type failure struct {
	worker string
	*workerv1.Failure
}

func (f *failure) Error() string { return fmt.Sprintf("worker %q: %s", f.worker, f.GetMessage()) }

// wrongAnswer is the error of a group whose answer is impossible.
type wrongAnswer struct{ error }

// handleFailure prepares the next round after a group failed, or returns the error that ends the operation. Between
// two rounds no operation uses the tiles.
func (e *execution) handleFailure(g *group, op *operation, failures failureCounts) error {
	if g.err == nil || errors.Is(g.err, errOvertaken) {
		return nil
	}
	log := e.fleet.log.With("job", e.jobID, "worker", g.session.name, "operation", op.name, "tiles", len(g.tiles))
	if errors.Is(g.err, errLost) {
		log.Info("placing the tiles of a lost worker elsewhere")
		return nil
	}
	e.fleet.mu.Lock()
	defer e.fleet.mu.Unlock()
	if errors.Is(g.err, errWorkerJoined) {
		e.removeUnbuiltLocked(g.tiles)
		return nil
	}
	if wrong, is := errors.AsType[*wrongAnswer](g.err); is {
		e.excludeWrongLocked(g.session, fault.New(fault.Internal, workerWrong,
			"worker %q gave an answer to %q that cannot be right: %v", g.session.name, op.name, wrong.error))
		return nil
	}
	if errors.Is(g.err, errStalled) {
		e.excludeLocked(g.session, fault.New(fault.Internal, workerStalled,
			"worker %q sends heartbeats but has made no progress on %q for %v", g.session.name, op.name,
			e.stallTimeout))
		return nil
	}
	if f, is := errors.AsType[*failure](g.err); is {
		return e.handleReportedLocked(g, op, f, failures, log)
	}
	return g.err
}

// handleReportedLocked decides what to do about a failure that the worker reported.
func (e *execution) handleReportedLocked(g *group, op *operation, f *failure, failures failureCounts,
	log hclog.Logger) error {
	s, kind := g.session, f.GetKind()
	exclude := func(format string, args ...any) error {
		e.excludeLocked(s, fault.New(fault.Internal, workerFailed, format, args...))
		return nil
	}
	switch kind {
	case workerv1.FailureKind_FAILURE_KIND_INVALID:
		// If a second worker gives the same reason, the job is to blame.
		if err := e.blame.confirmInvalid(s, f.GetReason()); err != nil {
			return err
		}
		e.excludeLocked(s, fault.New(fault.InvalidArgument, f.GetReason(), "%s", f.GetMessage()))
	case workerv1.FailureKind_FAILURE_KIND_UNPREPARED, workerv1.FailureKind_FAILURE_KIND_NOT_READY:
		log.Info("the worker must be prepared again", "why", f.GetMessage())
		if failures.add(s, workerv1.FailureKind_FAILURE_KIND_NOT_READY) > maxNotReady {
			return exclude("worker %q never became ready for %q: %s", f.worker, op.name, f.GetMessage())
		}
		g.member.forget()
		for _, t := range e.placed.tilesOf(s) {
			e.placed.tiles[t].forget()
		}
	case workerv1.FailureKind_FAILURE_KIND_NO_MEMORY:
		log.Warn("the worker has no memory left", "why", f.GetMessage())
		if failures.add(s, kind) > maxNoMemory { // it already holds as little as possible
			return exclude("worker %q ran out of memory in %q: %s", f.worker, op.name, f.GetMessage())
		}
		e.relieveLocked(s)
	default:
		if damage := e.fleet.damaged[e.datasetID]; damage != nil {
			return damage
		}
		log.Error("the worker failed", "error", f.GetMessage())
		if failures.add(s, workerv1.FailureKind_FAILURE_KIND_INTERNAL) >= maxInternalFailures {
			return exclude("%q failed %d times on worker %q: %s", op.name, maxInternalFailures, f.worker,
				f.GetMessage())
		}
		e.blame.failing[s] = true
		e.placed.removeFrom(s, g.tiles)
	}
	return nil
}

// removeUnbuiltLocked takes those of the tiles that are not built off their workers, which costs nothing.
func (e *execution) removeUnbuiltLocked(tiles []int) {
	for _, t := range tiles {
		if e.placed.tiles[t].state == notBuilt {
			e.placed.remove(t)
		}
	}
}

// relieveLocked makes a worker without memory hold less: tiles that it could not build move elsewhere, and those that
// it could not store are computed.
func (e *execution) relieveLocked(s *session) {
	e.blame.full[s] = true
	e.placed.recheck()
	tiles := e.placed.tilesOf(s)
	e.removeUnbuiltLocked(tiles)
	for _, t := range tiles {
		if at := &e.placed.tiles[t]; at.worker == s && !at.ready() && at.wantStored {
			e.placed.setStored(t, false) // on the worker it already is not stored
		}
	}
}
