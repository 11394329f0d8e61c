package waitlock

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// Time passes while one goroutine holds the lock and others wait for it, and never do two hold it.
func TestTimePassesWhileOthersWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l Lock
		var all sync.WaitGroup
		began, count := time.Now(), 0
		for range 10 {
			all.Go(func() {
				l.Lock()
				defer l.Unlock()
				before := count
				time.Sleep(time.Second)
				count = before + 1
			})
		}
		all.Wait()
		if count != 10 || time.Since(began) != 10*time.Second {
			t.Errorf("%d in %v", count, time.Since(began))
		}
	})
}

func TestTryLock(t *testing.T) {
	var l Lock
	if !l.TryLock() || l.TryLock() {
		t.Error("a free lock is taken once")
	}
	l.Unlock()
	if !l.TryLock() {
		t.Error("it is free again")
	}
	l.Unlock()
	defer func() {
		if recover() == nil {
			t.Error("a lock that is free was unlocked")
		}
	}()
	l.Unlock()
}

// Those who share the lock hold it at the same time, and one who wants it alone has its turn before others who share it.
func TestSharing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l Lock
		var all sync.WaitGroup
		began := time.Now()
		share := func() {
			l.RLock()
			defer l.RUnlock()
			time.Sleep(time.Second)
		}
		all.Go(share)
		all.Go(share)
		synctest.Wait()
		all.Go(func() {
			l.Lock()
			defer l.Unlock()
			if waited := time.Since(began); waited != time.Second {
				t.Errorf("alone after %v", waited)
			}
			time.Sleep(time.Second)
		})
		synctest.Wait()
		all.Go(share)
		all.Wait()
		if took := time.Since(began); took != 3*time.Second {
			t.Errorf("all in %v", took)
		}
	})
}
