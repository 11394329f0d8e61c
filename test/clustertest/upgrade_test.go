package clustertest

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/uuid"
	"google.golang.org/protobuf/proto"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/test/programs"
	"github.com/cleave-project/cleave/test/testscale"
)

// releaseFile has the version and the commit of the last release. It is empty before the first one.
const releaseFile = "testdata/release.txt"

// release builds the programs of the last release once per test process.
var release = sync.OnceValues(func() (Programs, error) {
	text, err := os.ReadFile(releaseFile)
	if err != nil {
		return Programs{}, err
	}
	version, commit, _ := strings.Cut(strings.TrimSpace(string(text)), " ")
	dir := filepath.Join(sharedDir(), version)
	if err := os.Mkdir(dir, 0o777); err != nil {
		return Programs{}, err
	}
	root, err := programs.Root()
	if err != nil {
		return Programs{}, err
	}
	unpack := exec.Command("sh", "-c", `git archive "$1" | tar -x -C "$2"`, "sh", commit, dir)
	unpack.Dir = root
	if out, err := unpack.CombinedOutput(); err != nil {
		return Programs{}, errors.Join(err, errors.New(string(out)))
	}
	// Without paths, the cache has what did not change since.
	compile := exec.Command("go", "build", "-trimpath", "-ldflags",
		"-X github.com/cleave-project/cleave/internal/cli/shell.version="+version, "-o", dir+"/bin/", "./cmd/...")
	compile.Dir = dir
	compile.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := compile.CombinedOutput(); err != nil {
		return Programs{}, errors.Join(err, errors.New(string(out)))
	}
	return Programs{Cleave: dir + "/bin/cleave", Coordinator: dir + "/bin/coordinator", Worker: dir + "/bin/worker"},
		nil
})

// lastRelease returns the programs of the last release. It skips the test where the repository does not have it.
func lastRelease(t *testing.T) Programs {
	t.Helper()
	if !testscale.Long {
		t.Skip("builds the last release: make test-upgrade")
	}
	text, err := os.ReadFile(releaseFile)
	must(t, text, err)
	_, commit, released := strings.Cut(strings.TrimSpace(string(text)), " ")
	if !released {
		t.Skip("no version is released yet: " + releaseFile + " names none")
	}
	if exec.Command("git", "cat-file", "-e", commit+"^{commit}").Run() != nil {
		t.Skipf("this copy of the repository does not have commit %s of the last release", commit)
	}
	p, err := release()
	return must(t, p, err)
}

// TestReleasesWorkTogether runs a job on coordinators and workers that are one release apart, in both directions and
// mixed.
func TestReleasesWorkTogether(t *testing.T) {
	t.Parallel()
	before := lastRelease(t)
	now := Build(t)
	for what, c := range map[string]struct {
		coordinator string
		workers     []string
	}{
		"an earlier coordinator": {before.Coordinator, []string{now.Worker, now.Worker}},
		"earlier workers":        {now.Coordinator, []string{before.Worker, before.Worker}},
		"workers of both":        {now.Coordinator, []string{before.Worker, now.Worker, before.Worker}},
	} {
		coordinator := StartCoordinator(t, Options{Program: c.coordinator})
		for at, program := range c.workers {
			startWorkerOf(t, program, coordinator.Addr, string(rune('a'+at)))
		}
		coordinator.AwaitWorkers(len(c.workers))
		for _, load := range []*workload{longPoints(), largeRows(), largeSparseRows()} {
			load.finish(t, what, coordinator.Watch(coordinator.Create(load.on(coordinator))))
		}
		coordinator.Terminate()
	}
}

// TestWorkersAreUpgradedDuringAJob replaces all workers by those of the next release, one by one, while a job runs.
func TestWorkersAreUpgradedDuringAJob(t *testing.T) {
	t.Parallel()
	before := lastRelease(t)
	now := Build(t)
	c := StartCoordinator(t, Options{})
	earlier := []*Worker{startWorkerOf(t, before.Worker, c.Addr, "a"), startWorkerOf(t, before.Worker, c.Addr, "b")}
	c.AwaitWorkers(2)
	load := longPoints()
	w := c.Watch(c.Create(load.on(c)))
	for at, old := range earlier {
		w.UntilIterations(20 * (at + 1))
		w.StillRunning()
		startWorkerOf(t, now.Worker, c.Addr, old.Name+"2")
		c.AwaitWorkers(3)
		old.Terminate() // drains
		c.AwaitWorkers(2)
	}
	load.finish(t, "with all workers replaced", w)
}

// TestACoordinatorIsUpgradedDuringAJob replaces the coordinator by that of the next release, with its state, and back.
func TestACoordinatorIsUpgradedDuringAJob(t *testing.T) {
	t.Parallel()
	before := lastRelease(t)
	now := Build(t)
	c := StartCoordinator(t, Options{Program: before.Coordinator})
	for _, name := range []string{"a", "b"} {
		StartWorker(t, c, name)
	}
	load := longPoints()
	spec := load.on(c)
	short := proto.CloneOf(spec)
	short.Restarts = 1
	done := c.Create(short)
	c.Watch(done).End()
	ended := c.Outcome(done)

	request := &cleavev1.CreateJobRequest{Spec: spec, RequestId: uuid.NewString()}
	created, err := c.Jobs.CreateJob(t.Context(), request)
	job := must(t, created, err).GetJob().GetJobId()
	w := c.Watch(job)
	w.Resumes = true
	w.UntilIterations(20)
	w.StillRunning()
	c.Kill()
	c.options.Program = now.Coordinator
	c.Restart()
	again, err := c.Jobs.CreateJob(t.Context(), request)
	if must(t, again, err).GetJob().GetJobId() != job {
		t.Errorf("the request was repeated and made another job, %v", again.GetJob())
	}
	load.finish(t, "with the coordinator replaced", w)
	SameOutcome(t, "the job that had ended before", c.Outcome(done), ended)

	finished := c.Outcome(job)
	c.Terminate()
	c.options.Program = before.Coordinator // the layout of the state is the same
	c.Restart()
	SameOutcome(t, "after going back", c.Outcome(job), finished)
}

// TestReleasesImportTogether imports a table with workers of both releases. If the last one reads tables by other
// rules, its workers are not asked.
func TestReleasesImportTogether(t *testing.T) {
	t.Parallel()
	before := lastRelease(t)
	o := startImportStore(t)
	_, uris := o.partsOf(t, customers(t, 300), t.TempDir(), "", "0.csv", "1.csv", "2.csv")
	c := StartCoordinator(t, Options{Args: []string{o.allow("submitter", "")}})
	startWorkerOf(t, before.Worker, c.Addr, "old")
	StartWorker(t, c, "new")
	c.AwaitWorkers(2)
	got, err := c.importTable(&cleavev1.ImportTableRequest{Uris: uris})
	if err != nil || got.GetTable().GetRows() != 300 {
		t.Errorf("workers of both: %v, %v", got, err)
	}
}
