package clustertest

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// needsMounts is why no file system can be mounted here.
func needsMounts() string {
	if !isRoot() {
		return "a small file system needs root"
	}
	return ""
}

// smallDisk is a file system of some megabytes. It takes root to make one.
func smallDisk(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=8m", "cleave", dir).CombinedOutput(); err != nil {
		t.Skipf("a small file system cannot be mounted: %v %s", err, out)
	}
	t.Cleanup(func() { // after the processes that use it were killed
		if out, err := exec.Command("umount", "-l", dir).CombinedOutput(); err != nil {
			t.Errorf("the small file system stays mounted: %v %s", err, out)
		}
	})
	return dir
}

// fill writes a file until nothing more fits, and returns its name.
func fill(t testing.TB, dir string) string {
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
	if why := needsMounts(); why != "" {
		t.Skip(why)
	}
	disk := smallDisk(t)
	c := StartCoordinator(t, Options{Args: []string{"--blobs", filepath.Join(disk, "blobs")}})
	StartWorker(t, c, "w")
	c.AwaitWorkers(1)
	job, w := longPoints().run(c)
	w.UntilIterations(3)
	w.StillRunning()
	filler := fill(t, disk)
	w.UntilProgress("the result waits", func(p *cleavev1.Progress) bool {
		return p.GetPhase() == cleavev1.Phase_PHASE_WAITING &&
			strings.Contains(p.GetMessage(), "no space is left on the disk")
	})
	if said := c.Job(job).GetStatusMessage(); !strings.Contains(said,
		"its result cannot be stored; keeping it in memory") {
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
