package clustertest

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
)

// coordinatorFaults are what happens to a coordinator with a store of its own.
func coordinatorFaults() []disturbance {
	snapshots := []string{"--snapshot-interval", "50ms"}
	all := []disturbance{
		{name: "the coordinator is terminated", load: longPoints, soakOnly: true, strike: terminateCoordinator},
		{name: "the coordinator pauses for longer than a worker may be silent", load: faultPoints, soakOnly: true,
			strike: pauseCoordinator},
		{name: "the coordinator is killed, its newest snapshot damaged", load: longerPoints, soakOnly: true,
			flags:  snapshots,
			strike: func(r *faultRun) { damageSnapshots(r, 1) }, check: (*faultRun).wentOn},
		{name: "the coordinator is killed, all snapshots damaged", load: longerPoints, flags: snapshots,
			strike: func(r *faultRun) { damageSnapshots(r, 3) }, check: (*faultRun).startedOver},
		{name: "the coordinator is killed while jobs are submitted", longOnly: true, load: longPoints,
			strike: killSubmitting},
		{name: "the coordinator is killed right after it took a job", load: longPoints, soakOnly: true,
			strike: killSubmitted},
		{name: "the coordinator is killed while results are stored", load: longPoints, strike: killEnding},
		{name: "another coordinator is started on the same data", load: faultPoints, soakOnly: true,
			strike: startSecond},
	}
	for family := range resumedJobs() {
		all = append(all, disturbance{name: "the coordinator is killed in a job of " + family, soakOnly: true,
			flags:  snapshots,
			load:   func() *workload { return resumedJobs()[family] },
			strike: killStored, check: (*faultRun).wentOn})
	}
	slices.SortStableFunc(all, func(a, b disturbance) int { return cmp.Compare(a.name, b.name) }) // maps have no order
	return all
}

// killCoordinator kills the coordinator while the job runs, does something, and starts it again.
func (r *faultRun) killCoordinator(meanwhile func()) {
	r.Helper()
	r.breaks = r.w.Breaks + 1
	r.mark()
	r.c.Kill()
	if meanwhile != nil {
		meanwhile()
	}
	r.c.Restart()
}

// awaitSnapshots waits until the job has so many snapshots.
func (r *faultRun) awaitSnapshots(count int) {
	r.Helper()
	Eventually(r, "snapshots are stored", func() (bool, string) {
		have := r.c.snapshots(r.job)
		if job := r.c.Job(r.job); len(have) < count && job.GetEndTime() != nil {
			r.Fatalf("the job has %d snapshots and is %s", len(have), job.GetState())
		}
		return len(have) >= count, fmt.Sprint(have)
	})
	r.w.StillRunning()
}

func killStored(r *faultRun) {
	r.awaitSnapshots(1)
	r.killCoordinator(nil)
}

// wentOn checks that the coordinator of now did not start the job over.
func (r *faultRun) wentOn() {
	r.Helper()
	if !strings.Contains(r.c.Stderr(), goesOn) {
		r.Error("the job started over")
	}
}

// startedOver checks that the coordinator of now started the job over.
func (r *faultRun) startedOver() {
	r.Helper()
	if strings.Contains(r.c.Stderr(), goesOn) {
		r.Error("the job went on from a damaged snapshot")
	}
}

const goesOn = "the job resumes from a snapshot"

// damageSnapshots flips a bit of each of the newest snapshots.
func damageSnapshots(r *faultRun, count int) {
	r.awaitSnapshots(2)
	r.killCoordinator(func() {
		names := r.c.snapshots(r.job)
		number := func(name string) (n int) {
			_, err := fmt.Sscan(strings.Split(name, ".")[1], &n)
			return must(r, n, err)
		}
		slices.SortFunc(names, func(a, b string) int { return cmp.Compare(number(b), number(a)) })
		for _, name := range names[:min(count, len(names))] {
			path := filepath.Join(r.c.DataDir, "blobs", "jobs", r.job, "snapshots", name)
			stored, err := os.ReadFile(path)
			must(r, stored, err)
			stored[r.rng.IntN(len(stored))] ^= 1 << r.rng.IntN(8)
			if err := os.WriteFile(path, stored, 0o600); err != nil {
				r.Fatal(err)
			}
		}
	})
}

func terminateCoordinator(r *faultRun) {
	r.iterate()
	r.w.StillRunning()
	r.breaks = r.w.Breaks + 1
	r.mark()
	if code := r.c.Terminate(); code != 0 {
		r.Errorf("the coordinator ended with exit code %d", code)
	}
	r.c.Restart()
}

func pauseCoordinator(r *faultRun) {
	r.iterate()
	c := r.c.Process
	r.mark()
	c.Pause()
	r.later(2*time.Second, c.Resume) // lost-after is a second
}

// submit creates a job of warmUp as often as it takes until the coordinator answers, and returns its id.
func (r *faultRun) submit(request *cleavev1.CreateJobRequest) (string, error) {
	for {
		created, err := r.c.Jobs.CreateJob(r.Context(), request)
		if status.Code(err) != codes.Unavailable {
			return created.GetJob().GetJobId(), err
		}
		time.Sleep(pollEvery)
	}
}

// killSubmitting kills the coordinator at some moment while clients submit jobs, before or after any step of storing
// them. They repeat their requests until they are answered: each makes one job.
func killSubmitting(r *faultRun) {
	spec := warmUp().on(r.c)
	for range 2 {
		r.iterate()
		requests := make([]*cleavev1.CreateJobRequest, 4)
		ids := make([]string, 4)
		failed := make(chan error, 4)
		for i := range requests {
			requests[i] = &cleavev1.CreateJobRequest{Spec: spec, RequestId: uuid.NewString()}
			go func() {
				var err error
				ids[i], err = r.submit(requests[i])
				failed <- err
			}()
		}
		time.Sleep(time.Duration(r.rng.IntN(20_000)) * time.Microsecond)
		r.killCoordinator(nil)
		for range requests {
			if err := <-failed; err != nil {
				r.Fatal(err)
			}
		}
		for i, request := range requests {
			if again, err := r.submit(request); must(r, again, err) != ids[i] {
				r.Errorf("the request of job %s was repeated and made job %s", ids[i], again)
			}
		}
		r.made = append(r.made, ids...)
	}
}

// killSubmitted kills the coordinator as soon as it has acknowledged a job.
func killSubmitted(r *faultRun) {
	spec := warmUp().on(r.c)
	for range 2 {
		r.iterate()
		r.made = append(r.made, r.c.Create(spec))
		r.killCoordinator(nil)
	}
}

// killEnding kills the coordinator at some moment around the end of a short job, while its result is stored or just
// before or after that.
func killEnding(r *faultRun) {
	spec := warmUp().on(r.c)
	began := time.Now()
	r.made = append(r.made, r.c.Create(spec))
	r.c.Watch(r.made[0]).End()
	takes := time.Since(began)
	for range 2 {
		r.iterate()
		r.made = append(r.made, r.c.Create(spec))
		time.Sleep(takes/2 + time.Duration(r.rng.Int64N(int64(takes))))
		r.killCoordinator(nil)
	}
}

// startSecond starts a coordinator with the data directory of the one that runs: it ends at once and says why.
func startSecond(r *faultRun) {
	r.iterate()
	r.mark()
	ran := Command(r, Build(r).Coordinator, "--listen", "127.0.0.1:0", "--data-dir", r.c.DataDir)
	wantSentence(r, ran, 2, "in use by another coordinator")
}
