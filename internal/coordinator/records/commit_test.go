package records_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/cleave-project/cleave/internal/coordinator/records"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/store"
	"github.com/cleave-project/cleave/test/coordinatortest"
)

func TestStoreThatDoesNotAnswerIsAskedLessAndLessOften(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		state := &coordinatortest.Intercepted{
			Answer: func(int64, func() error) error { return coordinatortest.ErrLostAnswer }}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Minute)
		defer cancel()
		w := &records.Writer{State: state, Context: ctx, Logger: hclog.NewNullLogger()}
		if err := w.Commit(store.Txn{}); !errors.Is(err, coordinatortest.ErrLostAnswer) {
			t.Errorf("got %v", err)
		}
		if count := state.Commits.Load(); count < 10 || count > 40 {
			t.Errorf("the store was asked %d times in ten minutes", count)
		}
	})
}

// No more changes wait for a store that does not answer than the coordinator has room for.
func TestFewChangesWaitForTheStore(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	state := &coordinatortest.Intercepted{Answer: func(int64, func() error) error {
		<-ctx.Done()
		return coordinatortest.ErrLostAnswer
	}}
	w := &records.Writer{State: state, Context: ctx, Logger: hclog.NewNullLogger()}
	left, leave := context.WithCancel(t.Context())
	leave()
	change := func(records.Change) error { return w.Commit(store.Txn{}) }
	for err := error(nil); !fault.Is(err, "STORE_BUSY"); {
		if err = w.Detach(left, change); state.Commits.Load() > 2000 {
			t.Fatalf("%d changes wait", state.Commits.Load())
		}
	}
	cancel()
	w.Wait()
	if err := w.Detach(t.Context(), change); fault.Is(err, "STORE_BUSY") {
		t.Error("the store stays busy")
	}
}
