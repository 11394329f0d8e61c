package measure

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Usage is what a process took, from its start to its end.
type Usage struct {
	Seconds   float64
	PeakBytes int64 // its largest resident set; 0 if unknown
}

// Failure is the error of a program that failed.
type Failure struct {
	Command string
	Err     error
	Said    string // its last line on standard error
}

func (f *Failure) Error() string { return fmt.Sprintf("%s: %v: %s", f.Command, f.Err, f.Said) }
func (f *Failure) Unwrap() error { return f.Err }

// Run runs a program and waits for its end. If it fails, the error is a *Failure.
func Run(process *exec.Cmd) (Usage, error) {
	var complaint bytes.Buffer
	process.Stderr = &complaint
	process.WaitDelay = time.Second
	began := time.Now()
	err := process.Run()
	usage := Usage{Seconds: time.Since(began).Seconds()}
	if err != nil {
		return usage, &Failure{process.String(), err, lastLine(complaint.String())}
	}
	if system, known := process.ProcessState.SysUsage().(*syscall.Rusage); known {
		usage.PeakBytes = system.Maxrss
		if runtime.GOOS != "darwin" {
			usage.PeakBytes <<= 10
		}
	}
	return usage, nil
}

// lastLine returns the beginning of the last line that a program said, or of the one that says why it crashed.
func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	at := slices.IndexFunc(lines, func(line string) bool { return strings.HasPrefix(line, "panic: ") })
	if at < 0 {
		at = len(lines) - 1
	}
	line := []rune(lines[at])
	return string(line[:min(len(line), 160)])
}

// Memory returns the resident memory of a running process in bytes, now and at most; 0 where the system does not tell.
func Memory(pid int) (now, peak int64) {
	status := fmt.Sprintf("/proc/%d/status", pid)
	bytes := func(key string) int64 {
		kilobytes, _ := strconv.ParseInt(strings.TrimSuffix(valueOf(status, key), " kB"), 10, 64)
		return kilobytes << 10
	}
	return bytes("VmRSS"), bytes("VmHWM")
}

// Processor returns the processor time that a running process has used; 0 where the system does not tell.
func Processor(pid int) time.Duration {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(rest)
	if len(fields) < 13 {
		return 0
	}
	var user, system int64
	_, _ = fmt.Sscan(fields[11]+" "+fields[12], &user, &system)
	return time.Duration(user+system) * 10 * time.Millisecond // a tick is a hundredth of a second
}

// FindPython returns the first of some programs that has what the peers need, or "".
func FindPython(programs []string) string {
	for _, program := range programs {
		if exec.Command(program, "-c", "import numpy, scipy, sklearn").Run() == nil {
			return program
		}
	}
	return ""
}

// PeerThreads returns the environment variables that limit the libraries of the peers to a number of threads.
func PeerThreads(threads int) []string {
	return []string{fmt.Sprintf("OMP_NUM_THREADS=%d", threads), fmt.Sprintf("OPENBLAS_NUM_THREADS=%d", threads)}
}
