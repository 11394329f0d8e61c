package fleet

import (
	"errors"
	"fmt"

	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/fleet/round"
)

// failure is the error of a worker that could not run a command.
type failure struct {
	worker   string
	reported *workerv1.Failure
}

func (f *failure) Error() string {
	return fmt.Sprintf("worker %q: %s", f.worker, f.reported.GetMessage())
}

// wrongAnswer is the error of a group whose answer is impossible.
type wrongAnswer struct{ error }

// problemOf returns what kind of problem the error of a group is.
func problemOf(err error) round.Problem {
	_, wrong := errors.AsType[*wrongAnswer](err)
	failed, reported := errors.AsType[*failure](err)
	switch {
	case err == nil:
		return round.NoProblem
	case errors.Is(err, errOvertaken):
		return round.Overtaken
	case errors.Is(err, errLost):
		return round.Lost
	case errors.Is(err, errWorkerJoined):
		return round.Joined
	case wrong:
		return round.Wrong
	case errors.Is(err, errStalled):
		return round.Stalled
	case reported:
		return problemReported(failed.reported.GetKind())
	}
	return round.Fatal
}

func problemReported(kind workerv1.FailureKind) round.Problem {
	switch kind {
	case workerv1.FailureKind_FAILURE_KIND_INVALID:
		return round.Invalid
	case workerv1.FailureKind_FAILURE_KIND_UNPREPARED, workerv1.FailureKind_FAILURE_KIND_NOT_READY:
		return round.NotReady
	case workerv1.FailureKind_FAILURE_KIND_NO_MEMORY:
		return round.NoMemory
	}
	return round.Internal
}

// handleFailure prepares the next round after a group failed, or returns the error that ends the operation. Between
// two rounds no operation uses the tiles.
func (e *execution) handleFailure(g *group, op *operation, state *round.Operation) error {
	if g.err == nil {
		return nil
	}
	g.tiles = state.Without(g.tiles)
	problem := problemOf(g.err)
	e.logProblem(g, op, problem)
	e.fleet.mu.Lock()
	defer e.fleet.mu.Unlock()
	if damage := e.fleet.state.damaged[e.datasetID]; damage != nil && problem == round.Internal {
		return damage // whatever the worker reports follows from it
	}
	switch state.Judge(g.session.id, problem) {
	case round.MoveUnbuilt:
		e.removeUnbuiltLocked(g.tiles)
	case round.PrepareAgain:
		g.member.forget()
		for _, t := range e.placed.tilesOfLocked(g.session) {
			e.placed.tiles[t].held = held{}
		}
	case round.Relieve:
		e.relieveLocked(g.session)
	case round.Distrust:
		e.blame.ofLocked(g.session).failed = true
		e.placed.removeFromLocked(g.session, g.tiles)
	case round.Confirm:
		why := e.whyExcluded(g, op, problem)
		if err := e.blame.confirmInvalidLocked(g.session, why.Reason); err != nil {
			return err
		}
		e.excludeLocked(g.session, why)
	case round.Exclude:
		e.excludeLocked(g.session, e.whyExcluded(g, op, problem))
	case round.ExcludeWrong:
		e.excludeWrongLocked(g.session, e.whyExcluded(g, op, problem))
	case round.End:
		return g.err
	}
	return nil
}

// logProblem says what happened to a group, unless what follows says it.
func (e *execution) logProblem(g *group, op *operation, problem round.Problem) {
	log := e.fleet.log.With("job", e.jobID, "worker", g.session.name, "operation", op.name, "tiles", len(g.tiles))
	switch problem {
	case round.Lost:
		log.Info("placing the tiles of a lost worker elsewhere")
	case round.NotReady:
		log.Info("the worker must be prepared again", "why", g.err)
	case round.NoMemory:
		log.Warn("the worker has no memory left", "why", g.err)
	case round.Internal:
		log.Error("the worker failed", "error", g.err)
	}
}

// whyExcluded returns why a worker gets no more tiles of the job, or that the job is invalid, as the worker says.
func (e *execution) whyExcluded(g *group, op *operation, problem round.Problem) *fault.Error {
	worker := g.session.name
	said := ""
	reason := ""
	if failed, is := errors.AsType[*failure](g.err); is {
		said = failed.reported.GetMessage()
		reason = failed.reported.GetReason()
	}
	switch problem {
	case round.Wrong:
		return fault.New(fault.Internal, workerWrong, "worker %q gave an answer to %q that cannot be right: %v",
			worker, op.name, g.err)
	case round.Stalled:
		return fault.New(fault.Internal, workerStalled,
			"worker %q sends heartbeats but has made no progress on %q for %v", worker, op.name, e.stallTimeout)
	case round.Invalid:
		return fault.New(fault.InvalidArgument, reason, "%s", said)
	case round.NotReady:
		return fault.New(fault.Internal, workerFailed, "worker %q never became ready for %q: %s", worker, op.name,
			said)
	case round.NoMemory:
		return fault.New(fault.Internal, workerFailed, "worker %q ran out of memory in %q: %s", worker, op.name, said)
	}
	return fault.New(fault.Internal, workerFailed, "%q failed %d times on worker %q: %s", op.name,
		round.MaxInternalFailures, worker, said)
}

// removeUnbuiltLocked takes those of the tiles that are not built off their workers, which costs nothing.
func (e *execution) removeUnbuiltLocked(tiles []int) {
	for _, t := range tiles {
		if e.placed.tiles[t].held.form == notBuilt {
			e.placed.removeLocked(t)
		}
	}
}

// relieveLocked makes a worker without memory hold less: tiles that it could not build move elsewhere, and those that
// it could not store are computed.
func (e *execution) relieveLocked(s *session) {
	e.blame.ofLocked(s).full = true
	e.placed.recheckLocked()
	tiles := e.placed.tilesOfLocked(s)
	e.removeUnbuiltLocked(tiles)
	for _, t := range tiles {
		if at := &e.placed.tiles[t]; at.worker == s && !at.ready() && at.wantStored {
			e.placed.setStoredLocked(t, false) // on the worker it already is not stored
		}
	}
}
