package jobs

import (
	"context"
	"math"
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
	// admission is open to those who create jobs, and excludes them while a data set is deleted. A data set therefore
	// cannot disappear between the check that it exists and the creation of a job that uses it.
	admission admission
}

// NewUnfinishedJobs returns an UnfinishedJobs without jobs.
func NewUnfinishedJobs() *UnfinishedJobs {
	return &UnfinishedJobs{admission: newAdmission()}
}

// StopAdmission prevents jobs from being created until release is called. It waits for those being created.
func (u *UnfinishedJobs) StopAdmission(ctx context.Context) (release func(), err error) {
	return u.admission.exclude(ctx)
}

// admission lets any number of jobs be created at once, or somebody exclude that. Calls have their turn in the order of
// arrival, so that new jobs do not hold up whoever excludes them.
type admission struct{ entered *semaphore.Weighted }

func newAdmission() admission { return admission{semaphore.NewWeighted(math.MaxInt64)} }

// create waits until nobody excludes the creation of jobs, or until ctx ends. The caller calls leave once the job is
// created.
func (a admission) create(ctx context.Context) (leave func(), err error) { return a.enter(ctx, 1) }

// exclude waits until no job is being created, or until ctx ends. Until leave is called, none is.
func (a admission) exclude(ctx context.Context) (leave func(), err error) {
	return a.enter(ctx, math.MaxInt64)
}

func (a admission) enter(ctx context.Context, weight int64) (leave func(), err error) {
	if err := a.entered.Acquire(ctx, weight); err != nil {
		return nil, err
	}
	return func() { a.entered.Release(weight) }, nil
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
