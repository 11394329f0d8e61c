package coordinator

import (
	"errors"
	"fmt"

	"github.com/cleave-project/cleave/internal/dial/backoff"
	"github.com/cleave-project/cleave/internal/fault"
	"github.com/cleave-project/cleave/internal/fleet"
)

// unavailable tells whether an error says that a store does not answer now.
func unavailable(err error) bool {
	f, is := errors.AsType[*fault.Error](err)
	return is && f.Kind == fault.Unavailable
}

// awaitProblem is problemOf, but a store that does not answer now does not fail the job, which waits for it.
func (c *Coordinator) awaitProblem(j *job, o *observer) (*prepared, error) {
	for pause := backoff.New(resultRetries); ; {
		problem, err := c.problemOf(j)
		if !unavailable(err) {
			return problem, err
		}
		c.log.Warn("the data of a job cannot be read now, trying again", "job", j.id, "error", err)
		o.report(fleet.Status{Waiting: fmt.Sprintf("waiting for the stores: %v", err)})
		if waitErr := pause.Wait(j.ctx); waitErr != nil {
			return nil, waitErr
		}
	}
}
