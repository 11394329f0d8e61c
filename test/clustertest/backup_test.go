package clustertest

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/test/testscale"
)

// A backup is taken while a job runs, and restored into an empty directory: the running job goes on there, to the
// outcome and the events of an undisturbed run, and what had ended is there.
func TestBackupAndRestore(t *testing.T) {
	t.Parallel()
	load := longPoints()
	c := StartCoordinator(t, Options{Args: []string{"--snapshot-interval", "50ms"}})
	worker := StartWorker(t, c, "w0")
	c.AwaitWorkers(1)
	data := filepath.Join(t.TempDir(), "data.csv")
	out := t.TempDir()
	if err := os.WriteFile(data, []byte("0,0\n0,1\n9,9\n9,8\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	run := []string{"run", "--data", data, "--k", "2", "--algorithm", "kmeans", "--request-id", "before", "--quiet"}
	if r := Cleave(t, append(run, "--server", c.Addr, "--out", filepath.Join(out, "before"))...); r.ExitCode != 0 {
		t.Fatal(r.Stderr)
	}
	job, w := load.run(c)
	Eventually(t, "a snapshot is stored", func() (bool, string) { return len(c.snapshots(job)) > 0, "there is none" })
	file := filepath.Join(out, "backup.tar")
	if r := Cleave(t, "backup", "--server", c.Addr, "--out", file); r.ExitCode != 0 ||
		!strings.Contains(r.Stdout, "coordinator --restore") {
		t.Fatalf("%+v", r)
	}
	w.StillRunning()
	if r := Cleave(t, "backup", "--server", c.Addr, "--out", file); r.ExitCode != 2 ||
		!strings.Contains(r.Stderr, "already exists") {
		t.Errorf("a second backup into the same file: %+v", r)
	}
	left, err := filepath.Glob(filepath.Join(out, ".*"))
	if err != nil || len(left) > 0 {
		t.Errorf("%v are left (%v)", left, err)
	}
	load.finish(t, "during a backup", w)
	want := c.Labels(job)
	worker.Terminate()
	c.Kill()

	restored := StartCoordinator(t, Options{Args: []string{"--restore", file}})
	StartWorker(t, restored, "w1")
	watch := restored.Watch(job)
	load.finish(t, "after a restore", watch)
	if !slices.Equal(restored.Labels(job), want) {
		t.Error("the labels after a restore differ")
	}
	if !strings.Contains(restored.Stderr(), "the job resumes from a snapshot") {
		t.Error("the job started over")
	}
	if r := Cleave(t, append(run, "--server", restored.Addr, "--out",
		filepath.Join(out, "after"))...); r.ExitCode != 0 {
		t.Fatal(r.Stderr)
	}
	before, err := os.ReadFile(filepath.Join(out, "before", "labels.csv"))
	after, afterErr := os.ReadFile(filepath.Join(out, "after", "labels.csv"))
	if err != nil || afterErr != nil || !slices.Equal(before, after) {
		t.Errorf("the labels of the job that had ended: %v, %v", err, afterErr)
	}

	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	content[len(content)/2] ^= 1
	if err := os.WriteFile(file, content, 0o600); err != nil {
		t.Fatal(err)
	}
	r := Command(t, Build(t).Coordinator, "--listen", "127.0.0.1:0", "--data-dir", t.TempDir(), "--restore", file)
	if r.ExitCode == 0 || !strings.Contains(r.Stderr, "this is not an intact backup") {
		t.Errorf("a damaged backup: %+v", r)
	}
}

// The data directory of a program with an embedded etcd is refused, and so is a backup with another layout of the
// state, testdata/otherlayout.tar, which leaves the directory empty.
func TestTheStateOfAnotherVersion(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "etcd", "member", "wal"), 0o700); err != nil {
		t.Fatal(err)
	}
	refused := Command(t, Build(t).Coordinator, "--listen", "127.0.0.1:0", "--data-dir", dir)
	if refused.ExitCode == 0 || !strings.Contains(refused.Stderr, "use another data directory") {
		t.Errorf("a directory with an embedded etcd: %+v", refused)
	}

	dir = t.TempDir()
	refused = Command(t, Build(t).Coordinator, "--listen", "127.0.0.1:0", "--data-dir", dir,
		"--restore", filepath.Join("testdata", "otherlayout.tar"))
	if refused.ExitCode == 0 || !strings.Contains(refused.Stderr, `its layout is "2"`) {
		t.Errorf("a backup with another layout: %+v", refused)
	}
	c := StartCoordinator(t, Options{DataDir: dir})
	listed, err := c.Jobs.ListJobs(t.Context(), &cleavev1.ListJobsRequest{})
	if err != nil || len(listed.GetJobs()) > 0 {
		t.Errorf("the jobs %v were restored, %v", listed.GetJobs(), err)
	}
}

// A backup of a data directory is restored into an etcd and an object store, which must both be empty. The job that was
// running goes on there, and again after a failover.
func TestRestoreIntoEtcdAndAnObjectStore(t *testing.T) {
	testscale.LongOnly(t, "TestBackupAndRestore restores into a data directory")
	t.Parallel()
	load := longPoints()
	c := StartCoordinator(t, Options{Args: []string{"--snapshot-interval", "50ms"}})
	StartWorker(t, c, "w0")
	job, _ := load.run(c)
	Eventually(t, "a snapshot is stored", func() (bool, string) { return len(c.snapshots(job)) > 0, "there is none" })
	file := filepath.Join(t.TempDir(), "backup.tar")
	if r := Cleave(t, "backup", "--server", c.Addr, "--out", file); r.ExitCode != 0 {
		t.Fatal(r.Stderr)
	}
	c.Kill()

	etcd := StartEtcd(t, 1).Store()
	objects := StartObjectStore(t).Options()
	options := func(store, prefix string, args ...string) Options {
		return Options{Args: append([]string{"--store", store, "--lease", testLease, "--blobs",
			objects.Args[1] + prefix}, args...)}
	}
	restored := StartCoordinator(t, options(etcd, "", "--restore", file))
	next := StartCoordinator(t, options(etcd, ""))
	startWorker(t, restored.Addr+","+next.Addr, "w1", "1GiB")
	Eventually(t, "the job goes on", func() (bool, string) {
		return strings.Contains(restored.Stderr(), "the job resumes from a snapshot"), "it does not"
	})
	restored.Kill()
	Eventually(t, "the next coordinator leads", func() (bool, string) { return next.Serves(), "it does not" })
	load.finish(t, "after a restore and a failover", next.Watch(job))
	next.Terminate()

	for reason, o := range map[string]Options{
		"the state store already has entries": options(etcd, "&prefix=empty/", "--restore", file),
		"the blob store already has":          options(StartEtcd(t, 1).Store(), "", "--restore", file),
	} {
		refused := start(t, "coordinator", Build(t).Coordinator,
			append([]string{"--listen", "127.0.0.1:0", "--data-dir", t.TempDir()}, o.Args...)...)
		if code := refused.ExitCode(); code == 0 || !strings.Contains(refused.Stderr(), reason) {
			t.Errorf("a restore into stores that are not empty ended with %d, want %q: %s", code, reason,
				refused.Stderr())
		}
	}
}
