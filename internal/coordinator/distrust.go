package coordinator

import (
	"time"

	"github.com/cleave-project/cleave/internal/fleet"
)

// Distrust says what the coordinator does about workers that are slow or wrong.
type Distrust struct {
	// Verify is the share of the work that a second worker does too, for jobs that do not say themselves: 0 to 1.
	Verify float64
	// SlowAfter is how long a worker may keep the others of a job waiting, beyond 3 times what they take.
	// Then its tiles are also given to others.
	SlowAfter time.Duration
	// Referee is a worker in this process, for the moment in which two workers disagree and there is no third to decide.
	// Nil: the job fails then.
	Referee fleet.Referee
}

// DefaultDistrust verifies nothing.
func DefaultDistrust() Distrust { return Distrust{SlowAfter: fleet.DefaultSlowAfter} }

func (d Distrust) check() error {
	switch {
	case !(d.Verify >= 0 && d.Verify <= 1):
		return badConfig("a share of %v of the work is verified; it must be from 0 to 1", d.Verify)
	case d.SlowAfter <= 0:
		return badConfig("a worker is slow after %v; it must be positive", d.SlowAfter)
	}
	return nil
}

// verifyShare is the share of the work of a job that is verified.
func (c *Coordinator) verifyShare(p *prepared) float64 {
	if p.verify != nil {
		return *p.verify
	}
	return c.cfg.Distrust.Verify
}
