package coordinator

import (
	"context"
	"sync/atomic"

	"google.golang.org/grpc"

	"github.com/cleave-project/cleave/internal/coordinator/api"
	"github.com/cleave-project/cleave/internal/coordinator/datasets"
	"github.com/cleave-project/cleave/internal/coordinator/jobs"
	"github.com/cleave-project/cleave/internal/coordinator/queue"
	"github.com/cleave-project/cleave/internal/coordinator/records"
	"github.com/cleave-project/cleave/internal/coordinator/results"
	"github.com/cleave-project/cleave/internal/coordinator/runner"
	"github.com/cleave-project/cleave/internal/fleet"
	"github.com/cleave-project/cleave/internal/store"
)

// What tests of the wiring look at.

var (
	ErrDeposed  = errDeposed
	CheckLimits = checkLimits
)

func (cfg Config) WithDefaults() (Config, error) { return cfg.withDefaults() }

func (e *Election) Outlive(term int64) { e.outlived = append(e.outlived, term) }

func (c *Coordinator) JobMemory() *queue.Share          { return c.memory.jobs }
func (c *Coordinator) RequestMemory() *queue.Share      { return c.memory.requests }
func (c *Coordinator) Downloads() *queue.DownloadMemory { return c.downloads }
func (c *Coordinator) Writer() *records.Writer          { return c.writer }
func (c *Coordinator) Garbage() *records.Collector      { return c.garbage }
func (c *Coordinator) CollectGarbage() error            { return c.collectGarbage() }
func (c *Coordinator) Retention() *records.Sweeper      { return c.retention }
func (c *Coordinator) Term() store.Leadership           { return c.term }
func (c *Coordinator) Datasets() *datasets.Datasets     { return c.datasets }
func (c *Coordinator) DatasetService() *api.Datasets    { return &api.Datasets{Datasets: c.datasets} }
func (c *Coordinator) Jobs() *jobs.Manager              { return c.jobs }
func (c *Coordinator) JobService() *api.Jobs            { return c.jobService }
func (c *Coordinator) Room() *api.Room                  { return c.room }
func (c *Coordinator) Problems() *runner.ProblemMaker   { return c.problems }
func (c *Coordinator) Results() *results.Service        { return c.results }
func (c *Coordinator) Fleet() *fleet.Fleet              { return c.fleet }
func (c *Coordinator) Server() *grpc.Server             { return c.server }

// NewRetention returns another sweeper, which counts the blobs by itself.
func (c *Coordinator) NewRetention() *records.Sweeper {
	return c.newRetention(&atomic.Int64{}, &atomic.Int64{})
}

func (c *Coordinator) Retry(ctx context.Context, warning string, call func() error) error {
	return c.retry(ctx, warning, call)
}
