package clustertest

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	workerv1 "github.com/cleave-project/cleave/gen/cleave/worker/v1"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/wire"
	"github.com/cleave-project/cleave/test/programs"
)

// workerFaults are what happens to workers.
func workerFaults() []disturbance {
	all := []disturbance{
		{name: "a worker is killed while it attaches", longOnly: true, load: faultPoints, strike: killAttaching},
		{name: "a worker runs out of memory", load: largeMatrix, start: startCrammed, strike: awaitCrammed,
			needs: needsPlainMemory},
		{name: "no worker is left, then there is one", longOnly: true, load: faultPoints, strike: killAll},
		{name: "one worker after the other is killed and replaced", longOnly: true, load: faultPoints,
			strike: replaceAll},
		{name: "a worker pauses and is not lost", longOnly: true, load: longPoints,
			flags: []string{"--lost-after", "1h"}, strike: pauseShortly},
		{name: "a worker pauses, is lost and wakes up", longOnly: true, load: faultPoints, strike: pauseLong},
		{name: "a worker stops for good and is never lost", load: faultPoints, flags: []string{"--lost-after", "1h"},
			strike: stopForGood},
		{name: "a worker gets a tenth of a processor", load: faultPoints, flags: []string{"--lost-after", "1h"},
			strike: throttle},
		{name: "a worker of another version", longOnly: true, load: faultPoints, strike: attachForeign},
		{name: "a worker answers nonsense", longOnly: true, load: faultPoints, start: startWithLiar,
			strike: (*faultRun).iterate},
	}
	for _, phase := range []struct {
		command string
		load    func() *workload
		among   int  // the command at which it is killed is one of the first so many
		long    bool // others are of its kind, or another test has it
	}{
		{"Prepare", faultPoints, 1, true}, {"Build", faultPoints, 1, true}, {"SetOperands", faultPoints, 1, true},
		{"Load", faultPoints, 1, true},
		{"Update", faultPoints, 20, true}, {"MatrixAssign", faultPoints, 20, false}, {"Gains", faultPoints, 3, true},
		{"Blocks", faultPoints, 3, true},
		{"Multiply", faultProducts, 20, true}, {"Degrees", faultProducts, 1, true},
		{"VectorAssign", faultAssignments, 10, true}, {"Scatter", faultVectors, 10, true},
		{"Distances", faultVectors, 10, true},
		{"VectorStep", faultSteps, 10, false},
		{"Build", longNeighbors, 1, true}, {"Neighbors", longNeighbors, 1, true},
	} {
		f := disturbance{name: "a worker is killed at " + phase.command, load: phase.load, strike: (*faultRun).awaitHit,
			longOnly: phase.long}
		if phase.command == "Build" && phase.load().spec.GetNeighborGraph() != nil {
			f.name = "a worker is killed while it looks for neighbors"
		}
		f.start = func(r *faultRun) { startDoomed(r, phase.command, 1+r.rng.IntN(phase.among)) }
		all = append(all, f)
	}
	return all
}

// faultProducts multiplies with vectors, for eigenvectors of a graph.
var faultProducts = sync.OnceValue(func() *workload {
	graph := groupedGraph(2500, 4, 5, 4)
	return newWorkload(graph.data, graph.spectralSpecs(4)["spectral"])
})

// startDoomed starts a worker that is killed at the moment when it begins the n-th command of a kind of the job that
// follows the first one.
func startDoomed(r *faultRun, command string, n int) {
	r.startWorkers(2)
	prepared := 0
	line := []byte("Command_" + command + `"`)
	var struck sync.Once
	r.workers = append(r.workers, StartTracedWorker(r, r.c, "doomed", func(w *Worker, text []byte) {
		prepared += bytes.Count(text, []byte(`Command_Prepare"`))
		if prepared < 2 { // the job that warms up is the first
			return
		}
		if n -= bytes.Count(text, line); n <= 0 {
			w.signal(syscall.SIGKILL)
			struck.Do(func() { close(r.hit) })
		}
	}))
}

func killAttaching(r *faultRun) {
	for i := range 5 {
		r.iterate()
		w := StartWorker(r, r.c, fmt.Sprint("short", i))
		time.Sleep(time.Duration(r.rng.IntN(40)) * time.Millisecond) // somewhere between its start and its first tiles
		w.Kill()
	}
}

// needsPlainMemory is why processes cannot be given little memory here.
func needsPlainMemory() string {
	if programs.RaceDetector {
		return "the race detector takes more memory than the limit"
	}
	return ""
}

// startCrammed starts a worker that promises more memory than its process can have.
func startCrammed(r *faultRun) {
	r.startWorkers(2)
	p := newProcess(r, "worker crammed", "sh", "-c", `ulimit -d 140000; exec "$0" "$@"`, Build(r).Worker,
		"--coordinator", r.c.Addr, "--name", "crammed", "--threads", "1", "--memory", "1GiB")
	p.mayCrash = true
	p.start()
	r.workers = append(r.workers, &Worker{Name: "crammed", Process: p})
}

// awaitCrammed waits until the process has crashed.
func awaitCrammed(r *faultRun) {
	go func() {
		<-r.workers[2].exited
		close(r.hit)
	}()
	r.awaitHit()
}

// largeMatrix is a matrix of 256 MB, and a few iterations.
var largeMatrix = sync.OnceValue(func() *workload {
	iterations := uint32(3)
	return newWorkload(gaussians(8000, 2, 4, 8), &cleavev1.JobSpec{
		Clusters: &cleavev1.JobSpec_K{K: 4}, Seed: 1, Restarts: 1, MaxIterations: &iterations,
		Initialization: &cleavev1.Initialization{Start: cleavev1.Start_START_RANDOM},
		Algorithm:      kernelKmeans(&cleavev1.KernelKmeans{}),
	})
})

func killAll(r *faultRun) {
	r.iterate()
	r.mark()
	for _, w := range r.workers {
		w.Kill()
	}
	r.c.AwaitWorkers(0)
	StartWorker(r, r.c, "next")
}

func replaceAll(r *faultRun) {
	for i, w := range r.workers {
		r.iterate()
		w.Kill()
		StartWorker(r, r.c, fmt.Sprint("r", i))
	}
}

func pauseShortly(r *faultRun) {
	for range 3 {
		r.iterate()
		w := r.any()
		w.Pause()
		time.Sleep(time.Duration(100+r.rng.IntN(700)) * time.Millisecond) // less than lost-after
		w.Resume()
	}
}

func pauseLong(r *faultRun) {
	r.iterate()
	w := r.any()
	w.Pause()
	r.later(2*time.Second, w.Resume) // lost-after is a second
}

// stopForGood stops a worker that nothing but its slowness gives away.
func stopForGood(r *faultRun) {
	r.iterate()
	w := r.any()
	w.Pause()
	r.Cleanup(w.Resume)
}

// throttle lets a worker run for a tenth of the time, until the test ends.
func throttle(r *faultRun) {
	r.iterate()
	w := r.any()
	over := make(chan struct{})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for {
			w.Pause()
			select {
			case <-over:
				w.Resume()
				return
			case <-time.After(90 * time.Millisecond):
			}
			w.Resume()
			time.Sleep(10 * time.Millisecond)
		}
	}()
	r.Cleanup(func() { close(over); <-ended })
	r.workers = slices.DeleteFunc(slices.Clone(r.workers), func(other *Worker) bool { return other == w })
}

func attachForeign(r *faultRun) {
	r.iterate()
	as := r.c.As(r.c.workerDial())
	stream, err := workerv1.NewWorkerServiceClient(as.Conn).Attach(r.Context())
	must(r, stream, err)
	err = stream.Send(&workerv1.AttachRequest{Message: &workerv1.AttachRequest_Hello{Hello: &workerv1.Hello{
		ProtocolVersion: wire.WorkerProtocol + 1, Name: "foreign", NumericClass: kernel.NumericClass, Threads: 1}}})
	must(r, stream, err)
	if _, err := stream.Recv(); wire.Reason(err) != "PROTOCOL_VERSION_MISMATCH" {
		r.Errorf("a worker of another version: %v", err)
	}
}

func startWithLiar(r *faultRun) {
	r.startWorkers(2)
	answers := 0
	from := 20 + r.rng.IntN(40)
	startLiar(r, r.c, func(done *workerv1.Done) {
		if sums := done.GetSelfAffinity(); len(sums) > 0 {
			if answers++; answers > from && answers%5 == 0 {
				done.SelfAffinity = sums[:len(sums)-16]
			}
		}
	})
	r.c.AwaitWorkers(3)
	r.workers = append(r.workers, &Worker{Name: "liar", Process: r.workers[0].Process}) // it has no process of its own
}

// isRoot tells whether this process may make network namespaces.
func isRoot() bool { return os.Geteuid() == 0 }
