// Package clustertest runs whole clusters for tests: real coordinator and worker processes that talk
// over real sockets, and the faults that befall them. Only tests import it.
//
// A test builds the programs once (Build), starts a Coordinator and Workers, talks to them as a
// Client, follows a job by a Watch, and kills, pauses or stops whatever it likes on the way.
// Everything a test started is killed when it ends, however it ends. The output of the processes is
// shown when the test fails, and a panic or a data race in any of them fails it.
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

// Build gives the three programs, built from this repository. With the race detector on in the
// test, it is on in them too.
func Build(t testing.TB) Programs {
	t.Helper()
	p, err := programs()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Main runs a package's tests and removes what Build has built.
func Main(m *testing.M) int {
	defer os.RemoveAll(buildDir())
	return m.Run()
}

// buildDir is made at its first use.
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

// goBuild builds programs into buildDir. How long that takes depends on what the caches of modules and
// builds hold, so nothing but the test's own deadline limits it.
func goBuild(root string, args ...string) error {
	cmd := exec.Command("go", append([]string{"build", "-o", buildDir() + string(filepath.Separator)}, args...)...)
	cmd.Dir = root
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build %v: %w\n%s", args, err, out)
	}
	return nil
}

// moduleRoot is the directory of go.mod, from wherever the test runs.
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

// Timeout is how long anything may take that must happen. It is generous: a machine may be busy,
// and a test that passes never waits for it.
const Timeout = 90 * time.Second

// pollEvery is how often Eventually looks.
const pollEvery = 10 * time.Millisecond

// Eventually waits until the condition holds, and fails the test if it takes longer than Patience.
// The condition tells in its second value how things stand, for the failure's sake.
func Eventually(t testing.TB, what string, condition func() (bool, string)) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Timeout)
	defer cancel()
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	for {
		holds, standing := condition()
		if holds {
			return
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			t.Fatalf("%s: it does not come to pass; %s", what, standing)
		}
	}
}
