package datasets

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"google.golang.org/protobuf/types/known/timestamppb"

	statev1 "github.com/cleave-project/cleave/gen/cleave/state/v1"
	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/coordinator/records"
	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/data/table"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/security/identity"
	"github.com/cleave-project/cleave/internal/store"
)

// memoryConfig is that of a store in memory.
func memoryConfig(t *testing.T) Config {
	t.Helper()
	state := store.NewMemory()
	t.Cleanup(func() { state.Close() })
	if _, err := state.Lead(t.Context(), "test"); err != nil {
		t.Fatal(err)
	}
	blobs, err := store.OpenBlobs(t.Context(), "mem://")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { blobs.Close() })
	return Config{
		Blobs: blobs, Logger: hclog.NewNullLogger(), Now: time.Now,
		Writer:     &records.Writer{State: state, Context: context.Background(), Logger: hclog.NewNullLogger()},
		Users:      noUsers{},
		DeleteBlob: func(name string) error { return blobs.Delete(context.Background(), name) },
	}
}

// noUsers are no jobs.
type noUsers struct{}

func (noUsers) StopAdmission(context.Context) (func(), error) { return func() {}, nil }

func (noUsers) JobUsing(string, *string) string { return "" }

func onePoint(t *testing.T, value float64) *dataset.Points {
	t.Helper()
	points, err := dataset.NewPoints(1, 1, []float64{value})
	if err != nil {
		t.Fatal(err)
	}
	return points
}

func (d *Datasets) addPoint(t *testing.T, value float64) string {
	t.Helper()
	record, err := d.Add(t.Context(), "point", onePoint(t, value), timestamppb.Now())
	if err != nil {
		t.Fatal(err)
	}
	return record.GetDataset().GetDatasetId()
}

// A call that waits for the change of another record ends with its context, and leaves nothing behind.
func TestWaitingForAChangeCanBeCanceled(t *testing.T) {
	s := NewDatasets(memoryConfig(t))
	id := s.addPoint(t, 1)
	s.recordLock <- struct{}{} // as if the store did not answer the call before
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for name, call := range map[string]func() error{
		"Delete":       func() error { return s.Delete(ctx, id) },
		"DeleteUnused": func() error { return s.DeleteUnused(ctx, id, time.Now(), 0, "the test says so") },
		"setSources": func() (err error) {
			_ = s.cfg.Writer.Detach(ctx, func(change records.Change) error {
				err = s.setSources(change, id, "", nil)
				return nil
			})
			s.cfg.Writer.Wait()
			return err
		},
	} {
		if err := call(); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// The context of an upload ends when its blob is stored.
	adding, stop := context.WithCancel(t.Context())
	s.cfg.Blobs = cancelingBlobs{s.cfg.Blobs, stop}
	if _, err := s.Add(adding, "", onePoint(t, 2), timestamppb.Now()); !errors.Is(err, context.Canceled) {
		t.Errorf("Add: %v", err)
	}
	s.cfg.Writer.Wait()
	if names, err := s.cfg.Blobs.List(t.Context(), ""); err != nil || len(names) != 1 {
		t.Errorf("the blobs are %v, %v", names, err)
	}
	<-s.recordLock
	if err := s.Delete(t.Context(), id); err != nil {
		t.Error(err)
	}
}

// cancelingBlobs calls stop when a blob is stored.
type cancelingBlobs struct {
	store.Blobs
	stop func()
}

func (b cancelingBlobs) Put(ctx context.Context, name string, write func(io.Writer) error) error {
	defer b.stop()
	return b.Blobs.Put(ctx, name, write)
}

// A value that is used all the time is stored as used: the record is what is left after a restart.
func TestTheLastUseIsStored(t *testing.T) {
	cfg := memoryConfig(t)
	now := time.Now()
	cfg.Now = func() time.Time { return now }
	cfg.UseGrain = time.Hour
	s := NewDatasets(cfg)
	id := s.addPoint(t, 1)
	for range 7 {
		now = now.Add(cfg.UseGrain / 2)
		if _, err := s.Get(t.Context(), id); err != nil {
			t.Fatal(err)
		}
	}
	// Another owner's claim does not take it back.
	other := identity.NewContext(t.Context(), identity.Caller{Name: "ann", Role: identity.Submitter})
	if _, err := s.Add(other, "", onePoint(t, 1), timestamppb.New(now)); err != nil {
		t.Fatal(err)
	}
	record, _, err := s.lookup(t.Context(), id)
	if err != nil || now.Sub(record.GetLastUse().AsTime()) > cfg.UseGrain {
		t.Errorf("the last use is %v, now it is %v, %v", record.GetLastUse().AsTime(), now, err)
	}
}

// A sweep ends if blobs cannot be deleted: more records would be lost, and nothing would be freed.
func TestASweepEndsIfBlobsStay(t *testing.T) {
	cfg := memoryConfig(t)
	cfg.DeleteBlob = func(string) error { return errors.New("access denied") }
	s := NewDatasets(cfg)
	ids := []string{s.addPoint(t, 1), s.addPoint(t, 2)}
	keep := func() (time.Duration, string) { return time.Hour, "the test says so" }
	if err := s.Sweep(t.Context(), nil, time.Now().Add(time.Hour*2), keep); !errors.Is(err, errBlobLeft) {
		t.Errorf("the sweep ends with %v", err)
	}
	left := 0
	for _, id := range ids {
		if record, _, err := s.lookup(t.Context(), id); record != nil && err == nil {
			left++
		}
	}
	if left != 1 {
		t.Errorf("%d of 2 data sets are left", left)
	}
}

// A damaged record is an error of its own value only: others are listed and found.
func TestADamagedRecord(t *testing.T) {
	s := NewDatasets(memoryConfig(t))
	damaged := s.addPoint(t, 1)
	sound := s.addPoint(t, 2)
	txn := store.Txn{Put: []store.Entry{{Key: s.kind.key(damaged), Value: []byte("x")}}}
	if err := s.cfg.Writer.Commit(txn); err != nil {
		t.Fatal(err)
	}
	all, _, err := List(t.Context(), s.Store, &cleavev1.ListDatasetsRequest{}, (*statev1.ContentRecord).GetDataset)
	if err != nil || len(all) != 1 || all[0].GetDatasetId() != sound {
		t.Errorf("%v, %v", all, err)
	}
	if _, err := s.Get(t.Context(), damaged); !fault.Is(err, "RECORD_DAMAGED") {
		t.Error(err)
	}
}

// Several owners may import the same table from thousands of objects each. Each sees theirs until they delete the
// table.
func TestSourcesOfSeveralOwners(t *testing.T) {
	tables := NewTables(memoryConfig(t))
	numbers, err := table.New([]table.Column{{Name: "x", Type: table.Number, Numbers: []float64{1, 2}}})
	if err != nil {
		t.Fatal(err)
	}
	as := func(owner string) context.Context {
		return identity.NewContext(t.Context(), identity.Caller{Name: owner, Role: identity.Submitter})
	}
	sources := func(owner string) (all []*cleavev1.SourceObject) {
		for i := range 5000 {
			all = append(all, &cleavev1.SourceObject{Uri: fmt.Sprintf("s3://%s/%0150d", owner, i)})
		}
		return all
	}
	owners := []string{"ann", "bob", "cem"}
	for _, owner := range owners {
		if _, err := tables.AddFrom(as(owner), "", numbers, sources(owner), timestamppb.Now()); err != nil {
			t.Fatalf("%s: %v", owner, err)
		}
	}
	for _, owner := range owners {
		got, err := tables.Get(as(owner), numbers.ID())
		if all := got.GetTable().GetSources(); err != nil || len(all) != 5000 ||
			!strings.HasPrefix(all[0].GetUri(), "s3://"+owner) {
			t.Errorf("%s has %d sources, %v", owner, len(all), err)
		}
		if err := tables.Delete(as(owner), numbers.ID()); err != nil {
			t.Error(err)
		}
	}
	if left, err := tables.cfg.Writer.State.List(t.Context(), "sources/", "", 0); err != nil || len(left) != 0 {
		t.Errorf("%d lists of sources are left, %v", len(left), err)
	}
}
