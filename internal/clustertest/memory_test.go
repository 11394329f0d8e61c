package clustertest

import (
	"testing"

	"google.golang.org/grpc/codes"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// hungry is a job whose eigenvectors take some hundred megabytes in the coordinator.
func hungry(c *Coordinator) *cleavev1.JobSpec {
	return &cleavev1.JobSpec{
		DatasetId: c.Upload(longGraph().data), K: 400, Seed: 1,
		Algorithm: &cleavev1.JobSpec_Spectral{Spectral: &cleavev1.Spectral{}},
	}
}

// TestTheCoordinatorHasTooLittleMemory: a job that would take more than it has is refused.
func TestTheCoordinatorHasTooLittleMemory(t *testing.T) {
	t.Parallel()
	c := StartCoordinator(t, Options{Args: []string{"--memory", "64MiB"}})
	_, err := c.Jobs.CreateJob(t.Context(), &cleavev1.CreateJobRequest{Spec: hungry(c)})
	wantError(t, "a job that is too large", err, codes.ResourceExhausted, "COORDINATOR_TOO_SMALL")
}
