package coordinator

import (
	"github.com/cleave-project/cleave/internal/coordinator/api"
	"github.com/cleave-project/cleave/internal/coordinator/queue"
	"github.com/cleave-project/cleave/internal/coordinator/records"
)

// RequestMemory is the memory of requests, which a test takes away.
func (c *Coordinator) RequestMemory() *queue.Share { return c.memory.requests }

// Writer writes what calls change.
func (c *Coordinator) Writer() *records.Writer { return c.writer }

// JobService answers the calls about jobs, as the server does for a caller who is still there.
func (c *Coordinator) JobService() *api.Jobs { return c.jobService }

// DatasetService answers the calls about data sets.
func (c *Coordinator) DatasetService() *api.Datasets { return &api.Datasets{Datasets: c.datasets} }
