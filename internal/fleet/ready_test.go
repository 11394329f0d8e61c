package fleet_test

import (
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
