package client

import (
	"context"
	"errors"
	"testing"

	"go.uber.org/goleak"
)

func TestCauseIsTheBrokenPart(t *testing.T) {
	broken := errors.New("worker-0 broke down")
	ctx, cancel := context.WithCancelCause(t.Context())
	other := errors.New("context canceled")
	if got := Cause(ctx, other); got != other {
		t.Errorf("before: %v", got)
	}
	cancel(broken)
	if got := Cause(ctx, other); got != broken {
		t.Errorf("after: %v", got)
	}
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
