package fleet_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/cleave-project/cleave/internal/data/dataset"
	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/numeric/metric"
	"github.com/cleave-project/cleave/internal/planning"
	"github.com/cleave-project/cleave/internal/worker"
	"github.com/cleave-project/cleave/test/programs"
	"github.com/cleave-project/cleave/test/testscale"
)

// A real worker process never holds more than its --memory plus worker.RuntimeBytes, measured by its peak
// resident size: when tiles do not fit, when the data set barely fits while it is loaded, with a graph,
// and with a kernel matrix whose rows are fetched.
func TestAWorkerProcessKeepsToItsMemory(t *testing.T) {
	program := buildWorker(t)
	exactly := func(need planning.Workload) int64 { return plannedBytes(t, need) }
	for _, c := range testscale.Some([]struct {
		name    string
		problem func(t *testing.T) *problem
		memory  func(planning.Workload) int64
		partly  bool // some tiles are stored and some are not
	}{
		{"tiles that do not fit", func(t *testing.T) *problem {
			return gaussianProblem(t, testscale.Count(5000, 8000), 1)
		},
			func(planning.Workload) int64 { return 48 * mib }, true},
		{"data that barely fit", func(t *testing.T) *problem {
			return newProblem(t, randomPoints(t, 1000, 6000, 1), kernel.MatrixSpec{Function: kernel.Gaussian, Rho: 50,
				Columns: 6000})
		}, func(need planning.Workload) int64 { return need.MinFreeBytes(2) }, false},
		{"a graph", func(t *testing.T) *problem { return graphProblem(t, 50_000, 1_000_000, 1) }, exactly, false},
		{"a given matrix", func(t *testing.T) *problem { return kernelProblem(t, 3000, 1) },
			exactly, false},
	}, 1) {
		t.Run(c.name, func(t *testing.T) {
			withinMemory(t, func(t *testing.T) bool {
				k := newCluster(t)
				p := c.problem(t)
				_, size := k.datasets.put(t, p.data)
				memory := c.memory(p.need(size))
				process := k.spawn(program, memory)
				e := k.submit(p, nil)
				newSequence(k, e, p, 1).run(12, noDisturbance)
				held := e.Usage()
				if c.partly != (held.Stored > 0 && held.Computed > 0) {
					t.Errorf("held is %+v", held)
				}
				return process.checkPeak(memory)
			})
		})
	}
}

// The same for vectors, with exactly the memory that was planned.
func TestAWorkerProcessKeepsVectorsInItsMemory(t *testing.T) {
	program := buildWorker(t)
	for _, c := range testscale.Some([]struct {
		name    string
		problem func(t *testing.T) *vectorProblem
	}{
		{"dense", func(t *testing.T) *vectorProblem {
			return newVectorProblem(t, randomPoints(t, 100_000, 32, 1), metric.SquaredEuclidean, false)
		}},
		{"by rows", func(t *testing.T) *vectorProblem {
			return newVectorProblem(t, randomPoints(t, 400_000, 32, 1), metric.SquaredEuclidean, false)
		}},
		{"by wide rows", func(t *testing.T) *vectorProblem {
			return newVectorProblem(t, randomPoints(t, 10_000, 1500, 1), metric.SquaredEuclidean, false)
		}},
		{"landmarks by rows", func(t *testing.T) *vectorProblem {
			points, units, scaled := scaledPoints(t, 60_000, 100)
			return landmarkProblem(t, points, units, scaled.(*dataset.Points))
		}},
		{"a full metric", func(t *testing.T) *vectorProblem {
			return newVectorProblem(t, randomPoints(t, 1500, 250, 1), metric.SquaredEuclidean, true)
		}},
		{"sparse", func(t *testing.T) *vectorProblem {
			return newVectorProblem(t, sparsePoints(t, 20_000, 2000, 50, 1), metric.KL, false)
		}},
		{"many clusters of sparse points", func(t *testing.T) *vectorProblem {
			p := newVectorProblem(t, sparsePoints(t, 1500, 10_000, 500, 1), metric.SquaredEuclidean, false)
			p.k = 150
			return p
		}},
	}, 1) {
		t.Run(c.name, func(t *testing.T) {
			withinMemory(t, func(t *testing.T) bool {
				k := newCluster(t)
				p := c.problem(t)
				_, size := k.datasets.put(t, p.data)
				memory := plannedBytes(t, p.need(size))
				process := k.spawn(program, memory)
				newVectorSequence(k, k.submitVectors(p, nil), p, 1).run(20, noDisturbance)
				return process.checkPeak(memory)
			})
		})
	}
}

func TestAWorkerProcessKeepsNeighborsInItsMemory(t *testing.T) {
	program := buildWorker(t)
	problems := map[string]func(t *testing.T) *neighborProblem{
		"points": func(t *testing.T) *neighborProblem { return &neighborProblem{data: randomPoints(t, 5000, 400, 1)} },
		"scaled": func(t *testing.T) *neighborProblem {
			points := randomPoints(t, 5000, 400, 1)
			return &neighborProblem{data: points, units: dataset.UnitsBy(dataset.Standard, points)}
		},
		"sparse": func(t *testing.T) *neighborProblem {
			return &neighborProblem{data: sparsePoints(t, 5000, 4000, 50, 1)}
		},
		"kernel": func(t *testing.T) *neighborProblem { return &neighborProblem{data: kernelProblem(t, 2000, 1).data} },
	}
	for _, name := range testscale.Some([]string{"points", "scaled", "sparse", "kernel"}, 1) {
		t.Run(name, func(t *testing.T) {
			withinMemory(t, func(t *testing.T) bool {
				c := newCluster(t)
				p := problems[name](t)
				task := p.task(c, nil)
				memory := plannedBytes(t, task.Need)
				process := c.spawn(program, memory)
				p.check(c, task)
				return process.checkPeak(memory)
			})
		})
	}
}

const mib = 1 << 20

// workerFolder builds the worker once for all tests, and returns the folder that has it.
var workerFolder = sync.OnceValues(func() (string, error) { return programs.Build("worker") })

func buildWorker(t *testing.T) (program string) {
	t.Helper()
	if programs.RaceDetector {
		t.Skip("the race detector takes several times the memory")
	}
	folder, err := workerFolder()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(folder, "worker")
}

// plannedBytes is the memory that the job is planned to take on one worker of two threads.
func plannedBytes(t *testing.T, need planning.Workload) int64 {
	t.Helper()
	plan, err := planning.Make(need, []planning.Worker{{Threads: 2, Free: planning.Unlimited}})
	if err != nil {
		t.Fatal(err)
	}
	return plan.Bytes
}

// process is a worker of two threads that runs as a process.
type process struct {
	*testing.T
	pid  int
	idle int64 // peak bytes before it has a job
}

func (c *cluster) spawn(program string, memory int64) *process {
	c.Helper()
	command := exec.Command(program, "--coordinator", c.addr, "--name", "real", "--threads", "2", "--memory",
		fmt.Sprint(memory), "--log-level", "warn")
	command.Stderr = os.Stderr
	// It collects garbage early, so that the peak shows what it holds and not when the collector had its turn.
	command.Env = append(os.Environ(), "GOGC=25")
	if err := command.Start(); err != nil {
		c.Fatal(err)
	}
	c.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait() // it was killed
	})
	c.until("the process is attached", func() bool { return c.worker("real") != nil })
	return &process{T: c.T, pid: command.Process.Pid, idle: peak(c.T, command.Process.Pid)}
}

// withinMemory runs what ends in checkPeak, and again if the process passed its memory. That is rare, and depends on
// when the collector gets its turn; memory that nobody planned would be there every time.
func withinMemory(t *testing.T, run func(t *testing.T) bool) {
	t.Helper()
	within := false
	for attempt := 1; attempt <= 3 && !within && !t.Failed(); attempt++ {
		t.Run(fmt.Sprint("attempt ", attempt), func(t *testing.T) { within = run(t) })
	}
	if !within {
		t.Error("the process takes more than its memory every time")
	}
}

// checkPeak tells whether the process never took more than its memory plus worker.RuntimeBytes. Go's memory limit is
// soft: once the heap has passed its goal, a collection that is under way is given until a tenth above it
// (maxOvershoot in runtime/mgcpacer.go). More than that is an error.
func (p *process) checkPeak(memory int64) bool {
	p.Helper()
	highest := peak(p.T, p.pid)
	allowed := memory + worker.RuntimeBytes
	p.Logf("%d MiB of memory, %d MiB at the peak, %d MiB idle", memory/mib, highest/mib, p.idle/mib)
	if highest > allowed+allowed/10 {
		p.Errorf("%d bytes at the peak, more than a tenth above %d and %d for the runtime", highest, memory,
			int64(worker.RuntimeBytes))
	}
	return highest <= allowed
}

// peak is the peak resident size of a process in bytes.
func peak(t *testing.T, pid int) int64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if fields := strings.Fields(line); len(fields) == 3 && fields[0] == "VmHWM:" {
			kib, err := strconv.ParseInt(fields[1], 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return kib << 10
		}
	}
	t.Fatal("/proc does not show the peak")
	return 0
}
