package model

import (
	"math"
	"testing"
)

// The measured costs are finite, and every family takes time for its rows.
func TestCalibrate(t *testing.T) {
	for name, measure := range map[string]func() (Cost, error){
		"graph":   func() (Cost, error) { return Graph(t.Context(), 2000, 10, 4) },
		"dense":   func() (Cost, error) { return Dense(t.Context(), 512, 4, 4) },
		"vectors": func() (Cost, error) { return Vectors(t.Context(), 2000, 8, 4) },
	} {
		c, err := measure()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, v := range []float64{c.Row, c.Entry, c.Move, c.OwnMove} {
			if math.IsNaN(v) || math.IsInf(v, 0) || v < 0 {
				t.Errorf("%s: %+v", name, c)
			}
		}
		if c.Row == 0 {
			t.Errorf("%s: rows take no time: %+v", name, c)
		}
		t.Logf("%s: %+v", name, c)
	}
}

// Twice the threads and half of the rows take half of the time, except for what a worker does with the moves of others.
func TestCompute(t *testing.T) {
	c := Cost{Row: 1, Entry: 0.5, Move: 2, OwnMove: 10}
	if got := c.Compute(100, 100, 4, 1); got != 100*3+4*12 {
		t.Errorf("all rows: %v", got)
	}
	if got := c.Compute(50, 100, 4, 2); got != (50*3+4*7)/2 {
		t.Errorf("half of the rows: %v", got)
	}
	i := Iteration{CPU: 1, Out: 20, In: 10, WorkerOut: 3, WorkerIn: 2, Compute: 5, Operations: 4}
	if got := i.Seconds(Links{BytesPerSecond: 10, RoundTrip: 0.25}); got != 1+3+5+0.5+1 {
		t.Errorf("an iteration of %v seconds", got)
	}
}
