package records

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/store"
)

// cluster returns what makes blobs belong to a new cluster.
func cluster(t testing.TB, blobs store.Blobs, host string) BlobsOwnership {
	t.Helper()
	state := store.NewMemory()
	t.Cleanup(func() { state.Close() })
	if _, err := state.Lead(t.Context(), host); err != nil {
		t.Fatal(err)
	}
	return BlobsOwnership{
		State: state, Blobs: blobs, Where: "s3://bucket", Host: host, Now: time.Unix(1_700_000_000, 0),
		Commit: func(txn store.Txn) error { _, err := state.Commit(t.Context(), txn); return err },
	}
}

func openBlobs(t testing.TB, where string) store.Blobs {
	t.Helper()
	blobs, err := store.OpenBlobs(t.Context(), where)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { blobs.Close() })
	return blobs
}

func put(t testing.TB, blobs store.Blobs, name, content string) {
	t.Helper()
	if err := blobs.Put(t.Context(), name, func(w io.Writer) error {
		_, err := io.WriteString(w, content)
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

func TestAStoreBelongsToTheFirstCluster(t *testing.T) {
	blobs := openBlobs(t, "mem://")
	put(t, blobs, "jobs/1/spec", "of a cluster that crashed before it took the store")
	first := cluster(t, blobs, "c1:7400")
	second := cluster(t, blobs, "c2:7400")
	if err := first.Refuse(t.Context()); err != nil {
		t.Errorf("a store without an owner: %v", err)
	}
	for range 2 { // the second time it recognizes its own
		if err := first.Take(t.Context()); err != nil {
			t.Fatal(err)
		}
		err := second.Take(t.Context())
		if !fault.Is(err, ForeignBlobs) || !strings.Contains(err.Error(), "s3://bucket belongs to another cluster") ||
			!strings.Contains(err.Error(), "created by c1:7400 at 2023-11-14T22:13:20Z") {
			t.Fatalf("the second cluster: %v", err)
		}
	}
	if err := second.Refuse(t.Context()); !fault.Is(err, ForeignBlobs) {
		t.Errorf("a store with an owner: %v", err)
	}
	if err := blobs.Delete(t.Context(), IdentityBlob); err != nil {
		t.Fatal(err)
	}
	// as after a crash between the state and the blob
	if err := errors.Join(first.Take(t.Context()), first.Take(t.Context())); err != nil {
		t.Errorf("a cluster with an ID and blobs without an owner: %v", err)
	}
}

// Of clusters that take a store at the same moment, one gets it.
func TestClustersThatStartAtTheSameMoment(t *testing.T) {
	for range 20 {
		blobs := openBlobs(t, "mem://")
		if won := race(t, blobs, 0); won != 1 {
			t.Fatalf("%d clusters took the store", won)
		}
	}
}

// The same for a store that overwrites blobs although it is asked not to: all wait until everybody has written.
func TestAStoreThatOverwrites(t *testing.T) {
	for range 20 {
		synctest.Test(t, func(t *testing.T) {
			if won := race(t, &overwriting{}, time.Second); won != 1 {
				t.Fatalf("%d clusters took the store", won)
			}
		})
	}
}

// race lets five clusters take a store, and returns how many got it.
func race(t *testing.T, blobs store.Blobs, settle time.Duration) (won int) {
	t.Helper()
	takers := make([]BlobsOwnership, 5)
	errs := make([]error, 5)
	for i := range takers {
		takers[i] = cluster(t, blobs, "c")
		takers[i].Settle = settle
	}
	var all sync.WaitGroup
	for i, c := range takers {
		all.Go(func() { errs[i] = c.Take(t.Context()) })
	}
	all.Wait()
	for _, err := range errs {
		if err == nil {
			won++
		} else if !fault.Is(err, ForeignBlobs) {
			t.Error(err)
		}
	}
	return won
}

// overwriting is a store of one blob that ignores conditions and takes a while to write. It is used in a bubble of
// synctest, where sleeping takes no time.
type overwriting struct {
	store.Blobs
	mu      sync.Mutex
	content []byte
}

func (o *overwriting) Put(_ context.Context, _ string, write func(io.Writer) error) error {
	var b bytes.Buffer
	if err := write(&b); err != nil {
		return err
	}
	time.Sleep(100 * time.Millisecond)
	o.mu.Lock()
	defer o.mu.Unlock()
	o.content = b.Bytes()
	return nil
}

func (o *overwriting) Open(context.Context, string, int64, int64) (io.ReadCloser, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.content == nil {
		return nil, store.ErrNotFound
	}
	return io.NopCloser(bytes.NewReader(o.content)), nil
}

func TestADamagedOwner(t *testing.T) {
	blobs := openBlobs(t, "mem://")
	put(t, blobs, IdentityBlob, "{}")
	if err := cluster(t, blobs, "c").Take(t.Context()); !fault.Is(err, store.BlobDamaged) ||
		!strings.Contains(err.Error(), "or delete it if no other cluster") {
		t.Errorf("got %v", err)
	}
}

func FuzzOwner(f *testing.F) {
	f.Add([]byte(`{"cluster":"x","host":"h","since":"2026-01-02T03:04:05Z"}`))
	f.Add([]byte(`{"cluster":`))
	f.Fuzz(func(t *testing.T, content []byte) {
		if o, err := parseOwner(content); err == nil && o.Cluster == "" {
			t.Error("an owner without an ID")
		}
	})
}
