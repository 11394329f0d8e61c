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
