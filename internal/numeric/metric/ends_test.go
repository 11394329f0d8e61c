package metric

import (
	"context"
	"errors"
	"math/rand/v2"
	"testing"
)

func spreadOf(t testing.TB, m *Metric) float64 {
	t.Helper()
	spread, err := m.Spread(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return spread
}

// endsAfter is a context that has ended once it was asked a number of times.
type endsAfter struct {
	context.Context
	times int
}

func (c *endsAfter) Err() error {
	if c.times--; c.times < 0 {
		return context.Canceled
	}
	return nil
}

// A decomposition ends with its context, and so does the update that it is a part of.
func TestAnUpdateEndsWithItsContext(t *testing.T) {
	const d = 100
	m := randomMetric(t, rand.New(rand.NewPCG(1, 1)), Full, d)
	step := &Step{PenaltyKind: Potts, Scatter: m.Values()}
	for times := range 2 * d {
		if _, err := step.Update(&endsAfter{t.Context(), times}, m); !errors.Is(err, context.Canceled) {
			t.Fatalf("asked %d times, the error is %v", times, err)
		}
	}
}
