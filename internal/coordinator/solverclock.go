package coordinator

import "time"

// solverClock turns the steps that an eigensolver has left into time.
type solverClock struct {
	ticks     int
	perStep   time.Duration // of late
	last      time.Time
	stepsLeft *uint32 // after the last step; nil: it cannot be told
}

// recentSteps is about how many steps the time of one is taken over: they grow shorter as pairs
// converge, and longer when workers are lost.
const recentSteps = 8

// tick hears of a step.
func (c *solverClock) tick(now time.Time, stepsLeft *uint32) {
	if c.ticks > 0 {
		c.perStep += (now.Sub(c.last) - c.perStep) / time.Duration(min(c.ticks, recentSteps))
	}
	c.ticks++
	c.last, c.stepsLeft = now, stepsLeft
}

// left is about how long the steps take that are left, less what has passed of the one at work.
func (c *solverClock) left(now time.Time) (time.Duration, bool) {
	if c.stepsLeft == nil || *c.stepsLeft == 0 || c.ticks < 2 {
		return 0, false
	}
	return max(0, time.Duration(*c.stepsLeft)*c.perStep-now.Sub(c.last)), true
}
