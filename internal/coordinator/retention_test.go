package coordinator_test

import (
	"context"
	"io"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/coordinator/records"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/store"
	"github.com/cleave-project/cleave/internal/wire"
	"github.com/cleave-project/cleave/test/coordinatortest"
	"github.com/cleave-project/cleave/test/tabletest"
)

// clock is a clock that tests set.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) read() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) advance(by time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(by)
}

const day = 24 * time.Hour

// How long a quota spares jobs that ended, with the precision of uses, and data sets that were used.
const (
	keepEnded  = 16 * time.Minute
	keepUnused = time.Hour
)

// retaining is a coordinator whose clock stands still. Its own sweeps find nothing: the test sweeps.
func retaining(t *testing.T, r records.RetentionConfig, run coordinatortest.Script) (*coordinatortest.Harness, *clock) {
	now := &clock{now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	cfg := coordinatortest.Config()
	cfg.Now, cfg.Retention = now.read, r
	return coordinatortest.StartScripted(t, cfg, run), now
}

func sweep(h *coordinatortest.Harness) {
	h.T.Helper()
	if err := h.Coordinator.Sweeper().Sweep(h.T.Context()); err != nil {
		h.T.Fatal(err)
	}
}

// sweepTo sweeps as with another quota.
func sweepTo(h *coordinatortest.Harness, quota int64) {
	h.T.Helper()
	d := h.Coordinator.Retention()
	d.Config.Quota = quota
	if err := records.NewSweeper(d).Sweep(h.T.Context()); err != nil {
		h.T.Fatal(err)
	}
}

// kept are those of the jobs, or of the data sets, that are still there.
func kept(h *coordinatortest.Harness, ids ...string) (left []string) {
	h.T.Helper()
	jobs, err := h.Jobs.ListJobs(h.T.Context(), &cleavev1.ListJobsRequest{})
	if err != nil {
		h.T.Fatal(err)
	}
	sets, err := h.Datasets.ListDatasets(h.T.Context(), &cleavev1.ListDatasetsRequest{})
	if err != nil {
		h.T.Fatal(err)
	}
	for _, id := range ids {
		if slices.ContainsFunc(jobs.GetJobs(), func(j *cleavev1.Job) bool { return j.GetJobId() == id }) ||
			slices.ContainsFunc(sets.GetDatasets(), func(d *cleavev1.Dataset) bool { return d.GetDatasetId() == id }) {
			left = append(left, id)
		}
	}
	return left
}

func wantKept(h *coordinatortest.Harness, want []string, of ...string) {
	h.T.Helper()
	if got := kept(h, of...); !slices.Equal(got, want) {
		h.T.Errorf("kept are %v of %v, want %v", got, of, want)
	}
}

// Jobs go when they have ended for long, data sets when no job has them and nobody asked for them for long. What runs
// or waits stays, with its data.
func TestRetention(t *testing.T) {
	g := coordinatortest.NewBarrier()
	h, now := retaining(t, records.RetentionConfig{KeepJobs: 30 * day, KeepDatasets: 10 * day}, g.Run)
	used := h.Points(4)
	unused := h.Points(5)
	looked := h.Points(6)
	ended := h.Create(coordinatortest.Spec(used))
	running := h.Create(coordinatortest.Spec(used))
	coordinatortest.Within(t, g.Entered, "a run")
	coordinatortest.Within(t, g.Entered, "a run")
	if _, err := h.Jobs.CancelJob(t.Context(), &cleavev1.CancelJobRequest{JobId: ended}); err != nil {
		t.Fatal(err)
	}
	h.End(ended)
	all := []string{ended, running, used, unused, looked}
	sweep(h)
	wantKept(h, all, all...)
	now.advance(9 * day)
	if _, err := h.Datasets.GetDataset(t.Context(), &cleavev1.GetDatasetRequest{DatasetId: looked}); err != nil {
		t.Fatal(err)
	}
	now.advance(2 * day)
	sweep(h)
	wantKept(h, []string{ended, running, used, looked}, all...)
	now.advance(20 * day)
	sweep(h)
	wantKept(h, []string{running, used}, all...)
	close(g.Open)
	h.End(running)
	now.advance(31 * day)
	sweep(h)
	wantKept(h, []string{used}, all...) // its job had it until now
	now.advance(11 * day)
	sweep(h)
	if keys, blobs := h.Leftovers(); len(keys)+len(blobs) != 0 {
		t.Errorf("left over are %v and %v", keys, blobs)
	}
}

// Beyond the quota the jobs go first that ended first, the last one of a data set with its data. Those that ended just
// now stay.
func TestQuota(t *testing.T) {
	h, now := retaining(t, records.RetentionConfig{Quota: 1 << 40}, coordinatortest.Steps(1))
	data := h.Points(1000)
	var jobs []string
	for range 3 {
		jobs = append(jobs, h.Create(coordinatortest.Spec(data)))
		h.End(jobs[len(jobs)-1])
		now.advance(time.Minute)
	}
	sweep(h)
	wantKept(h, jobs, jobs...)
	quota := h.Coordinator.Sweeper().Used() - 1
	sweepTo(h, quota)
	wantKept(h, jobs, jobs...)
	now.advance(keepEnded - 3*time.Minute) // the first one ended three minutes before
	sweepTo(h, quota)
	wantKept(h, jobs[1:], jobs...)
	now.advance(time.Minute)
	sweepTo(h, 1)
	wantKept(h, jobs[2:], jobs...)
	now.advance(time.Minute)
	sweepTo(h, 1)
	if keys, blobs := h.Leftovers(); len(keys)+len(blobs) != 0 {
		t.Errorf("left over are %v and %v", keys, blobs)
	}
}

// An upload is refused while the quota is exceeded.
func TestAnUploadOverTheQuota(t *testing.T) {
	h, _ := retaining(t, records.RetentionConfig{Quota: 1}, coordinatortest.Steps(1))
	coordinatortest.WantError(t, refusedUpload(h, 1000), codes.ResourceExhausted, "QUOTA_EXCEEDED")
}

// The quota deletes data sets that no job refers to before it deletes a job. It deletes the data of a job with the job,
// before the next job.
func TestQuotaSparesJobs(t *testing.T) {
	h, now := retaining(t, records.RetentionConfig{Quota: 1 << 40}, coordinatortest.Steps(1))
	sweep(h)
	unused := h.Points(1000)
	first := h.Points(1001)
	second := h.Points(1002)
	var jobs []string
	for _, data := range []string{first, second} {
		jobs = append(jobs, h.Create(coordinatortest.Spec(data)))
		h.End(jobs[len(jobs)-1])
	}
	all := append([]string{unused, first, second}, jobs...)
	now.advance(2 * keepUnused)
	sweepTo(h, h.Coordinator.Sweeper().Used()-1)
	wantKept(h, all[1:], all...)
	sweepTo(h, h.Coordinator.Sweeper().Used()-4000) // more than the results of both jobs
	wantKept(h, []string{second, jobs[1]}, all...)
}

// A table is an upload like any other.
func TestTablesCountForTheQuota(t *testing.T) {
	h, _ := retaining(t, records.RetentionConfig{Quota: 300}, coordinatortest.Steps(1))
	send := func(rows int) error {
		_, err := wire.SendTable(t.Context(), h.Tables, "", tabletest.Labels(make([]int32, rows)), wire.UploadStart{})
		return err
	}
	if err := send(2); err != nil {
		t.Fatal(err)
	}
	if err := send(1000); !fault.Is(wire.Fault(err), "QUOTA_EXCEEDED") {
		t.Errorf("a table over the quota: %v", err)
	}
}

// An upload that the quota refuses makes room for itself, and passes when it is tried again.
func TestRefusedUploadsMakeRoom(t *testing.T) {
	h, now := retaining(t, records.RetentionConfig{Quota: 20_000}, coordinatortest.Steps(1))
	sweep(h)
	job := h.Create(coordinatortest.Spec(h.Points(1800))) // 14 KiB
	h.End(job)
	now.advance(keepEnded)
	upload := func() error {
		_, err := h.BeginUpload(1200, 1200).CloseAndRecv()
		return err
	}
	coordinatortest.WantRefusal(t, upload(), "QUOTA_EXCEEDED")
	coordinatortest.Await(t, "the deletion of the job", func() bool { return len(kept(h, job)) == 0 })
	sweep(h) // its data go right after it
	if err := upload(); err != nil {
		t.Errorf("what fits is refused: %v", err)
	}
}

// Blobs are added to the total once the total is known.
func TestBlobsBeforeTheFirstCount(t *testing.T) {
	blobs, err := store.OpenBlobs(t.Context(), "mem://")
	if err != nil {
		t.Fatal(err)
	}
	defer blobs.Close()
	var total atomic.Int64
	counted := store.CountBlobs(blobs, &total, &atomic.Int64{})
	put := func(name string) {
		t.Helper()
		if err := counted.Put(t.Context(), name, func(w io.Writer) error {
			_, err := w.Write(make([]byte, 100))
			return err
		}); err != nil {
			t.Fatal(err)
		}
	}
	total.Store(-1)
	put("a")
	if total.Load() != -1 {
		t.Errorf("before the first count the total is %d", total.Load())
	}
	total.Store(0)
	put("b")
	if size, err := blobs.Size(t.Context(), "b"); err != nil || total.Load() != size {
		t.Errorf("the total is %d, the blob has %d bytes, %v", total.Load(), size, err)
	}
}

// sweptLate is a store that calls before when its sweep begins.
type sweptLate struct {
	records.SweptContent
	before func()
}

func (s sweptLate) Sweep(ctx context.Context, inUse map[string]int, now time.Time,
	keep func() (time.Duration, string)) error {
	s.before()
	return s.SweptContent.Sweep(ctx, inUse, now, keep)
}

// A job that is created while a sweep looks around keeps its data set.
func TestRetentionAndNewJobs(t *testing.T) {
	g := coordinatortest.NewBarrier()
	h, now := retaining(t, records.RetentionConfig{KeepDatasets: day}, g.Run)
	data := h.Points(4)
	now.advance(2 * day)
	var id string
	d := h.Coordinator.Retention()
	// after the survey, before the deletion
	d.Datasets = sweptLate{d.Datasets, func() { id = h.Create(coordinatortest.Spec(data)) }}
	if err := records.NewSweeper(d).Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantKept(h, []string{data}, data)
	close(g.Open)
	h.WantSuccess(id)
}

// Without a retention period, the quota deletes by the last use as well.
func TestAQuotaAloneSparesWhatIsInUse(t *testing.T) {
	h, now := retaining(t, records.RetentionConfig{Quota: 1 << 30}, coordinatortest.Steps(1))
	used := h.Points(1000)
	unused := h.Points(1001)
	now.advance(2 * keepUnused)
	if _, err := h.Datasets.GetDataset(t.Context(), &cleavev1.GetDatasetRequest{DatasetId: used}); err != nil {
		t.Fatal(err)
	}
	r := records.NewSweeper(h.Coordinator.Retention())
	if err := r.Sweep(t.Context()); err != nil { // counts the blobs
		t.Fatal(err)
	}
	coordinatortest.WantRefusal(t, wire.Status(r.CheckQuota(1<<30)), "QUOTA_EXCEEDED")
	wantKept(h, []string{used, unused}, used, unused)
	if err := r.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantKept(h, []string{used}, used, unused)
}

// A damaged record of a job does not stop the sweep, which keeps whatever that job may use.
func TestSweepPastDamagedRecords(t *testing.T) {
	h, now := retaining(t, records.RetentionConfig{KeepJobs: 30 * day, KeepDatasets: 10 * day},
		coordinatortest.Steps(1))
	used := h.Points(4)
	unused := h.Points(5)
	late := h.Points(6)
	expired := h.Create(coordinatortest.Spec(h.Points(7)))
	damaged := h.Create(coordinatortest.Spec(used))
	h.End(expired)
	h.End(damaged)
	job, err := h.State.Get(t.Context(), records.JobKey(damaged))
	if err != nil {
		t.Fatal(err)
	}
	put := func(key string, value []byte) {
		t.Helper()
		if _, err := h.State.Commit(t.Context(),
			store.Txn{Put: []store.Entry{{Key: key, Value: value}}}); err != nil {
			t.Fatal(err)
		}
	}
	// kept tells which of the records there are, also of those that are damaged.
	kept := func(keys ...string) (left []string) {
		for _, key := range keys {
			if _, err := h.State.Get(t.Context(), key); err == nil {
				left = append(left, key)
			}
		}
		return left
	}
	now.advance(9 * day)
	if _, err := h.Datasets.GetDataset(t.Context(), &cleavev1.GetDatasetRequest{DatasetId: late}); err != nil {
		t.Fatal(err)
	}
	put(records.JobKey(damaged), []byte("no record"))
	now.advance(2 * day)
	sweep(h)
	wantKept(h, []string{used, late}, used, unused, late)

	// Without the spec nobody knows what the job uses, but other jobs expire.
	blob := records.SpecBlob(damaged)
	opened, err := h.Blobs.Open(t.Context(), blob, 0, -1)
	if err != nil {
		t.Fatal(err)
	}
	spec, err := io.ReadAll(opened)
	if err != nil {
		t.Fatal(err)
	}
	opened.Close()
	if err := h.Blobs.Delete(t.Context(), blob); err != nil {
		t.Fatal(err)
	}
	now.advance(30 * day)
	sweep(h)
	wantKept(h, []string{used, late}, used, late)
	if left := kept(records.JobKey(expired), records.JobKey(damaged)); !slices.Equal(left,
		[]string{records.JobKey(damaged)}) {
		t.Errorf("the jobs that are left are %v", left)
	}

	// Once the record is repaired, everything expires as it does elsewhere.
	if err := h.Blobs.Put(t.Context(), blob, func(w io.Writer) error {
		_, err := w.Write(spec)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	put(records.JobKey(damaged), job.Value)
	sweep(h)
	wantKept(h, []string{used}, damaged, used, late)
	now.advance(11 * day)
	sweep(h)
	if keys, blobs := h.Leftovers(); len(keys)+len(blobs) != 0 {
		t.Errorf("left over are %v and %v", keys, blobs)
	}
}
