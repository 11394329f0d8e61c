package simulation

import (
	"context"
	"sync"
	"time"

	"google.golang.org/grpc"

	"github.com/cleave-project/cleave/internal/coordinator"
	"github.com/cleave-project/cleave/internal/dial"
	"github.com/cleave-project/cleave/internal/store"
	"github.com/cleave-project/cleave/internal/worker"
)

// process is a coordinator or a worker from its start to its end.
type process struct {
	node   *node
	killed chan struct{} // closed when it is to end at once

	mu   sync.Mutex
	term store.Leadership // of a coordinator that leads
}

func (w *world) newProcess(name string) *process {
	p := &process{killed: make(chan struct{})}
	p.node = w.net.add(name, sync.OnceFunc(func() { close(p.killed) }))
	return p
}

// alive waits while the process is paused. A process that was killed does nothing any more.
func (p *process) alive(ctx context.Context) error {
	for {
		p.node.net.mu.Lock()
		pause := time.Until(p.node.paused)
		dead := p.node.dead
		p.node.net.mu.Unlock()
		if dead {
			return store.ErrClosed
		}
		if pause <= 0 {
			return nil
		}
		select {
		case <-p.killed:
		case <-time.After(pause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

func (p *process) lead(term store.Leadership) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.term = term
}

// depose ends the term of a leader without its doing.
func (p *process) depose() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.term != nil {
		_ = p.term.Resign(context.Background())
	}
}

// keep runs a process again and again until the world ends, as a service manager does.
func (w *world) keep(name string, run func(p *process)) {
	w.processes.Go(func() {
		for starts := uint64(1); ; starts++ {
			p := w.newProcess(name)
			run(p)
			p.node.leave()
			p.node.Close()
			pause := w.plan.random("start "+name, starts).Int64N(int64(3 * time.Second))
			if dial.Sleep(w.running, time.Duration(pause)) != nil {
				return
			}
		}
	})
}

// coordinate runs a coordinator until it is killed, the world ends, or it ends by itself.
func (w *world) coordinate(p *process) {
	state := w.disk.openState()
	cfg := coordinator.DefaultConfig()
	cfg.Listener, cfg.Store, cfg.Logger = p.node, "memory", w.log.Named(p.node.name)
	cfg.Stores = coordinator.Stores{
		State: &stateHandle{State: state, disk: w.disk, process: p},
		Blobs: &blobsHandle{Blobs: w.disk.blobs, disk: w.disk, process: p},
	}
	ctx, cancel := context.WithCancel(w.running)
	defer cancel()
	ended := make(chan struct{})
	defer func() { <-ended }()
	over := make(chan struct{})
	defer close(over)
	go func() {
		defer close(ended)
		select {
		case <-p.killed:
			state.Close() // whoever waits to lead need not wait for a lease
			cancel()
		case <-over:
		}
	}()
	c, err := coordinator.New(ctx, cfg)
	if err != nil {
		w.log.Warn("the coordinator does not start", "error", err)
		return
	}
	w.net.serve(p.node)
	served := make(chan error, 1)
	go func() { served <- c.Serve(ctx) }()
	select {
	case <-p.killed:
		c.Close()
		err = <-served
	case err = <-served:
	}
	w.log.Info("the coordinator ended", "error", err)
}

// work runs a worker until it is killed or the world ends.
func (w *world) work(p *process) {
	ctx, cancel := context.WithCancel(w.running)
	defer cancel()
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case <-p.killed:
			cancel()
		case <-ctx.Done():
		}
	}()
	err := worker.Run(ctx, worker.Config{
		Coordinator: target, Name: p.node.name, Threads: 1, Version: "simulated", Logger: w.log.Named(p.node.name),
		LeaveTimeout: time.Millisecond, DialOptions: []grpc.DialOption{grpc.WithContextDialer(p.node.dial)},
	})
	w.log.Info("the worker ended", "worker", p.node.name, "error", err)
	cancel()
	<-ended
}

// target is what processes dial; the network decides whom it reaches.
const target = "passthrough:///coordinator"
