package simulation

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"google.golang.org/protobuf/proto"

	statev1 "github.com/cleave-project/cleave/gen/cleave/state/v1"
	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/test/clustertest"
)

// acknowledged is a job whose creation was acknowledged to a user.
type acknowledged struct {
	load         *workload
	job, request string
	canceled     bool
	seen         *collector // the events its submitter saw; nil if the submitter disconnected
	ended        *cleavev1.JobEnded
}

func (w *world) acknowledge(a *acknowledged) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.acknowledged = append(w.acknowledged, a)
}

// check checks, once nothing goes wrong any more, that all that was acknowledged is there and is as it would be without
// faults.
func (w *world) check() {
	u := w.newUser("auditor")
	defer u.Close()
	for _, a := range w.acknowledged {
		w.checkJob(u, a)
	}
	u.insist("list", func(ctx context.Context) error {
		response, err := u.Jobs.ListJobs(ctx, &cleavev1.ListJobsRequest{})
		if err != nil {
			return err
		}
		if len(response.GetJobs()) != len(w.acknowledged) {
			w.t.Errorf("%d jobs were acknowledged, and there are %v", len(w.acknowledged), response.GetJobs())
		}
		return nil
	})
	w.checkDisk()
}

func (w *world) checkJob(u *user, a *acknowledged) {
	what := fmt.Sprintf("%s (%s)", a.load.name, a.job)
	seen, ended := u.follow(a.job)
	if ended == nil {
		return // insist has complained
	}
	if a.ended != nil && !proto.Equal(a.ended, ended) {
		w.t.Errorf("%s: its user saw the end %v, and now it is %v", what, a.ended, ended)
	}
	for _, c := range []*collector{seen, a.seen} {
		if c != nil {
			w.checkEvents(what, a, c, ended)
		}
	}
	if id, err := dataset.ID(a.load.data); err != nil {
		w.t.Error(err)
	} else {
		u.insist("the data set", func(ctx context.Context) error {
			_, err := u.DescribeDataset(ctx, id)
			return err
		})
	}
	if a.request != "" {
		if again := u.submitAs(a.load, a.request); again != a.job {
			w.t.Errorf("%s: its request, repeated, gives job %q", what, again)
		}
	}
	if ended.GetState() == cleavev1.JobState_JOB_STATE_SUCCEEDED {
		clustertest.SameOutcome(w.t, what, u.outcome(a.job), a.load.want)
	} else if !a.canceled || ended.GetState() != cleavev1.JobState_JOB_STATE_CANCELLED {
		w.t.Errorf("%s: it ended with %v", what, ended)
	}
}

// checkEvents checks an event stream that a user has put together: all events of a run without faults, or their
// beginning and the end of the job.
func (w *world) checkEvents(what string, a *acknowledged, c *collector, ended *cleavev1.JobEnded) {
	if c.wrong != nil {
		w.t.Errorf("%s: %v", what, c.wrong)
		return
	}
	want := a.load.events
	if ended.GetState() != cleavev1.JobState_JOB_STATE_SUCCEEDED {
		before := max(0, len(c.events)-1)
		last := &cleavev1.Event{Sequence: uint32(before + 1), What: &cleavev1.Event_Ended{Ended: ended}}
		want = append(slices.Clone(want[:min(before, len(want))]), last)
	}
	if !slices.EqualFunc(c.events, want, func(a, b *cleavev1.Event) bool { return proto.Equal(a, b) }) {
		w.t.Errorf("%s: the events are\n%v\ninstead of\n%v", what, c.events, want)
	}
}

// checkDisk looks for what should not be in the stores when all jobs have ended.
func (w *world) checkDisk() {
	ctx := context.Background()
	state := w.disk.openState()
	defer state.Close()
	entries, err := state.List(ctx, "", "", 0)
	if err != nil {
		w.t.Error(err)
	}
	inState := map[string]bool{} // jobs whose events are not in an outcome, which could not be stored
	for _, e := range entries {
		if record := (&statev1.JobRecord{}); strings.HasPrefix(e.Key, "jobs/") &&
			proto.Unmarshal(e.Value, record) == nil {
			inState[record.GetJob().GetJobId()] = record.GetOutcomeBlob() == ""
		}
	}
	for _, e := range entries {
		kind, rest, _ := strings.Cut(e.Key, "/")
		job, _, _ := strings.Cut(rest, "/")
		if kind == "unfinished" || kind == "events" && !inState[job] {
			w.t.Errorf("all jobs have ended, but the state has %s", e.Key)
		}
	}
	w.disk.mu.Lock()
	defer w.disk.mu.Unlock()
	for _, violation := range w.disk.violations {
		w.t.Error(violation)
	}
}
