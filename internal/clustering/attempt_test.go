package clustering

import (
	"math"
	"testing"
)

// The lower value wins, of equals the first restart. A value that is not a number wins against no number.
func TestBetterAttempts(t *testing.T) {
	nan := math.NaN()
	for _, c := range []struct {
		first, second float64
		want          bool // the first is better
	}{{1, 2, true}, {2, 1, false}, {1, 1, true}, {nan, 1, false}, {1, nan, true}, {nan, math.Inf(1), false},
		{nan, nan, true}} {
		first := &attempt{value: c.first}
		second := &attempt{value: c.second, restart: 1}
		if first.better(second) != c.want || second.better(first) == c.want {
			t.Errorf("%v and %v: %v and %v", c.first, c.second, first.better(second), second.better(first))
		}
	}
}
