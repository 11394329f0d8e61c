package coordinator

import "time"

// solverClock estimates how much longer an eigensolver takes.
type solverClock struct {
	ticks     int
	perStep   time.Duration // a moving average
	last      time.Time
	stepsLeft *uint32 // after the last step; nil when there is no estimate
}

// recentSteps is how many steps the moving average spans: steps become shorter as eigenpairs converge, and
// longer when workers are lost.
const recentSteps = 8

// tick counts a step that ends now.
func (c *solverClock) tick(now time.Time, stepsLeft *uint32) {
	if c.ticks > 0 {
		c.perStep += (now.Sub(c.last) - c.perStep) / time.Duration(min(c.ticks, recentSteps))
	}
	c.ticks++
	c.last, c.stepsLeft = now, stepsLeft
}

// timeLeft estimates how long the remaining steps take, less the time since the last step.
func (c *solverClock) timeLeft(now time.Time) (time.Duration, bool) {
	if c.stepsLeft == nil || *c.stepsLeft == 0 || c.ticks < 2 {
		return 0, false
	}
	return max(0, time.Duration(*c.stepsLeft)*c.perStep-now.Sub(c.last)), true
}
