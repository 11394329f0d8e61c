package loadtest

import (
	"context"
	"sync"
	"time"
)

// outcome is how the calls of a measurement went.
type outcome struct {
	took      time.Duration
	accepted  latencies
	refused   latencies
	others    int   // that failed otherwise
	lastError error // of those
}

// verdict says what became of a call.
type verdict int

const (
	accepted verdict = iota
	refused
	failed
)

func (o *outcome) add(v verdict, delay time.Duration, err error) {
	switch v {
	case accepted:
		o.accepted = append(o.accepted, delay)
	case refused:
		o.refused = append(o.refused, delay)
	default:
		o.others++
		o.lastError = err
	}
}

// rate returns how many calls a second were accepted.
func (o *outcome) rate() float64 { return float64(len(o.accepted)) / o.took.Seconds() }

// openLoop makes calls at a steady rate, however long they take, and counts their delays from when they were due.
func openLoop(ctx context.Context, perSecond float64, seconds int,
	call func(ctx context.Context, at int) (verdict, error)) *outcome {
	o := &outcome{}
	calls := int(perSecond * float64(seconds))
	var mu sync.Mutex
	var running sync.WaitGroup
	began := time.Now()
	for at := range calls {
		due := began.Add(time.Duration(float64(at) / perSecond * float64(time.Second)))
		if wait := time.Until(due); wait > 0 {
			time.Sleep(wait)
		}
		if ctx.Err() != nil {
			break
		}
		running.Go(func() {
			v, err := call(ctx, at)
			delay := time.Since(due)
			mu.Lock()
			defer mu.Unlock()
			o.add(v, delay, err)
		})
	}
	o.took = time.Since(began) // what is accepted later is not more a second
	running.Wait()
	return o
}

// closedLoop runs so many clients that make one call after the other.
func closedLoop(ctx context.Context, clients, seconds int,
	call func(ctx context.Context, at int) (verdict, error)) *outcome {
	o := &outcome{}
	var mu sync.Mutex
	var running sync.WaitGroup
	began := time.Now()
	end := began.Add(time.Duration(seconds) * time.Second)
	for at := range clients {
		running.Go(func() {
			for time.Now().Before(end) && ctx.Err() == nil {
				called := time.Now()
				v, err := call(ctx, at)
				delay := time.Since(called)
				mu.Lock()
				o.add(v, delay, err)
				mu.Unlock()
			}
		})
	}
	running.Wait()
	o.took = time.Since(began)
	return o
}
