package runner_test

import (
	"context"
	"testing"

	"google.golang.org/protobuf/proto"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/test/coordinatortest"
)

// A job that names no algorithm gets the one that suits its options, and its spec says which.
func TestAJobWithoutAlgorithmGetsOne(t *testing.T) {
	h := coordinatortest.StartScripted(t, coordinatortest.Config(), coordinatortest.Steps(1))
	s := coordinatortest.Spec(h.Upload())
	s.Algorithm = nil
	s.Initialization = &cleavev1.Initialization{Start: cleavev1.Start_START_CENTROIDS, Centroids: []float64{0, 10}}
	id := h.Create(s)
	h.End(id)
	response, err := h.Jobs.GetJob(t.Context(), &cleavev1.GetJobRequest{JobId: id})
	if err != nil || response.GetSpec().GetKmeans() == nil {
		t.Errorf("the spec is %v, %v", response.GetSpec(), err)
	}
}

// The ways that are tried are events.
func TestTrialsAreEvents(t *testing.T) {
	trial := clustering.Trial{Method: clustering.Method{Space: clustering.SpaceNeighbors,
		ConstraintUse: clustering.UseHard}, Fold: 1, Folds: 3, MustLinks: 5, MustLinksRight: 4}
	tried := &cleavev1.MethodTried{
		Method: &cleavev1.Method{Space: cleavev1.Space_SPACE_NEIGHBORS,
			ConstraintUse: cleavev1.ConstraintUse_CONSTRAINT_USE_HARD}, Fold: 1, Folds: 3, MustLinks: 5,
		MustLinksRight: 4,
	}
	h := coordinatortest.StartScripted(t, coordinatortest.Config(),
		func(_ context.Context, o clustering.Observer) (*clustering.Result, error) {
			o.Observe(clustering.SolverStep{Step: 1})
			o.Observe(clustering.MethodTried{Trial: trial})
			o.Observe(clustering.IterationDone{Restart: 0, HistoryEntry: coordinatortest.Entry(0)})
			r := coordinatortest.Result(0, clustering.StopConverged)
			r.Auto.Choice = &clustering.Choice{Chosen: trial.Method, Tried: []clustering.MethodScore{{Trial: trial}}}
			return r, nil
		})
	id := h.Create(coordinatortest.Spec(h.Upload()))
	events, _ := h.Watch(id, 0)
	if len(events) != 4 || !proto.Equal(events[1].GetMethodTried(), tried) {
		t.Errorf("the events are %v", events)
	}
	response, err := h.Jobs.GetResult(t.Context(), &cleavev1.GetResultRequest{JobId: id})
	if err != nil || len(response.GetResult().GetChoice().GetTried()) != 1 {
		t.Errorf("the result is %v, %v", response, err)
	}
}
