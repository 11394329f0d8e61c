package records_test

import (
	"context"
	"fmt"
	"testing"

	"google.golang.org/protobuf/proto"

	statev1 "github.com/cleave-project/cleave/gen/cleave/state/v1"
	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/coordinator/records"
	"github.com/cleave-project/cleave/internal/store"
	"github.com/cleave-project/cleave/test/coordinatortest"
)

// countedState counts the entries that lists read, and the most that one read at once.
type countedState struct {
	store.State
	read, most int
}

func (s *countedState) List(ctx context.Context, prefix, after string, limit int) ([]store.Entry, error) {
	entries, err := s.State.List(ctx, prefix, after, limit)
	s.read, s.most = s.read+len(entries), max(s.most, len(entries))
	return entries, err
}

// A page reads what it shows and one more; a list of the few that are wanted finds them all. Records may be large, so
// only some are read at once.
func TestPagesReadWhatTheyShow(t *testing.T) {
	h := coordinatortest.StartScripted(t, coordinatortest.Config(), coordinatortest.Steps(1))
	const count = 3000
	for i := range count {
		id := fmt.Sprintf("%08x", i)
		state := cleavev1.JobState_JOB_STATE_SUCCEEDED
		if i%500 == 0 {
			state = cleavev1.JobState_JOB_STATE_FAILED
		}
		value, err := proto.Marshal(&statev1.JobRecord{Job: &cleavev1.Job{JobId: id, State: state}})
		if err != nil {
			t.Fatal(err)
		}
		job := store.Txn{Put: []store.Entry{{Key: records.JobKey(id), Value: value}}}
		if _, err := h.State.Commit(t.Context(), job); err != nil {
			t.Fatal(err)
		}
	}
	counted := &countedState{State: h.State.Behavior()}
	h.State.Behave(counted)
	for _, size := range []int32{1, 10, 100, 1000} {
		counted.read = 0
		list, err := h.Jobs.ListJobs(t.Context(), &cleavev1.ListJobsRequest{PageSize: size})
		if err != nil || len(list.GetJobs()) != int(size) || counted.read != int(size)+1 {
			t.Errorf("%d jobs of a page of %d took %d records, %v", len(list.GetJobs()), size, counted.read, err)
		}
	}
	counted.read = 0
	if list, err := h.Jobs.ListJobs(t.Context(), &cleavev1.ListJobsRequest{IdPrefix: "00000a3"}); err != nil ||
		len(list.GetJobs()) != 16 || counted.read != 16 {
		t.Errorf("%d jobs with a prefix took %d records, %v", len(list.GetJobs()), counted.read, err)
	}
	var failed []string
	for token := ""; ; {
		list, err := h.Jobs.ListJobs(t.Context(), &cleavev1.ListJobsRequest{PageSize: 4, PageToken: token,
			States: []cleavev1.JobState{cleavev1.JobState_JOB_STATE_FAILED}})
		if err != nil {
			t.Fatal(err)
		}
		for _, job := range list.GetJobs() {
			failed = append(failed, job.GetJobId())
		}
		if token = list.GetNextPageToken(); token == "" {
			break
		}
	}
	if len(failed) != count/500 {
		t.Errorf("found %q", failed)
	}
	counted.read = 0
	if err := records.Each(t.Context(), counted, records.JobPrefix, func(store.Entry) error {
		return nil
	}); err != nil || counted.read != count {
		t.Errorf("of %d records %d were visited, %v", count, counted.read, err)
	}
	if counted.most > 64 {
		t.Errorf("%d records were read at once", counted.most)
	}
}
