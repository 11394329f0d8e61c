package coordinator

import (
	"context"

	"github.com/hashicorp/go-hclog"

	"github.com/cleave-project/cleave/internal/coordinator/datasets"
	"github.com/cleave-project/cleave/internal/coordinator/jobs"
	"github.com/cleave-project/cleave/internal/coordinator/queue"
	"github.com/cleave-project/cleave/internal/coordinator/records"
	"github.com/cleave-project/cleave/internal/coordinator/runner"
	"github.com/cleave-project/cleave/internal/coordinator/webhook"
	"github.com/cleave-project/cleave/internal/fleet"
)

// runs is what runs jobs, tells how they ended, and deletes them.
type runs struct {
	problems  *runner.ProblemMaker
	fleet     *fleet.Fleet
	jobs      *jobs.Manager
	webhooks  *webhook.Sender
	retention *records.Sweeper
}

// newRuns returns what runs the jobs of a storage until ctx ends. outlived are the terms in which this process led and
// that ended without a crash.
func newRuns(ctx context.Context, cfg Config, log hclog.Logger, memory memory, s *storage, outlived []int64) *runs {
	r := &runs{
		problems: &runner.ProblemMaker{
			Datasets: s.datasets, Tables: s.tables, MaxBytes: cfg.MaxDatasetBytes, MemoryBytes: cfg.MemoryBytes,
			Snapshots:     cfg.Snapshots.Interval > 0,
			CheckClusters: cfg.Limits.CheckClusters, CheckConstraints: cfg.Limits.CheckConstraints,
		},
		fleet: fleet.New(fleet.Config{
			Timing: cfg.Timing, Logger: cfg.Logger.Named("fleet"), Observe: cfg.Observe, Datasets: s.datasets,
		}),
		webhooks: &webhook.Sender{
			Config: cfg.Webhooks, State: s.state, Delete: s.writer.DeleteKeys, Logger: log.Named("webhook"),
			Now: cfg.Now,
		},
	}
	r.jobs = jobs.New(s.unfinished, jobs.Dependencies{
		Context: ctx, Outlived: outlived,
		Writer: s.writer, Parts: s.parts, Garbage: s.garbage, Datasets: s.datasets, Tables: s.tables,
		Snapshots: &runner.SnapshotStore{
			Config: cfg.Snapshots, Blobs: s.blobs, Context: s.writer.Context, Hold: s.hold,
			FreeDisk: cfg.Limits.FreeDisk, Logger: log,
		},
		Limits: queue.Limits{
			Running: cfg.MaxConcurrentJobs, RunningPerOwner: cfg.Limits.RunningPerOwner, Memory: memory.jobs,
		},
		Problems: r.problems, Fleet: r.fleet, Engine: cfg.Engine,
		Webhooks: r.webhooks, Observe: cfg.Observe, Logger: log, Version: cfg.Version, Now: cfg.Now,
	})
	r.retention = records.NewSweeper(retention(cfg, log, s, r.jobs))
	return r
}

// retention returns what deletes expired jobs and data.
func retention(cfg Config, log hclog.Logger, s *storage, manager *jobs.Manager) records.SweeperDependencies {
	return records.SweeperDependencies{
		Config: cfg.Retention, State: s.state, Blobs: s.blobs, Total: &s.blobBytes, Freed: &s.freedBytes, Hold: s.hold,
		Logger: log, Now: cfg.Now, Jobs: manager, Specs: s.parts, Datasets: s.datasets, Tables: s.tables,
	}
}

// close waits for the runs and the notifications, whose context has ended, and ends the sessions of workers.
func (r *runs) close() {
	r.jobs.Close()
	r.fleet.Close()
	r.webhooks.Wait()
}

// needed is what is not garbage, see records.NotGarbage.
type needed struct {
	*jobs.Manager
	datasets *datasets.Datasets
	tables   datasets.Tables
}

// IsWriting implements records.NotGarbage.
func (n needed) IsWriting(blob string) bool {
	return n.datasets.IsWriting(blob) || n.tables.IsWriting(blob)
}
