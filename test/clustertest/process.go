package clustertest

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Process is a running program.
type Process struct {
	t      testing.TB
	name   string
	cmd    *exec.Cmd
	stdout *outputBuffer
	stderr *outputBuffer
	exited chan struct{}

	mayCrash bool // a crash is no defect
}

// start starts a program, which is killed when the test ends.
func start(t testing.TB, name, program string, args ...string) *Process {
	t.Helper()
	p := newProcess(t, name, program, args...)
	p.start()
	return p
}

// newProcess returns a process that is not started yet.
func newProcess(t testing.TB, name, program string, args ...string) *Process {
	p := &Process{
		t: t, name: name, cmd: exec.Command(program, args...),
		stdout: &outputBuffer{}, stderr: &outputBuffer{}, exited: make(chan struct{}),
	}
	p.cmd.Stdout, p.cmd.Stderr = p.stdout, p.stderr
	p.cmd.SysProcAttr = attributes()
	p.cmd.WaitDelay = 5 * time.Second
	p.cmd.Env = append(os.Environ(), "CLEAVE_SERVER=", "CLEAVE_TOKEN=", "CLEAVE_CONTEXT=",
		"CLEAVE_CONFIG_DIR="+filepath.Join(sharedDir(), "no-logins"), "GORACE=halt_on_error=1")
	return p
}

func (p *Process) start() {
	p.t.Helper()
	if err := p.cmd.Start(); err != nil {
		p.t.Fatalf("%s does not start: %v", p.name, err)
	}
	go func() {
		_ = p.cmd.Wait() // ProcessState has the result
		close(p.exited)
	}()
	p.t.Cleanup(p.cleanUp)
}

// crashOutput matches output that always means a defect.
var crashOutput = regexp.MustCompile(`(?m)^(panic: |fatal error: |WARNING: DATA RACE)|panicked: ` +
	`panic=|"@message":"[^"]*panicked"`)

func (p *Process) cleanUp() {
	p.signal(syscall.SIGKILL)
	<-p.exited
	if found := crashOutput.Find(p.stderr.bytes()); found != nil && !p.mayCrash {
		p.t.Errorf("%s printed %q", p.name, found)
	}
	if p.t.Failed() {
		p.t.Logf("%s (%v) said:\n%s%s", p.name, p.cmd.ProcessState, p.stdout.bytes(), tail(p.stderr.bytes()))
	}
}

// Kill ends the process with SIGKILL, like a crash, and waits.
func (p *Process) Kill() {
	p.t.Helper()
	p.signal(syscall.SIGKILL)
	p.ExitCode()
}

// Pause stops the process with SIGSTOP, like a machine that swaps or is suspended, and waits: the signal goes to one
// thread, and until that one has a processor the others run on.
func (p *Process) Pause() {
	p.t.Helper()
	p.signal(syscall.SIGSTOP)
	deadline := time.Now().Add(Timeout)
	for p.Running() && !p.stopped() {
		if time.Now().After(deadline) {
			p.t.Fatalf("%s does not stop", p.name)
		}
		time.Sleep(time.Millisecond)
	}
}

// stopped reports whether no thread of the process runs.
func (p *Process) stopped() bool {
	threads, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", p.cmd.Process.Pid))
	for _, path := range threads {
		stat, err := os.ReadFile(path)
		if _, state, found := bytes.Cut(stat, []byte(") ")); err == nil && found && state[0] != 'T' {
			return false
		}
	}
	return true
}

// Resume continues a paused process.
func (p *Process) Resume() { p.signal(syscall.SIGCONT) }

// Terminate asks the process to end with SIGTERM, waits, and returns the exit code.
func (p *Process) Terminate() int {
	p.t.Helper()
	p.signal(syscall.SIGTERM)
	return p.ExitCode()
}

// Interrupt sends SIGINT, as Ctrl-C does, waits, and returns the exit code.
func (p *Process) Interrupt() int {
	p.t.Helper()
	p.signal(syscall.SIGINT)
	return p.ExitCode()
}

// ExitCode waits for the end of the process; -1 means that a signal ended it.
func (p *Process) ExitCode() int {
	p.t.Helper()
	timer := time.NewTimer(Timeout)
	defer timer.Stop()
	select {
	case <-p.exited:
	case <-timer.C:
		p.t.Fatalf("%s does not end", p.name)
	}
	return p.cmd.ProcessState.ExitCode()
}

// Running reports whether the process has not ended.
func (p *Process) Running() bool {
	select {
	case <-p.exited:
		return false
	default:
		return true
	}
}

// Stderr returns what the process has written to standard error so far.
func (p *Process) Stderr() string { return string(p.stderr.bytes()) }

// signal sends a signal to the whole process group. It does nothing if the process has ended, because
// another process may have its id.
func (p *Process) signal(s syscall.Signal) {
	if !p.Running() {
		return
	}
	if err := syscall.Kill(-p.cmd.Process.Pid, s); err != nil && !errors.Is(err, syscall.ESRCH) {
		p.t.Errorf("%s cannot be signaled: %v", p.name, err)
	}
}

// outputBuffer keeps the output of a process.
type outputBuffer struct {
	seen func(text []byte) // called with all that is written; may be nil
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *outputBuffer) Write(text []byte) (int, error) {
	if j.seen != nil {
		j.seen(text)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(text)
}

func (j *outputBuffer) bytes() []byte {
	j.mu.Lock()
	defer j.mu.Unlock()
	return bytes.Clone(j.text.Bytes())
}

// tail returns the end of a long text.
func tail(text []byte) []byte {
	const maxBytes = 16 << 10
	return text[max(0, len(text)-maxBytes):]
}
