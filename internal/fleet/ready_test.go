package fleet_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/cleave-project/cleave/internal/fleet"
)

// A job that waits although workers are attached says what is wrong with them.
func TestWhyNoWorkerIsReady(t *testing.T) {
	draining := fleet.WorkerInfo{State: fleet.WorkerDraining}
	silent := fleet.WorkerInfo{State: fleet.WorkerSilent}
	ready := fleet.WorkerInfo{State: fleet.WorkerReady}
	for want, workers := range map[string][]fleet.WorkerInfo{
		"":                  {silent, ready},
		"none is connected": nil,
		"none of the 3 connected is ready (1 silent, 2 draining)": {draining, silent, draining},
	} {
		if got := fleet.WhyNoneReady(workers); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}

// Whoever waits for workers hears which there are as long as these are not enough, and may change that meanwhile.
func TestAwaitWorkers(t *testing.T) {
	c := newCluster(t)
	var heard []int
	enough := func(workers []fleet.WorkerInfo) bool { return len(workers) == 2 }
	err := c.fleet.AwaitWorkers(c.ctx, enough, func(workers []fleet.WorkerInfo) {
		heard = append(heard, len(workers))
		c.startWorker(fmt.Sprintf("w%d", len(heard)))
	})
	if err != nil || !slices.Equal(heard, []int{0, 1}) {
		t.Errorf("waited while there were %d workers: %v", heard, err)
	}
	ended := errors.New("ended")
	ctx, end := context.WithCancelCause(c.ctx)
	end(ended)
	none := func([]fleet.WorkerInfo) bool { return false }
	if err := c.fleet.AwaitWorkers(ctx, none, nil); !errors.Is(err, ended) {
		t.Errorf("after the end: %v", err)
	}
}
