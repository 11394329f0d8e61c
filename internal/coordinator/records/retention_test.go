package records

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	statev1 "github.com/cleave-project/cleave/gen/cleave/state/v1"
	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/store"
)

// blobs is a blob store of 400 bytes that counts how often they are counted.
type blobs struct {
	counts int
	count  func() // called by each count, if set
}

func (b *blobs) Usage(context.Context) (int64, error) {
	if b.counts++; b.count != nil {
		b.count()
	}
	return 400, nil
}

// none is a store without content, which fails to delete any.
type none struct{}

func (none) Sweep(context.Context, map[string]int, time.Time, func() (time.Duration, string)) error {
	return nil
}

func (none) DeleteUnused(context.Context, string, time.Time, time.Duration, string) error {
	return errDenied
}

var errDenied = errors.New("access denied")

// endedJobs are jobs that have ended. delete is called by each deletion.
type endedJobs struct{ delete func() }

func (endedJobs) IsUnfinished(string) bool { return false }

func (j endedJobs) Delete(context.Context, string, time.Time) error { j.delete(); return nil }

// newSweeper returns a Sweeper of blobs of 400 bytes, with two jobs that ended long ago.
func newSweeper(t *testing.T, cfg RetentionConfig, deleteJob func()) *Sweeper {
	t.Helper()
	now := time.Unix(1_700_000_000, 0)
	state := store.NewMemory()
	t.Cleanup(func() { state.Close() })
	if _, err := state.Lead(t.Context(), "test"); err != nil {
		t.Fatal(err)
	}
	for _, job := range []string{"01a1e7eb-8bfa-701c-9b27-f3f83954e7bd", "01a1e7eb-8bfa-701c-9b27-f3f83954e7be"} {
		record, err := proto.Marshal(&statev1.JobRecord{Job: &cleavev1.Job{
			JobId: job, DatasetId: "data of " + job, State: cleavev1.JobState_JOB_STATE_SUCCEEDED,
			EndTime: timestamppb.New(now.Add(-1000 * time.Hour)),
		}})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := state.Commit(t.Context(),
			store.Txn{Put: []store.Entry{{Key: JobKey(job), Value: record}}}); err != nil {
			t.Fatal(err)
		}
	}
	return NewSweeper(SweeperDependencies{
		Config: cfg, State: state, Blobs: &blobs{}, Total: &atomic.Int64{}, Freed: &atomic.Int64{}, Hold: &Hold{},
		Logger: hclog.NewNullLogger(), Now: func() time.Time { return now }, Datasets: none{}, Tables: none{},
		Jobs: endedJobs{deleteJob},
	})
}

// An upload that is refused during a sweep is made room for by the next one.
func TestAnUploadRefusedDuringASweep(t *testing.T) {
	var s *Sweeper
	s = newSweeper(t, RetentionConfig{Quota: 500, KeepJobs: time.Hour}, func() {
		if err := s.CheckQuota(500); !fault.Is(err, "QUOTA_EXCEEDED") {
			t.Errorf("an upload is not refused: %v", err)
		}
	})
	if err := s.Sweep(t.Context()); err != nil || s.wanted.Load() != 500 {
		t.Errorf("the sweep leaves a wish of %d bytes, %v", s.wanted.Load(), err)
	}
	if err := s.CheckQuota(200); err == nil || s.wanted.Load() != 500 {
		t.Errorf("a smaller upload leaves a wish of %d bytes, %v", s.wanted.Load(), err)
	}
}

// Nothing is deleted during a backup, which copies blobs, nor while the quota has room.
func TestNothingIsDeleted(t *testing.T) {
	fail := func() { t.Error("a job is deleted") }
	s := newSweeper(t, RetentionConfig{KeepJobs: time.Hour}, fail)
	end, err := s.d.Hold.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer end()
	for _, s := range []*Sweeper{s, newSweeper(t, RetentionConfig{Quota: 400}, fail),
		newSweeper(t, RetentionConfig{}, fail)} {
		if err := s.Sweep(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// If the blobs of a deleted job stay, because a backup began or the store fails, the quota does not delete all others.
func TestTheQuotaStopsIfNothingIsFreed(t *testing.T) {
	deleted := 0
	s := newSweeper(t, RetentionConfig{Quota: 300}, func() { deleted++ })
	now := s.d.Now()
	s.d.Now = func() time.Time { return now }
	for at, want := range []int{1, 1, 2} { // refused uploads wake more sweeps
		if at == 2 {
			now = now.Add(stuckTime)
		}
		if err := s.Sweep(t.Context()); err != nil && !errors.Is(err, errDenied) || deleted != want {
			t.Errorf("after sweep %d %d jobs are deleted, want %d, %v", at, deleted, want, err)
		}
	}
}

// Blobs that are stored while a job is deleted do not hide what that freed.
func TestTheQuotaGoesOnWhileBlobsAreStored(t *testing.T) {
	var s *Sweeper
	deleted := 0
	s = newSweeper(t, RetentionConfig{Quota: 300}, func() {
		deleted++
		s.d.Freed.Add(50)
		s.d.Total.Add(100 - 50) // a snapshot is stored
	})
	s.d.Datasets = kept{}
	if err := s.Sweep(t.Context()); err != nil || deleted != 2 {
		t.Errorf("%d jobs are deleted, want 2, %v", deleted, err)
	}
}

// kept is a store whose content is in use.
type kept struct{ none }

func (kept) DeleteUnused(context.Context, string, time.Time, time.Duration, string) error { return nil }

// damagedSpecs are specs that cannot be read.
type damagedSpecs struct{}

func (damagedSpecs) Spec(context.Context, string) (*cleavev1.JobSpec, error) {
	return nil, fault.New(fault.DataLoss, "SPEC_DAMAGED", "the spec is damaged")
}

// While it is not known what a damaged job uses, the quota deletes no results, because their data would stay.
func TestTheQuotaSparesJobsBesideDamagedOnes(t *testing.T) {
	s := newSweeper(t, RetentionConfig{Quota: 300}, func() { t.Error("a job is deleted") })
	damaged := store.Entry{Key: JobKey("01a1e7eb-8bfa-701c-9b27-f3f83954e7bf"), Value: []byte{0xff}}
	if _, err := s.d.State.Commit(t.Context(), store.Txn{Put: []store.Entry{damaged}}); err != nil {
		t.Fatal(err)
	}
	s.d.Specs = damagedSpecs{}
	if err := s.Sweep(t.Context()); err != nil {
		t.Error(err)
	}
}

// Refused uploads wake a sweep every few seconds, but counting all blobs of a bucket takes long.
func TestBlobsAreNotCountedByEverySweep(t *testing.T) {
	s := newSweeper(t, RetentionConfig{Quota: 500}, func() {})
	now := s.d.Now()
	s.d.Now = func() time.Time { return now }
	s.d.Blobs.(*blobs).count = func() { now = now.Add(2 * recount) }
	for at, want := range []int{1, 1, 2} {
		if at == 2 {
			now = now.Add(recount)
		}
		if err := s.Sweep(t.Context()); err != nil || s.d.Blobs.(*blobs).counts != want {
			t.Errorf("sweep %d: the blobs were counted %d times, want %d, %v", at, s.d.Blobs.(*blobs).counts, want, err)
		}
	}
}
