package main

import (
	"context"
	"fmt"

	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/coordinator"
	"github.com/cleave-project/cleave/internal/observe"
)

// serve runs a coordinator, with its metrics and traces, until ctx ends.
func serve(ctx context.Context, cfg coordinator.Config, options observe.Options) error {
	observing, err := observe.Start(ctx, options, "coordinator", cfg.Version, cfg.Logger)
	if err != nil {
		return err
	}
	defer observing.Close()
	if address := observing.AdminAddr(); address != "" {
		fmt.Printf("admin on %s\n", address)
	}
	cfg.Observe = observing.Coordinator()
	announced := false
	return shell.Stopped(ctx, coordinator.Run(ctx, cfg, func(c *coordinator.Coordinator) {
		observing.SetReady(c.Ready)
		if !announced {
			fmt.Printf("listening on %s\n", c.Addr())
		}
		announced = true
	}))
}
