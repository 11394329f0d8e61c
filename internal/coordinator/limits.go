package coordinator

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"runtime"
	"sync"
	"time"

	"google.golang.org/protobuf/types/known/durationpb"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/clustering"
	"github.com/cleave-project/cleave/internal/coordinator/queue"
	"github.com/cleave-project/cleave/internal/coordinator/records"
	"github.com/cleave-project/cleave/internal/coordinator/results"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/planning"
	"github.com/cleave-project/cleave/internal/security/identity"
	"github.com/cleave-project/cleave/internal/store"
	"github.com/cleave-project/cleave/internal/text"
	"github.com/cleave-project/cleave/internal/wire"
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

	// Calls limits the concurrent calls that plan, submit or evaluate jobs; further ones wait for their turn. ShortCalls
	// limits the other concurrent calls, which are short, and Streams the open streams. All must be positive.
	// Calls of workers and health checks do not count.
	Calls, ShortCalls, Streams int
	// SlowReader is how long a client may take to accept one message of a stream. It must be positive.
	SlowReader time.Duration

	// UploadRate limits the bytes per second of all uploads together, and UploadRatePerOwner those of one owner.
	UploadRate, UploadRatePerOwner int64
	// FreeDisk is how many bytes must remain free on the blob disk for an upload or a job to be accepted.
	FreeDisk int64
}

// callsPerProcessor is the default of Limits.Calls per processor. More concurrent calls would not finish sooner.
const callsPerProcessor = 16

func defaultLimits() Limits {
	return Limits{
		Queued: 10_000, QueuedPerOwner: 5_000,
		Calls: callsPerProcessor * runtime.GOMAXPROCS(0), ShortCalls: 1000, Streams: 20_000, SlowReader: 30 * time.Second,
	}
}

func (l Limits) check() error {
	const notNegative, atLeast1 = "not be negative", "be at least 1"
	return checkSettings([]setting{
		{l.Rows < 0, "--max-rows", l.Rows, notNegative},
		{l.Clusters < 0, "--max-k", l.Clusters, notNegative},
		{l.Constraints < 0, "--max-constraints", l.Constraints, notNegative},
		{l.Queued < 0, "--max-queued", l.Queued, notNegative},
		{l.QueuedPerOwner < 0, "--max-queued-per-owner", l.QueuedPerOwner, notNegative},
		{l.RunningPerOwner < 0, "--max-running-per-owner", l.RunningPerOwner, notNegative},
		{l.UploadRate < 0, "--upload-rate", l.UploadRate, notNegative},
		{l.UploadRatePerOwner < 0, "--upload-rate-per-owner", l.UploadRatePerOwner, notNegative},
		{l.FreeDisk < 0, "--min-free", l.FreeDisk, notNegative},
		{l.Calls < 1, "--max-calls", l.Calls, atLeast1},
		{l.ShortCalls < 1, "--max-reads", l.ShortCalls, atLeast1},
		{l.Streams < 1, "--max-streams", l.Streams, atLeast1},
		{l.SlowReader <= 0, "--slow-reader", l.SlowReader, "be positive"},
		{l.DefaultTime < 0, "--job-timeout", l.DefaultTime, notNegative},
		{l.MaxTime < 0, "--max-job-timeout", l.MaxTime, notNegative},
		{l.MaxTime > 0 && l.DefaultTime > l.MaxTime, "--job-timeout", l.DefaultTime,
			fmt.Sprintf("not be longer than --max-job-timeout, which is %v", l.MaxTime)},
	})
}

// checkCount rejects a count that exceeds a limit: have says what there is ("there are 12 rows"), and unit what the limit
// counts ("rows"). Retrying does not help.
func checkCount(reason, field, have, unit string, count, limit int64) error {
	if limit == 0 || count <= limit {
		return nil
	}
	return fault.New(fault.ResourceExhausted, reason, "%s, and this coordinator allows at most %d %s; "+
		"run `cleave limits` to see all limits", have, limit, unit).
		OnField(field).With("limit", fmt.Sprint(limit))
}

// checkRows rejects a data set that has, or claims to have, too many rows.
func (l Limits) checkRows(rows uint32) error {
	return checkCount("TOO_MANY_ROWS", "header", fmt.Sprintf("there are %d rows", rows), "rows", int64(rows), l.Rows)
}

// checkClusters rejects too many clusters; asks says what asks for them.
func (l Limits) checkClusters(field, asks string, clusters int64) error {
	return checkCount("TOO_MANY_CLUSTERS", field, asks, "clusters", clusters, l.Clusters)
}

// checkConstraints rejects too many constraints; asks says what asks for them.
func (l Limits) checkConstraints(field, asks string, constraints int64) error {
	return checkCount("TOO_MANY_CONSTRAINTS", field, asks, "constraints", constraints, l.Constraints)
}

// checkSize rejects a job with too many rows, clusters or constraints before anything is read for it. It applies to
// new jobs only: an accepted job continues even if a coordinator with smaller limits takes over.
func (c *Coordinator) checkSize(ctx context.Context, spec *cleavev1.JobSpec) error {
	l := c.cfg.Limits
	k, most := spec.GetK(), spec.GetKRange().GetMax()
	err := cmp.Or(l.checkClusters("spec.k", fmt.Sprintf("k is %d", k), int64(k)),
		l.checkClusters(clustering.FieldRange, fmt.Sprintf("the largest k is %d", most), int64(most)))
	if err != nil {
		return err
	}
	if id := spec.GetTable().GetTableId(); id != "" {
		if err := c.checkTableRows(ctx, id); err != nil {
			return wire.OnTable(err)
		}
	}
	if l.Constraints == 0 {
		return nil
	}
	for _, used := range wire.UsedTables(spec) {
		if name := used.Name(); name != "constraints" && name != "beliefs" {
			continue
		}
		rows := int64(wire.RowsIn(used.Input.GetInline()))
		if id := used.Input.GetTableId(); id != "" {
			record, err := c.tables.Record(ctx, id)
			if err != nil {
				return err
			}
			rows = int64(record.GetTable().GetRows())
		}
		if err := l.checkConstraints(used.Field, fmt.Sprintf("there are %d %s", rows, used.Name()), rows); err != nil {
			return err
		}
	}
	return nil
}

// checkTableRows rejects a table with too many rows, before it is read.
func (c *Coordinator) checkTableRows(ctx context.Context, id string) error {
	record, err := c.tables.Record(ctx, id)
	if err != nil {
		return err
	}
	return c.cfg.Limits.checkRows(record.GetTable().GetRows())
}

// timeLimit returns the time limit of a job that asked for the given one; nil means that it did not ask. It returns
// nil if there is no limit.
func (l Limits) timeLimit(asked *durationpb.Duration) (*durationpb.Duration, error) {
	const field = "scheduling.time_limit"
	switch {
	case asked == nil:
		return durationProto(cmp.Or(l.DefaultTime, l.MaxTime)), nil
	case !asked.IsValid() || asked.AsDuration() <= 0:
		return nil, fault.Invalid("INVALID_TIME_LIMIT", "the time limit must be positive; leave it out for the coordinator's default").OnField(field)
	case l.MaxTime > 0 && asked.AsDuration() > l.MaxTime:
		return nil, fault.Invalid("TIME_LIMIT_TOO_LONG",
			"the time limit of %v is longer than this coordinator allows, which is %v; ask for less", asked.AsDuration(), l.MaxTime).OnField(field)
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
			"only administrators may ask for a high priority, which moves a job ahead of everyone else's; omit the priority").OnField(field)
	}
	return fault.Invalid("UNKNOWN_PRIORITY", "there is no priority %d; give low, normal or high", p).OnField(field)
}

// checkQueue rejects a job if too many are already waiting. Concurrent calls may exceed the limit slightly; it bounds
// the queue and need not be exact.
func (c *Coordinator) checkQueue(owner string) error {
	_, all, own := c.jobs.Count(owner)
	switch l := c.cfg.Limits; {
	case l.Queued > 0 && all >= l.Queued:
		return fault.New(fault.ResourceExhausted, "QUEUE_FULL", "the queue is full (%d jobs); try again later", all).
			With("limit", fmt.Sprint(l.Queued)).RetryIn(queue.RetrySeconds)
	case l.QueuedPerOwner > 0 && own >= l.QueuedPerOwner:
		return fault.New(fault.ResourceExhausted, "OWN_QUEUE_FULL",
			"%d of your jobs are queued, the maximum for one owner; try again later", own).
			With("limit", fmt.Sprint(l.QueuedPerOwner)).RetryIn(queue.RetrySeconds)
	}
	return nil
}

// memory divides the memory of the coordinator, see SetMemory. Jobs have no bytes of their own: their memory is common to
// all shares, so the others take what jobs leave if their own does not suffice.
type memory struct {
	jobs      *queue.Share
	uploads   *queue.Share
	requests  *queue.Share // requests of calls, until they are answered
	calls     *queue.Share // what calls load to plan, submit and predict
	downloads *queue.Share // what calls load to send it
	large     *queue.Share // the same, too large for downloads
}

func newMemory(cfg Config) memory {
	shared := cfg.MemoryBytes
	if shared == 0 {
		shared = planning.Unlimited
	}
	budget := queue.NewBudget(shared)
	half := cfg.CacheBytes / 2
	return memory{
		jobs: budget.JobsShare(), uploads: budget.Share(cfg.UploadBytes),
		requests: budget.Share(half), calls: budget.Share(half),
		downloads: budget.Share(cfg.CacheBytes), large: budget.Share(0),
	}
}

// borrow waits until a call may hold data, for at most SlowReader. Data that is larger than all memory is refused when
// it is read.
func (c *Coordinator) borrow(ctx context.Context, data results.Memory) (release func(), err error) {
	reserved, err := c.memory.calls.Reserve(ctx, data.ToLoad, c.cfg.Limits.SlowReader)
	if err != nil {
		return nil, err
	}
	held := data.Held
	return sync.OnceFunc(func() {
		reserved.Release()
		runtime.KeepAlive(held)
		held = nil // the caller may go on for hours
	}), nil
}

// memoryFor returns what a data set takes, or tables and the points that are made from them. Whatever cannot be found is
// reported when it is read.
func (c *Coordinator) memoryFor(ctx context.Context, id string, tables ...string) (m results.Memory) {
	if id != "" {
		record, err := c.datasets.Record(ctx, id)
		if err != nil {
			return results.Memory{}
		}
		m.Total = int64(record.GetDataset().GetBytes())
		// A copy that only another call holds ends with that call, so this one counts it as well.
		counted := c.datasets.Keeps(id) || c.jobs.RunsOn(id)
		if data, found := c.datasets.InUse(id); found && counted {
			m.Held = []dataset.Dataset{data}
		} else {
			m.ToLoad = m.Total
		}
		return m
	}
	for _, id := range tables {
		record, _ := c.tables.Record(ctx, id)
		m.Total += 2 * int64(record.GetTable().GetBytes()) // points take about as much as their table
	}
	m.ToLoad = m.Total
	return m
}

// checkDisk rejects what would need more space than the disk has or the quota allows.
func (c *Coordinator) checkDisk(bytes int64) error {
	if free, known := c.blobs.Free(); known && free-bytes < c.cfg.Limits.FreeDisk {
		return fault.New(fault.ResourceExhausted, "DISK_FULL",
			"the disk of the blob store has %s free, of which %s must stay free, and this needs %s; free some space and try again",
			text.Bytes(free), text.Bytes(c.cfg.Limits.FreeDisk), text.Bytes(bytes)).RetryIn(records.RetryRoom)
	}
	return c.retention.CheckQuota(bytes)
}

// hasTemporaryRoom reports whether the copies of uploads and of the state may grow. They leave free what blobs leave
// free, and what the state store needs, because they may be on the same disk.
func (c *Coordinator) hasTemporaryRoom() bool {
	free, known := store.FreeBytes(os.TempDir())
	return !known || free >= max(c.cfg.Limits.FreeDisk, 2*store.ReservedSpace)
}
