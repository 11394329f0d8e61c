package centroid

import (
	"context"
	"slices"

	"github.com/cleave-project/cleave/internal/kernel"
)

// kmeans is Lloyd's algorithm, and with it Seeded-KMeans (Basu2002 Fig. 1) and Constrained-KMeans
// (Basu2002 Fig. 2), which start from seeds; the latter never moves them. On unit vectors it is
// SPKMeans, which maximises the sum of cosines, Basu2002 (2).
type kmeans struct {
	lloyd
	// Seeds that keep to their labels, ascending: the certain ones never move, the loose ones go to the
	// nearest of the labels that they may have.
	bound []int32
	loose []looseSeed
}

// looseSeed is a point that may have some of the labels.
type looseSeed struct {
	point  int32
	labels []int32 // ascending
}

func newKmeans(run state) *kmeans {
	m := &kmeans{lloyd: lloyd{state: run}}
	m.assign, m.repair = m.assignPoints, m.fillEmpty
	if run.p.options.Algorithm == ConstrainedKmeans {
		for _, s := range run.p.seeds {
			m.bound = append(m.bound, s.Point)
			if len(s.Labels) > 1 {
				m.loose = append(m.loose, looseSeed{s.Point, s.Labels})
			}
		}
	}
	return m
}

// assignPoints moves every point to its nearest centroid, as far as it may go there.
func (m *kmeans) assignPoints(ctx context.Context) (moved int, err error) {
	moves, err := m.x.Assign(ctx, m.model(), m.bound)
	if err != nil {
		return 0, err
	}
	loose, err := m.assignLoose(ctx)
	if err != nil {
		return 0, err
	}
	if len(loose) > 0 {
		moves = append(moves, loose...)
		slices.SortFunc(moves, func(a, b kernel.Move) int { return int(a.Point) - int(b.Point) })
	}
	if len(moves) == 0 {
		return 0, nil
	}
	return len(moves), m.apply(ctx, moves)
}

// assignLoose finds for every loose seed the nearest of its labels; it stays where it is as near.
func (m *kmeans) assignLoose(ctx context.Context) ([]kernel.Move, error) {
	if len(m.loose) == 0 {
		return nil, nil
	}
	points := make([]int32, len(m.loose))
	for at, seed := range m.loose {
		points[at] = seed.point
	}
	distances, err := m.x.Distances(ctx, m.model(), points)
	if err != nil {
		return nil, err
	}
	var moves []kernel.Move
	for at, seed := range m.loose {
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
// Held seeds stay. The sum of distortions does not rise: the point's own becomes 0, and the mean that
// it leaves gets no worse.
func (m *kmeans) fillEmpty(ctx context.Context) error {
	for c, count := range m.counts {
		if count > 0 {
			continue
		}
		far, err := m.x.Farthest(ctx, m.model(), m.bound, m.counts)
		if err != nil || !far.Found {
			return err
		}
		move := kernel.Move{Point: far.Point, From: m.labels[far.Point], To: int32(c)}
		if err := m.apply(ctx, []kernel.Move{move}); err != nil {
			return err
		}
		m.takeMeans()
	}
	return nil
}
