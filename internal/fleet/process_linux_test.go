package fleet_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/cleave-project/cleave/internal/kernel"
	"github.com/cleave-project/cleave/internal/planning"
	"github.com/cleave-project/cleave/internal/worker"
)

// A real worker process never holds more than its --memory and worker.RuntimeBytes, measured by the
// most that the kernel has seen resident: when tiles would not fit, when the data barely do while
// they are loaded, and when the rows of a given matrix pass through.
func TestAWorkerProcessKeepsToItsMemory(t *testing.T) {
	program := filepath.Join(t.TempDir(), "worker")
	if out, err := exec.Command("go", "build", "-o", program, "../../cmd/worker").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	const mib = 1 << 20
	exactly := func(need planning.Problem) int64 { // what the plan says, to the byte
		plan, err := planning.Make(need, []planning.Worker{{Threads: 2, Free: planning.Unlimited}})
		if err != nil {
			t.Fatal(err)
		}
		return plan.Bytes
	}
	for _, c := range []struct {
		name    string
		problem func(t *testing.T) *problem
		memory  func(planning.Problem) int64
		partly  bool // some tiles are stored and some are not
	}{
		{"tiles that do not fit", func(t *testing.T) *problem { return gaussianProblem(t, 8000, 1) },
			func(planning.Problem) int64 { return 48 * mib }, true},
		{"data that barely fit", func(t *testing.T) *problem {
			return newProblem(t, randomPoints(t, 1000, 6000, 1), kernel.Spec{Function: kernel.Gaussian, Rho: 50, Columns: 6000})
		}, func(need planning.Problem) int64 { return need.JoinBytes(2) }, false},
		{"a graph", func(t *testing.T) *problem { return graphProblem(t, 50_000, 2_000_000, 1) }, exactly, false},
		{"a given matrix", func(t *testing.T) *problem { return kernelProblem(t, 3000, 1) },
			exactly, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			k := newCluster(t)
			p := c.problem(t)
			_, size := k.shelf.put(t, p.data)
			memory := c.memory(p.need(size))
			process := exec.Command(program, "--coordinator", k.addr, "--name", "real", "--threads", "2", "--memory", fmt.Sprint(memory), "--log-level", "warn")
			process.Stderr = os.Stderr
			if err := process.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() {
				_ = process.Process.Kill()
				_ = process.Wait() // it was killed
			}()
			k.until("the process is attached", func() bool { return k.worker("real") != nil })
			idle := peak(t, process.Process.Pid)
			e := k.submit(p, nil)
			newSequence(k, e, p, 1).run(12, undisturbed)
			held := e.Held()
			if c.partly != (held.Stored > 0 && held.Computed > 0) {
				t.Errorf("held is %+v", held)
			}
			most := peak(t, process.Process.Pid)
			t.Logf("%d MiB of memory, %d MiB at the peak, %d MiB idle; tiles stored %d, computed %d", memory/mib, most/mib, idle/mib, held.Stored, held.Computed)
			if most > memory+worker.RuntimeBytes {
				t.Errorf("%d bytes at the peak, more than %d and %d for the runtime", most, memory, int64(worker.RuntimeBytes))
			}
		})
	}
}

// peak is the most memory that a process has had resident.
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
	t.Fatal("the system does not tell the peak")
	return 0
}
