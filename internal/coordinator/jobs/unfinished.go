package jobs

import (
	"context"
	"slices"
	"sync"

	"golang.org/x/sync/semaphore"
)

// UnfinishedJobs are the jobs that have not ended. They exist before the Manager, because data sets and tables may not
// be deleted while jobs use them. UnfinishedJobs is safe for concurrent use.
type UnfinishedJobs struct {
	// jobs has values of type *Job, by their ids. Manager.launch adds a job, and commitEnd removes it once its end is
	// durable: from then on the stored record is authoritative.
	jobs sync.Map
	// admission is acquired in full while a data set is deleted, and with weight 1 while a job is created. A data set
	// therefore cannot disappear between the check that it exists and the creation of a job that uses it.
	admission *semaphore.Weighted
}

// NewUnfinishedJobs returns an UnfinishedJobs without jobs.
func NewUnfinishedJobs() *UnfinishedJobs {
	return &UnfinishedJobs{admission: semaphore.NewWeighted(allAdmission)}
}

// allAdmission is the total weight of the admission semaphore.
const allAdmission = 1 << 30

// StopAdmission prevents jobs from being created until release is called. It waits for those being created.
func (u *UnfinishedJobs) StopAdmission(ctx context.Context) (release func(), err error) {
	if err := u.admission.Acquire(ctx, allAdmission); err != nil {
		return nil, err
	}
	return func() { u.admission.Release(allAdmission) }, nil
}

// Unfinished returns a job that has not ended, or nil if it has or does not exist.
func (u *UnfinishedJobs) Unfinished(id string) *Job {
	found, _ := u.jobs.Load(id)
	j, _ := found.(*Job)
	return j
}

// IsUnfinished reports whether a job exists that has not ended.
func (u *UnfinishedJobs) IsUnfinished(id string) bool { return u.Unfinished(id) != nil }

// first returns the id of an unfinished job that match accepts, or "" if there is none.
func (u *UnfinishedJobs) first(match func(*Job) bool) (id string) {
	u.jobs.Range(func(_, entry any) bool {
		if j := entry.(*Job); match(j) {
			id = j.id
		}
		return id == ""
	})
	return id
}

// JobUsing returns the id of an unfinished job that uses a data set or a table, or "" if there is none. If owner is
// not nil, only jobs of that owner count.
func (u *UnfinishedJobs) JobUsing(id string, owner *string) string {
	return u.first(func(j *Job) bool {
		return (j.datasetID == id || slices.Contains(j.tableIDs, id)) && (owner == nil || j.owner == *owner)
	})
}
