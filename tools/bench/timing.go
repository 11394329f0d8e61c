package bench

import (
	"math"
	"runtime"
	"slices"
	"time"
)

// times are the seconds that something took, one for each round.
type times []float64

// best is the shortest time: whatever disturbs a measurement makes it longer.
func (t times) best() float64 {
	if len(t) == 0 {
		return math.NaN()
	}
	return slices.Min(t)
}

func (t times) median() float64 {
	if len(t) == 0 {
		return math.NaN()
	}
	sorted := slices.Sorted(slices.Values(t))
	middle := len(sorted) / 2
	if len(sorted)%2 == 1 {
		return sorted[middle]
	}
	return (sorted[middle-1] + sorted[middle]) / 2
}

// measurement is one of several things that are measured alternately.
type measurement struct {
	measure func() (float64, error) // seconds
	into    *times
}

// interleave takes every measurement once in each round, one after the other, so that a slow minute of the
// machine affects all of them.
func (b *benchmark) interleave(rounds int, measurements ...measurement) error {
	for range rounds {
		for _, c := range measurements {
			b.waitForIdle()
			seconds, err := c.measure()
			if err != nil {
				return err
			}
			*c.into = append(*c.into, seconds)
		}
	}
	return nil
}

// spinTime is how long the threads of a BLAS library busy-wait after their work.
const spinTime = 100 * time.Millisecond

// waitForIdle waits until nothing of the last measurement runs: no garbage collection and no busy threads.
func (b *benchmark) waitForIdle() {
	runtime.GC()
	if b.peer != nil {
		<-time.After(spinTime)
	}
}

func stopwatch(work func() error) (float64, error) {
	began := time.Now()
	err := work()
	return time.Since(began).Seconds(), err
}
