// Package bubble runs tests in virtual time, also under the race detector.
package bubble

import (
	"runtime"
	"testing"
	"testing/synctest"
)

// Test is synctest.Test on one processor. On several, two goroutines that look at timers which are due may run them at
// the same time. The runtime of Go 1.26 then uses the one race context that the timers of a bubble share from two
// threads, which crashes the program under the race detector. On one processor goroutines still take turns, and the
// race detector finds the same races, because it compares what must happen before what. The test must not run in
// parallel with others: the number of processors is that of the program.
func Test(t *testing.T, test func(*testing.T)) {
	t.Helper()
	before := runtime.GOMAXPROCS(1)
	defer runtime.GOMAXPROCS(before)
	synctest.Test(t, test)
}
