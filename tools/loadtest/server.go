package loadtest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/cleave-project/cleave/tools/measure"
)

// server is a coordinator in a process of its own.
type server struct {
	cmd     *exec.Cmd
	address string
	opened  time.Duration // from its start until it listened
}

// start starts a coordinator on a data directory.
func (cfg *Config) start(ctx context.Context, dir string, flags ...string) (*server, error) {
	args := append([]string{"--listen", "127.0.0.1:0", "--data-dir", filepath.Join(cfg.Dir, dir), "--log-level",
		"warn"}, cfg.Flags...)
	s := &server{cmd: exec.CommandContext(ctx, cfg.Coordinator, append(args, flags...)...)}
	s.cmd.Stderr = os.Stderr
	out, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	began := time.Now()
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the coordinator does not start: %w", err), s.cmd.Wait())
	}
	s.opened = time.Since(began)
	s.address = strings.TrimSpace(strings.TrimPrefix(line, "listening on "))
	return s, nil
}

// stop ends the coordinator.
func (s *server) stop() {
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	_ = s.cmd.Wait()
}

// memory returns the resident memory of the process, now and at most, in MiB.
func (s *server) memory() (now, peak float64) {
	nowBytes, peakBytes := measure.Memory(s.cmd.Process.Pid)
	return float64(nowBytes) / (1 << 20), float64(peakBytes) / (1 << 20)
}

// processor returns the processor time that the process has used.
func (s *server) processor() time.Duration { return measure.Processor(s.cmd.Process.Pid) }
