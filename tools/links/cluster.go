package links

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"google.golang.org/grpc"

	cleavev1 "github.com/cleave-project/cleave/gen/cleave/v1"
	"github.com/cleave-project/cleave/internal/security/credentials"
	"github.com/cleave-project/cleave/tools/measure"
)

const port = ":7400"

// cluster is a coordinator and workers, each on a machine of its own, and a client on the bridge.
type cluster struct {
	*network
	state     string // folder of its data, caches and logs
	processes []*exec.Cmd
	*grpc.ClientConn
	jobs cleavev1.JobServiceClient
}

// start starts a cluster at a speed, with workers of this memory, and waits until all are attached. It must be stopped.
func (cfg *Config) start(ctx context.Context, speed string, workers int, memory string) (_ *cluster, err error) {
	names := []string{"coordinator"}
	for at := range workers {
		names = append(names, fmt.Sprintf("worker%d", at+1))
	}
	state, err := os.MkdirTemp(cfg.dir, "state-")
	if err != nil {
		return nil, err
	}
	c := &cluster{state: state}
	if c.network, err = newNetwork(ctx, speed, names...); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			c.stop()
		}
	}()
	host := c.machines[0].address
	ours, theirs, dial, err := cfg.secure(ctx, host, state)
	if err != nil {
		return nil, err
	}
	if err := c.run(ctx, state, c.machines[0], cfg.Coordinator, append(ours, "--listen", host+port, "--data-dir",
		filepath.Join(state, "data"))...); err != nil {
		return nil, err
	}
	for _, m := range c.machines[1:] {
		flags := slices.Concat(theirs, []string{"--coordinator", host + port, "--name", m.name, "--threads", "1",
			"--memory", memory})
		for _, f := range cfg.WorkerFlags {
			flags = append(flags,
				strings.NewReplacer("{}", m.address, "{dir}", filepath.Join(state, m.name)).Replace(f))
		}
		if err := c.run(ctx, state, m, cfg.Worker, flags...); err != nil {
			return nil, err
		}
	}
	options, err := dial.Options(nil, host+port)
	if err != nil {
		return nil, err
	}
	if c.ClientConn, err = grpc.NewClient(host+port, options...); err != nil {
		return nil, err
	}
	c.jobs = cleavev1.NewJobServiceClient(c.ClientConn)
	return c, c.awaitWorkers(ctx, workers)
}

// secure returns the flags of the coordinator and of workers, and how clients connect.
func (cfg *Config) secure(ctx context.Context,
	host, state string) (ours, theirs []string, _ credentials.Dial, err error) {
	if !cfg.TLS {
		return []string{"--insecure"}, []string{"--insecure"}, credentials.Dial{Insecure: true}, nil
	}
	dir := filepath.Join(state, "certs")
	if _, err := measure.Run(exec.CommandContext(ctx, cfg.Cleave, "certs", "init", "--host", host, "--dir",
		dir)); err != nil {
		return nil, nil, credentials.Dial{}, err
	}
	of := func(party string) []string { return []string{"--tls", filepath.Join(dir, party)} }
	return of("coordinator"), of("worker"),
		credentials.Dial{Files: credentials.Files{Dir: filepath.Join(dir, "admin")}}, nil
}

// run starts a program on a machine. What it says goes to a file in the folder of the state.
func (c *cluster) run(ctx context.Context, state string, m *machine, program string, flags ...string) error {
	log, err := os.Create(filepath.Join(state, m.name+".log"))
	if err != nil {
		return err
	}
	defer log.Close()
	process := exec.CommandContext(ctx, "ip", append([]string{"netns", "exec", m.name, program, "--log-level", "warn"},
		flags...)...)
	process.Stdout, process.Stderr = log, log
	if err := process.Start(); err != nil {
		return err
	}
	c.processes = append(c.processes, process)
	return nil
}

// awaitWorkers waits until so many workers are ready.
func (c *cluster) awaitWorkers(ctx context.Context, workers int) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	service := cleavev1.NewClusterServiceClient(c.ClientConn)
	for {
		list, err := service.ListWorkers(ctx, &cleavev1.ListWorkersRequest{}, grpc.WaitForReady(true))
		switch {
		case err != nil && ctx.Err() != nil:
			return errors.Join(errors.New("the workers do not attach"), err, c.said())
		case len(list.GetWorkers()) == workers:
			return nil
		}
		select {
		case <-time.After(50 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}

// said returns what the processes complained about.
func (c *cluster) said() error {
	var all []error
	for _, process := range c.processes {
		if log, is := process.Stderr.(*os.File); is {
			text, _ := os.ReadFile(log.Name())
			if said := strings.TrimSpace(string(text)); said != "" {
				all = append(all, errors.New(said))
			}
		}
	}
	return errors.Join(all...)
}

// stop ends all processes and removes their machines and their state. The caches of one cluster are several GB, and a
// full disk would change what the next one does.
func (c *cluster) stop() {
	if c.ClientConn != nil {
		c.Close()
	}
	for _, process := range c.processes {
		_ = process.Process.Signal(syscall.SIGKILL)
		_ = process.Wait()
	}
	c.network.close()
	_ = os.RemoveAll(c.state)
}
