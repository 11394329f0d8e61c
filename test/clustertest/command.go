package clustertest

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// CommandResult is the exit code and the output of a command.
type CommandResult struct {
	ExitCode       int
	Stdout, Stderr string
}

// Cleave runs `cleave` and waits until it ends.
func Cleave(t testing.TB, args ...string) CommandResult {
	t.Helper()
	return CleaveIn(t, "", args...)
}

// StartCleave starts `cleave` and does not wait.
func StartCleave(t testing.TB, args ...string) *Process {
	t.Helper()
	return start(t, "cleave "+strings.Join(args, " "), Build(t).Cleave, args...)
}

// CleaveIn runs `cleave` in a directory and waits until it ends.
func CleaveIn(t testing.TB, dir string, args ...string) CommandResult {
	t.Helper()
	return command(t, dir, Build(t).Cleave, args...)
}

// Command runs a program and waits until it ends.
func Command(t testing.TB, program string, args ...string) CommandResult {
	t.Helper()
	return command(t, "", program, args...)
}

func command(t testing.TB, dir, program string, args ...string) CommandResult {
	t.Helper()
	path, err := exec.LookPath(program)
	must(t, path, err)
	p := newProcess(t, filepath.Base(program)+" "+strings.Join(args, " "), path, args...)
	p.cmd.Dir = dir
	p.start()
	code := p.ExitCode()
	return CommandResult{ExitCode: code, Stdout: string(p.stdout.bytes()), Stderr: p.Stderr()}
}
