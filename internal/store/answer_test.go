package store

import (
	"context"
	"fmt"
	"io"
	"testing"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/cleave-project/cleave/internal/fault"
)

func TestAnswerOf(t *testing.T) {
	full := fault.New(fault.ResourceExhausted, DiskFull, "full")
	failure := &Failure{fault.New(fault.Unavailable, storeFailed, "failed")}
	for want, errs := range map[Answer][]error{
		Done: {nil},
		Refused: {
			ErrNotFound, ErrExists, fmt.Errorf("blob %q: %w", "x", ErrExists),
			Txn{Delete: []string{""}}.validate(),
			Txn{Delete: []string{"a", "a"}}.validate(),
			Txn{Delete: make([]string, MaxCommitOps+1)}.validate(),
			checkName("../x"), valueDamaged("jobs/1"),
			explainEtcd(rpctypes.ErrTooManyOps), explainEtcd(rpctypes.ErrRequestTooLarge),
			explainEtcd(rpctypes.ErrCorrupt),
			explainEtcd(rpctypes.ErrPermissionDenied), explainEtcd(rpctypes.ErrUserEmpty),
			fault.New(fault.DataLoss, "RESULT_DAMAGED", "damaged").Because(ErrClosed), // a cause is only for the log
		},
		Conflict: {ErrConflict},
		NoSpace: {full, fault.Wrap(full, "jobs/1"), explainEtcd(rpctypes.ErrNoSpace),
			fault.Wrap(explainEtcd(rpctypes.ErrNoSpace), "leader election")},
		Unanswered: {
			explainEtcd(rpctypes.ErrNoLeader), explainEtcd(rpctypes.ErrTimeout), explainEtcd(rpctypes.ErrLeaderChanged),
			unanswered(errDiskSlow),
		},
		Unclear: {
			context.Canceled, context.DeadlineExceeded, io.ErrUnexpectedEOF,
			status.Error(codes.Internal, "something else"), explainEtcd(rpctypes.ErrTooManyRequests),
		},
		Deposed: {ErrNotLeader},
		Closed:  {ErrClosed, fmt.Errorf("the state: %w", ErrClosed)},
		Failed:  {failure, fmt.Errorf("the state: %w", failure)},
	} {
		for _, err := range errs {
			if got := AnswerOf(err); got != want {
				t.Errorf("the answer for %v is %v, want %v", err, got, want)
			}
		}
	}
}

// The table in the comment of the package.
func TestWhatAnswersMean(t *testing.T) {
	type row struct{ mayPass, mayBeCommitted, isFinal bool }
	for answer, want := range map[Answer]row{
		Done:       {},
		Refused:    {},
		Conflict:   {},
		NoSpace:    {},
		Unanswered: {mayPass: true, mayBeCommitted: true},
		Unclear:    {mayPass: true, mayBeCommitted: true},
		Deposed:    {isFinal: true},
		Closed:     {mayBeCommitted: true, isFinal: true},
		Failed:     {mayBeCommitted: true, isFinal: true},
	} {
		if got := (row{answer.MayPass(), answer.MayBeCommitted(), answer.IsFinal()}); got != want {
			t.Errorf("%v: got %+v, want %+v", answer, got, want)
		}
		if got := answer.MayPassWithSpace(); got != (want.mayPass || answer == NoSpace) {
			t.Errorf("%v: it may pass with space: %v", answer, got)
		}
	}
}

// What callers ask for, and how they end, raises no alert about the store.
func TestFailuresOfStores(t *testing.T) {
	for _, err := range []error{
		nil, ErrNotFound, fmt.Errorf("blob %q: %w", "x", ErrExists), ErrConflict, ErrNotLeader, ErrClosed,
		context.Canceled, fmt.Errorf("reading: %w", context.DeadlineExceeded),
	} {
		if isFailure(err) {
			t.Errorf("%v is a failure", err)
		}
	}
	for _, err := range []error{
		unanswered(errDiskSlow), explainEtcd(rpctypes.ErrNoSpace), explainEtcd(rpctypes.ErrCorrupt),
		explainEtcd(rpctypes.ErrPermissionDenied), valueDamaged("jobs/1"), io.ErrUnexpectedEOF,
		&Failure{fault.New(fault.Unavailable, storeFailed, "failed")},
	} {
		if !isFailure(err) {
			t.Errorf("%v is no failure", err)
		}
	}
}
