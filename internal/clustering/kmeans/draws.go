package kmeans

import (
	"sync"

	"github.com/cleave-project/cleave/internal/numeric/metric"
)

// draws are the points that k-means++ drew when no centroid was given. They depend on the rows and on what is in
// drawKey only, so that all problems on the same rows share them: a restart of one starts where that of another did.
type draws struct {
	mu     sync.Mutex
	points map[drawKey][]int32
}

type drawKey struct {
	seed       uint64
	restart, k int
	distortion metric.Distortion
	form       metric.Form
}

func newDraws() *draws { return &draws{points: map[drawKey][]int32{}} }

func (d *draws) find(key drawKey) (points []int32, known bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	points, known = d.points[key]
	return points, known
}

func (d *draws) keep(key drawKey, points []int32) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.points[key] = points
}

func (s *state) drawKey() drawKey {
	return drawKey{s.p.spec.Seed, s.restart, s.p.spec.K, s.p.options.Distortion, s.metric.Form()}
}

// drawAll is kmeansPlusPlus for all clusters.
func (s *state) drawAll() error {
	key := s.drawKey()
	points, known := s.p.draws.find(key)
	if !known {
		points, err := s.kmeansPlusPlus(nil)
		if err == nil {
			s.p.draws.keep(key, points)
		}
		return err
	}
	for c, point := range points {
		s.rng.Float64() // that the draw took
		if err := s.p.row(s.centroid(c), point); err != nil {
			return err
		}
		s.absent[c] = false
	}
	return nil
}
