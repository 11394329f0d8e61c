package records

import (
	"fmt"

	statev1 "github.com/cleave-project/cleave/gen/cleave/state/v1"
	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/store"
)

// ReadJob decodes the record of a job. Its errors have the reason RecordDamaged.
func ReadJob(entry store.Entry) (*statev1.JobRecord, error) {
	record, err := Decode[statev1.JobRecord](entry)
	if err != nil {
		return nil, err
	}
	if id := record.GetJob().GetJobId(); JobKey(id) != entry.Key {
		return nil, damagedRecord(entry.Key, fmt.Errorf("it is that of job %q", id))
	}
	return record, nil
}

// Ended reports whether a job is in a final state.
func Ended(job *cleavev1.Job) bool {
	switch job.GetState() {
	case cleavev1.JobState_JOB_STATE_SUCCEEDED, cleavev1.JobState_JOB_STATE_FAILED, cleavev1.JobState_JOB_STATE_CANCELLED:
		return true
	}
	return false
}
