package coordinator

import (
	"errors"
	"fmt"

	"github.com/cleave-project/cleave/internal/backoff"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/fleet"
)

// awaitProblem is problemOf, but a store that does not answer now does not fail the job, which waits for it.
func (c *Coordinator) awaitProblem(j *job, o *observer) (*prepared, error) {
	for pause := backoff.New(resultRetries); ; {
		problem, err := c.problemOf(j)
		if f, is := errors.AsType[*fault.Error](err); !is || f.Kind != fault.Unavailable {
			return problem, err
		}
		c.log.Warn("the data of a job cannot be read now, trying again", "job", j.id, "error", err)
		o.report(fleet.Status{Waiting: fmt.Sprintf("waiting for the stores: %v", err)})
		if waitErr := pause.Wait(j.ctx); waitErr != nil {
			return nil, waitErr
		}
	}
}
