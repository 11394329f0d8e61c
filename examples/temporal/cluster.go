// Package temporal runs a job of Cleave as an activity of Temporal.
package temporal

import (
	"context"
	"errors"
	"strings"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"github.com/cleave-project/cleave/client"
	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// Input is what to cluster.
type Input struct {
	Points [][]float64
	K      uint32
}

// Output is the result of a job. Large labels are better written where other activities find them.
type Output struct {
	JobID  string
	Labels []uint32
}

// Activities are the activities of a worker, which share a client.
type Activities struct{ Client *client.Client }

// Workflow clusters points. Temporal repeats the activity if its worker is lost, and the activity finds its job again.
func Workflow(ctx workflow.Context, in Input) (out Output, err error) {
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: 24 * time.Hour,
		HeartbeatTimeout:    time.Minute,
		WaitForCancellation: true,
	})
	var a *Activities
	err = workflow.ExecuteActivity(ctx, a.Cluster, in).Get(ctx, &out)
	return out, err
}

// Cluster runs a job to its end. If the activity is canceled, it cancels the job. If only this worker stops, the job
// goes on, and the next attempt continues with it.
func (a *Activities) Cluster(ctx context.Context, in Input) (Output, error) {
	out, err := a.cluster(ctx, in)
	if err != nil && ctx.Err() != nil && out.JobID != "" && !stopping(ctx) {
		late, done := context.WithTimeout(context.WithoutCancel(ctx), 10*time.Second)
		defer done()
		if _, failed := a.Client.Jobs.CancelJob(late, &cleavev1.CancelJobRequest{JobId: out.JobID}); failed != nil {
			return out, errors.Join(err, failed)
		}
		return out, ctx.Err()
	}
	var failed *client.Error
	if errors.As(err, &failed) && !failed.Temporary() {
		return out, temporal.NewNonRetryableApplicationError(failed.Message, failed.Reason, err)
	}
	return out, err
}

// stopping reports whether the worker is being stopped.
func stopping(ctx context.Context) bool {
	select {
	case <-activity.GetWorkerStopChannel(ctx):
		return true
	default:
		return false
	}
}

func (a *Activities) cluster(ctx context.Context, in Input) (out Output, _ error) {
	about := activity.GetInfo(ctx)
	points, err := a.Client.UploadPoints(ctx, about.WorkflowExecution.ID, in.Points)
	if err != nil {
		return out, err
	}
	job, err := a.Client.CreateJob(ctx, &cleavev1.CreateJobRequest{
		// The same for all attempts, and another one for each run of the workflow.
		RequestId: strings.Join([]string{about.WorkflowExecution.ID, about.WorkflowExecution.RunID, about.ActivityID},
			"/"),
		DisplayName: about.WorkflowExecution.ID,
		Spec: &cleavev1.JobSpec{Data: &cleavev1.JobSpec_DatasetId{DatasetId: points},
			Clusters: &cleavev1.JobSpec_K{K: in.K}},
	})
	if err != nil {
		return out, err
	}
	out.JobID = job.GetJobId()
	for item, err := range a.Client.Follow(ctx, out.JobID, 0) {
		if err != nil {
			return out, err
		}
		activity.RecordHeartbeat(ctx, item.GetEvent().GetSequence())
	}
	if _, err := a.Client.Wait(ctx, out.JobID); err != nil {
		return out, err
	}
	out.Labels, err = a.Client.Labels(ctx, out.JobID)
	return out, err
}
