package clustertest

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/security/credentials"
)

// disturbance is something that happens to a cluster while a job runs. To add one, add it to a list that faults()
// joins: TestFaults strikes each once, make soak many times.
type disturbance struct {
	name  string
	load  func() *workload
	flags []string // of the coordinator, beside short heartbeats
	// begin starts coordinators, and what they need; nil: one.
	begin func(r *faultRun, o Options)
	// start starts workers before the job, so that there are three that can do it; nil: three plain ones.
	start func(r *faultRun)
	// strike does it, once the job runs, and returns when it is done. The job must end as if nothing had been.
	strike func(r *faultRun)
	// needs is why it cannot be done here, "" if it can; nil: it always can.
	needs func() string
	// ends is the reason of the failure that the job must end with; empty: it must succeed.
	ends string
	// check looks at what else must be so once the job has ended; may be nil.
	check func(r *faultRun)
	// longOnly leaves it to make test-long and make soak, because another test has a fault of this kind.
	longOnly bool
	// soakOnly leaves it to make soak, because other tests have it or it takes long.
	soakOnly bool
}

// faultRun is one strike of a fault.
type faultRun struct {
	testing.TB
	rng     *rand.Rand
	c       *Coordinator
	workers []*Worker
	job     string
	w       *Watch
	hit     chan struct{} // closed when a fault that waits for its moment has struck
	struck  time.Time     // when the fault struck
	breaks  int           // how often the watch broke by then; events that come before that were sent before the fault
	made    []string      // further jobs that were acknowledged, all of warmUp

	group     *Coordinators // if there are several
	blobs     objects       // if they can be taken away
	link      *proxy        // to one of the workers, if the fault has it
	namespace *namespace    // of one of the workers, if the fault has it
}

// faults are all faults that TestFaults and make soak know.
func faults() []disturbance {
	var all []disturbance
	all = append(all, workerFaults()...)
	all = append(all, linkFaults()...)
	all = append(all, coordinatorFaults()...)
	all = append(all, storeFaults()...)
	all = append(all, hangFaults()...)
	all = append(all, clientFaults()...)
	return all
}

// strikeOnce runs a job through a fault and checks that nothing shows: I1 the same bits, I2 events without gap or
// repetition, I3 one end and nothing lost, I4 in bounded time, I5 what processes hold afterwards. It returns the
// longest time without an event since the fault struck. The clients of the test connect by dial.
func strikeOnce(t testing.TB, f disturbance, seed uint64, dial credentials.Dial) time.Duration {
	t.Helper()
	if f.needs != nil {
		if why := f.needs(); why != "" {
			t.Skip(why)
		}
	}
	r := &faultRun{TB: t, rng: random(seed), hit: make(chan struct{})}
	options := Options{Dial: dial,
		Args: append([]string{"--heartbeat", "100ms", "--lost-after", "1s", "--slow-after", "300ms", "--admin",
			"127.0.0.1:0"}, f.flags...)}
	if f.begin != nil {
		f.begin(r, options)
	} else {
		r.c = StartCoordinator(t, options)
	}
	if f.start != nil {
		f.start(r)
	} else {
		r.startWorkers(3)
	}
	r.c.AwaitWorkers(len(r.workers))
	before, warm := warmUp().run(r.c)
	warmUp().finish(t, "before the fault", warm)
	held := r.hold()

	r.job, r.w = f.load().run(r.c)
	r.w.Resumes = true
	f.strike(r)
	if r.struck.IsZero() {
		r.mark()
	}
	pause := r.follow(r.struck)
	if end := r.w.Events[len(r.w.Events)-1].GetEnded(); f.ends != "" {
		if end.GetError().GetReason() != f.ends {
			t.Fatalf("the job ended with %v, want %s", end, f.ends)
		}
		return pause
	}
	f.load().finish(t, fmt.Sprintf("%s, seed %d", f.name, seed), r.w)
	sameEvents(t, r.c, r.job, r.w.Events)
	r.nothingLost(before)
	if f.check != nil {
		f.check(r)
	}
	r.sameHold(held)
	return pause
}

// nothingLost checks that the jobs that were acknowledged are there, no other is, and all have ended as they should.
// One had ended before the fault.
func (r *faultRun) nothingLost(before string) {
	r.Helper()
	want := append([]string{before, r.job}, r.made...)
	for _, job := range append([]string{before}, r.made...) {
		warmUp().finish(r, "job "+job, r.c.Watch(job))
	}
	listed, err := r.c.Jobs.ListJobs(r.Context(), &cleavev1.ListJobsRequest{})
	var have []string
	for _, job := range must(r, listed, err).GetJobs() {
		have = append(have, job.GetJobId())
	}
	slices.Sort(want)
	slices.Sort(have)
	if !slices.Equal(have, want) {
		r.Errorf("the jobs are %v, and %v were made", have, want)
	}
}

func (r *faultRun) startWorkers(count int) {
	r.Helper()
	for i := range count {
		name := fmt.Sprint("w", i)
		r.workers = append(r.workers, &Worker{Name: name, Process: start(r, "worker "+name, Build(r).Worker,
			"--coordinator", r.c.Addr, "--name", name, "--threads", "1", "--memory", "1GiB", "--admin", "127.0.0.1:0")})
	}
}

// any is one of the workers.
func (r *faultRun) any() *Worker { return r.workers[r.rng.IntN(len(r.workers))] }

// iterate waits for some iterations of the job.
func (r *faultRun) iterate() {
	r.Helper()
	r.w.UntilIterations(r.w.Iterations() + 2 + r.rng.IntN(20))
}

// mark says that the fault strikes now.
func (r *faultRun) mark() { r.struck = time.Now() }

// later does something after some time, or at the end of the test.
func (r *faultRun) later(pause time.Duration, do func()) {
	once := sync.OnceFunc(do)
	timer := time.AfterFunc(pause, once)
	r.Cleanup(func() {
		timer.Stop()
		once()
	})
}

// awaitHit waits until a fault has struck by itself.
func (r *faultRun) awaitHit() {
	r.Helper()
	select {
	case <-r.hit:
	case <-time.After(Timeout / 2):
		r.Fatal("the fault never struck")
	}
}

// follow watches the job to its end and returns the longest time between two events, without those that were on their
// way when the watch broke.
func (r *faultRun) follow(last time.Time) (longest time.Duration) {
	r.Helper()
	for {
		item := r.w.next()
		if item == nil {
			return longest
		}
		if item.GetEvent() != nil && r.w.Breaks >= r.breaks {
			now := time.Now()
			longest = max(longest, now.Sub(last))
			last = now
		}
	}
}

// holding is what a process holds.
type holding struct {
	process    *Process
	pid        int
	files      int
	bytes      int64
	goroutines int // 0 if that cannot be told
}

// hold is what the coordinator and the workers hold now, of those whose processes can be looked at.
func (r *faultRun) hold() []holding {
	var all []holding
	for _, p := range r.processes() {
		if h, ok := holds(p); ok {
			all = append(all, h)
		}
	}
	return all
}

func (r *faultRun) processes() []*Process {
	all := []*Process{r.c.Process}
	for _, w := range r.workers {
		all = append(all, w.Process)
	}
	return all
}

// sameHold checks that the processes that are still the same hold no more than before: no file that stays open, no
// memory that piles up. The coordinator has the data set of the job now, and its events.
func (r *faultRun) sameHold(before []holding) {
	r.Helper()
	const moreFiles, moreBytes, moreGoroutines = 4, 192 << 20, 12 // one connection more may be open
	for _, was := range before {
		if !was.process.Running() || was.process.cmd.Process.Pid != was.pid {
			continue
		}
		Eventually(r, was.process.name+" holds what it held", func() (bool, string) {
			is, ok := holds(was.process)
			return !ok || is.files <= was.files+moreFiles && is.bytes <= was.bytes+moreBytes &&
					(was.goroutines == 0 || is.goroutines <= was.goroutines+moreGoroutines),
				fmt.Sprintf("%d files, %d bytes, %d goroutines; before %d, %d, %d", is.files, is.bytes, is.goroutines,
					was.files, was.bytes, was.goroutines)
		})
	}
}

// holds reads what a process holds from /proc and from its admin port, if it has one.
func holds(p *Process) (holding, bool) {
	h := holding{process: p, pid: p.cmd.Process.Pid, goroutines: goroutinesOf(p)}
	files, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", h.pid))
	if err != nil {
		return h, false
	}
	h.files = len(files)
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", h.pid))
	if err != nil {
		return h, false
	}
	for line := range strings.Lines(string(status)) {
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] == "VmRSS:" {
			kib, err := strconv.ParseInt(fields[1], 10, 64)
			h.bytes = kib << 10
			return h, err == nil
		}
	}
	return h, false
}

// adminClient gives up on processes that are stopped, and leaves no connection open.
var adminClient = &http.Client{Timeout: 2 * time.Second, Transport: &http.Transport{DisableKeepAlives: true}}

// goroutinesOf is how many goroutines a process has, 0 if it does not tell.
func goroutinesOf(p *Process) (count int) {
	found := adminAddress.FindSubmatch(p.stdout.bytes())
	if found == nil {
		return 0
	}
	response, err := adminClient.Get("http://" + string(found[1]) + "/debug/pprof/goroutine?debug=1")
	if err != nil {
		return 0
	}
	defer response.Body.Close()
	_, _ = fmt.Fscanf(response.Body, "goroutine profile: total %d", &count)
	return count
}

// Workloads of about a second, long enough for a fault.

var faultPoints = sync.OnceValue(func() *workload {
	return newWorkload(gaussians(2000, 6, 10, 6), &cleavev1.JobSpec{
		Clusters: &cleavev1.JobSpec_K{K: 10}, Seed: 3, Restarts: restarts(6),
		Initialization: &cleavev1.Initialization{Start: cleavev1.Start_START_RANDOM},
		Algorithm:      kernelKmeans(&cleavev1.KernelKmeans{LocalSearch: new(uint32(10))}),
	})
})

var faultVectors = sync.OnceValue(func() *workload {
	known := knownPoints()
	return newWorkload(known.sparse, &cleavev1.JobSpec{
		Clusters: &cleavev1.JobSpec_K{K: 8}, Seed: 3, Restarts: restarts(8),
		Supervision:    &cleavev1.Supervision{Constraints: known.constraints},
		Initialization: &cleavev1.Initialization{Start: cleavev1.Start_START_RANDOM},
		Algorithm:      &cleavev1.JobSpec_MpcKmeans{MpcKmeans: &cleavev1.MpcKmeans{}},
	})
})

// faultAssignments assigns the points that have no constraints apart from the others.
var faultAssignments = sync.OnceValue(func() *workload {
	known := knownPoints()
	return newWorkload(known.sparse, &cleavev1.JobSpec{
		Clusters: &cleavev1.JobSpec_K{K: 8}, Seed: 3, Restarts: restarts(8),
		Supervision:    &cleavev1.Supervision{Constraints: known.constraints},
		Initialization: &cleavev1.Initialization{Start: cleavev1.Start_START_RANDOM},
		Algorithm:      &cleavev1.JobSpec_CopKmeans{CopKmeans: &cleavev1.CopKmeans{}},
	})
})

// faultSteps has no constraints, so that each iteration is one step.
var faultSteps = sync.OnceValue(func() *workload {
	return newWorkload(gaussians(20_000, 6, 10, 6), &cleavev1.JobSpec{
		Clusters: &cleavev1.JobSpec_K{K: 10}, Seed: 3, Restarts: restarts(8),
		Initialization: &cleavev1.Initialization{Start: cleavev1.Start_START_RANDOM},
		Algorithm:      &cleavev1.JobSpec_Kmeans{Kmeans: &cleavev1.Kmeans{}},
	})
})

var warmUp = sync.OnceValue(func() *workload {
	return newWorkload(gaussians(300, 4, 3, 3), &cleavev1.JobSpec{Clusters: &cleavev1.JobSpec_K{K: 3},
		Algorithm: kernelKmeans(&cleavev1.KernelKmeans{})})
})
