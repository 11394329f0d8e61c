package main

import (
	"context"
	"fmt"

	"github.com/cleave-project/cleave/internal/cli/shell"
	"github.com/cleave-project/cleave/internal/coordinator"
	"github.com/cleave-project/cleave/internal/observe"
)

// serve runs a coordinator until ctx ends, and lets people watch it.
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
	said := false
	return shell.Stopped(ctx, coordinator.Run(ctx, cfg, func(c *coordinator.Coordinator) {
		observing.SetReady(c.Ready)
		if !said {
			fmt.Printf("listening on %s\n", c.Addr())
		}
		said = true
	}))
}
