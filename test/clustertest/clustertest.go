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
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"
)

// Programs are the paths of the built programs.
type Programs struct{ Cleave, Coordinator, Worker string }

// programs builds the three programs once per test process.
var programs = sync.OnceValues(build)

// Build builds the three programs from this repository, with the race detector if the test has it.
func Build(t testing.TB) Programs {
	t.Helper()
	p, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Main runs the tests of a package and removes what Build built. In a process that StartEtcd started it is a member of an
// etcd cluster instead.
func Main(m *testing.M) int {
	if member := os.Getenv(etcdVariable); member != "" {
		return runEtcd(member)
	}
	defer os.RemoveAll(buildDir())
	return m.Run()
}

// buildDir is created at its first use.
var buildDir = sync.OnceValue(func() string {
	dir, err := os.MkdirTemp("", "cleave-programs-")
	if err != nil {
		panic(err)
	}
	return dir
})

func build() (Programs, error) {
	root, err := moduleRoot()
	if err != nil {
		return Programs{}, err
	}
	args := []string{"./cmd/..."}
	if raceDetector {
		args = append([]string{"-race"}, args...)
	}
	if err := goBuild(root, args...); err != nil {
		return Programs{}, err
	}
	in := func(name string) string { return filepath.Join(buildDir(), name) }
	return Programs{Cleave: in("cleave"), Coordinator: in("coordinator"), Worker: in("worker")}, nil
}

// goBuild builds programs into buildDir. It has no time limit of its own, because it may take minutes when
// the caches of modules and builds are empty.
func goBuild(root string, args ...string) error {
	cmd := exec.Command("go", append([]string{"build", "-o", buildDir() + string(filepath.Separator)}, args...)...)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build %v: %w\n%s", args, err, out)
	}
	return nil
}

// moduleRoot returns the directory of go.mod.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		if dir == filepath.Dir(dir) {
			return "", errors.New("no go.mod above the working directory")
		}
		dir = filepath.Dir(dir)
	}
}

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
