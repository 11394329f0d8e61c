package clustertest

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// smallDisk is a file system of some megabytes. It takes root to make one.
func smallDisk(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := syscall.Mount("cleave", dir, "tmpfs", 0, "size=8m"); err != nil {
		t.Skipf("a small file system cannot be mounted: %v", err)
	}
	t.Cleanup(func() { // after the processes that use it were killed
		if err := syscall.Unmount(dir, syscall.MNT_DETACH); err != nil {
			t.Errorf("the small file system stays mounted: %v", err)
		}
	})
	return dir
}

// fill writes a file until nothing more fits, and returns its name.
func fill(t *testing.T, dir string) string {
	t.Helper()
	name := filepath.Join(dir, "filler")
	file, err := os.Create(name)
	must(t, file, err)
	defer file.Close()
	for _, portion := range []int{1 << 20, 1 << 12, 1} {
		for err = nil; err == nil; {
			_, err = file.Write(bytes.Repeat([]byte{1}, portion))
		}
	}
	if !errors.Is(err, syscall.ENOSPC) {
		t.Fatal(err)
	}
	return name
}

// TestTheDiskIsFullAtTheEnd: a result that cannot be stored is kept until there is space.
func TestTheDiskIsFullAtTheEnd(t *testing.T) {
	t.Parallel()
	disk := smallDisk(t)
	c := StartCoordinator(t, Options{Args: []string{"--blobs", filepath.Join(disk, "blobs")}})
	StartWorker(t, c, "w")
	c.AwaitWorkers(1)
	job, w := longPoints().run(c)
	w.UntilIterations(3)
	w.StillRunning()
	filler := fill(t, disk)
	w.UntilProgress("the result waits", func(p *cleavev1.Progress) bool {
		return p.GetPhase() == cleavev1.Phase_PHASE_WAITING && strings.Contains(p.GetMessage(), "no space is left on the disk")
	})
	if said := c.Job(job).GetStatusMessage(); !strings.Contains(said, "its result cannot be stored; it is kept in memory") {
		t.Errorf("the result waits, but the status says %q", said)
	}
	if !strings.Contains(c.Stderr(), "[ERROR]") {
		t.Error("the log has no error")
	}
	if err := os.Remove(filler); err != nil {
		t.Fatal(err)
	}
	longPoints().finish(t, "with a disk that was full at the end", w)
	sameEvents(t, c, job, w.Events)
}
