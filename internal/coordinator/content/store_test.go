package content

import (
	"context"
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

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
	u := NewUploads(UploadLimits{Bytes: 1 << 30, MessageBytes: 1 << 20, Stall: time.Minute})
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
	if again, err := u.Begin(as("ann")); err != nil || len(u.inProgress) != 1 {
		t.Errorf("after they ended: %v, %v", err, u.inProgress)
	} else {
		again.End()
	}
}

func TestUploadRates(t *testing.T) {
	rates := newUploadRates(UploadLimits{Rate: 1 << 30, RatePerOwner: 1000})
	ctx, cancel := context.WithCancel(t.Context())
	pace, end := rates.begin(ctx)
	if err := pace(1000); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := pace(1000); err == nil { // it would have to wait for a second
		t.Error("an owner may send more than the rate")
	}
	other, endOther := rates.begin(identity.NewContext(t.Context(), identity.Caller{Name: "ann"}))
	if err := other(1000); err != nil {
		t.Errorf("another owner: %v", err)
	}
	end()
	endOther()
	if len(rates.owners) != 0 {
		t.Errorf("rates are left of %v", rates.owners)
	}
}

// Uploads that broke off first make room first.
func TestTheOldestKeptUploadsGoFirst(t *testing.T) {
	u := NewUploads(UploadLimits{Bytes: 100, MessageBytes: 10, Stall: time.Minute})
	defer u.Close()
	const uploads = 20
	for at := range uploads {
		one, err := u.Begin(t.Context())
		if err == nil {
			err = one.Hold(5)
		}
		if err != nil {
			t.Fatal(err)
		}
		one.Keep(fmt.Sprint(at), KeptUpload{})
		one.End()
	}
	large, err := u.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer large.End()
	for bytes := range 10 { // each takes the place of one that was kept
		if err := large.Hold(5); err != nil {
			t.Fatal(err)
		}
		for at := range uploads {
			if _, found := u.Arrived(t.Context(), fmt.Sprint(at)); found != (at > bytes) {
				t.Errorf("with %d bytes more, upload %d is kept: %v", 5*(bytes+1), at, found)
			}
		}
	}
}

// Uploads that broke off are kept for a while, and make room for those that go on.
func TestKeptUploads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := NewUploads(UploadLimits{Bytes: 100, MessageBytes: 10, Stall: time.Minute})
		as := func(name string) context.Context {
			return identity.NewContext(t.Context(), identity.Caller{Name: name, Role: identity.Submitter})
		}
		begin := func(owner string, bytes int64) *Upload {
			t.Helper()
			one, err := u.Begin(as(owner))
			if err == nil {
				err = one.Hold(bytes)
			}
			if err != nil {
				t.Fatal(err)
			}
			return one
		}
		broken := begin("ann", 60)
		broken.Keep("x", KeptUpload{Parts: 3})
		broken.End()
		if parts, found := u.Arrived(as("ann"), "x"); !found || parts != 3 || u.Reserved() != 60 {
			t.Errorf("%d parts, %v, %d bytes", parts, found, u.Reserved())
		}
		if _, found := u.Arrived(as("bob"), "x"); found {
			t.Error("another owner sees an upload")
		}
		again := begin("ann", 10)
		if kept := again.Resume("x", 4); kept != nil || again.held != 10 || u.Reserved() != 70 {
			t.Errorf("more parts than were kept: resumed %v with %d bytes of %d", kept, again.held, u.Reserved())
		}
		if kept := again.Resume("x", 2); kept == nil || kept.Parts != 3 || again.held != 70 {
			t.Errorf("resumed %v with %d bytes", kept, again.held)
		}
		again.Keep("x", KeptUpload{Parts: 4})
		over := begin("ann", 20)
		if kept := over.Resume("x", 0); kept != nil || over.held != 20 || u.Reserved() != 20 {
			t.Errorf("started over: resumed %v with %d bytes of %d", kept, over.held, u.Reserved())
		}
		over.Keep("x", KeptUpload{Parts: 1})
		over.End()
		again.End()
		large := begin("bob", 90) // there is room for one of them
		if _, found := u.Arrived(as("ann"), "x"); found || u.Reserved() != 90 {
			t.Errorf("an upload that broke off is kept beside one that needs its memory: %d bytes", u.Reserved())
		}
		large.Keep("y", KeptUpload{})
		large.End()
		time.Sleep(keepUploads)
		synctest.Wait()
		if u.Reserved() != 0 {
			t.Errorf("%d bytes are held after the time that uploads are kept", u.Reserved())
		}
	})
}

// An upload that broke off gives memory that jobs lent back soon.
func TestAKeptUploadReturnsLentMemory(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lent int64
		u := NewUploads(UploadLimits{Bytes: 100, MessageBytes: 10, Stall: time.Minute, Lend: func(bytes int64) bool { lent = bytes; return true }})
		large, err := u.Begin(t.Context())
		if err == nil {
			err = large.Hold(150)
		}
		if err != nil {
			t.Fatal(err)
		}
		large.Keep("x", KeptUpload{Parts: 3})
		large.End()
		if _, found := u.Arrived(t.Context(), "x"); !found || lent != 50 {
			t.Errorf("the upload is kept: %v, %d bytes are lent", found, lent)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if lent != 0 || u.Reserved() != 0 {
			t.Errorf("after a minute %d bytes are held and %d lent", u.Reserved(), lent)
		}
	})
}

// A single upload may take more memory than uploads have if there is more, and gives it back.
func TestALargeUploadBorrowsMemory(t *testing.T) {
	lent, most := int64(0), int64(50)
	u := NewUploads(UploadLimits{Bytes: 100, MessageBytes: 10, Stall: time.Minute, Lend: func(bytes int64) bool {
		if bytes > most {
			return false
		}
		lent = bytes
		return true
	}})
	large, err := u.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := large.Hold(150); err != nil || lent != 50 {
		t.Errorf("%d are lent: %v", lent, err)
	}
	if err := large.Hold(1); !fault.Is(err, "TOO_MANY_UPLOADS") || u.Reserved() != 150 {
		t.Errorf("beyond what there is: %v", err)
	}
	if large.End(); lent != 0 {
		t.Errorf("%d are lent to no upload", lent)
	}
}
