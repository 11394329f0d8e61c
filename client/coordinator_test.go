package client_test

import (
	"context"
	"log"

	"github.com/hashicorp/go-hclog"

	embedded "github.com/cleave-project/cleave/internal/cli/client"
	"github.com/cleave-project/cleave/internal/coordinator"
	"github.com/cleave-project/cleave/internal/worker"
)

// startCoordinator starts a coordinator with one worker for an example, as "cleave serve" does.
func startCoordinator() (address string, stop func()) {
	cfg := coordinator.DefaultConfig()
	cfg.Listen = "127.0.0.1:0"
	cfg.Store = "memory"
	cfg.Blobs = "mem://"
	cfg.Logger = hclog.NewNullLogger()
	cluster, err := embedded.StartCluster(context.Background(), cfg)
	if err != nil {
		log.Fatal(err)
	}
	cluster.AddWorkers(1, worker.Config{Coordinator: cluster.Addr().String(), Logger: hclog.NewNullLogger()})
	if err := cluster.AwaitWorkers(context.Background(), 1); err != nil {
		log.Fatal(err)
	}
	return cluster.Addr().String(), cluster.Stop
}
