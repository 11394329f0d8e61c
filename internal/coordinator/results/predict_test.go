package results

import (
	"context"
	"errors"
	"testing"
	"time"

	statev1 "github.com/cleave-project/cleave/gen/cleave/state/v1"
	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/coordinator/records"
	"github.com/cleave-project/cleave/internal/fault"
)

// oneJob is a coordinator with one job, which has a model.
type oneJob struct{ id string }

func (o oneJob) Ended(_ context.Context, job string) (*statev1.JobRecord, error) {
	if job != o.id {
		return nil, records.NoJob(job)
	}
	return &statev1.JobRecord{Job: &cleavev1.Job{JobId: job}, OutcomeBlob: "outcome", ModelBlob: "model"}, nil
}

// noRoom has no memory for what a call needs.
type noRoom struct{ Room }

var errNoRoom = errors.New("there is no room")

func (noRoom) Borrow(context.Context, []Input, bool) (func(), error) { return nil, errNoRoom }

// Predictions take turns, so that many calls do not hold many models at a time, and a caller who gives up does not
// wait.
func TestPredictionsTakeTurns(t *testing.T) {
	s := New(Dependencies{Jobs: oneJob{"j"}, Room: noRoom{}, TurnWait: time.Hour})
	for range maxPredictions {
		s.predictions <- struct{}{}
	}
	request := &cleavev1.PredictJobRequest{JobId: "j", DatasetId: "d"}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Predict(ctx, request, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("while all turns are taken: %v", err)
	}
	s.d.TurnWait = time.Millisecond
	for reason, request := range map[string]*cleavev1.PredictJobRequest{
		"TOO_MANY_PREDICTIONS": request,
		records.JobNotFound:    {JobId: "none", DatasetId: "d"}, // wrong requests do not wait
		"FIELD_REQUIRED":       {JobId: "j"},
		"TWO_INPUTS":           {JobId: "j", DatasetId: "d", TableId: "t"},
	} {
		if err := s.Predict(t.Context(), request, nil); !fault.Is(err, reason) {
			t.Errorf("while all turns are taken for long: %v, want %s", err, reason)
		}
	}
	<-s.predictions
	if err := s.Predict(t.Context(), request, nil); !errors.Is(err, errNoRoom) {
		t.Errorf("with a free turn: %v", err)
	}
	if len(s.predictions) != maxPredictions-1 {
		t.Errorf("%d turns are taken", len(s.predictions))
	}
}
