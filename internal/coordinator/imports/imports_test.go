package imports

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/timestamppb"

	statev1 "github.com/cleave-project/cleave/gen/cleave/state/v1"
	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/coordinator/datasets"
	"github.com/cleave-project/cleave/internal/coordinator/queue"
	"github.com/cleave-project/cleave/internal/coordinator/records"
	"github.com/cleave-project/cleave/internal/fleet"
	"github.com/cleave-project/cleave/internal/objects/buckets"
	"github.com/cleave-project/cleave/internal/store"
)

// reads is a fleet that reads nothing.
type reads struct{ calls int }

var errReading = errors.New("reading")

func (r *reads) ReadObjects(context.Context, []*fleet.ObjectUnit, func(int)) error {
	r.calls++
	return errReading
}

// brokenState cannot read some keys.
type brokenState struct {
	store.State
	err error
}

func (s brokenState) Get(context.Context, string) (store.Entry, error) { return store.Entry{}, s.err }

// pinned returns a state with the record of a request whose objects are known.
func pinned(t *testing.T, imported *cleavev1.ImportedTable) (store.State, *cleavev1.ImportTableRequest) {
	t.Helper()
	state := store.NewMemory()
	t.Cleanup(func() { state.Close() })
	if _, err := state.Lead(t.Context(), "test"); err != nil {
		t.Fatal(err)
	}
	request := &cleavev1.ImportTableRequest{RequestId: "once", Uris: []string{"s3://bucket/a.csv"}}
	hash, err := hashOf(request)
	if err != nil {
		t.Fatal(err)
	}
	record, err := proto.Marshal(&statev1.ImportRecord{
		RequestSha256: hash, CreateTime: timestamppb.Now(),
		Objects: []*cleavev1.SourceObject{{Uri: "s3://bucket/a.csv", Bytes: 10}}, Imported: imported,
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := state.Commit(t.Context(),
		store.Txn{Put: []store.Entry{{Key: keyOf(t.Context(), request), Value: record}}}); err != nil {
		t.Fatal(err)
	}
	return state, request
}

// A repeated import reads the objects again if its table was deleted, and not because the store does not answer.
func TestARepeatedImportWhileTheStoreFails(t *testing.T) {
	state, request := pinned(t, &cleavev1.ImportedTable{Table: &cleavev1.Table{TableId: "t"}})
	errAway := errors.New("the store does not answer")
	for answer, want := range map[error]int{errAway: 0, store.ErrNotFound: 1} {
		workers := &reads{}
		i := New(Config{Allow: []string{"admin=s3://bucket/?region=eu-central-1"}}, Dependencies{
			Fleet: workers,
			Tables: datasets.NewTables(datasets.Config{Now: time.Now,
				Writer: &records.Writer{State: brokenState{state, answer}}}), Writer: &records.Writer{State: state},
			Uploads: datasets.NewUploads(datasets.UploadLimits{Memory: queue.NewBudget(0).Share(1 << 20),
				MessageBytes: 1 << 10, Stall: time.Minute}),
			CheckDisk: func(int64) error { return nil }, MaxBytes: 1 << 20, Logger: hclog.NewNullLogger(),
			Now: time.Now,
		})
		_, err := i.read(t.Context(), request, &progress{})
		i.Close()
		if workers.calls != want || answer == errAway && !errors.Is(err, errAway) {
			t.Errorf("while the store answers %v: %d reads, %v", answer, workers.calls, err)
		}
	}
}

// failing is a fleet whose answer a defect cannot cope with.
type failing struct{}

func (failing) ReadObjects(context.Context, []*fleet.ObjectUnit, func(int)) error { panic("a defect") }

// A panic during an import reaches the goroutine of the call, where it ends the call. In another one it would end the
// coordinator.
func TestAPanicDuringAnImportEndsTheCall(t *testing.T) {
	state, request := pinned(t, nil)
	i := New(Config{Allow: []string{"admin=s3://bucket/?region=eu-central-1"}}, Dependencies{
		Fleet: failing{}, Writer: &records.Writer{State: state}, CheckDisk: func(int64) error { return nil },
		MaxBytes: 1 << 20, Logger: hclog.NewNullLogger(), Now: time.Now,
	})
	defer i.Close()
	defer func() {
		if p := recover(); p != "a defect" {
			t.Errorf("the panic is %v", p)
		}
	}()
	err := i.Stream(t.Context(), request, func(*cleavev1.ImportTableResponse) error { return nil })
	t.Errorf("the import ended with %v", err)
}

// pagedState notes the largest page that is listed; 0 means all.
type pagedState struct {
	store.State
	pages []int
}

func (s *pagedState) List(ctx context.Context, prefix, after string, limit int) ([]store.Entry, error) {
	s.pages = append(s.pages, limit)
	return s.State.List(ctx, prefix, after, limit)
}

// Imports delete all expired records in turn, each a few of them, and none that is not expired.
func TestExpiredRecordsAreDeletedInTurn(t *testing.T) {
	memory, request := pinned(t, nil)
	var txn store.Txn
	for at := range 2*sweepPage + 1 {
		age := keepRecords + time.Hour
		if at%2 == 0 {
			age = 0
		}
		value, err := proto.Marshal(&statev1.ImportRecord{CreateTime: timestamppb.New(time.Now().Add(-age))})
		if err != nil {
			t.Fatal(err)
		}
		txn.Put = append(txn.Put, store.Entry{Key: fmt.Sprintf("%s%03d", records.ImportPrefix, at), Value: value})
	}
	if _, err := memory.Commit(t.Context(), txn); err != nil {
		t.Fatal(err)
	}
	state := &pagedState{State: memory}
	i := New(Config{},
		Dependencies{Writer: &records.Writer{State: state, Context: t.Context(), Logger: hclog.NewNullLogger()},
			Now: time.Now})
	defer i.Close()
	for range 3 {
		record, err := i.record(t.Context(), request)
		if err == nil {
			err = i.remember(t.Context(), request, record)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if fmt.Sprint(state.pages) != fmt.Sprint([]int{sweepPage, sweepPage, sweepPage}) {
		t.Errorf("pages of %v are listed", state.pages)
	}
	left, err := memory.List(t.Context(), records.ImportPrefix, "", 0)
	if err != nil || len(left) != sweepPage+1+1 { // and the one of the request
		t.Errorf("%d records are left, %v", len(left), err)
	}
}

// versioned returns the importer of a state, and a function that pins a version of an object for a request. While it
// looks for the version, meanwhile is called.
func versioned(t *testing.T, state store.State) (*Importer, func(version string, meanwhile func()) string) {
	t.Helper()
	i := New(Config{Allow: []string{"admin=s3://bucket/?region=eu-central-1"}}, Dependencies{
		Writer: &records.Writer{State: state, Context: t.Context(), Logger: hclog.NewNullLogger()},
		Logger: hclog.NewNullLogger(), Now: time.Now,
	})
	t.Cleanup(i.Close)
	request := &cleavev1.ImportTableRequest{RequestId: "twice", Uris: []string{"s3://bucket/a.csv"}}
	return i, func(version string, meanwhile func()) string {
		t.Helper()
		record, err := i.record(t.Context(), request)
		if err != nil {
			t.Fatal(err)
		}
		sources, _, err := i.pin(t.Context(), request, record, func() ([]source, error) {
			meanwhile()
			return []source{{Object: buckets.Object{URI: request.GetUris()[0], Version: version}}}, nil
		})
		if err != nil || len(sources) != 1 {
			t.Fatalf("pinned %v, %v", sources, err)
		}
		return sources[0].Version
	}
}

// Calls with one request id read the same versions of the objects, whichever call stores them first.
func TestConcurrentImportsPinOnce(t *testing.T) {
	state, _ := pinned(t, nil)
	i, pin := versioned(t, state)
	for _, expires := range []bool{false, true} {
		if expires {
			i.d.Now = func() time.Time { return time.Now().Add(keepRecords + time.Hour) }
		}
		first := ""
		second := pin(fmt.Sprint("second", expires), func() { first = pin(fmt.Sprint("first", expires), func() {}) })
		if first != fmt.Sprint("first", expires) || second != first {
			t.Errorf("two calls read the versions %s and %s", first, second)
		}
	}
}

// A repeated import reads the current versions if its expired record is swept while it looks for them.
func TestARecordSweptWhileItsImportIsRepeated(t *testing.T) {
	state, request := pinned(t, nil)
	i, pin := versioned(t, state)
	pin("old", func() {})
	i.d.Now = func() time.Time { return time.Now().Add(keepRecords + time.Hour) }
	sweep := func() {
		if err := i.sweep(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if version := pin("new", sweep); version != "new" {
		t.Errorf("the repeated request reads the version %s", version)
	}
	if left, err := i.record(t.Context(), request); err != nil || left.revision != 0 {
		t.Errorf("nothing was swept: %v, %v", left, err)
	}
	if version := pin("later", func() {}); version != "new" {
		t.Errorf("the request reads the version %s when it is repeated again", version)
	}
}

// repeatedState stores a record again between its listing and the next change.
type repeatedState struct {
	store.State
	repeat func()
}

func (s *repeatedState) List(ctx context.Context, prefix, after string, limit int) ([]store.Entry, error) {
	entries, err := s.State.List(ctx, prefix, after, limit)
	if repeat := s.repeat; repeat != nil {
		s.repeat = nil
		repeat()
	}
	return entries, err
}

// A record that expires is not deleted if its request is repeated at that moment.
func TestARepeatedRecordIsNotSwept(t *testing.T) {
	memory, request := pinned(t, nil)
	state := &repeatedState{State: memory}
	i, pin := versioned(t, state)
	pin("old", func() {})
	i.d.Now = func() time.Time { return time.Now().Add(keepRecords + time.Hour) }
	state.repeat = func() { pin("new", func() {}) }
	record, err := i.record(t.Context(), request)
	if err == nil {
		err = i.remember(t.Context(), request, record)
	}
	if err != nil {
		t.Fatal(err)
	}
	if version := pin("other", func() {}); version != "new" {
		t.Errorf("the repeated request reads the version %s", version)
	}
}
