package metric

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
	return Parts{Distortion: m.TotalDistance(s.Scatter), LogDet: m.LogDet(), MustLink: must, CannotLink: cannot}
}
