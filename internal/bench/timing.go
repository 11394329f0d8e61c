package bench

import (
	"math"
	"runtime"
	"slices"
	"time"
)

// times are the seconds that one thing took, one for each round.
type times []float64

// best is the least: what disturbs a measurement only ever adds to it.
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

// contestant is one of several things that are measured in turns.
type contestant struct {
	measure func() (float64, error) // seconds
	into    *times
}

// interleave measures all contestants once in each round, one after the other, so that a slow minute
// of the machine meets them all.
func (b *run) interleave(rounds int, contestants ...contestant) error {
	for range rounds {
		for _, c := range contestants {
			b.settle()
			seconds, err := c.measure()
			if err != nil {
				return err
			}
			*c.into = append(*c.into, seconds)
		}
	}
	return nil
}

// settlingTime is how long the threads of a BLAS library spin after their work.
const settlingTime = 100 * time.Millisecond

// settle leaves nothing of the last measurement running: neither spinning threads nor a collection.
func (b *run) settle() {
	runtime.GC()
	if b.peer != nil {
		<-time.After(settlingTime)
	}
}

func stopwatch(work func() error) (float64, error) {
	began := time.Now()
	err := work()
	return time.Since(began).Seconds(), err
}
