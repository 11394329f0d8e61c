package api

import (
	"cmp"
	"context"
	"fmt"
	"runtime"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/coordinator/gate"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/security/identity"
)

// Limits are the limits that a coordinator imposes on its clients. 0 means no limit, except where a value must be
// positive.
type Limits struct {
	// Rows limits the rows of a data set, Clusters the clusters of a job, and Constraints its constraints or beliefs.
	Rows, Clusters, Constraints int64

	// Queued limits the number of waiting jobs, QueuedPerOwner those of one owner, and RunningPerOwner the jobs of
	// one owner that run at once.
	Queued, QueuedPerOwner, RunningPerOwner int
	// DefaultTime is the time limit of jobs that do not ask for one, and MaxTime the longest that a job may ask for.
	DefaultTime, MaxTime time.Duration

	// Limits limits concurrent calls and streams. All of them must be positive.
	gate.Limits
	// SlowReader is how long a client may take to accept one message of a stream. It must be positive.
	SlowReader time.Duration

	// UploadRate limits the bytes per second of all uploads together, and UploadRatePerOwner those of one owner.
	UploadRate, UploadRatePerOwner int64
	// FreeDisk is how many bytes must remain free on the blob disk for an upload or a job to be accepted.
	FreeDisk int64
}

// CallsPerProcessor is the default of Limits.Calls per processor. More concurrent calls would not finish sooner.
const CallsPerProcessor = 16

// DefaultLimits returns the limits of a coordinator that sets no others.
func DefaultLimits() Limits {
	return Limits{
		Queued: 10_000, QueuedPerOwner: 5_000,
		Limits: gate.Limits{
			Calls: CallsPerProcessor * runtime.GOMAXPROCS(0), ShortCalls: 1000, Streams: 20_000,
		},
		SlowReader: 30 * time.Second,
	}
}

// checkCount rejects a count that exceeds a limit: have says what there is ("there are 12 rows"), and unit what the
// limit counts ("rows"). Retrying does not help.
func checkCount(reason, field, have, unit string, count, limit int64) error {
	if limit == 0 || count <= limit {
		return nil
	}
	return fault.New(fault.ResourceExhausted, reason, "%s, and this coordinator allows at most %d %s; "+
		"run `cleave limits` to see all limits", have, limit, unit).
		OnField(field).With("limit", fmt.Sprint(limit))
}

// CheckRows rejects a data set that has, or claims to have, too many rows.
func (l Limits) CheckRows(rows uint32) error {
	return checkCount("TOO_MANY_ROWS", "header", fmt.Sprintf("there are %d rows", rows), "rows", int64(rows), l.Rows)
}

// CheckClusters rejects too many clusters; asks says what asks for them.
func (l Limits) CheckClusters(field, asks string, clusters int64) error {
	return checkCount("TOO_MANY_CLUSTERS", field, asks, "clusters", clusters, l.Clusters)
}

// CheckConstraints rejects too many constraints; asks says what asks for them.
func (l Limits) CheckConstraints(field, asks string, constraints int64) error {
	return checkCount("TOO_MANY_CONSTRAINTS", field, asks, "constraints", constraints, l.Constraints)
}

// timeLimit returns the time limit of a job that asked for the given one; nil means that it did not ask. It returns
// nil if there is no limit.
func (l Limits) timeLimit(asked *durationpb.Duration) (*durationpb.Duration, error) {
	const field = "scheduling.time_limit"
	switch {
	case asked == nil:
		return DurationProto(cmp.Or(l.DefaultTime, l.MaxTime)), nil
	case !asked.IsValid() || asked.AsDuration() <= 0:
		return nil,
			fault.Invalid("INVALID_TIME_LIMIT",
				"the time limit must be positive; leave it out for the coordinator's default").OnField(field)
	case l.MaxTime > 0 && asked.AsDuration() > l.MaxTime:
		return nil, fault.Invalid("TIME_LIMIT_TOO_LONG",
			"the time limit of %v is longer than this coordinator allows, which is %v; ask for less",
			asked.AsDuration(), l.MaxTime).OnField(field)
	}
	return asked, nil
}

// checkPriority rejects a priority that the caller may not use.
func checkPriority(ctx context.Context, p cleavev1.Priority) error {
	const field = "scheduling.priority"
	switch p {
	case cleavev1.Priority_PRIORITY_UNSPECIFIED, cleavev1.Priority_PRIORITY_LOW, cleavev1.Priority_PRIORITY_NORMAL:
		return nil
	case cleavev1.Priority_PRIORITY_HIGH:
		if identity.FromContext(ctx).Role >= identity.Admin {
			return nil
		}
		return fault.New(fault.PermissionDenied, "PRIORITY_DENIED",
			"only administrators may ask for a high priority, which moves a job ahead of everyone else's; omit the "+
				"priority").OnField(field)
	}
	return fault.Invalid("UNKNOWN_PRIORITY", "there is no priority %d; give low, normal or high", p).OnField(field)
}

// DurationProto converts a duration, 0 to nil.
func DurationProto(d time.Duration) *durationpb.Duration {
	if d == 0 {
		return nil
	}
	return durationpb.New(d)
}
