package datasets

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/coordinator/queue"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/security/identity"
)

func TestCacheEvictsTheLeastRecentlyUsed(t *testing.T) {
	c := NewCache(100, func(int) func() (int, bool) { return func() (int, bool) { return 0, false } })
	for _, id := range []string{"a", "b", "c"} {
		c.Put(id, 1, 32)
	}
	c.Get("a")
	c.Put("d", 2, 40)
	c.Put("e", 3, 101)
	for id, want := range map[string]bool{"a": true, "b": false, "c": false, "d": true, "e": false} {
		if _, found := c.Get(id); found != want {
			t.Errorf("%s is cached: %v", id, found)
		}
	}
	if c.Drop("d"); c.used != 32 {
		t.Errorf("%d bytes are used", c.used)
	}
}

// A value in the cache is returned while another one is decoded, which may take minutes.
func TestACachedValueDoesNotWaitForOthers(t *testing.T) {
	cfg := memoryConfig(t)
	cfg.CacheBytes = 100
	s := NewDatasets(cfg)
	id := s.addPoint(t, 1)
	s.decodeLock <- struct{}{}
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	if value, err := s.Load(ctx, id); err != nil || value.Rows() != 1 {
		t.Errorf("%v, %v", value, err)
	}
}

// Calls for a value that is too large for the cache share it for as long as one of them holds it.
func TestALargeValueIsShared(t *testing.T) {
	cfg := memoryConfig(t)
	cfg.CacheBytes = 1
	s := NewDatasets(cfg)
	id := s.addPoint(t, 1)
	first, err := s.Load(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	runtime.GC()
	if second, err := s.Load(t.Context(), id); err != nil || second != first {
		t.Errorf("it was decoded again: %v", err)
	}
	runtime.KeepAlive(first)
	runtime.GC()
	if _, found := s.cache.Get(id); found {
		t.Error("nobody holds it, and it is still in memory")
	}
	if again, err := s.Load(t.Context(), id); err != nil || again.Rows() != 1 {
		t.Errorf("got %v, %v", again, err)
	}
}

// One owner has only so many uploads under way, and keeps nobody else from theirs.
func TestUploadsOfOneOwner(t *testing.T) {
	u := NewUploads(UploadLimits{Memory: queue.NewBudget(0).Share(1 << 30), MessageBytes: 1 << 20, Stall: time.Minute})
	u.maxPerOwner = 2
	as := func(name string) context.Context {
		return identity.NewContext(t.Context(), identity.Caller{Name: name, Role: identity.Submitter})
	}
	var all []*Upload
	for _, owner := range []string{"ann", "ann", "bob"} {
		one, err := u.Begin(as(owner))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, one)
	}
	_, err := u.Begin(as("ann"))
	if !fault.Is(err, "TOO_MANY_UPLOADS") {
		t.Errorf("a third upload of one owner: %v", err)
	}
	for _, one := range all {
		one.End()
	}
	if again, err := u.Begin(as("ann")); err != nil || len(u.owners) != 1 {
		t.Errorf("after they ended: %v, %v", err, u.owners)
	} else {
		again.End()
	}
}

// The rate of an owner also holds for uploads one after another.
func TestUploadRates(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := NewUploads(UploadLimits{Memory: queue.NewBudget(0).Share(1000), MessageBytes: 10, Rate: 1 << 30,
			RatePerOwner: 1000})
		begin := func(ctx context.Context) *Upload {
			one, err := u.Begin(ctx)
			if err != nil {
				t.Fatal(err)
			}
			return one
		}
		start := time.Now()
		send := func(one *Upload, arrived time.Duration) {
			if err := one.pace(1000); err != nil || time.Since(start) != arrived {
				t.Errorf("1000 bytes have arrived after %v, not %v: %v", time.Since(start), arrived, err)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		one := begin(ctx)
		send(one, 0)
		cancel()
		if err := one.pace(1000); err == nil { // it would have to wait for a second
			t.Error("an owner may send more than the rate")
		}
		one.End()
		ann := identity.NewContext(t.Context(), identity.Caller{Name: "ann"})
		other := begin(ann)
		send(other, 0)
		other.End()
		next := begin(t.Context())
		send(next, time.Second)
		next.End()
		time.Sleep(time.Second) // the owner of next may send 1000 bytes at once again
		begin(ann).End()
		if len(u.owners) != 1 || u.owners["ann"] == nil {
			t.Errorf("rates are left of %v", u.owners)
		}
	})
}

// Uploads that broke off first make room first.
func TestTheOldestKeptUploadsGoFirst(t *testing.T) {
	u := NewUploads(UploadLimits{Memory: queue.NewBudget(0).Share(100 << 10), MessageBytes: 10, Stall: time.Minute})
	defer u.Close()
	const uploads = 20
	for at := range uploads {
		one, err := u.Begin(t.Context())
		if err == nil {
			err = one.Hold(5 << 10)
		}
		if err != nil {
			t.Fatal(err)
		}
		one.Keep(fmt.Sprint(at), &KeptUpload{})
		one.End()
	}
	large, err := u.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer large.End()
	for bytes := range 10 { // each takes the place of one that was kept
		if err := large.Hold(5 << 10); err != nil {
			t.Fatal(err)
		}
		for at := range uploads {
			if _, found := u.Arrived(t.Context(), fmt.Sprint(at)); found != (at > bytes) {
				t.Errorf("with %d KiB more, upload %d is kept: %v", 5*(bytes+1), at, found)
			}
		}
	}
}

// Uploads that broke off are kept for a while, and make room for those that go on.
func TestKeptUploads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := NewUploads(UploadLimits{Memory: queue.NewBudget(0).Share(100 << 10), MessageBytes: 10, Stall: time.Minute})
		as := func(name string) context.Context {
			return identity.NewContext(t.Context(), identity.Caller{Name: name, Role: identity.Submitter})
		}
		begin := func(owner string, bytes int64) *Upload {
			t.Helper()
			one, err := u.Begin(as(owner))
			if err == nil {
				err = one.Hold(bytes << 10)
			}
			if err != nil {
				t.Fatal(err)
			}
			return one
		}
		broken := begin("ann", 60)
		broken.Keep("x", &KeptUpload{Parts: 3})
		broken.End()
		if parts, found := u.Arrived(as("ann"), "x"); !found || parts != 3 || u.memory.Held()>>10 != 60 {
			t.Errorf("%d parts, %v, %d bytes", parts, found, u.memory.Held()>>10)
		}
		if _, found := u.Arrived(as("bob"), "x"); found {
			t.Error("another owner sees an upload")
		}
		again := begin("ann", 10)
		if kept := again.Resume("x", 4); kept != nil || again.held.Bytes()>>10 != 10 || u.memory.Held()>>10 != 70 {
			t.Errorf("more parts than were kept: resumed %v with %d bytes of %d", kept, again.held.Bytes()>>10,
				u.memory.Held()>>10)
		}
		if kept := again.Resume("x", 2); kept == nil || kept.Parts != 3 || again.held.Bytes()>>10 != 70 {
			t.Errorf("resumed %v with %d bytes", kept, again.held.Bytes()>>10)
		}
		again.Keep("x", &KeptUpload{Parts: 4})
		over := begin("ann", 20)
		if kept := over.Resume("x", 0); kept != nil || over.held.Bytes()>>10 != 20 || u.memory.Held()>>10 != 20 {
			t.Errorf("started over: resumed %v with %d bytes of %d", kept, over.held.Bytes()>>10, u.memory.Held()>>10)
		}
		over.Keep("x", &KeptUpload{Parts: 1})
		over.End()
		again.End()
		large := begin("bob", 90) // there is room for one of them
		if _, found := u.Arrived(as("ann"), "x"); found || u.memory.Held()>>10 != 90 {
			t.Errorf("an upload that broke off is kept beside one that needs its memory: %d bytes", u.memory.Held()>>10)
		}
		large.Keep("y", &KeptUpload{})
		large.End()
		time.Sleep(keepUploads)
		synctest.Wait()
		if u.memory.Held()>>10 != 0 {
			t.Errorf("%d bytes are held after the time that uploads are kept", u.memory.Held()>>10)
		}
	})
}

// Of an owner, as many uploads are kept as may be in progress, and each counts for some memory.
func TestKeptUploadsAreBounded(t *testing.T) {
	u := NewUploads(UploadLimits{Memory: queue.NewBudget(0).Share(1 << 20), MessageBytes: 1 << 20, Stall: time.Minute})
	defer u.Close()
	ann := identity.NewContext(t.Context(), identity.Caller{Name: "ann", Role: identity.Submitter})
	for at := range 2 * minUploads {
		broken, err := u.Begin(ann)
		if err != nil {
			t.Fatal(err)
		}
		broken.Keep(fmt.Sprint(at), &KeptUpload{})
		broken.End()
	}
	if len(u.kept) != minUploads || u.memory.Held() != minUploads*minKept {
		t.Errorf("%d uploads are kept, with %d bytes", len(u.kept), u.memory.Held())
	}
	if _, found := u.Arrived(ann, "0"); !found {
		t.Error("the first upload is not kept")
	}
}

// An upload that broke off gives shared memory back soon.
func TestAKeptUploadReturnsSharedMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := NewUploads(UploadLimits{Memory: queue.NewBudget(10_000).Share(10_000), MessageBytes: 10,
			Stall: time.Minute})
		large, err := u.Begin(t.Context())
		if err == nil {
			err = large.Hold(15_000)
		}
		if err != nil {
			t.Fatal(err)
		}
		large.Keep("x", &KeptUpload{Parts: 3})
		large.End()
		if _, found := u.Arrived(t.Context(), "x"); !found || u.memory.Held() != 15_000 {
			t.Errorf("the upload is kept: %v, with %d bytes", found, u.memory.Held())
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if u.memory.Held() != 0 {
			t.Errorf("after a minute %d bytes are held", u.memory.Held())
		}
	})
}

// A single upload may take more memory than uploads have of their own, and gives it back.
func TestALargeUploadTakesSharedMemory(t *testing.T) {
	shared := queue.NewBudget(50)
	jobs := shared.Share(0)
	u := NewUploads(UploadLimits{Memory: shared.Share(100), MessageBytes: 10, Stall: time.Minute})
	large, err := u.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, free := jobs.ReserveNow(10); !free {
		t.Fatal("the jobs have no memory")
	}
	if err := large.Hold(140); err != nil || jobs.Free() != 0 {
		t.Errorf("%d bytes are left: %v", jobs.Free(), err)
	}
	if err := large.Hold(1); !fault.Is(err, "TOO_MANY_UPLOADS") || u.memory.Held() != 140 {
		t.Errorf("beyond what jobs leave: %v", err)
	}
	if err := large.Hold(11); !fault.Is(err, "COORDINATOR_TOO_SMALL") {
		t.Errorf("beyond what there is: %v", err)
	}
	if large.End(); jobs.Free() != 40 {
		t.Errorf("%d bytes are left by no upload", jobs.Free())
	}
}

// A column of small integers is a byte each on the wire, and eight in memory, which is what counts.
func TestUploadsCountForTheirMemory(t *testing.T) {
	const rows = 1000
	u := NewUploads(UploadLimits{Memory: queue.NewBudget(0).Share(1 << 20), MessageBytes: 1 << 10, Stall: time.Minute})
	for name, column := range map[string]*cleavev1.Column{
		"integers": {Cells: &cleavev1.Column_Integers{Integers: &cleavev1.IntegerCells{Values: make([]int64, rows)}}},
		"texts":    {Cells: &cleavev1.Column_Texts{Texts: &cleavev1.TextCells{Values: make([]string, rows)}}},
	} {
		held, err := u.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		part := &cleavev1.CreateTableRequest{
			Part: &cleavev1.CreateTableRequest_Rows{Rows: &cleavev1.TableRows{Columns: []*cleavev1.Column{column}}}}
		received := false
		err = Receive(held, func() (*cleavev1.CreateTableRequest, error) {
			if received {
				return nil, io.EOF
			}
			received = true
			return part, nil
		}, func(*cleavev1.CreateTableRequest) error { return nil })
		if err != nil || held.held.Bytes() < HeldPerByte*rows*8 || held.held.Bytes() > 4*HeldPerByte*rows*8 {
			t.Errorf("%s hold %d bytes: %v", name, held.held.Bytes(), err)
		}
		held.End()
	}
}
