package report

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/cleave-project/cleave/internal/cli/client"
	"github.com/cleave-project/cleave/internal/cli/jobflags"
	"github.com/cleave-project/cleave/test/clitest"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

func TestSummary(t *testing.T) {
	result := clitest.ExampleResult()
	var got bytes.Buffer
	if err := (&Report{Outcome: &client.Outcome{Result: result},
		Run: &cleavev1.RunRecord{Evaluation: &cleavev1.Evaluation{Nmi: 0.5}}}).Summarize(&got, result.GetWarnings(),
		[]string{"o/labels.csv", "o/result.json"}); err != nil {
		t.Fatal(err)
	}
	want := `objective    kernel-kmeans 0.30000000000000004
iterations   2 (converged)
clusters     2 of 4 points: 3, 1
rho          0.7
sigma        1.5
constraints  1 of 3 satisfied (violated: 1 must-link, 1 cannot-link)
NMI          0.5000
ARI          0.0000
pairwise F   0.0000 (precision 0.0000, recall 0.0000)
purity       0.0000
time         1.5 s
warning      0-1 is <both> must & cannot
files        o: labels.csv result.json
`
	if got.String() != want {
		t.Errorf("got\n%s\nwant\n%s", got.String(), want)
	}
}

// The cut of the data and what constraints make of it are told apart.
func TestSummaryOfACutWithConstraints(t *testing.T) {
	var out strings.Builder
	plain := 0.25
	r := &cleavev1.Result{ObjectiveName: "normalized-cut", Objective: -0.0024, PlainObjective: &plain}
	if err := (&Report{Outcome: &client.Outcome{Result: r}}).Summarize(&out, nil, nil); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "normalized-cut 0.25 on the data alone, -0.0024 with constraints\n") {
		t.Error(out.String())
	}
	r.Objective = plain
	out.Reset()
	if err := (&Report{Outcome: &client.Outcome{Result: r}}).Summarize(&out, nil, nil); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out.String(), "normalized-cut 0.25\n") {
		t.Error(out.String())
	}
}

// A plan of k-means names what k-means keeps on the coordinator.
func TestWhatTheCoordinatorHolds(t *testing.T) {
	kmeans := &cleavev1.JobSpec{Algorithm: &cleavev1.JobSpec_Kmeans{Kmeans: &cleavev1.Kmeans{}}}
	linked := &cleavev1.JobSpec{Algorithm: &cleavev1.JobSpec_HmrfKmeans{HmrfKmeans: &cleavev1.HmrfKmeans{}},
		Supervision: &cleavev1.Supervision{Constraints: &cleavev1.TableInput{}}}
	for want, spec := range map[string]*cleavev1.JobSpec{"a sample of the rows": kmeans,
		"distances of constrained points": linked} {
		job := &jobflags.Job{Request: jobflags.Request{Spec: spec}}
		if got := coordinatorHolds(job, &cleavev1.Plan{}); !slices.Equal(got, []string{want}) {
			t.Errorf("%v instead of %s", got, want)
		}
	}
}

// Names of workers and messages of a coordinator cannot control the terminal.
func TestTextOfOthersIsEscaped(t *testing.T) {
	const hostile = "\x1b[2Jw1\nfiles  gone"
	const escaped = `\x1b[2Jw1\nfiles  gone`
	notice := &cleavev1.Notice{Reason: "CONFLICT", Message: hostile}
	job := &jobflags.Job{Request: jobflags.Request{Spec: &cleavev1.JobSpec{}}}
	for name, print := range map[string]func(w *bytes.Buffer) error{
		"summary": func(w *bytes.Buffer) error {
			return (&Report{Outcome: &client.Outcome{Result: &cleavev1.Result{}}}).Summarize(w,
				[]*cleavev1.Notice{notice}, nil)
		},
		"plan": func(w *bytes.Buffer) error {
			return PrintPlan(w, job,
				&cleavev1.Plan{Tiles: 1, Shares: []*cleavev1.WorkerShare{{Name: hostile}}})
		},
		"plan without workers": func(w *bytes.Buffer) error {
			return PrintPlan(w, job, &cleavev1.Plan{Explanation: hostile})
		},
		"warning": func(w *bytes.Buffer) error {
			NewProgress(w, false).Item(clitest.EventItem(&cleavev1.Event{What: &cleavev1.Event_Notice{Notice: notice}}))
			return nil
		},
		"progress": func(w *bytes.Buffer) error {
			NewFullProgress(w).Item(clitest.ProgressItem(&cleavev1.Progress{Message: hostile}))
			return nil
		},
		"terminal": func(w *bytes.Buffer) error {
			(&display{w: w, width: 80}).draw(hostile)
			w.Next(len("\r\x1b[K")) // clears the line
			return nil
		},
	} {
		var out bytes.Buffer
		if err := print(&out); err != nil || !strings.Contains(out.String(), escaped) ||
			strings.Contains(out.String(), "\x1b") {
			t.Errorf("%s: %v, %q", name, err, out.String())
		}
	}
}

func TestShortNames(t *testing.T) {
	for want, got := range map[string]string{
		"RUNNING":      ShortName(cleavev1.JobState_JOB_STATE_RUNNING),
		"HIGH":         ShortName(cleavev1.Priority_PRIORITY_HIGH),
		"OLDEST_FIRST": ShortName(cleavev1.JobOrder_JOB_ORDER_OLDEST_FIRST),
		"UNSPECIFIED":  ShortName(cleavev1.JobState_JOB_STATE_UNSPECIFIED),
		"77":           ShortName(cleavev1.JobState(77)), // of a later version
	} {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}
