package coordinator

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
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/store"
	"github.com/cleave-project/cleave/internal/wire"
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
func retaining(t *testing.T, r records.RetentionConfig, run script) (*harness, *clock) {
	now := &clock{now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	cfg := testConfig()
	cfg.Now, cfg.Retention = now.read, r
	return newHarness(t, cfg, scripted(run)), now
}

func (h *harness) sweep() {
	h.t.Helper()
	if err := h.c.retention.Sweep(h.t.Context()); err != nil {
		h.t.Fatal(err)
	}
}

// points stores a data set of so many points.
func (h *harness) points(n int) string {
	h.t.Helper()
	values := make([]float64, n)
	for i := range values {
		values[i] = float64(i)
	}
	points, err := dataset.NewPoints(n, 1, values)
	if err != nil {
		h.t.Fatal(err)
	}
	return h.send("points", points)
}

// kept are those of the jobs, or of the data sets, that are still there.
func (h *harness) kept(ids ...string) (left []string) {
	h.t.Helper()
	jobs, err := h.jobs.ListJobs(h.t.Context(), &cleavev1.ListJobsRequest{})
	if err != nil {
		h.t.Fatal(err)
	}
	sets, err := h.datasets.ListDatasets(h.t.Context(), &cleavev1.ListDatasetsRequest{})
	if err != nil {
		h.t.Fatal(err)
	}
	for _, id := range ids {
		if slices.ContainsFunc(jobs.GetJobs(), func(j *cleavev1.Job) bool { return j.GetJobId() == id }) ||
			slices.ContainsFunc(sets.GetDatasets(), func(d *cleavev1.Dataset) bool { return d.GetDatasetId() == id }) {
			left = append(left, id)
		}
	}
	return left
}

func (h *harness) wantKept(want []string, of ...string) {
	h.t.Helper()
	if got := h.kept(of...); !slices.Equal(got, want) {
		h.t.Errorf("kept are %v of %v, want %v", got, of, want)
	}
}

// Jobs go when they have ended for long, data sets when no job has them and nobody asked for them for long. What runs
// or waits stays, with its data.
func TestRetention(t *testing.T) {
	g := newBarrier()
	h, now := retaining(t, records.RetentionConfig{KeepJobs: 30 * day, KeepDatasets: 10 * day}, g.run)
	used := h.points(4)
	unused := h.points(5)
	looked := h.points(6)
	ended := h.create(spec(used))
	running := h.create(spec(used))
	within(t, g.entered, "a run")
	within(t, g.entered, "a run")
	if _, err := h.jobs.CancelJob(t.Context(), &cleavev1.CancelJobRequest{JobId: ended}); err != nil {
		t.Fatal(err)
	}
	h.end(ended)
	all := []string{ended, running, used, unused, looked}
	h.sweep()
	h.wantKept(all, all...)
	now.advance(9 * day)
	if _, err := h.datasets.GetDataset(t.Context(), &cleavev1.GetDatasetRequest{DatasetId: looked}); err != nil {
		t.Fatal(err)
	}
	now.advance(2 * day)
	h.sweep()
	h.wantKept([]string{ended, running, used, looked}, all...)
	now.advance(20 * day)
	h.sweep()
	h.wantKept([]string{running, used}, all...)
	close(g.open)
	h.end(running)
	now.advance(31 * day)
	h.sweep()
	h.wantKept([]string{used}, all...) // its job had it until now
	now.advance(11 * day)
	h.sweep()
	if keys, blobs := h.leftovers(); len(keys)+len(blobs) != 0 {
		t.Errorf("left over are %v and %v", keys, blobs)
	}
}

// Beyond the quota the jobs go first that ended first, the last one of a data set with its data. Those that ended just
// now stay.
func TestQuota(t *testing.T) {
	h, now := retaining(t, records.RetentionConfig{Quota: 1 << 40}, steps(1))
	data := h.points(1000)
	var jobs []string
	for range 3 {
		jobs = append(jobs, h.create(spec(data)))
		h.end(jobs[len(jobs)-1])
		now.advance(time.Minute)
	}
	h.sweep()
	h.wantKept(jobs, jobs...)
	h.c.retention.Config.Quota = h.c.retention.Used() - 1
	h.sweep()
	h.wantKept(jobs, jobs...)
	now.advance(keepEnded - 3*time.Minute) // the first one ended three minutes before
	h.sweep()
	h.wantKept(jobs[1:], jobs...)
	h.c.retention.Config.Quota = 1
	now.advance(time.Minute)
	h.sweep()
	h.wantKept(jobs[2:], jobs...)
	now.advance(time.Minute)
	wantError(t, h.refusedUpload(1000), codes.ResourceExhausted, "QUOTA_EXCEEDED")
	// The sweep that the refused upload asked for may still be at work.
	for deadline := time.Now().Add(20 * time.Second); ; {
		h.sweep()
		keys, blobs := h.leftovers()
		if len(keys)+len(blobs) == 0 {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("left over are %v and %v", keys, blobs)
		}
	}
}

// The quota deletes data sets that no job refers to before it deletes a job. It deletes the data of a job with the job,
// before the next job.
func TestQuotaSparesJobs(t *testing.T) {
	h, now := retaining(t, records.RetentionConfig{Quota: 1 << 40}, steps(1))
	h.sweep()
	unused := h.points(1000)
	first := h.points(1001)
	second := h.points(1002)
	var jobs []string
	for _, data := range []string{first, second} {
		jobs = append(jobs, h.create(spec(data)))
		h.end(jobs[len(jobs)-1])
	}
	all := append([]string{unused, first, second}, jobs...)
	now.advance(2 * keepUnused)
	h.c.retention.Config.Quota = h.c.retention.Used() - 1
	h.sweep()
	h.wantKept(all[1:], all...)
	h.c.retention.Config.Quota = h.c.retention.Used() - 4000 // more than the results of both jobs
	h.sweep()
	h.wantKept([]string{second, jobs[1]}, all...)
}

// A table is an upload like any other.
func TestTablesCountForTheQuota(t *testing.T) {
	h, _ := retaining(t, records.RetentionConfig{Quota: 300}, steps(1))
	send := func(rows int) error {
		_, err := wire.SendTable(t.Context(), h.tables(), "", tabletest.Labels(make([]int32, rows)), wire.UploadStart{})
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
	h, now := retaining(t, records.RetentionConfig{Quota: 20_000}, steps(1))
	h.sweep()
	job := h.create(spec(h.points(1800))) // 14 KiB
	h.end(job)
	now.advance(keepEnded)
	upload := func() error {
		_, err := h.beginUpload(1200, 1200).CloseAndRecv()
		return err
	}
	deleted := make(chan string, 1)
	h.c.retention.DeleteJob = func(ctx context.Context, job string, used time.Time) error {
		err := h.c.jobs.Delete(ctx, job, used)
		deleted <- job
		return err
	}
	wantRefusal(t, upload(), "QUOTA_EXCEEDED")
	if got := within(t, deleted, "a deletion"); got != job || len(h.kept(job)) > 0 {
		t.Fatalf("job %s is deleted, not %s", got, job)
	}
	h.sweep() // its data go right after it
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
	g := newBarrier()
	h, now := retaining(t, records.RetentionConfig{KeepDatasets: day}, g.run)
	data := h.points(4)
	now.advance(2 * day)
	var id string
	r := h.c.newRetention(&atomic.Int64{}, &atomic.Int64{})
	r.Datasets = sweptLate{r.Datasets, func() { id = h.create(spec(data)) }} // after the survey, before the deletion
	if err := r.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	h.wantKept([]string{data}, data)
	close(g.open)
	if job := h.end(id); job.GetState() != cleavev1.JobState_JOB_STATE_SUCCEEDED {
		t.Errorf("the job is %v", job)
	}
}

// Without a retention period, the quota deletes by the last use as well.
func TestAQuotaAloneSparesWhatIsInUse(t *testing.T) {
	h, now := retaining(t, records.RetentionConfig{Quota: 1 << 30}, steps(1))
	used := h.points(1000)
	unused := h.points(1001)
	now.advance(2 * keepUnused)
	if _, err := h.datasets.GetDataset(t.Context(), &cleavev1.GetDatasetRequest{DatasetId: used}); err != nil {
		t.Fatal(err)
	}
	r := h.c.newRetention(&atomic.Int64{}, &atomic.Int64{})
	if err := r.Sweep(t.Context()); err != nil { // counts the blobs
		t.Fatal(err)
	}
	wantRefusal(t, wire.Status(r.CheckQuota(1<<30)), "QUOTA_EXCEEDED")
	h.wantKept([]string{used, unused}, used, unused)
	if err := r.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	h.wantKept([]string{used}, used, unused)
}

// A damaged record of a job does not stop the sweep, which keeps whatever that job may use.
func TestSweepPastDamagedRecords(t *testing.T) {
	h, now := retaining(t, records.RetentionConfig{KeepJobs: 30 * day, KeepDatasets: 10 * day}, steps(1))
	used := h.points(4)
	unused := h.points(5)
	late := h.points(6)
	expired := h.create(spec(h.points(7)))
	damaged := h.create(spec(used))
	h.end(expired)
	h.end(damaged)
	job, err := h.c.state.Get(t.Context(), records.JobKey(damaged))
	if err != nil {
		t.Fatal(err)
	}
	put := func(key string, value []byte) {
		t.Helper()
		if _, err := h.c.state.Commit(t.Context(),
			store.Txn{Put: []store.Entry{{Key: key, Value: value}}}); err != nil {
			t.Fatal(err)
		}
	}
	// kept tells which of the records there are, also of those that are damaged.
	kept := func(keys ...string) (left []string) {
		for _, key := range keys {
			if _, err := h.c.state.Get(t.Context(), key); err == nil {
				left = append(left, key)
			}
		}
		return left
	}
	now.advance(9 * day)
	if _, err := h.datasets.GetDataset(t.Context(), &cleavev1.GetDatasetRequest{DatasetId: late}); err != nil {
		t.Fatal(err)
	}
	put(records.JobKey(damaged), []byte("no record"))
	now.advance(2 * day)
	h.sweep()
	h.wantKept([]string{used, late}, used, unused, late)

	// Without the spec nobody knows what the job uses, but other jobs expire.
	blob := records.SpecBlob(damaged)
	opened, err := h.c.blobs.Open(t.Context(), blob, 0, -1)
	if err != nil {
		t.Fatal(err)
	}
	spec, err := io.ReadAll(opened)
	if err != nil {
		t.Fatal(err)
	}
	opened.Close()
	if err := h.c.blobs.Delete(t.Context(), blob); err != nil {
		t.Fatal(err)
	}
	now.advance(30 * day)
	h.sweep()
	h.wantKept([]string{used, late}, used, late)
	if left := kept(records.JobKey(expired), records.JobKey(damaged)); !slices.Equal(left,
		[]string{records.JobKey(damaged)}) {
		t.Errorf("the jobs that are left are %v", left)
	}

	// Once the record is repaired, everything expires as it does elsewhere.
	if err := h.c.blobs.Put(t.Context(), blob, func(w io.Writer) error {
		_, err := w.Write(spec)
		return err
	}); err != nil {
		t.Fatal(err)
	}
	put(records.JobKey(damaged), job.Value)
	h.sweep()
	h.wantKept([]string{used}, damaged, used, late)
	now.advance(11 * day)
	h.sweep()
	if keys, blobs := h.leftovers(); len(keys)+len(blobs) != 0 {
		t.Errorf("left over are %v and %v", keys, blobs)
	}
}
