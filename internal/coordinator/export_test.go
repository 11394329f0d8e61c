package coordinator

import "github.com/cleave-project/cleave/internal/coordinator/queue"

// RequestMemory is the memory of requests, which a test takes away.
func (c *Coordinator) RequestMemory() *queue.Share { return c.memory.requests }
