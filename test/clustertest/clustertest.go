// Package clustertest tests whole clusters: real coordinator and worker processes that communicate over
// real sockets, and their faults. Only tests import it.
//
// A test builds the programs once (Build), starts a Coordinator and Workers, calls them as a Client,
// follows a job with a Watch, and kills, pauses or stops processes while it runs. All processes of a test are
// killed when it ends. Their output is shown if the test fails. A panic or a data race in any of them
// fails the test.
package clustertest

import (
	"context"
	"flag"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/cleave-project/cleave/test/programs"
)

// Programs are the paths of the built programs.
type Programs struct{ Cleave, Coordinator, Worker string }

// built builds the three programs once per test process.
var built = sync.OnceValues(func() (Programs, error) {
	folder, err := programs.Build("cleave", "coordinator", "worker")
	in := func(name string) string { return filepath.Join(folder, name) }
	return Programs{Cleave: in("cleave"), Coordinator: in("coordinator"), Worker: in("worker")}, err
})

// Build builds the three programs from this repository, with the race detector if the test has it.
func Build(t testing.TB) Programs {
	t.Helper()
	p, err := built()
	return must(t, p, err)
}

// Main runs a package's tests with the credentials of the S3 server for tests, and afterward removes the directory that
// they share.
func Main(m *testing.M) int {
	defer os.RemoveAll(sharedDir())
	setKeys()
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given { // tests wait for other processes most of the time
		if err := flag.Set("test.parallel", strconv.Itoa(2*runtime.GOMAXPROCS(0))); err != nil {
			panic(err)
		}
	}
	return m.Run()
}

// sharedDir is a folder of all tests of the process, created at its first use.
var sharedDir = sync.OnceValue(func() string {
	dir, err := os.MkdirTemp("", "cleave-test-")
	if err != nil {
		panic(err)
	}
	return dir
})

// Timeout is how long something may take that must happen. It is long, because a machine may be busy; a
// test that passes never waits for it.
const Timeout = 90 * time.Second

// pollEvery is how often Eventually checks its condition.
const pollEvery = 10 * time.Millisecond

// Eventually waits until the condition holds, and fails the test if it takes longer than Timeout. The
// second result of the condition describes the current state for the error message.
func Eventually(t testing.TB, what string, condition func() (bool, string)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Timeout)
	defer cancel()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		holds, current := condition()
		if holds {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("%s: still not so after %v; %s", what, Timeout, current)
		}
	}
}
