package swarm

import (
	"fmt"
	"math"
	"testing"
)

// flow is a transfer of a simulated network.
type flow struct {
	Assignment
	left, rate float64
}

// share gives every flow its max-min fair rate: links are full duplex, and each end of a flow has one with capacity 1.
func share(flows []*flow) {
	source := func(f *flow) string {
		if f.From.Kind == Peer {
			return f.From.Peer + " up"
		}
		return "coordinator up"
	}
	room, open := map[string]float64{}, map[string]int{}
	undecided := map[*flow]bool{}
	for _, f := range flows {
		for _, link := range []string{source(f), f.Member + " down"} {
			room[link] = 1
			open[link]++
		}
		undecided[f] = true
	}
	for len(undecided) > 0 {
		least, tightest := math.Inf(1), ""
		for link, count := range open {
			if fair := room[link] / float64(count); count > 0 && (fair < least || fair == least && link < tightest) {
				least, tightest = fair, link
			}
		}
		for _, f := range flows {
			up, down := source(f), f.Member+" down"
			if !undecided[f] || up != tightest && down != tightest {
				continue
			}
			delete(undecided, f)
			f.rate = least
			for _, link := range []string{up, down} {
				room[link] = max(0, room[link]-least)
				open[link]--
			}
		}
	}
}

// spread returns how long it takes until all members have all pieces, in units of the time of one transfer.
func spread(t testing.TB, pieces, members int, limits Limits) float64 {
	t.Helper()
	s := New(pieces, limits)
	s.SetKnown(pieces)
	for m := range members {
		s.Join(fmt.Sprint(m), nil, nil, true, true)
	}
	var flows []*flow
	now := 0.0
	for {
		for _, a := range s.Next() {
			flows = append(flows, &flow{Assignment: a, left: 1})
		}
		if len(flows) == 0 {
			return now / float64(pieces)
		}
		share(flows)
		step := math.Inf(1)
		for _, f := range flows {
			step = min(step, f.left/f.rate)
		}
		now += step
		var rest []*flow
		for _, f := range flows {
			if f.left -= step * f.rate; f.left > 1e-9 {
				rest = append(rest, f)
			} else {
				s.Arrived(f.Member, f.Piece)
			}
		}
		flows = rest
	}
}

// Where all links are equally fast, a data set of a gigabyte reaches any number of workers in little more than the
// time of one transfer. Smaller ones take relatively longer, because their last pieces are a larger part of them.
func TestSpreadIsFast(t *testing.T) {
	for _, c := range []struct {
		pieces, members int
		limit           float64
	}{{239, 2, 1.05}, {239, 4, 1.05}, {239, 8, 1.05}, {239, 16, 1.05}, {92, 8, 1.1}, {31, 8, 1.25}} {
		if took := spread(t, c.pieces, c.members, DefaultLimits()); took > c.limit {
			t.Errorf("%d pieces reach %d workers in %.2f times the time of one transfer", c.pieces, c.members, took)
		}
	}
}
