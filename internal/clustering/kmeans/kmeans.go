package kmeans

import (
	"context"
	"slices"

	"github.com/cleave-project/cleave/internal/data/labeling"
)

// kmeans is Lloyd's algorithm, and with it Seeded-KMeans (Basu2002 Fig. 1) and Constrained-KMeans (Basu2002 Fig. 2),
// which start from seeds; the latter never moves them. On unit vectors it is SPKMeans, which maximizes the sum of
// cosines, Basu2002 (2).
type kmeans struct {
	lloyd // with the seeds of Constrained-KMeans held
	// Held seeds that may move after all, to the nearest of their clusters, ascending.
	ambiguous []ambiguousSeed
}

// ambiguousSeed is a seed with several possible labels.
type ambiguousSeed struct {
	point  int32
	labels []int32 // ascending
}

// newKmeans returns the stepper of a restart of k-means, Seeded-KMeans or Constrained-KMeans.
func newKmeans(run state) *kmeans {
	m := &kmeans{lloyd: lloyd{state: run}}
	m.repair = m.fillEmpty
	if run.p.options.Algorithm == ConstrainedKmeans {
		for _, s := range run.p.seeds {
			m.held = append(m.held, s.Point)
			if len(s.Labels) > 1 {
				m.ambiguous = append(m.ambiguous, ambiguousSeed{s.Point, s.Labels})
				m.assign = m.assignPoints
			}
		}
	}
	return m
}

// assignPoints moves every point to the nearest centroid that it is allowed to move to, also ambiguous seeds.
func (m *kmeans) assignPoints(context.Context) (moved int, err error) {
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

// assignAmbiguous finds the nearest allowed cluster of every ambiguous seed. Among equally near ones a seed keeps its
// own.
func (m *kmeans) assignAmbiguous() ([]labeling.Move, error) {
	points := make([]int32, len(m.ambiguous))
	for at, seed := range m.ambiguous {
		points[at] = seed.point
	}
	distances, err := m.x.Distances(m.model(), points)
	if err != nil {
		return nil, err
	}
	return m.movesTo(points, func(at int) int32 {
		row := distances[at*m.p.spec.K : (at+1)*m.p.spec.K]
		labels := m.ambiguous[at].labels
		best := m.labels[points[at]]
		if !slices.Contains(labels, best) {
			best = labels[0]
		}
		for _, c := range labels {
			if row[c] < row[best] {
				best = c
			}
		}
		return best
	}), nil
}

// fillEmpty moves the point farthest from its own mean to each empty cluster, in the order of the clusters. Held seeds
// stay. The sum of distortions does not rise: that of the point becomes 0, and the cluster that it leaves fits its new
// mean at least as well.
func (m *kmeans) fillEmpty() (filled int, err error) {
	for c, count := range m.counts {
		if count > 0 {
			continue
		}
		far, err := m.x.Farthest(m.model(), m.held, m.counts)
		if err != nil || !far.Found {
			return filled, err
		}
		move := labeling.Move{Point: far.Point, From: m.labels[far.Point], To: int32(c)}
		if _, err := m.apply([]labeling.Move{move}, nil); err != nil {
			return filled, err
		}
		filled++
		m.takeMeans()
	}
	return filled, nil
}
