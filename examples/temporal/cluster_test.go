package temporal

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/testsuite"

	"github.com/cleave-project/cleave/client"
	"github.com/cleave-project/cleave/examples/internal/server"
)

// start returns activities that use a coordinator of the test.
func start(t *testing.T) *Activities {
	t.Helper()
	c, err := client.Dial(server.Start(t))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return &Activities{Client: c}
}

var points = [][]float64{{0}, {1}, {2}, {10}, {11}, {12}}

// lossy loses the worker of the first attempt after its job has ended.
type lossy struct {
	*Activities
	jobs []string // of all attempts
}

func (l *lossy) Cluster(ctx context.Context, in Input) (Output, error) {
	out, err := l.Activities.Cluster(ctx, in)
	if l.jobs = append(l.jobs, out.JobID); err == nil && len(l.jobs) == 1 {
		return Output{}, errors.New("the worker is lost")
	}
	return out, err
}

// The second attempt finds the job of the first.
func TestWorkflow(t *testing.T) {
	env := (&testsuite.WorkflowTestSuite{}).NewTestWorkflowEnvironment()
	env.SetTestTimeout(time.Minute)
	worker := &lossy{Activities: start(t)}
	env.RegisterActivity(worker)
	env.ExecuteWorkflow(Workflow, Input{Points: points, K: 2})
	var out Output
	if err := errors.Join(env.GetWorkflowError(), env.GetWorkflowResult(&out)); err != nil {
		t.Fatal(err)
	}
	if l := out.Labels; len(l) != 6 || l[0] != l[1] || l[1] != l[2] || l[0] == l[3] || l[3] != l[4] || l[4] != l[5] {
		t.Errorf("the labels are %v", l)
	}
	if len(worker.jobs) != 2 || worker.jobs[0] == "" || worker.jobs[0] != worker.jobs[1] {
		t.Errorf("two attempts made the jobs %v", worker.jobs)
	}
}

// Bad input is not tried again.
func TestBadInput(t *testing.T) {
	env := (&testsuite.WorkflowTestSuite{}).NewTestActivityEnvironment()
	a := start(t)
	env.RegisterActivity(a)
	_, err := env.ExecuteActivity(a.Cluster, Input{Points: [][]float64{{0}, {1, 2}}, K: 2})
	var failed *temporal.ApplicationError
	if !errors.As(err, &failed) || !failed.NonRetryable() || failed.Type() != "SIZE_MISMATCH" ||
		!strings.Contains(err.Error(), "point 1 has 2 values") {
		t.Errorf("bad input: %v", err)
	}
}
