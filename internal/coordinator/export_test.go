package coordinator

import (
	"context"

	"google.golang.org/grpc"

	"github.com/cleave-project/cleave/internal/coordinator/api"
	"github.com/cleave-project/cleave/internal/coordinator/datasets"
	"github.com/cleave-project/cleave/internal/coordinator/jobs"
	"github.com/cleave-project/cleave/internal/coordinator/queue"
	"github.com/cleave-project/cleave/internal/coordinator/records"
	"github.com/cleave-project/cleave/internal/coordinator/results"
	"github.com/cleave-project/cleave/internal/coordinator/runner"
	"github.com/cleave-project/cleave/internal/fleet"
)

// What tests of the wiring look at.

var ErrDeposed = errDeposed

func (cfg Config) WithDefaults() (Config, error) { return cfg.withDefaults() }

func (c *Coordinator) JobMemory() *queue.Share          { return c.memory.jobs }
func (c *Coordinator) RequestMemory() *queue.Share      { return c.memory.requests }
func (c *Coordinator) Downloads() *queue.DownloadMemory { return c.calls.downloads }
func (c *Coordinator) Writer() *records.Writer          { return c.storage.writer }
func (c *Coordinator) Garbage() *records.Collector      { return c.storage.garbage }
func (c *Coordinator) Needed() records.NotGarbage       { return c.needed() }
func (c *Coordinator) Sweeper() *records.Sweeper        { return c.runs.retention }
func (c *Coordinator) Datasets() *datasets.Datasets     { return c.storage.datasets }
func (c *Coordinator) Jobs() *jobs.Manager              { return c.runs.jobs }
func (c *Coordinator) JobService() *api.Jobs            { return c.calls.jobs }
func (c *Coordinator) Problems() *runner.ProblemMaker   { return c.runs.problems }
func (c *Coordinator) Fleet() *fleet.Fleet              { return c.runs.fleet }
func (c *Coordinator) Server() *grpc.Server             { return c.calls.server }

// ForResults returns what another service of results needs.
func (c *Coordinator) ForResults() results.Dependencies { return c.forResults(c.calls) }

// Retention returns what another sweeper needs.
func (c *Coordinator) Retention() records.SweeperDependencies {
	return retention(c.cfg, c.log, c.storage, c.runs.jobs)
}

func (c *Coordinator) Retry(ctx context.Context, warning string, call func() error) error {
	return c.retry(ctx, warning, call)
}
