package kmeans

import (
	"slices"

	"github.com/cleave-project/cleave/internal/kernel"
)

// kmeans is Lloyd's algorithm, and with it Seeded-KMeans (Basu2002 Fig. 1) and Constrained-KMeans
// (Basu2002 Fig. 2), which start from seeds; the latter never moves them. On unit vectors it is
// SPKMeans, which maximizes the sum of cosines, Basu2002 (2).
type kmeans struct {
	lloyd
	// The seeds of Constrained-KMeans, ascending. They do not go to the nearest centroid: certain ones never move, and
	// ambiguous ones, which are also in held, go to the nearest of the clusters that they may be in.
	held      []int32
	ambiguous []ambiguousSeed
}

// ambiguousSeed is a point that may have several labels.
type ambiguousSeed struct {
	point  int32
	labels []int32 // ascending
}

func newKmeans(run state) *kmeans {
	m := &kmeans{lloyd: lloyd{state: run}}
	m.assign, m.repair = m.assignPoints, m.fillEmpty
	if run.p.options.Algorithm == ConstrainedKmeans {
		for _, s := range run.p.seeds {
			m.held = append(m.held, s.Point)
			if len(s.Labels) > 1 {
				m.ambiguous = append(m.ambiguous, ambiguousSeed{s.Point, s.Labels})
			}
		}
	}
	return m
}

// assignPoints moves every point to the nearest centroid that it may go to.
func (m *kmeans) assignPoints() (moved int, err error) {
	moves, err := m.x.Assign(m.model(), m.held)
	if err != nil {
		return 0, err
	}
	ambiguous, err := m.assignAmbiguous()
	if err != nil {
		return 0, err
	}
	return m.apply(moves, ambiguous)
}

// assignAmbiguous finds for every ambiguous seed the nearest of its clusters; of equally near ones it prefers its own.
func (m *kmeans) assignAmbiguous() ([]kernel.Move, error) {
	if len(m.ambiguous) == 0 {
		return nil, nil
	}
	points := make([]int32, len(m.ambiguous))
	for at, seed := range m.ambiguous {
		points[at] = seed.point
	}
	distances, err := m.x.Distances(m.model(), points)
	if err != nil {
		return nil, err
	}
	var moves []kernel.Move
	for at, seed := range m.ambiguous {
		row := distances[at*m.p.spec.K : (at+1)*m.p.spec.K]
		current := m.labels[seed.point]
		best := current
		if !slices.Contains(seed.labels, current) {
			best = seed.labels[0]
		}
		for _, c := range seed.labels {
			if row[c] < row[best] {
				best = c
			}
		}
		if best != current {
			moves = append(moves, kernel.Move{Point: seed.point, From: current, To: best})
		}
	}
	return moves, nil
}

// fillEmpty gives every empty cluster the point farthest from its own mean, in order of the clusters.
// Held seeds stay. The sum of distortions does not rise: that of the point becomes 0, and the cluster that it
// leaves fits its new mean at least as well.
func (m *kmeans) fillEmpty() error {
	for c, count := range m.counts {
		if count > 0 {
			continue
		}
		far, err := m.x.Farthest(m.model(), m.held, m.counts)
		if err != nil || !far.Found {
			return err
		}
		move := kernel.Move{Point: far.Point, From: m.labels[far.Point], To: int32(c)}
		if _, err := m.apply([]kernel.Move{move}, nil); err != nil {
			return err
		}
		m.takeMeans()
	}
	return nil
}
