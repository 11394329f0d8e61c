// Package server starts a Cleave server for a test.
package server

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// build builds cleave once per test process.
var build = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "cleave-examples-")
	if err != nil {
		return "", err
	}
	root, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/cleave-project/cleave").Output()
	if err != nil {
		return "", err
	}
	program := filepath.Join(dir, "cleave")
	cmd := exec.Command("go", "build", "-C", strings.TrimSpace(string(root)), "-o", program, "./cmd/cleave")
	cmd.Stderr = os.Stderr
	return program, cmd.Run()
})

// Cleave returns the path of the program. Main removes it.
func Cleave(t testing.TB) string {
	t.Helper()
	program, err := build()
	if err != nil {
		t.Fatal(err)
	}
	return program
}

// Main runs the tests of a package and removes what they built.
func Main(m *testing.M) int {
	code := m.Run()
	if program, err := build(); err == nil {
		os.RemoveAll(filepath.Dir(program))
	}
	return code
}

// Start starts a server with one worker, which stops when the test ends, and returns its address.
func Start(t testing.TB) string {
	t.Helper()
	cmd := exec.Command(Cleave(t), "serve", "--listen", "127.0.0.1:0", "--workers", "1", "--data-dir", t.TempDir(),
		"--log-level", "error")
	cmd.Stderr = os.Stderr
	output, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cmd.Process.Signal(syscall.SIGTERM)
		cmd.Wait()
	})
	lines := bufio.NewScanner(output)
	for lines.Scan() {
		if address, is := strings.CutPrefix(lines.Text(), "listening on "); is {
			return address
		}
	}
	t.Fatal("the server ended while starting")
	return ""
}
