package metric

import (
	"context"
	"math"
	"slices"
)

// maxHalvings is how many times a step that raises J is halved before the old metric is kept.
const maxHalvings = 20

// improve moves from the old metric toward the proposed one as far as J does not rise: all the way, or half of it, a
// quarter, and so on. If maxHalvings halvings do not help, it returns the old metric. The proposal can be worse than
// the old metric, because it is a stationary point of J only while bounds, floors and signs do not change, and not even
// that if a value was kept or floored.
func improve(ctx context.Context, old, proposed *Metric,
	objective func(*Metric) float64) (m *Metric, halvings int, err error) {
	if proposed == old {
		return old, 0, nil
	}
	before := objective(old)
	for step := 1.0; halvings <= maxHalvings; step /= 2 {
		if err := ctx.Err(); err != nil {
			return nil, 0, err
		}
		if m := between(old, proposed, step); m != nil && objective(m) <= before {
			return m, halvings, nil
		}
		halvings++
	}
	return old, maxHalvings, nil
}

// between returns old + step (proposed - old). All matrices on the way are positive definite; it returns nil if
// rounding has spoiled that.
func between(old, proposed *Metric, step float64) *Metric {
	if step == 1 {
		return proposed
	}
	values := make([]float64, len(old.values))
	for i, v := range old.values {
		values[i] = v + float64(step*(proposed.values[i]-v))
	}
	if old.form == Full {
		m, _ := NewFull(old.d, values)
		return m
	}
	m, _ := NewDiagonal(values)
	return m
}

// Outcome is the result of an update.
type Outcome struct {
	Metric   *Metric // the old metric itself if every step raised J
	Parts    Parts   // of J under this metric
	Kept     int     // see proposal
	Floored  int
	Halvings int
}

// Update proposes a metric and moves toward it as far as J does not rise. It keeps the old metric if the new one has
// values above MaxValue, as for points that differ by less than about 1e-45.
func (s *Step) Update(ctx context.Context, old *Metric) (Outcome, error) {
	proposal, err := s.propose(ctx, old)
	if err != nil {
		return Outcome{}, err
	}
	m, halvings, err := improve(ctx, old, proposal.Metric, func(m *Metric) float64 { return s.Objective(m).Total() })
	if err != nil {
		return Outcome{}, err
	}
	if slices.ContainsFunc(m.values, func(v float64) bool { return math.Abs(v) > MaxValue }) {
		return Outcome{Metric: old, Parts: s.Objective(old), Kept: old.d}, nil
	}
	return Outcome{m, s.Objective(m), proposal.Kept, proposal.Floored, halvings}, nil
}

// Parts holds the terms of J.
type Parts struct {
	Distortion float64 // sum over points of D(x_i, mu_l_i)
	LogDet     float64 // log det A; 0 if no metric is learned
	MustLink   float64 // penalties of violated must-links, each pair once
	CannotLink float64 // penalties of violated cannot-links, each pair once
}

// Total returns J. The log-determinant is subtracted once, as in Basu2003 (4), not once for each point.
func (p Parts) Total() float64 {
	return p.Distortion - p.LogDet + p.MustLink + p.CannotLink
}

// Objective returns the terms of J under metric m, for the labels and means of the step. The bound of the penalties is
// computed under m as well.
func (s *Step) Objective(m *Metric) Parts {
	measure := Measure{SquaredEuclidean, m}
	must, cannot := measure.Penalties(s.PenaltyKind, s.Links, measure.Bound(s.PenaltyKind, s.Links, s.Ranges))
	return Parts{Distortion: m.totalDistance(s.Scatter), LogDet: m.LogDet(), MustLink: must, CannotLink: cannot}
}
