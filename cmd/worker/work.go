package main

import (
	"context"
	"fmt"

	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/observe"
	"github.com/cleave-project/cleave/internal/worker"
)

// work runs a worker, with its metrics and traces, until ctx ends.
func work(ctx context.Context, cfg worker.Config, options observe.Options) error {
	observing, err := observe.Start(ctx, options, "worker", cfg.Version, cfg.Logger)
	if err != nil {
		return err
	}
	defer observing.Close()
	if address := observing.AdminAddr(); address != "" {
		fmt.Printf("admin on %s\n", address)
	}
	cfg.Observe = observing.Worker()
	observing.SetReady(cfg.Observe.Ready)
	return shell.Stopped(ctx, worker.Run(ctx, cfg))
}
