package clustering

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
)

// noisyJob is a job, and its setup, whose restarts do no more than ask one question and give a notice. The last restart
// is the best.
type noisyJob struct {
	all   bool
	twice Operation[int, int]
}

func (j *noisyJob) Notices() []Notice { return []Notice{{Code: "KNOWN"}} }

func (j *noisyJob) Begin(_ context.Context, o Observer) (Setup, error) {
	o.Observe(Notice{Code: "BEGUN"})
	return j, nil
}

func (j *noisyJob) Runs() Runs {
	return Runs{K: 1, Restarts: 3, MaxIterations: 1, Lanes: 2, AllNotices: j.all}
}

func (j *noisyJob) NewStepper(restart int, lane *Lane, _ Observer) Stepper {
	return &noisyRestart{job: j, restart: restart, lane: lane}
}

func (j *noisyJob) FillResult(*Result) {}

type noisyRestart struct {
	job     *noisyJob
	restart int
	lane    *Lane
}

func (r *noisyRestart) Init(context.Context) (Report, error) {
	answer, err := r.job.twice.Ask(r.lane, r.restart)
	return Report{Notices: []Notice{{Code: fmt.Sprint("TWICE ", answer)}}}, err
}

func (r *noisyRestart) Step(context.Context) (Report, error) { return Report{Stop: StopConverged}, nil }

func (r *noisyRestart) Labels() []int32 { return []int32{0, 0, 0} }

func (r *noisyRestart) Value() float64 { return -float64(r.restart) }

func (r *noisyRestart) FillResult(*Result) {}

// A result has the notices of its job in the order in which they were heard, and of restarts those of the best, or of
// all.
func TestNoticesOfJobsAndRestarts(t *testing.T) {
	for all, want := range map[bool][]string{
		false: {"KNOWN", "BEGUN", "TWICE 4"},
		true:  {"KNOWN", "BEGUN", "TWICE 0", "TWICE 2", "TWICE 4"},
	} {
		job := &noisyJob{all: all}
		job.twice.Answer = func(_ context.Context, lanes, numbers []int) ([]int, error) {
			answers := make([]int, len(lanes))
			for i, n := range numbers {
				answers[i] = 2 * n
			}
			return answers, nil
		}
		result, err := Run(t.Context(), job, NopObserver{})
		if err != nil {
			t.Fatal(err)
		}
		var codes []string
		for _, notice := range result.Warnings {
			codes = append(codes, notice.Code)
		}
		if !slices.Equal(codes, want) {
			t.Errorf("all %v: the notices are %v, want %v", all, codes, want)
		}
	}
}

// An operation that fails, fails for every lane that asked.
func TestFailedOperationsHaveNoAnswer(t *testing.T) {
	broken := errors.New("broken")
	job := &noisyJob{}
	job.twice.Answer = func(context.Context, []int, []int) ([]int, error) { return nil, broken }
	if result, err := Run(t.Context(), job, NopObserver{}); !errors.Is(err, broken) {
		t.Errorf("%+v, %v instead of the error", result, err)
	}
}
